"""Backends by name: Mnemic's own, those a program registers, and those an installed package announces.

A package announces a backend by an entry point of the group `mnemic.backends`: the class, or anything that returns a
backend when it is called. A name of Mnemic's own stays Mnemic's.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import inspect
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, cast

from mnemic.backends.primitive import MemoryBackend
from mnemic.errors import ConfigError

GROUP = "mnemic.backends"
DEFAULT_BACKEND = "sqlite"
OWN = ("bm25", "colbert", "faiss", "hybrid", "sqlite")
"""Names of Mnemic's own backends; each is registered by the module of its name, which is imported when asked for."""

Build = Callable[..., MemoryBackend]
Backend = TypeVar("Backend", bound=MemoryBackend)


class MemoryRegistry:
    """The one table from names to backends; `create` is how a name in a configuration becomes a backend."""

    _registered: ClassVar[dict[str, type[MemoryBackend]]] = {}

    @classmethod
    def register(cls, name: str) -> Callable[[type[Backend]], type[Backend]]:
        """A class decorator that makes a backend known by `name`, and sets its `backend_id` where it says none.

        Raises `ConfigError` when the name is blank, is another class's, or is not the `backend_id` of the class.
        """
        if not name.strip():
            raise ConfigError("a memory backend needs a name to be registered by")

        def registered(backend: type[Backend]) -> type[Backend]:
            known = cls._registered.get(name)
            own = f"{__package__}.{name}" if name in OWN else backend.__module__
            if backend.__module__ != own or (known is not None and not _is_same(known, backend)):
                raise ConfigError(f"the name {name!r} is taken by another memory backend; register another one")
            if backend.backend_id not in ("", name):
                raise ConfigError(f"{backend.__qualname__} calls itself {backend.backend_id!r}; register it by that")
            backend.backend_id = name
            cls._registered[name] = backend
            return backend

        return registered

    @classmethod
    def create(cls, name: str = DEFAULT_BACKEND, /, **options: Any) -> MemoryBackend:
        """A new backend of that name; `options` are the arguments of its class.

        Raises `ConfigError` for a name nobody knows (the message holds the nearest ones), for an option the class does
        not take, and when a package is missing (the message holds the line that installs it).
        """
        build = cls._build(name)
        try:
            inspect.signature(build).bind(**options)
        except TypeError as error:
            raise ConfigError(f"memory backend {name!r} does not take these options: {error}") from error
        return build(**options)

    @classmethod
    def takes(cls, name: str, option: str) -> bool:
        """Whether the backend of a name has an argument of that name. Raises `ConfigError` as `create`."""
        return option in inspect.signature(cls._build(name)).parameters

    @classmethod
    def names(cls) -> list[str]:
        """Every name that `create` knows, in order."""
        announced = (point.name for point in importlib.metadata.entry_points(group=GROUP))
        return sorted({*OWN, *cls._registered, *announced})

    @classmethod
    def unregister(cls, name: str) -> None:
        """Forget what a program registered by this name; Mnemic's own and unknown names are left as they are."""
        if name not in OWN:
            cls._registered.pop(name, None)

    @classmethod
    def _build(cls, name: str) -> Build:
        if name in OWN:
            importlib.import_module(f"{__package__}.{name}")
        if name in cls._registered:
            return cls._registered[name]
        for point in importlib.metadata.entry_points(group=GROUP, name=name):
            try:
                return cast("Build", point.load())
            except (ImportError, AttributeError) as error:
                raise ConfigError(f"memory backend {name!r} of {point.value} cannot be loaded: {error}") from error
        near = difflib.get_close_matches(name.lower(), cls.names(), n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(cls.names())}"
        raise ConfigError(f"memory backend {name!r} is not known; {hint}")


def _is_same(known: type[MemoryBackend], backend: type[MemoryBackend]) -> bool:
    """True for the class of a module that was imported once more."""
    return (known.__module__, known.__qualname__) == (backend.__module__, backend.__qualname__)
