"""The REST routes, one for each verb that a server offers: check, call, answer. This is where permissions are checked:
the verb's right, and that a key bound to a user or agent changes nothing shared. Only verbs whose request or answer is
not JSON are written by hand.
"""

import inspect
import shutil
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import IO, Any

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from mnemic.api import Mnemic
from mnemic.api.signatures import documentation_of, parameters_of
from mnemic.engine.export import OWN_LEVELS
from mnemic.errors import ForbiddenError, UnavailableError
from mnemic.model.records import Right
from mnemic.model.scope import Level
from mnemic.rest.asking import Administers, Asked, Lanes, Operates, Reads, Writes, answer
from mnemic.rest.assistant import handlers as assistant_handlers
from mnemic.rest.events import NDJSON, ZIP, events, wants_events
from mnemic.rest.requests import TEXTS, UniqueKeys, parameters, readers
from mnemic.verbs import PREFIX, ROUTES, Access, Verb
from mnemic.wire.reading import PROGRESS

RESEARCHED_AT_ONCE = 4
"""Concurrent `research` calls. Each may use the model for half an hour."""

ASKING: Mapping[Access, Any] = {
    Access.READ: Reads,
    Access.WRITE: Writes,
    Access.ADMIN: Administers,
    Access.OPERATOR: Operates,
}

TOLD = "With `Accept: application/x-ndjson` the response streams progress line by line and ends with the report."
_PIECE_BYTES = 1 << 18  # bytes sent at once: bounds the memory of a download

Arguments = dict[str, Any]
Handler = Callable[[Asked, Request, Arguments], Response | Awaitable[Response]]
Check = Callable[[Asked, Request, Arguments], None]


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """All routes. Reads the signatures once, so that requests do not pay for it."""
    router = APIRouter(prefix=PREFIX, route_class=UniqueKeys)
    by_hand: dict[str, Handler] = {
        **assistant_handlers(mnemic),
        "backup": partial(_backup, mnemic),
        "export": partial(_export, mnemic),
    }
    for verb in sorted(ROUTES.values(), key=lambda each: each.tag):
        handler = by_hand.get(verb.name) or _make_handler(mnemic, verb)
        endpoint = _make_endpoint(verb, handler, _make_checks(mnemic, verb))
        about = [
            documentation_of(verb.name)[0],
            TEXTS["notes"].get(verb.name, ""),
            TOLD if verb.name in PROGRESS else "",
        ]
        is_path = verb.name.startswith("documents.")  # sources are paths
        router.add_api_route(
            verb.path.replace("{id}", "{id:path}") if is_path else verb.path,
            endpoint if inspect.iscoroutinefunction(endpoint) else lanes.on(verb.lane, endpoint),
            methods=[verb.method],
            operation_id=verb.name,
            status_code=verb.status,
            tags=[verb.tag],
            summary=" ".join(about[0].split()).partition(". ")[0].removesuffix(".").replace("`", ""),
            description="\n\n".join(filter(None, about)),
        )
    return router


def _make_endpoint(verb: Verb, handler: Handler, checks: Callable[..., None]) -> Callable[..., Any]:
    """A function with the parameters of the route, for FastAPI to inspect and call."""
    own = parameters(verb)
    read, query = readers(verb), [each.name for each in own if each.name != "body"]
    has_body = any(each.name == "body" for each in own)

    def arguments(given: Arguments) -> Arguments:
        found = {name: given[name] for name in query if given[name] is not None}
        for name in read:
            if name in found:
                found[name] = read[name](found[name])
        return found | given["body"].given() if has_body else found

    def run(asked: Asked, request: Request, **given: Any) -> Any:
        told = arguments(given)
        checks(asked, request, told)
        return handler(asked, request, told)

    async def wait(asked: Asked, request: Request, **given: Any) -> Any:
        return await run(asked, request, **given)

    endpoint = wait if inspect.iscoroutinefunction(handler) else run
    head = (("asked", ASKING[verb.right]), ("request", Request))
    shown = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind) for name, kind in head]
    vars(endpoint)["__signature__"] = inspect.Signature([*shown, *own], return_annotation=Response)
    return endpoint


def _make_handler(mnemic: Mnemic, verb: Verb) -> Handler:
    call, takes_scope = attrgetter(verb.name), "scope" in parameters_of(verb.name)
    names = PROGRESS.get(verb.name, ())
    places = threading.BoundedSemaphore(RESEARCHED_AT_ONCE) if verb.name == "research" else None

    def work(asked: Asked, given: Arguments) -> Any:
        scope = (asked.scope,) if takes_scope else ()
        if places is None:
            return call(mnemic)(*scope, **given)
        if not places.acquire(blocking=False):
            raise UnavailableError(f"the server is already researching {RESEARCHED_AT_ONCE} documents; try again later")
        try:
            return call(mnemic)(*scope, **given)
        finally:
            places.release()

    def handle(asked: Asked, request: Request, given: Arguments) -> Response:
        if not names or not wants_events(request):
            return answer(work(asked, given), verb.status)

        def follow(tell: Callable[[object], None]) -> Any:
            def progress(*told: object) -> None:
                tell(dict(zip(("event", *names), ("progress", *told), strict=True)))

            return work(asked, {**given, "progress": progress})

        return events(follow)

    return handle


