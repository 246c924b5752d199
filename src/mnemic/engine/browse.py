"""Reads items by id or condition, and accepts or rejects memories in quarantine and dispute."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice

from mnemic.engine.dependants import Hand, clear_below, told
from mnemic.engine.edit import Editor
from mnemic.engine.engine import Engine
from mnemic.engine.fields import as_known
from mnemic.engine.recall import rows_of
from mnemic.engine.remember import Neighbours, Settler
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.item import Conversation, Item, Memory, Message, Review, State
from mnemic.model.recall import ContextPage, ContextQuery, Counts, MemoryQuery, MessagePage, MessageQuery, Page
from mnemic.model.records import Action, AgentSummary, HistoryEntry, SessionSummary, UserSummary
from mnemic.model.scope import PROJECT_PREFIX, Level, Partition, Scope, Visibility
from mnemic.ports.store import UnitOfWork

_EARLIEST = datetime.min.replace(tzinfo=UTC)
MAX_PAGE = 1000  # rows: bounds the size of one answer
MOST_SEARCHED = 50  # a session's first messages that may show a project

SHORT_ID = re.compile(r"[0-9a-f]{6,35}", re.ASCII)
"""The end of an id. Ids begin with the time, so those of one day differ only at the end."""


def get(engine: Engine, scope: Scope, item_id: str) -> Item:
    """Get a memory, message or passage by id, or a memory or message by the end of its id. Raises `NotFoundError` if it
    is not in this scope or has expired, `InvalidInputError` if several ids end like this.
    """
    found = rows_of(engine, scope.visibility, [item_id]).get(item_id)
    if found is None and SHORT_ID.fullmatch(item_id):
        found = _find_ending(engine, scope, item_id)
    is_expired = isinstance(found, Memory) and found.expires_at is not None and found.expires_at <= engine.clock.now()
    if found is None or is_expired:
        raise NotFoundError(f"there is no memory, message or passage {item_id!r} in this scope")
    return found


def _find_ending(engine: Engine, scope: Scope, ending: str) -> Item | None:
    query = MemoryQuery(now=engine.clock.now(), states=(), limit=2, ending=ending)
    with engine.store.read() as work:
        found: list[Item] = [*work.memories.list(scope.visibility, query)]
        found += work.conversations.said(scope.visibility, MessageQuery(limit=2, ending=ending))
    if len(found) > 1:
        ids = ", ".join(each.id for each in found)
        raise InvalidInputError(f"several ids end with {ending}; use one of {ids}")
    return found[0] if found else None


def list_memories(engine: Engine, scope: Scope, query: MemoryQuery, levels: tuple[Level, ...]) -> Page:
    """One page of the visible memories of these levels (empty: all). `query.limit`: 1..1000."""
    limit = MAX_PAGE if query.limit is None else query.limit
    check_limit(limit)
    with engine.store.read() as work:
        found = work.memories.list(scope.visibility.at(*levels), replace(query, limit=limit + 1))
        page = tuple(found[:limit])
        if query.known_at is not None:
            page = tuple(memory_as_known(work, scope.visibility, memory, query.known_at) for memory in page)
    return Page(page, page[-1].id if len(found) > limit else None)


def check_limit(limit: int) -> None:
    """Refuse a page size out of bounds."""
    if not 1 <= limit <= MAX_PAGE:
        raise InvalidInputError(f"limit must be from 1 to {MAX_PAGE}, not {limit}")


def memory_as_known(work: UnitOfWork, visible: Visibility, memory: Memory, at: datetime) -> Memory:
    """A memory as it was known at `at`. Its history is read only if it changed since."""
    return memory if memory.updated_at <= at else as_known(memory, work.history.of(visible, memory.id), at)


def count(engine: Engine, scope: Scope) -> Counts:
    """The number of memories and documents that the scope sees."""
    with engine.store.read() as work:
        return work.partitions.tally(scope.visibility, engine.clock.now())


def list_users(engine: Engine) -> list[UserSummary]:
    """The users of all orgs, most recently active first. For operators: not limited to a scope."""
    return [
        UserSummary(
            org=place.org,
            user=place.owner or "",
            memories=counts["memories"],
            messages=counts["messages"],
            documents=counts["documents"],
            last_at=last_at,
        )
        for place, counts, last_at in _list_owners(engine, Level.USER)
    ]


def list_agents(engine: Engine) -> list[AgentSummary]:
    """All orgs' agents with items at agent level, most recently active first. For operators: not limited to a scope."""
    return [
        AgentSummary(
            org=place.org,
            agent=place.owner or "",
            memories=counts["memories"],
            documents=counts["documents"],
            last_at=last_at,
        )
        for place, counts, last_at in _list_owners(engine, Level.AGENT)
    ]


