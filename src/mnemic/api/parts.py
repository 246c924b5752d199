"""Groups of verbs: profile, documents, graph, tools, jobs and keys."""

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
from mnemic.engine.graph import Change, Walk, correct, neighbours, nodes, overview, path, undo_correction
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

LISTED = 50  # rows that fit a screen or two; a caller may ask for more
MOST_LISTED = 1000  # bounds the size of one answer
MOST_DEPTH = 4  # relations from the entity: beyond four nearly everything is reached
MOST_HOPS = 8  # relations of a path: a longer one explains little and takes longer to find
UNFINISHED = (JobState.PENDING, JobState.RUNNING, JobState.DEAD)
DEFAULT_RIGHTS = (Right.READ, Right.WRITE)
OVERLAP_S = 3600.0  # the old key stays valid for an hour, so that running clients can be changed
AUDIT_PAGE = 100  # entries that fit a screen or two; a caller may ask for more
TOOL_ACTOR = "tool"
"""The actor of a tool's changes in the history, unless a caller is known."""


@check_arguments("profile.")
class ProfileVerbs:
    """A user's most important facts by key. Keys and values are text."""

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor

    def set(self, scope: Scope, facts: Mapping[str, str | None]) -> builtins.list[ProfileEntry]:
        """Set facts by key, and return all facts in the profile. If the store is unavailable, the facts are not saved,
        a warning is logged, and the result is empty.

        Args:
            facts: Values by key, such as {"city": "Lisbon"}. Pass None to remove a key.
        """
        engine = self._engine
        return or_empty(engine, lambda: set_profile(engine, scope, facts, source=self._actor), [])

    def get(self, scope: Scope) -> builtins.dict[str, str]:
        """Return the facts, sorted by key. The result is empty if the profile is empty or the store is unavailable."""
        empty = list[ProfileEntry]()
        entries = or_empty(self._engine, lambda: get_profile(self._engine, scope), empty)
        return {entry.key: entry.value for entry in entries}

    def all(self, scope: Scope) -> Profile:
        """Return the profile's facts, and the user's most important and newest memories."""
        return or_empty(self._engine, lambda: whole_profile(self._engine, scope), Profile((), ()))

    def format(self, scope: Scope, *, language: Language = "en") -> str:
        """Format the facts for a system prompt: a heading and "key: value" lines. An empty profile returns "".

        Args:
            language: The language of the heading, "en" or "zh". Default: en.
        """
        return profile_block(self.get(scope), language)


