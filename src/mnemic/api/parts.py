"""The parts of Mnemic: the verbs of the profile, of documents, of the graph, of tools, of jobs and of keys."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from mnemic.api.arguments import check_arguments, check_number, read_time
from mnemic.api.doors import acting
from mnemic.engine import access as keys
from mnemic.engine import documents
from mnemic.engine.engine import Engine
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.graph import Walk, neighbours, nodes, path
from mnemic.engine.graph_extract import extract_graph
from mnemic.engine.ingest_plan import MAX_SOURCE_CHARS
from mnemic.engine.inputs import check_choice, check_id, check_line
from mnemic.engine.jobs import LISTED as JOBS_LISTED
from mnemic.engine.jobs import list_jobs, retry_jobs
from mnemic.engine.profile import get_profile, or_empty, set_profile, whole_profile
from mnemic.errors import InvalidInputError
from mnemic.model import graph
from mnemic.model.chat import ToolCall, ToolContext, ToolOutcome, ToolSpec
from mnemic.model.document import Document, DocumentQuery, DocumentStatus
from mnemic.model.item import Chunk, Profile, ProfileEntry
from mnemic.model.records import ApiKey, AuditPage, IssuedKey, Job, JobState, Receipt, Right
from mnemic.model.scope import Level, Scope
from mnemic.ports.models import Tool
from mnemic.text.blocks import Language, profile_block

if TYPE_CHECKING:
    from mnemic.engine.tools.toolbox import Toolbox

LISTED = 50
MOST_LISTED = 1000
MOST_DEPTH = 4
MOST_HOPS = 8
UNFINISHED = (JobState.PENDING, JobState.RUNNING, JobState.DEAD)
DEFAULT_RIGHTS = (Right.READ, Right.WRITE)
OVERLAP_S = 3600.0
AUDIT_PAGE = 100
TOOL_ACTOR = "tool"
"""Who changed what a tool changed, in its history, where nobody else is known to act."""


@check_arguments("profile.")
class ProfileVerbs:
    """Hard facts of a user, by key; names and values are text."""

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor

    def set(self, scope: Scope, facts: Mapping[str, str | None]) -> builtins.list[ProfileEntry]:
        """Write facts by key; the answer is the whole static profile. If the store is away, the facts are lost with a
        warning in the log, and the answer is empty.

        Args:
            facts: Texts by key, such as {"city": "Lisbon"}; None removes one.
        """
        engine = self._engine
        return or_empty(engine, scope, lambda: set_profile(engine, scope, facts, source=self._actor), [])

    def get(self, scope: Scope) -> builtins.dict[str, str]:
        """The facts by key, ordered; empty if there are none or the store is away, which is logged."""
        empty = list[ProfileEntry]()
        entries = or_empty(self._engine, scope, lambda: get_profile(self._engine, scope), empty)
        return {entry.key: entry.value for entry in entries}

    def all(self, scope: Scope) -> Profile:
        """The static facts, and beside them the most important and the newest memories of the user."""
        return or_empty(self._engine, scope, lambda: whole_profile(self._engine, scope), Profile((), ()))

    def format(self, scope: Scope, *, language: Language = "en") -> str:
        """The block for a system prompt: a heading and "key: value" lines; "" when there is nothing.

        Args:
            language: Of the heading, "en" or "zh".
        """
        return profile_block(self.get(scope), language)


@check_arguments("documents.")
class DocumentVerbs:
    """Files that were taken in. A document is named by its id or its source; what belongs to somebody else is not
    found.
    """

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor

    def list(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = (),
        statuses: Iterable[DocumentStatus | str] = (),
        under: str = "",
        limit: int = LISTED,
        after: str | None = None,
    ) -> documents.DocumentPage:
        """A page of documents in the order of their sources; `DocumentPage.after` continues.

        Args:
            levels: Only what belongs to these levels; all unless named.
            statuses: Only documents of these statuses; all unless named.
            under: Only sources that begin so.
            limit: Most documents of the page, from 1.
            after: `after` of the page before.
        """
        query = DocumentQuery(
            statuses=tuple(check_choice(DocumentStatus, each, "statuses") for each in statuses),
            under=check_line(under, "under", limit=MAX_SOURCE_CHARS),
            limit=check_number(limit, "limit"),
        )
        if DocumentStatus.ERASED in query.statuses:
            raise InvalidInputError("erased documents have nothing left to list")
        wanted = tuple(check_choice(Level, level, "levels") for level in levels)
        return documents.list_documents(
            self._engine, scope, query, wanted, None if after is None else _reference(after)
        )

    def get(self, scope: Scope, id: str) -> Document:
        """A document, without its text."""
        return documents.get_document(self._engine, scope, _reference(id))

    def text(self, scope: Scope, id: str) -> str:
        """The stored text of a document, which its passages and pages count in; "" when it was never read."""
        return documents.document_text(self._engine, scope, _reference(id))

    def passages(self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED) -> builtins.list[Chunk]:
        """The passages of a document in their order.

        Args:
            id: The id or source of the document.
            first: The index of the first passage, from 0.
            count: Most passages.
        """
        first, count = check_number(first, "first", least=0), check_number(count, "count")
        return documents.document_passages(self._engine, scope, _reference(id), first, count)

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Remove a document with its text, passages, vectors and recorded history. The file itself is not touched.

        Args:
            id: The id or source of the document.
            reason: Why; kept in the history.
        """
        return documents.delete_document(self._engine, scope, _reference(id), actor=self._actor, reason=reason)


