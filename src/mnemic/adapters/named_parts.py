"""Parts by name, `technology` or `technology:model`: Mnemic's own, and those of installed packages. The registry of
each kind (such as `embedders.registry`) lists them.
"""

import importlib
import importlib.metadata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar, cast

from mnemic.errors import ConfigError

Options = Mapping[str, object]
Part = TypeVar("Part")
Built = TypeVar("Built")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part is: its `module` below `mnemic.adapters`, and its class, imported on first use. `model`: the
    argument that takes the model of a name. `endpoint`: of a part on a server, the class of the server's options.
    """

    module: str
    name: str
    model: str = "model"
    endpoint: str = ""

    def load(self, name: str) -> Any:
        """A name of the module."""
        return getattr(importlib.import_module(f"mnemic.adapters.{self.module}"), name)


class NamedParts(Generic[Part]):
    """All parts of a kind by name. A package adds one by an entry point of the group: a callable `(model, options)`
    that returns the part, loaded on demand; `model` is None if the name has none. Mnemic's own names win.
    """

    def __init__(
        self,
        kind: str,
        own: Mapping[str, Place | Callable[[str | None, Options], Part]],
        models: Mapping[str, str] | None = None,
    ) -> None:
        """`kind`: the word for a part in messages; its plural after `mnemic.` is the group. `own`: Mnemic's parts by
        technology, or their builders. `models`: the technology of models that need none in their name.
        """
        self.group = f"mnemic.{kind}s"
        self._kind, self._own, self._models = kind, own, models or {}

    def open(self, name: str, options: Options | None = None) -> Part:
        """Open a part by name. Raises `ConfigError` for unknown names and options, and for packages that fail."""
        technology, _, model = name.partition(":")
        if not model and technology in self._models:
            technology, model = self._models[technology], technology
        found = self._own.get(technology) or self._load_announced(technology)
        if isinstance(found, Place):
            return self.made_at(found, technology, model or None, dict(options or {}))
        return found(model or None, dict(options or {}))

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

    def made_at(self, place: Place, name: str, model: str | None, options: Options) -> Part:
        """Make a part where it is. Of a server's part, the options that are fields of the endpoint are passed as one
        instance; it needs a model, and if it is not Ollama an address. Raises `ConfigError`.
        """
        given = {**options, **({place.model: model} if model else {})}
        if not place.endpoint:
            return self.made(name, place.load(place.name), given)
        if name == "openai" and "base_url" not in given:
            raise ConfigError(
                f"the 'openai' {self._kind} has no default server; set the option base_url to your server's address"
            )
        if not given.get(place.model):
            raise ConfigError(f"{self._kind} {name!r} requires a model; use {name}:MODEL, or set the model option")
        endpoint = place.load(place.endpoint)
        of_server = {field.name for field in fields(endpoint)}
        server = self.made(name, endpoint, {key: value for key, value in given.items() if key in of_server})
        rest = {key: value for key, value in given.items() if key not in of_server}
        return self.made(name, place.load(place.name), {**rest, "endpoint": server})

    def _load_announced(self, technology: str) -> Callable[[str | None, Options], Part]:
        for point in importlib.metadata.entry_points(group=self.group, name=technology):
            try:
                return cast("Callable[[str | None, Options], Part]", point.load())
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"cannot load {self._kind} {technology!r} from {point.value}: {error}") from error
        known = ", ".join(self.names())
        raise ConfigError(f"{self._kind} {technology!r} is unknown; use {known} or none")