def _make_checks(mnemic: Mnemic, verb: Verb) -> Check:
    """The permission checks of a verb besides its right: writes that name memories or levels need access to them."""
    found: list[Check] = []
    known = parameters_of(verb.name)
    if verb.right is Access.WRITE:
        if "." not in verb.name and {"id", "ids"} & set(known):
            found.append(partial(_require_own, mnemic))
        if "level" in known:
            found.append(_require_level)
        if "levels" in known:
            found.append(partial(_require_levels, known["levels"].default))
    if verb.name in CHECKS:
        found.append(partial(CHECKS[verb.name], mnemic))

    def check(asked: Asked, request: Request, given: Arguments) -> None:
        for each in found:
            each(asked, request, given)

    return check


def _require_own(mnemic: Mnemic, asked: Asked, _request: Request, given: Arguments) -> None:
    asked.require_own(mnemic, *(given["ids"] if "ids" in given else [given["id"]]))


def _require_level(asked: Asked, _request: Request, given: Arguments) -> None:
    asked.caller.require_level(given.get("level") or asked.scope.default_level)


def _require_levels(usual: tuple[Level, ...], asked: Asked, _request: Request, given: Arguments) -> None:
    asked.caller.require_level(*given.get("levels", usual))


def _check_memories(_mnemic: Mnemic, asked: Asked, _request: Request, given: Arguments) -> None:
    levels = [one.get("level") for one in given["memories"] if not isinstance(one, str)]
    asked.caller.require_level(*(level for level in levels if level))


def _check_document(mnemic: Mnemic, asked: Asked, _request: Request, given: Arguments) -> None:
    asked.caller.require_own(asked.scope, mnemic.documents.get(asked.scope, given["id"]).partition)


def _check_erasure(_mnemic: Mnemic, asked: Asked, _request: Request, given: Arguments) -> None:
    if (given.get("level") or asked.scope.default_level) is Level.ORG:
        asked.caller.require(Right.ADMIN)


def _check_receipts(_mnemic: Mnemic, asked: Asked, _request: Request, _given: Arguments) -> None:
    if asked.caller.is_bound:
        raise ForbiddenError("receipts belong to the whole org; use a key that is not restricted to a user or agent")


def _check_import(_mnemic: Mnemic, asked: Asked, _request: Request, _given: Arguments) -> None:
    if asked.caller.is_bound:
        raise ForbiddenError("an import may change shared data; use a key that is not restricted to a user or agent")


def _check_health(_mnemic: Mnemic, asked: Asked, request: Request, given: Arguments) -> None:
    """Fixing findings needs the right to write, and may not end memories of others."""
    if not given["is_dry_run"]:
        request.state.is_audited = True
        asked.caller.require(Right.WRITE)
        if given.get("fix"):
            asked.caller.require_level(*(given.get("levels") or OWN_LEVELS))


def _check_files(_mnemic: Mnemic, asked: Asked, request: Request, given: Arguments) -> None:
    """Only viewing files needs no right to write."""
    if given["command"] != "view":
        request.state.is_audited = True
        asked.caller.require(Right.WRITE)
        asked.caller.require_level(asked.scope.default_level)


def _read_file(_mnemic: Mnemic, _asked: Asked, _request: Request, given: Arguments) -> None:
    """Replace an upload by its content. Its file name is the default name."""
    file = given.pop("file")
    if "name" not in given and file.filename:
        given["name"] = file.filename
    given["content"] = file.file.read()


CHECKS: Mapping[str, Callable[[Mnemic, Asked, Request, Arguments], None]] = {
    "remember_many": _check_memories,
    "documents.delete": _check_document,
    "erase": _check_erasure,
    "receipts": _check_receipts,
    "import_": _check_import,
    "health": _check_health,
    "run_file_command": _check_files,
    "ingest": _read_file,
}
"""Checks of single verbs, besides those from the signature."""


def _export(mnemic: Mnemic, asked: Asked, _request: Request, given: Arguments) -> Response:
    lines = mnemic.export(asked.scope, **given)
    return StreamingResponse(_start_lines(text.encode() + b"\n" for text in lines), media_type=NDJSON)


def _start_lines(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The same lines. The first is made now, so that errors come before the response starts."""
    first = next(lines, b"")

    def whole() -> Iterator[bytes]:
        yield first
        yield from lines

    return whole()


def _backup(mnemic: Mnemic, _asked: Asked, _request: Request, given: Arguments) -> Response:
    """Make a backup in a temporary folder, then send it. Callers cannot choose a path on the server."""
    folder = Path(tempfile.mkdtemp(prefix="mnemic-backup-"))
    try:
        report = mnemic.backup(folder / "backup.zip", **given)
        file = Path(report.path).open("rb")  # noqa: SIM115 -- `_read_pieces` closes it
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # the open file stays readable until it is closed
    name = f"mnemic-{given['contents'].value}-{report.manifest.made_at:%Y%m%dT%H%M%SZ}.zip"
    headers = {"Content-Length": str(report.size), "Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(_read_pieces(file), media_type=ZIP, headers=headers)


def _read_pieces(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while piece := file.read(_PIECE_BYTES):
            yield piece