@check_arguments("graph.")
class GraphVerbs:
    """Entities and relations that memories, messages and documents name; a thing is asked for by name or by the id of
    its node. What only others may see is not found.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[graph.EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> graph.NodePage:
        """What is named, by name; `NodePage.next` continues.

        Args:
            query: What the name holds.
            types: Only things of these types; all unless named.
            limit: Most things of the page, 1 to 1000.
            after: `next` of the page before.
        """
        wanted = tuple(check_choice(graph.EntityType, each, "types") for each in types)
        check_number(limit, "limit", MOST_LISTED)
        told = "" if after is None else _text(after, "after")
        return nodes(self._engine, scope, query=_text(query, "query"), types=wanted, limit=limit, after=told or None)

    def neighbours(
        self,
        scope: Scope,
        name: str,
        *,
        depth: int = 1,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
        limit: int = LISTED,
    ) -> graph.Neighbourhood:
        """What stands around a thing, nearest first, with the words that say so. Relations are followed both ways.

        Args:
            name: The name of the thing, or the id of its node.
            depth: How many relations away, 1 to 4.
            types: Only relations of these types, such as DEPENDS_ON; all unless named.
            as_of: When relations must hold, ISO 8601. Default: now.
            limit: Most nodes, 1 to 1000.

        Raises:
            NotFoundError: Nothing in the scope names it.
        """
        check_number(depth, "depth", MOST_DEPTH)
        check_number(limit, "limit", MOST_LISTED)
        walk = self._walk(types, as_of)
        return neighbours(self._engine, scope, _named(name, "name"), walk, depth=depth, limit=limit)

    def path(
        self,
        scope: Scope,
        source: str,
        target: str,
        *,
        max_hops: int = 4,
        types: Iterable[str] = (),
        as_of: datetime | str | None = None,
    ) -> graph.GraphPath:
        """How two things are related: a shortest way, each step with the words that say so; no nodes if there is none.

        Args:
            source: The name of the one thing, or the id of its node.
            target: The name of the other thing, or the id of its node.
            max_hops: Most relations of the way, 1 to 8.
            types: Only relations of these types, such as DEPENDS_ON; all unless named.
            as_of: When relations must hold, ISO 8601. Default: now.

        Raises:
            NotFoundError: Nothing in the scope names one of them.
        """
        check_number(max_hops, "max_hops", MOST_HOPS)
        ends = (_named(source, "source"), _named(target, "target"))
        return path(self._engine, scope, *ends, self._walk(types, as_of), max_hops=max_hops)

    def extract(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int | None = None,
        is_dry_run: bool = False,
    ) -> graph.GraphReport:
        """Read what memories, messages and documents name and relate; what was read is not read again.

        The worker does it every night if `memory.graph.enabled` is on. A dry run asks the language model too.

        Args:
            levels: Of those that the scope names; what the whole org shares only if "org" is among them.
            limit: Most items. Default: all.
            is_dry_run: Write nothing.

        Raises:
            BackendError: The model failed; what was read before stays.
        """
        if limit is not None:
            check_number(limit, "limit")
        chosen = tuple(check_choice(Level, level, "levels") for level in levels)
        if not chosen:
            raise InvalidInputError("levels must name at least one level")
        return extract_graph(self._engine, scope, chosen, limit=limit, is_dry_run=is_dry_run)

    def _walk(self, types: Iterable[str], as_of: datetime | str | None) -> Walk:
        if isinstance(types, str):
            raise InvalidInputError("types must be a list of types, such as ['DEPENDS_ON']")
        at = read_time(as_of, "as_of") or self._engine.clock.now()
        return Walk(as_of=at, types=tuple(_named(each, "types", graph.MAX_TYPE_CHARS).upper() for each in types))


@check_arguments("tools.")
class ToolVerbs:
    """The tools that a model may call: Mnemic's own, those of installed packages and named modules, and added ones."""

    def __init__(self, toolbox: Callable[[], Toolbox], add: Callable[[Iterable[Tool]], None], engine: Engine) -> None:
        self._toolbox, self._add, self._engine = toolbox, add, engine

    @property
    def toolbox(self) -> Toolbox:
        """All of them, for doors that call them with a context of their own."""
        return self._toolbox()

    def list(self) -> builtins.list[ToolSpec]:
        """Every tool as a model is told of it: name, what it does, and the JSON schema of its arguments."""
        return [*self._toolbox().specs]

    def add(self, *tools: Tool) -> None:
        """Let models call these too, until this Mnemic is closed. Raises ConfigError for a name that is taken."""
        self._add(tools)

    def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome:
        """Call a tool as a model would, within time and size. What goes wrong is told in the outcome, never raised.

        Args:
            name: The tool, as in `list`.
            arguments: What it is called with; its schema is in `list`.
        """
        call = ToolCall("call", name, json.dumps(dict(arguments or {}), default=str))
        return self._toolbox().run(call, ToolContext(scope, self._engine.clock.now(), acting() or TOOL_ACTOR))


