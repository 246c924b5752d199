"""Records what contexts showed to models, so that the prompt of a past message can be inspected.

A record has ids and settings. It waits in the access log, so it costs a chat no write, and a crash may lose it. Its
copy of the question is redacted, and removed when a message with the same text is captured or deleted.
`life.context_days` 0 records nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from math import isnan

from mnemic.engine.engine import Engine, new_id
from mnemic.engine.inputs import Question
from mnemic.engine.secrets import redact
from mnemic.model.item import Message, Role
from mnemic.model.recall import Context, ContextQuery, ContextRecord, Hit, Recall, ShownItem
from mnemic.model.scope import Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

MOST_OF_PARTITION = 5000
"""Records of a user or an anonymous session: about a month of a busy day's 150 prompts, 2 MB."""

MOST_ERASED = 1_000_000  # more than any partition may hold
MAX_QUERY_CHARS = 2000  # of the copy: enough to recognise the message
LINKED_WITHIN = timedelta(days=1)  # between a prompt and its message: hooks capture a transcript late
LIBRARY, MCP = "library", "mcp"
_RECALLS = frozenset({MCP})  # doors whose recall answers a model; at the others people and programs read it
_door: ContextVar[str] = ContextVar("mnemic_door", default=LIBRARY)


@contextmanager
def through(door: str) -> Generator[None]:
    """Record contexts of this block as built for `door`."""
    before = _door.set(door)
    try:
        yield
    finally:
        _door.reset(before)


def note_context(
    engine: Engine, scope: Scope, asked: Question, built: Context, settings: Mapping[str, object], took_ms: float
) -> None:
    """Count a context's memories as accessed, and record it."""

    def parts() -> _Parts:
        shown = zip(built.recall.hits, built.citations, strict=True)
        items = [_shown(hit, "documents" if citation.document_id else "facts") for hit, citation in shown]
        texts = ((name, text) for name, text in built.blocks.items() if name != "system")
        blocks = {name: engine.analyser.token_count(text) for name, text in texts}
        least = None if asked.is_judged else asked.min_relevance
        told = {**settings, "min_relevance": least, "as_of": asked.as_of, "known_at": asked.known_at}
        return items, blocks, told, built.token_count, took_ms

    _note(engine, scope, asked.text, built.recall.hits, parts)


def note_recall(engine: Engine, scope: Scope, asked: Question, found: Recall) -> None:
    """Count the memories found as accessed, and record them if a model sees them."""
    if _door.get() not in _RECALLS:
        engine.accesses.note(engine.store, found.hits, engine.clock.now())
        return

    def parts() -> _Parts:
        tokens = sum(engine.analyser.token_count(hit.text) for hit in found.hits)
        told = {"limit": asked.limit, "as_of": asked.as_of, "known_at": asked.known_at}
        items = [_shown(hit, "recall") for hit in found.hits]
        return items, {"recall": tokens}, told, tokens, found.timings_ms.get("total", 0.0)

    _note(engine, scope, asked.text, found.hits, parts)


_Parts = tuple[Sequence[ShownItem], Mapping[str, int], Mapping[str, object], int, float]


def _note(engine: Engine, scope: Scope, query: str, hits: Sequence[Hit], parts: Callable[[], _Parts]) -> None:
    """Keep what is needed for a record until the next write. Counting tokens and redacting wait until then."""
    now, door = engine.clock.now(), _door.get()

    def record() -> ContextRecord:
        items, blocks, settings, tokens, took_ms = parts()
        return ContextRecord(
            id=new_id(now),
            partition=scope.message_partition,
            at=now,
            door=door,
            session=scope.session,
            agent=scope.agent,
            query=_clip(redact(engine, query).text),
            settings={
                name: value.isoformat() if isinstance(value, datetime) else value
                for name, value in settings.items()
                if value is not None
            },
            blocks=blocks,
            items=tuple(items),
            tokens=tokens,
            took_ms=round(took_ms, 1),
        )

    is_recorded = engine.settings.life.context_days > 0 and not (scope.user is None and scope.session is None)
    engine.accesses.note(engine.store, hits, now, record if is_recorded else None)


def link_messages(work: UnitOfWork, messages: Iterable[Message], *, within: timedelta = LINKED_WITHIN) -> None:
    """Note messages in the records of the contexts that were built for them."""
    for message in messages:
        if message.role is Role.USER:
            work.contexts.link(message, _clip(message.text), within)


def find_records(work: UnitOfWork, partitions: Sequence[Partition], **of: str | None) -> list[tuple[Partition, str]]:
    """(partition, id) of every record of a session, an agent or a message, to erase them."""
    query = ContextQuery(**of, limit=MOST_ERASED)
    return [(each.partition, each.id) for each in work.contexts.list(Visibility(tuple(partitions), None), query)]


def _shown(hit: Hit, block: str) -> ShownItem:
    is_known = hit.relevance is not None and not isnan(hit.relevance) and not hit.is_fallback
    return ShownItem(hit.id, block, round(hit.relevance or 0.0, 4) if is_known else None)


def _clip(text: str) -> str:
    """The beginning of a text, without lone surrogates, which no store takes."""
    return text.strip()[:MAX_QUERY_CHARS].encode(errors="replace").decode()