@check_arguments("documents.")
class DocumentVerbs:
    """Ingested documents. Use a document's id or its source. Raises `NotFoundError` for one outside the scope."""

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
        """List documents by source, one page at a time. Pass `DocumentPage.after` as `after` to get the next page.

        Args:
            levels: Include only these levels. Default: all.
            statuses: Include only these statuses. Default: all.
            under: List only documents whose source starts with this text.
            limit: Documents per page. Default: 50.
            after: The `after` value of the previous page.
        """
        query = DocumentQuery(
            statuses=tuple(check_choice(DocumentStatus, each, "statuses") for each in statuses),
            under=check_line(under, "under", limit=MAX_SOURCE_CHARS),
            limit=check_number(limit, "limit"),
        )
        if DocumentStatus.ERASED in query.statuses:
            raise InvalidInputError("erased documents cannot be listed")
        wanted = tuple(check_choice(Level, level, "levels") for level in levels)
        return documents.list_documents(
            self._engine, scope, query, wanted, None if after is None else _reference(after)
        )

    def get(self, scope: Scope, id: str) -> Document:
        """Return a document without its text.

        Args:
            id: The id or source of the document.
        """
        return documents.get_document(self._engine, scope, _reference(id))

    def text(self, scope: Scope, id: str) -> str:
        """Return the stored text of a document, or "" if it was never read. The offsets of passages and pages count
        characters in this text.

        Args:
            id: The id or source of the document.
        """
        return documents.document_text(self._engine, scope, _reference(id))

    def passages(self, scope: Scope, id: str, *, first: int = 0, count: int = LISTED) -> builtins.list[Chunk]:
        """Return the passages of a document in order.

        Args:
            id: The id or source of the document.
            first: The index of the first passage. Default: 0.
            count: Maximum number of passages. Default: 50.
        """
        first, count = check_number(first, "first", least=0), check_number(count, "count")
        return documents.document_passages(self._engine, scope, _reference(id), first, count)

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Delete a document along with its text, passages, vectors and history. The file itself is not deleted.

        Args:
            id: The id or source of the document.
            reason: The reason to record in the history.
        """
        return documents.delete_document(self._engine, scope, _reference(id), actor=self._actor, reason=reason)


@check_arguments("graph.")
class GraphVerbs:
    """Entities and relations that memories, messages and documents mention. Use an entity's name or its node id.
    Raises `NotFoundError` for entities outside the scope.
    """

    def __init__(self, engine: Engine, actor: str) -> None:
        self._engine, self._actor = engine, actor

    def entities(
        self,
        scope: Scope,
        query: str = "",
        *,
        types: Iterable[graph.EntityType | str] = (),
        limit: int = LISTED,
        after: str | None = None,
    ) -> graph.NodePage:
        """List entities by name, one page at a time. Pass `NodePage.next` as `after` to get the next page.

        Args:
            query: Part of the name. Default: all names.
            types: Include only these types. Default: all.
            limit: Entities per page, 1 to 1000. Default: 50.
            after: The `next` value of the previous page.
        """
        wanted = tuple(check_choice(graph.EntityType, each, "types") for each in types)
        check_number(limit, "limit", MOST_LISTED)
        told = "" if after is None else _text(after, "after")
        return nodes(self._engine, scope, query=_text(query, "query"), types=wanted, limit=limit, after=told or None)

    def overview(
        self, scope: Scope, *, as_of: datetime | str | None = None, limit: int = LISTED
    ) -> graph.GraphOverview:
        """Return the best-connected entities and the relations between them, with their source sentences.

        Args:
            as_of: Use relations that were true at this time (ISO 8601). Default: now.
            limit: Maximum number of entities, 1 to 1000. Default: 50.
        """
        check_number(limit, "limit", MOST_LISTED)
        return overview(self._engine, scope.visibility, self._walk((), as_of), limit=limit)

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
        """Return the entities around an entity, nearest first, with their source sentences. Follows relations in both
        directions.

        Args:
            name: The entity's name or node id.
            depth: Maximum number of relations to follow, 1 to 4. Default: 1.
            types: Follow only relations of these types, such as DEPENDS_ON. Default: all.
            as_of: Use relations that were true at this time (ISO 8601). Default: now.
            limit: Maximum number of nodes, 1 to 1000. Default: 50.

        Raises:
            NotFoundError: The scope has no such entity.
        """
        check_number(depth, "depth", MOST_DEPTH)
        check_number(limit, "limit", MOST_LISTED)
        walk = self._walk(types, as_of)
        return neighbours(self._engine, scope, _named(name, "name"), walk, depth=depth, limit=limit)

    neighbors = neighbours

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
        """Find a shortest path between two entities, with the source sentence of each step. If there is no path, the
        result has no nodes.

        Args:
            source: The first entity's name or node id.
            target: The second entity's name or node id.
            max_hops: Maximum number of relations in the path, 1 to 8. Default: 4.
            types: Follow only relations of these types, such as DEPENDS_ON. Default: all.
            as_of: Use relations that were true at this time (ISO 8601). Default: now.

        Raises:
            NotFoundError: The scope has no such entity.
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
        """Extract entities and relations from unprocessed memories, messages and documents.

        The worker does this every night if `memory.graph.enabled` is on.

        Args:
            levels: Include only these levels of the scope. Default: all except org.
            limit: Maximum number of items to process. Default: all.
            is_dry_run: Change nothing, but still call the language model.

        Raises:
            BackendError: The model failed. Finished items are kept.
        """
        if limit is not None:
            check_number(limit, "limit")
        chosen = tuple(check_choice(Level, level, "levels") for level in levels)
        if not chosen:
            raise InvalidInputError("pass at least one level")
        return extract_graph(self._engine, scope, chosen, limit=limit, is_dry_run=is_dry_run)

    def correct(
        self,
        scope: Scope,
        name: str,
        *,
        rename: str | None = None,
        type: graph.EntityType | str | None = None,
        merge_into: str | None = None,
        is_removed: bool = False,
        relation: str | None = None,
        target: str | None = None,
        reason: str = "",
    ) -> graph.Node:
        """Rename, retype, merge or remove an entity, or remove a relation. Returns the corrected or removed entity.

        Stored texts do not change. The correction applies to past and future mentions until `graph.undo` reverts it.
        Later mentions of a merged name belong to the merged entity. Removed entities and relations stay removed.
        Corrections belong to the scope's user, or else to its agent or session. `history(scope, "graph")` lists them.

        Args:
            name: The entity's name or node id.
            rename: The new name. The old name still finds the entity.
            type: The new type, such as person.
            merge_into: The entity to merge into, by name or node id. The merged entity keeps this entity's name.
            is_removed: Remove the entity and its relations. With `relation` and `target`, remove only that relation.
            relation: The type of the relation to remove, such as DEPENDS_ON.
            target: The entity that the relation points to.
            reason: The reason to record in the history.

        Raises:
            NotFoundError: The scope has no such entity or relation.
            ConflictError: Several entities have this name, the new name is in use, both are the same entity, or their
                types differ and `type` is missing.
        """
        change = Change(
            rename="" if rename is None else _named(rename, "rename"),
            type=None if type is None else check_choice(graph.EntityType, type, "type"),
            merge_into="" if merge_into is None else _named(merge_into, "merge_into"),
            is_removed=is_removed,
            relation="" if relation is None else _named(relation, "relation", graph.MAX_TYPE_CHARS),
            target="" if target is None else _named(target, "target"),
        )
        return correct(self._engine, scope, _named(name, "name"), change, actor=self._actor, reason=reason)

    def undo(self, scope: Scope, name: str) -> builtins.list[graph.Node]:
        """Revert the last correction of an entity. Call again to revert earlier corrections. Returns the affected
        entities: both after a merge, and none if no item mentions them any more.

        Args:
            name: A name of the entity, including a former or removed one.

        Raises:
            ConflictError: There is no correction left to revert.
        """
        return undo_correction(self._engine, scope, _named(name, "name"), actor=self._actor)

    def _walk(self, types: Iterable[str], as_of: datetime | str | None) -> Walk:
        if isinstance(types, str):
            raise InvalidInputError("types must be a list of types, such as ['DEPENDS_ON']")
        at = read_time(as_of, "as_of") or self._engine.clock.now()
        return Walk(as_of=at, types=tuple(_named(each, "types", graph.MAX_TYPE_CHARS).upper() for each in types))