def _list_owners(engine: Engine, level: Level) -> list[tuple[Partition, Mapping[str, int], datetime | None]]:
    """The partitions of a level that have items, with their counts and the time of the newest memory or message."""
    found: list[tuple[Partition, Mapping[str, int], datetime | None]] = []
    with engine.store.read() as work:
        for place in work.partitions.all():
            counts = work.partitions.count([place]) if place.level is level else {}
            if not any(counts.get(name) for name in ("memories", "messages", "documents")):
                continue
            visible = Visibility((place,), agent=None)
            newest: list[Item] = [*work.conversations.said(visible, MessageQuery(limit=1))]
            newest += work.memories.list(visible, MemoryQuery(now=engine.clock.now(), limit=1))
            found.append((place, counts, max((item.observed_at for item in newest), default=None)))
    return sorted(found, key=lambda each: each[2] or _EARLIEST, reverse=True)


def _is_hidden(scope: Scope, agent: str | None) -> bool:
    """True for an agent of another project. Without a project, users see all their messages."""
    return len({each for each in (scope.agent, agent) if each and each.startswith(PROJECT_PREFIX)}) > 1


def list_sessions(engine: Engine, scope: Scope, limit: int) -> list[SessionSummary]:
    """The visible sessions, most recently active first, without other projects. `limit`: 1..1000."""
    check_limit(limit)
    with engine.store.read() as work:
        found = work.conversations.sessions(scope.visibility, limit if scope.agent is None else MAX_PAGE)
        firsts = ((each, first) for each in found if (first := _find_first(work, scope, each)))
        shown = list(islice(firsts, limit))
    return [
        SessionSummary(session=each.session, text=first.text, messages=each.messages, last_at=each.last_at)
        for each, first in shown
    ]


def _find_first(work: UnitOfWork, scope: Scope, session: Conversation) -> Message | None:
    """The first message that is not of another project. None if the first 50 are."""
    for limit in (1, MOST_SEARCHED):
        for message in work.conversations.messages(session.partition, session.session, 0, limit):
            if not _is_hidden(scope, message.agent):
                return message
    return None


def list_messages(engine: Engine, scope: Scope, query: MessageQuery) -> MessagePage:
    """One page of visible messages, newest first. Drops those of other projects. `query.limit`: 1..1000."""
    check_limit(query.limit)
    with engine.store.read() as work:
        found = work.conversations.said(scope.visibility, replace(query, limit=query.limit + 1))
    page = tuple(found[: query.limit])
    shown = tuple(message for message in page if not _is_hidden(scope, message.agent))
    return MessagePage(shown, page[-1].id if len(found) > query.limit else None)


def list_contexts(engine: Engine, scope: Scope, query: ContextQuery) -> ContextPage:
    """One page of visible contexts with their messages, newest first. Drops those of other projects."""
    check_limit(query.limit)
    engine.accesses.flush(engine.store)
    with engine.store.read() as work:
        found = work.contexts.list(scope.visibility, replace(query, limit=query.limit + 1))
        said = work.messages.get(scope.visibility, [each.message_id for each in found if each.message_id])
    texts = {message.id: message.text for message in said}
    page = tuple(replace(each, query=texts.get(each.message_id or "", each.query)) for each in found[: query.limit])
    shown = tuple(each for each in page if not _is_hidden(scope, each.agent))
    return ContextPage(shown, page[-1].id if len(found) > query.limit else None)


