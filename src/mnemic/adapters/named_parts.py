"""Parts by name, `technology` or `technology:model`: Mnemic's own, and those of installed packages. The registry of
each kind (such as `embedders.registry`) lists them.
"""

import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Generic, TypeVar, cast

from mnemic.errors import ConfigError

Options = Mapping[str, object]
Part = TypeVar("Part")
Built = TypeVar("Built")


class NamedParts(Generic[Part]):
    """All parts of a kind by name. A package adds one by an entry point of the group: a callable `(model, options)`
    that returns the part, loaded on demand; `model` is None if the name has none. Mnemic's own names win.
    """

    def __init__(
        self,
        kind: str,
        own: Mapping[str, Callable[[str | None, Options], Part]],
        models: Mapping[str, str] | None = None,
    ) -> None:
        """`kind`: the word for a part in messages; its plural after `mnemic.` is the group. `own`: builders of Mnemic's
        parts by technology. `models`: the technology of models that need none in their name.
        """
        self.group = f"mnemic.{kind}s"
        self._kind, self._own, self._models = kind, own, models or {}

    def open(self, name: str, options: Options | None = None) -> Part:
        """Open a part by name. Raises `ConfigError` for unknown names and options, and for packages that fail."""
        technology, _, model = name.partition(":")
        if not model and technology in self._models:
            technology, model = self._models[technology], technology
        build = self._own.get(technology) or self._load_announced(technology)
        return build(model or None, dict(options or {}))

    def names(self) -> list[str]:
        """Every name that `open` knows, in order, including those of other packages."""
        announced = (point.name for point in importlib.metadata.entry_points(group=self.group))
        return sorted({*self._own, *self._models, *announced})

    def made(self, name: str, build: Callable[..., Built], options: Mapping[str, Any]) -> Built:
        """Call `build` with these keyword arguments. Raises `ConfigError` if it does not accept them."""
        try:
            return build(**options)
        except TypeError as error:
            raise ConfigError(
                f"{self._kind} {name!r} does not accept these options ({', '.join(options)}): {error}"
            ) from error

    def made_on_server(
        self, name: str, build: Callable[..., Built], endpoint: type[Any], options: Mapping[str, Any]
    ) -> Built:
        """Like `made`, for a server's part: options that are fields of `endpoint` are passed as one instance."""
        of_server = {field.name for field in fields(endpoint)}
        made = self.made(name, endpoint, {key: value for key, value in options.items() if key in of_server})
        rest = {key: value for key, value in options.items() if key not in of_server}
        return self.made(name, build, {**rest, "endpoint": made})

    def _load_announced(self, technology: str) -> Callable[[str | None, Options], Part]:
        for point in importlib.metadata.entry_points(group=self.group, name=technology):
            try:
                return cast("Callable[[str | None, Options], Part]", point.load())
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"cannot load {self._kind} {technology!r} from {point.value}: {error}") from error
        known = ", ".join(self.names())
        raise ConfigError(f"{self._kind} {technology!r} is unknown; use {known} or none")


def with_model(options: Options, model: str | None, argument: str = "model") -> Options:
    """The options, with the model of a name as this argument."""
    return {**options, **({argument: model} if model else {})}
