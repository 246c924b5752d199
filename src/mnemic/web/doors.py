"""How doors become one server: each declares itself as a `Door`, and `application` puts all of them behind one gate."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from mnemic.api import Mnemic
from mnemic.web.front import Front
from mnemic.web.gate import Gate, Guarded
from mnemic.web.health import Health
from mnemic.web.limits import BodyLimit
from mnemic.web.metrics import Metrics

ALWAYS_OPEN = ("/health/",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A way in over HTTP. All its `routes` are behind the gate but those that begin with one of `open_paths`; handlers
    ask `web.gate.caller_of` and `web.gate.scope_of`. Bodies are bounded, and those of `file_paths` as files are.
    `lifespan`, where given, is open while the server runs. `tells` is what `mnemic serve` prints of it: a name and a
    path.
    """

    tells: tuple[str, str]
    routes: Sequence[BaseRoute]
    open_paths: Sequence[str] = ()
    file_paths: Sequence[str] = ()
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None


MakeDoor = Callable[[Mnemic, Gate], Door]
"""What the package of a door offers as `door`: called once, when the server starts."""


def application(doors: Sequence[Door], gate: Gate, health: Health, metrics: Metrics) -> ASGIApp:
    """One ASGI application of all doors: routes are tried in the order of the doors, health and metrics first."""

    @asynccontextmanager
    async def lifespan(_app: object) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for door in doors:
                if door.lifespan is not None:
                    await stack.enter_async_context(door.lifespan())
            yield

    routes = [*health.routes(), *metrics.routes(), *(route for door in doors for route in door.routes)]
    router = Router(routes, redirect_slashes=False, lifespan=lifespan)

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("app", router)  # told so, routes raise what `Front` answers
        await router(scope, receive, send)

    open_paths = [*ALWAYS_OPEN, *(path for door in doors for path in door.open_paths)]
    file_paths = tuple(path for door in doors for path in door.file_paths)

    def limit_of(path: str) -> int:
        return gate.limits.file_bytes if path.startswith(file_paths) else gate.limits.body_bytes

    return Front(Guarded(BodyLimit(inner, limit_of), gate, open_paths), metrics)