@check_arguments("tools.")
class ToolVerbs:
    """Tools for models: Mnemic's own, those from installed packages and configured modules, and added ones."""

    def __init__(self, toolbox: Callable[[], Toolbox], add: Callable[[Iterable[Tool]], None], engine: Engine) -> None:
        self._toolbox, self._add, self._engine = toolbox, add, engine

    @property
    def toolbox(self) -> Toolbox:
        """All tools, for servers that call them with their own context."""
        return self._toolbox()

    def list(self) -> builtins.list[ToolSpec]:
        """Return every tool as a model sees it: name, description and the JSON schema of its arguments."""
        return [*self._toolbox().specs]

    def add(self, *tools: Tool) -> None:
        """Make these tools available to models until this `Mnemic` is closed.

        Args:
            tools: Tools created with `tool`, or your own objects with the same methods.

        Raises:
            ConfigError: A name is already in use.
        """
        self._add(tools)

    def call(self, scope: Scope, name: str, arguments: Mapping[str, object] | None = None) -> ToolOutcome:
        """Call a tool as a model would, with limits on time and size. Failures are returned in the outcome, not raised.

        Args:
            name: The tool's name, as returned by `list`.
            arguments: The tool's arguments, which must match the schema from `list`.
        """
        call = ToolCall("call", name, json.dumps(dict(arguments or {}), default=str))
        return self._toolbox().run(call, ToolContext(scope, self._engine.clock.now(), acting() or TOOL_ACTOR))


@check_arguments("jobs.")
class JobVerbs:
    """Jobs that are waiting, running or failed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list(
        self, scope: Scope, *, states: Iterable[JobState | str] = UNFINISHED, limit: int = JOBS_LISTED
    ) -> builtins.list[Job]:
        """List the scope's jobs, oldest first.

        Args:
            states: Include only these states. Default: all except `done`.
            limit: Maximum number of jobs, 1 to 1000. Default: 100.
        """
        wanted = [check_choice(JobState, state, "states") for state in states]
        return list_jobs(self._engine, scope, states=wanted, limit=limit)

    def retry(self, scope: Scope, ids: Sequence[str]) -> int:
        """Retry jobs that failed permanently. Returns the number of jobs found.

        Args:
            ids: The ids of the jobs.
        """
        return retry_jobs(self._engine, scope, [check_id(each) for each in ids])


@check_arguments("keys.")
class KeyVerbs:
    """API keys of the scope's org. Once a store has a key, every request to a server needs one."""

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
        """Create a key for the scope's org, restricted to the scope's user and agent, if any. The `token` is shown only
        once.

        Args:
            name: A label for the key, such as "laptop".
            rights: Any of "read", "write" and "admin". No right implies another. Default: read and write.
            expires_at: When the key expires (ISO 8601). Default: never.
        """
        asked = keys.KeyRequest(
            name=name, rights=rights, user=scope.user, agent=scope.agent, expires_at=read_time(expires_at, "expires_at")
        )
        return keys.create_key(self._engine, scope, asked, actor=self._actor)

    def list(self, scope: Scope) -> builtins.list[ApiKey]:
        """List all keys of the org, oldest first, including expired and revoked ones, without their secrets."""
        return keys.list_keys(self._engine, scope)

    def revoke(self, scope: Scope, id: str) -> ApiKey:
        """Revoke a key. Every process rejects the key immediately.

        Args:
            id: The key's id.
        """
        return keys.revoke_key(self._engine, scope, check_id(id), actor=self._actor)

    def rotate(self, scope: Scope, id: str, *, overlap_s: float = OVERLAP_S) -> IssuedKey:
        """Create a replacement key with the same rights, restrictions and expiry.

        Args:
            id: The key's id.
            overlap_s: Seconds until the old key stops working. Default: 3600.
        """
        return keys.rotate_key(self._engine, scope, check_id(id), overlap_s=overlap_s, actor=self._actor)

    def audit(self, scope: Scope, *, before: int | None = None, limit: int = AUDIT_PAGE) -> AuditPage:
        """List the org's audit log, newest first: every use of a key and every change to a key.

        Args:
            before: The `next` value of the previous page.
            limit: Maximum number of entries, 1 to 1000. Default: 100.
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
        raise InvalidInputError(f"{name} must be text of at most {most} characters")
    return value.encode(errors="replace").decode().replace("\x00", " ")