@check_arguments("jobs.")
class JobVerbs:
    """Work that must still be done, and work that gave up."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = JOBS_LISTED
    ) -> builtins.list[Job]:
        """Jobs of what the scope may see, oldest first.

        Args:
            states: Only jobs in these states. Default: those that are not done.
            limit: Most jobs, 1 to 1000.
        """
        wanted = [check_choice(JobState, state, "states") for state in states]
        return list_jobs(self._engine, scope, states=wanted, limit=limit)

    def retry(self, scope: Scope, ids: Sequence[str]) -> int:
        """Let jobs that gave up be tried again from now; returns how many there were.

        Args:
            ids: The jobs.
        """
        return retry_jobs(self._engine, scope, [check_id(each) for each in ids])


@check_arguments("keys.")
class KeyVerbs:
    """Keys of the scope's org. Once a store holds one, every request through a door must show one."""

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor

    def create(
        self,
        scope: Scope,
        *,
        name: str = "",
        rights: Collection[Right | str] = DEFAULT_RIGHTS,
        expires_at: datetime | str | None = None,
    ) -> IssuedKey:
        """Make a key of the scope's org, bound to its user and agent if it names them. Its `token` is told only now.

        Args:
            name: For people, such as "laptop".
            rights: Of "read", "write" and "admin"; none includes another.
            expires_at: When it ends, ISO 8601. Default: never.
        """
        asked = keys.KeyRequest(
            name=name,
            rights=rights,
            user=scope.user,
            agent=scope.agent,
            expires_at=read_time(expires_at, "expires_at"),
        )
        return keys.create_key(self._engine, scope, asked, actor=self._actor)

    def list(self, scope: Scope) -> builtins.list[ApiKey]:
        """Every key of the org in the order of making, those that ended too; no secrets."""
        return keys.list_keys(self._engine, scope)

    def revoke(self, scope: Scope, id: str) -> ApiKey:
        """End a key at once, in every process."""
        return keys.revoke_key(self._engine, scope, check_id(id), actor=self._actor)

    def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey:
        """Make a key with the rights, bounds and end of this one.

        Args:
            id: The key.
            overlap_s: How many seconds more the old key is accepted.
        """
        return keys.rotate_key(self._engine, scope, check_id(id), overlap_s=overlap_s, actor=self._actor)

    def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage:
        """What was done in the org by keys and with keys, newest first.

        Args:
            before: `next` of the page before.
            limit: Most entries, 1 to 1000.
        """
        return keys.list_audit(self._engine, scope, before=before, limit=limit)


def _reference(value: object) -> str:
    return check_line(value, "id", limit=MAX_SOURCE_CHARS)


def _named(value: object, name: str, most: int = graph.MAX_NAME_CHARS) -> str:
    text = _text(value, name, most).strip()
    if not text:
        raise InvalidInputError(f"{name} must not be empty")
    return text


def _text(value: object, name: str, most: int = graph.MAX_NAME_CHARS) -> str:
    if not isinstance(value, str) or len(value) > most:
        raise InvalidInputError(f"{name} must be a text of at most {most} characters")
    return value.encode(errors="replace").decode().replace("\x00", " ")
