"""Everything out, and back in: lines of JSON that are sent while they are made, and progress that is told meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from mnemic.api import Mnemic
from mnemic.engine.export import OWN_LEVELS
from mnemic.errors import ForbiddenError
from mnemic.model.scope import Level
from mnemic.rest.answers import answer
from mnemic.rest.asking import PREFIX, Reads, Writes
from mnemic.rest.events import NDJSON, events, wants_events
from mnemic.rest.lanes import Lanes

LOG_EXAMPLE = '{"role": "user", "content": "I sail on Sundays", "session": "s1"}'


@dataclass(frozen=True, slots=True)
class Importing:
    """How content is taken in."""

    format: Annotated[str | None, Query(description="found out unless told")] = None
    name: Annotated[str, Query(description="that of the file; what is called .md is Markdown", max_length=255)] = ""
    is_dry_run: Annotated[bool, Query(description="say what would happen, and change nothing")] = False
    include_tools: Annotated[bool, Query(description="keep the results of tool calls too")] = False


def routes(mnemic: Mnemic, lanes: Lanes) -> APIRouter:
    """The routes of export and import."""
    router = lanes.router(PREFIX, "transfer")

    @router.get("/export", operation_id="export")
    def export(
        asked: Reads, levels: Annotated[list[Level] | None, Query(description="may be repeated")] = None
    ) -> Response:
        """Everything the scope owns, one JSON object a line; import reads it back without loss."""
        lines = mnemic.export(asked.scope, levels=levels or OWN_LEVELS)
        return StreamingResponse(_begun(text.encode() + b"\n" for text in lines), media_type=NDJSON)

    @router.post("/import", operation_id="import_")
    def import_(
        asked: Writes,
        request: Request,
        content: Annotated[bytes, Body(media_type="text/plain", examples=[LOG_EXAMPLE])],
        wanted: Annotated[Importing, Depends()],
    ) -> Response:
        """Take in an export of Mnemic, or chats or memories of another program; repeating it changes nothing. With
        `Accept: application/x-ndjson` progress is told line by line, and the report ends it.
        """
        if asked.caller.is_bound:
            raise ForbiddenError("what is brought in may belong to others too; it needs a key that is not bound")
        scope = asked.scope
        options: Any = asdict(wanted)
        if wants_events(request):
            return events(lambda tell: mnemic.import_(scope, content, **options, progress=_telling(tell)))
        return answer(mnemic.import_(scope, content, **options))

    return router


def _begun(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The same lines, the first of which is made now, so that what is refused is refused before the answer begins."""
    first = next(lines, b"")

    def whole() -> Iterator[bytes]:
        yield first
        yield from lines

    return whole()


def _telling(tell: Callable[[object], None]) -> Callable[[int, int | None], None]:
    return lambda done, total: tell({"event": "progress", "done": done, "total": total})