def history(engine: Engine, scope: Scope, item_id: str) -> list[HistoryEntry]:
    """An item's history, oldest first, also after deletion. Raises `NotFoundError` if there is none."""
    with engine.store.read() as work:
        entries = work.history.of(scope.visibility, item_id)
        if not entries and not work.messages.get(scope.visibility, [item_id]):
            raise NotFoundError(f"there is no memory or message {item_id!r} in this scope")
    return entries


WAITING = (State.QUARANTINED, State.DISPUTED)
_CAUSES = (Action.QUARANTINED, Action.DISPUTED)


def review(engine: Engine, scope: Scope, *, limit: int, after: str | None = None) -> list[Review]:
    """The visible memories that need review, including flagged ones, newest first, after the id `after`."""
    check_limit(limit)
    query = MemoryQuery(now=engine.clock.now(), states=WAITING, or_flagged=True, limit=limit, after=after)
    with engine.store.read() as work:
        found = work.memories.list(scope.visibility, query)
        return [_review(memory, work.history.of(scope.visibility, memory.id)) for memory in found]


def trust(engine: Engine, scope: Scope, memory_id: str, *, actor: str, reason: str = "") -> Memory:
    """Make a waiting memory recallable. Raises `NotFoundError`, or `ConflictError` if it does not wait or was replaced.
    A quarantined memory is compared with current ones as if new; a disputed one supersedes its rival. Flags are
    cleared, also on its dependants.
    """
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        old = _waiting(editor, memory_id)
        is_waiting = old.state in WAITING
        active = replace(old, state=State.ACTIVE, other_id=None) if is_waiting else old
        active = replace(active, flags=())
        trusted = editor.put(old, active, Action.TRUSTED, reason or "a person trusted it")
        if old.state is State.QUARANTINED:
            Settler(work, editor).settle(trusted, Neighbours(is_told=True))
        for other in _opponents(work, scope, old):
            gone = replace(other, state=State.SUPERSEDED, other_id=old.id)
            editor.put(other, gone, Action.SUPERSEDED, f"{old.id}, which contradicts it, was trusted")
        if old.flags:
            clear_below(Hand(engine, work, actor, editor.now), trusted, old.flags)
        return editor.get(memory_id)


def reject(engine: Engine, scope: Scope, memory_id: str, *, actor: str, reason: str = "") -> Memory:
    """Archive a waiting memory; `undo` restores it. Its rival is no longer disputed. Raises as `trust`."""
    with engine.store.write() as work:
        editor = Editor(engine, work, scope.visibility, actor)
        old = _waiting(editor, memory_id)
        gone = replace(old, state=State.ARCHIVED, retired_at=editor.now)
        editor.put(old, gone, Action.REJECTED, reason or "a person rejected it")
        for other in _opponents(work, scope, old):
            cleared = replace(other, state=State.ACTIVE, other_id=None)
            editor.put(other, cleared, Action.TRUSTED, f"{old.id}, which contradicts it, was rejected")
        return editor.get(memory_id)


def _waiting(editor: Editor, memory_id: str) -> Memory:
    memory = editor.get(memory_id)
    if memory.state not in WAITING and not (memory.flags and memory.state is State.ACTIVE):
        raise ConflictError(f"memory {memory_id} is {memory.state.value} and does not need review")
    return memory


def _opponents(work: UnitOfWork, scope: Scope, memory: Memory) -> list[Memory]:
    """The memories in dispute with this one and with no other."""
    if memory.state is not State.DISPUTED or memory.other_id is None:
        return []
    known = work.memories.get(scope.visibility, [memory.other_id])
    return [one for one in known if one.other_id == memory.id and one.state in (State.ACTIVE, State.DISPUTED)]


def _review(memory: Memory, entries: Sequence[HistoryEntry]) -> Review:
    if memory.state not in WAITING:
        return Review(memory, "; ".join(told(flag) for flag in memory.flags), min(flag.at for flag in memory.flags))
    causes = [entry for entry in entries if entry.action in _CAUSES]
    last = causes[-1] if causes else None
    return Review(memory, last.reason if last else "", last.at if last else memory.updated_at)
