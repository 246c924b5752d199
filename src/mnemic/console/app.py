"""The web console under `/console`: files that are sent as they are, and who the caller is.

What the console shows and does goes through REST, so that rights, scopes and limits are REST's. The files hold nothing
of anybody and need no key. What memories say comes from strangers: the policy sent with the page lets no script run
but these files, and no text become markup.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from anyio.to_thread import run_sync
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mnemic import __version__
from mnemic.api import Mnemic
from mnemic.errors import ForbiddenError
from mnemic.model.records import Right
from mnemic.web.doors import Door
from mnemic.web.gate import Caller, Gate

PATH = "/console"
PAGE = "index.html"
RULES = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
)
"""Nothing but the console's own files, asked of its own server; a text that a script hands to the page as markup is
refused by the browser.
"""

HEADERS = {
    "Content-Security-Policy": "; ".join(RULES),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}
MEDIA_TYPES = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the console as it is sent."""

    content: bytes
    media_type: str
    etag: str


def door(mnemic: Mnemic, gate: Gate) -> Door:
    """The door of `mnemic serve`. All its paths but `/` pass the gate; the one that tells anything asks it itself."""
    del mnemic
    console = Console(gate)
    routes = [
        Route("/", _redirect_home),
        Route(PATH, _redirect_to_page),
        Route(f"{PATH}/caller", console.caller),
        Route(f"{PATH}/enter", console.enter, methods=["POST"]),
        Route(f"{PATH}/{{name:path}}", console.file),
    ]
    return Door(tells=("console", PATH), routes=routes, open_paths=(PATH,))


class Console:
    """The files, read once, and the caller."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._assets = assets()

    async def file(self, request: Request) -> Response:
        """One of the files, the page for no name; 404 for every other name."""
        asset = self._assets.get(request.path_params["name"] or PAGE)
        if asset is None:
            raise HTTPException(404)
        headers = {**HEADERS, "ETag": asset.etag}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, headers=headers, media_type=asset.media_type)

    async def caller(self, request: Request) -> Response:
        """Who asks, so that the console need not offer what would be refused. Raises as the gate does."""
        return JSONResponse(_describe_caller(await self._gate.admit(request)))

    async def enter(self, request: Request) -> Response:
        """The token for the code of a link to the console."""
        return JSONResponse(
            {"token": await run_sync(self._gate.exchange, request)}, headers={"Cache-Control": "no-store"}
        )


def assets() -> Mapping[str, Asset]:
    """Every file of the console by its path below `/console/`."""
    return dict(_read_assets(files("mnemic.console") / "static", ""))


def _read_assets(folder: Traversable, prefix: str) -> Iterator[tuple[str, Asset]]:
    for each in folder.iterdir():
        name = prefix + each.name
        if each.is_dir():
            yield from _read_assets(each, f"{name}/")
        elif (media_type := MEDIA_TYPES.get(name.rpartition(".")[2])) is not None:
            content = each.read_bytes()
            yield name, Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


async def _redirect_home(request: Request) -> Response:
    """Redirect browsers from the bare address to the console. Programs get 404."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    return RedirectResponse(f".{PATH}/", headers=HEADERS)


async def _redirect_to_page(_request: Request) -> Response:
    """To the folder, so that the names in the page are found; relative, whatever stands before the server."""
    return RedirectResponse(f".{PATH}/", headers=HEADERS)


def _describe_caller(caller: Caller) -> dict[str, object]:
    key = caller.key
    return {
        "version": __version__,
        "org": caller.org,
        "has_key": key is not None,
        "key": None if key is None else {"id": key.id, "name": key.name},
        "user": None if key is None else key.user,
        "agent": None if key is None else key.agent,
        "rights": sorted(right.value for right in (Right if key is None else key.rights)),
        "is_bound": caller.is_bound,
        "is_operator": _is_operator(caller),
    }


def _is_operator(caller: Caller) -> bool:
    try:
        caller.require_operator()
    except ForbiddenError:
        return False
    return True
