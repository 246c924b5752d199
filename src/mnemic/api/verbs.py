"""The verbs of `Mnemic`. Each takes the scope first and is a few lines that call the engine."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

from mnemic.api.arguments import (
    UNCHANGED,
    MessageLike,
    Unchanged,
    changes_of,
    check_arguments,
    given_arguments,
    memory_query_of,
    message_query_of,
)
from mnemic.api.asking import AskingVerbs
from mnemic.api.files import FileCommand, MemoryTree
from mnemic.api.parts import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs
from mnemic.api.upkeep import UpkeepVerbs
from mnemic.engine import browse, edit
from mnemic.engine.conversation import capture, complete
from mnemic.engine.erase import clear, delete
from mnemic.engine.inputs import check_choice, check_id, check_text, memory_draft, message_drafts
from mnemic.engine.remember import remember
from mnemic.engine.window import window
from mnemic.errors import InvalidInputError
from mnemic.model.item import Item, Kind, Memory, MemoryDraft, Message, Role, State, Trust, Turn
from mnemic.model.recall import ContextPage, ContextQuery, Counts, MessagePage, Order, Page
from mnemic.model.records import AgentSummary, HistoryEntry, Receipt, SessionSummary, UserSummary
from mnemic.model.scope import Level, Scope, as_utc

VERDICTS = ("relevant", "outdated")


@check_arguments()
class MnemicVerbs(AskingVerbs, UpkeepVerbs):
    """Every verb of an open memory, local or on a server."""

    def capture(
        self,
        scope: Scope,
        messages: Iterable[MessageLike] | None = None,
        *,
        user: str | None = None,
        assistant: str | Sequence[str] | None = None,
        observed_at: datetime | str | None = None,
        is_ephemeral: bool = False,
    ) -> Turn:
        """Store one exchange, word for word.

        Without a session in the scope, a new conversation starts, with its id in `Turn.session`. Messages whose
        external id is already stored are skipped.

        Args:
            messages: Messages as `MessageDraft` objects, OpenAI or Anthropic messages or responses, or mappings. The
                fields of a mapping are role, content and, optionally, name, observed_at, external_id, trust and
                metadata. `trust` can lower the role's trust, but not raise it.
            user: The user's message. Shorthand for one message with the role "user".
            assistant: The assistant's answer. Shorthand for one message with the role "assistant". If it is a list of
                texts, they are joined with newlines, and the result is trimmed.
            observed_at: The time of messages that do not have one (ISO 8601). Default: now.
            is_ephemeral: Keep this session's messages out of all other sessions and of the user's memory. They are
                erased when the session ends, or an hour after its last message.
        """
        exchanges = [_exchange(messages, user, assistant)]
        return self.capture_many(scope, exchanges, observed_at=observed_at, is_ephemeral=is_ephemeral)[0]

    def capture_many(
        self,
        scope: Scope,
        exchanges: Iterable[Iterable[MessageLike]],
        *,
        observed_at: datetime | str | None = None,
        is_ephemeral: bool = False,
    ) -> builtins.list[Turn]:
        """Store many exchanges of one conversation in order, with one durable transaction and batched embedding.

        Args:
            exchanges: The messages of each exchange, as in `capture`.
            observed_at: The time of messages that do not have one (ISO 8601). Default: now.
            is_ephemeral: Keep the messages in their session only, as in `capture`.
        """
        at = None if observed_at is None else as_utc(observed_at, "observed_at")
        drafts = [message_drafts(exchange, self._engine.settings) for exchange in exchanges]
        dated = [[replace(d, observed_at=d.observed_at or at) for d in exchange] for exchange in drafts]
        return capture(self._engine, scope, dated, is_ephemeral=is_ephemeral)

    def complete(
        self,
        scope: Scope,
        turn_id: str,
        *,
        assistant: str | Sequence[str],
        name: str | None = None,
        observed_at: datetime | str | None = None,
    ) -> Turn:
        """Add the assistant's answer to a turn that was captured without one.

        Args:
            turn_id: The `Turn.id` of the captured turn.
            assistant: The answer. Several texts are joined with newlines, and the result is trimmed.
            name: The assistant's name.
            observed_at: When the answer was given (ISO 8601). Default: now.
        """
        message = {"role": Role.ASSISTANT, "content": _content_of(assistant), "name": name, "observed_at": observed_at}
        return complete(
            self._engine, scope, check_id(turn_id, "turn_id"), message_drafts([message], self._engine.settings)[0]
        )

    def remember(
        self,
        scope: Scope,
        text: str,
        *,
        kind: Kind | str = Kind.FACT,
        level: Level | str | None = None,
        importance: float | str = 0.8,
        confidence: float = 1.0,
        categories: Iterable[str] = (),
        context: str = "",
        snippet: str = "",
        source: str = "",
        observed_at: datetime | str | None = None,
        valid_from: datetime | str | None = None,
        valid_to: datetime | str | None = None,
        expires_at: datetime | str | None = None,
        is_private: bool = False,
        is_pinned: bool = False,
        trust: Trust | str = Trust.USER,
        metadata: Mapping[str, object] | None = None,
        key: str = "",
    ) -> Memory:
        """Store one memory. If a memory with the same text already exists at this level, returns that memory.

        Args:
            text: One statement, such as "User prefers dark mode".
            kind: The kind of statement. Default: "fact".
            level: The level to store at. Default: the first of user, agent and session that the scope sets.
            importance: Importance, from 0 to 1, or "low", "medium" or "high". Default: 0.8.
            confidence: Confidence, from 0 to 1. Default: 1.
            categories: Your own tags, at most 32.
            context: Background information for understanding the statement later.
            snippet: The original words that the memory is based on.
            source: Where the memory came from.
            observed_at: When the statement was made (ISO 8601). Default: now.
            valid_from: When the statement becomes true (ISO 8601).
            valid_to: When the statement stops being true (ISO 8601).
            expires_at: When to archive the memory (ISO 8601).
            is_private: Make the memory visible only to the scope's agent.
            is_pinned: Protect the memory from fading and eviction.
            trust: The origin of the text. Default: "user".
            metadata: Your own data, at most 64 KiB of JSON. You can filter by this data, but Mnemic never interprets
                it.
            key: Your own name for the memory. Memories with different keys are never merged, even if their texts match.
        """
        return self.remember_many(scope, [given_arguments(locals())])[0]

    def remember_many(
        self, scope: Scope, memories: Iterable[str | MemoryDraft | Mapping[str, object]]
    ) -> builtins.list[Memory]:
        """Store many memories with one durable transaction and batched embedding.

        Args:
            memories: Memories as strings, `MemoryDraft` objects, or mappings with the arguments of `remember`.
        """
        drafts = [self._draft(memory) for memory in memories]
        return remember(self._engine, scope, drafts, actor=self._actor) if drafts else []

    def get(self, scope: Scope, id: str) -> Item:
        """Return a memory or message.

        Args:
            id: The id of the memory or message, or at least its last six characters.
        """
        return browse.get(self._engine, scope, check_id(id))

    def list(
        self,
        scope: Scope,
        *,
        levels: Iterable[Level | str] = (),
        kinds: Iterable[Kind | str] = (),
        states: Iterable[State | str] | None = None,
        filter: Mapping[str, object] | None = None,
        order: Order | str = Order.NEWEST,
        limit: int = 50,
        after: str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        due_before: datetime | str | None = None,
    ) -> Page:
        """List memories (not messages), one page at a time. Pass `Page.next` as `after` to get the next page.

        Args:
            levels: Include only these levels. Default: all.
            kinds: Include only these kinds. Default: all.
            states: Include only these states. Default: active. With `as_of` or `known_at`: all except quarantined.
            filter: Conditions on fields and metadata, such as {"text": {"contains": "tea"}}.
            order: "newest", "oldest" or "importance". Default: newest.
            limit: Memories per page, 1 to 1000. Default: 50.
            after: The `next` value of the previous page.
            as_of: List memories that were true in the world at this time (ISO 8601).
            known_at: List memories that were known at this time (ISO 8601), with their wording at the time.
            due_before: List what is due before this day (ISO 8601) and still open, by day. `after` cannot be used.
        """
        query = memory_query_of(given_arguments(locals()), self._engine.clock.now())
        wanted = tuple(check_choice(Level, level, "levels") for level in levels)
        if due_before is None:
            return browse.list_memories(self._engine, scope, query, wanted)
        from mnemic.engine.due import list_by_day

        return list_by_day(self._engine, scope, query, wanted)

    def count(self, scope: Scope) -> Counts:
        """Count the scope's memories by state, active memories also by kind, and documents by status."""
        return browse.count(self._engine, scope)

    def update(
        self,
        scope: Scope,
        id: str,
        *,
        text: str | Unchanged = UNCHANGED,
        kind: Kind | str | Unchanged = UNCHANGED,
        importance: float | str | Unchanged = UNCHANGED,
        confidence: float | Unchanged = UNCHANGED,
        categories: Iterable[str] | Unchanged = UNCHANGED,
        context: str | Unchanged = UNCHANGED,
        snippet: str | Unchanged = UNCHANGED,
        source: str | Unchanged = UNCHANGED,
        observed_at: datetime | str | Unchanged = UNCHANGED,
        valid_from: datetime | str | Unchanged | None = UNCHANGED,
        valid_to: datetime | str | Unchanged | None = UNCHANGED,
        expires_at: datetime | str | Unchanged | None = UNCHANGED,
        trust: Trust | str | Unchanged = UNCHANGED,
        metadata: Mapping[str, object] | Unchanged = UNCHANGED,
        reason: str = "",
    ) -> Memory:
        """Correct a memory. The history keeps both versions, and `undo` reverts the change.

        The fields are those of `remember`. Pass None to clear a time.

        Args:
            id: The memory's id.
            text: The new text, which is embedded again.
            trust: The origin of the change. The change can lower the memory's trust, but not raise it.
            reason: The reason to record in the history.
        """
        changes = changes_of(given_arguments(locals(), "id", "reason"), self._engine.settings)
        return edit.update(self._engine, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def pin(self, scope: Scope, id: str, *, is_pinned: bool = True, reason: str = "") -> Memory:
        """Protect a memory from fading and eviction, or end the protection.

        Args:
            id: The memory's id.
            is_pinned: If False, end the protection. Default: True.
            reason: The reason to record in the history.
        """
        changes = {"is_pinned": is_pinned}
        return edit.update(self._engine, scope, check_id(id), changes, actor=self._actor, reason=reason)

    def merge(self, scope: Scope, ids: Sequence[str], *, text: str | None = None, reason: str = "") -> Memory:
        """Merge several memories into one. The first memory is kept and supersedes the others.

        Args:
            ids: The ids of at least two memories.
            text: The merged text. Default: the first memory's text.
            reason: The reason to record in the history.
        """
        wanted = None if text is None else check_text(text, "text", self._engine.settings)
        return edit.merge(
            self._engine, scope, [check_id(i) for i in ids], text=wanted, actor=self._actor, reason=reason
        )

    def undo(self, scope: Scope, id: str) -> Memory:
        """Revert the last change to a memory, including a merge. Call again to revert earlier changes.

        Args:
            id: The memory's id.
        """
        return edit.undo(self._engine, scope, check_id(id), actor=self._actor)

    def feedback(self, scope: Scope, id: str, verdict: str, *, reason: str = "") -> Memory:
        """Mark a memory as relevant or outdated.

        Args:
            id: The memory's id.
            verdict: "relevant" refreshes the memory, and "outdated" ends its validity now.
            reason: The reason to record in the history.
        """
        if verdict not in VERDICTS:
            raise InvalidInputError(f"a verdict must be one of {', '.join(VERDICTS)}, not {verdict!r}")
        is_relevant = verdict == VERDICTS[0]
        return edit.feedback(
            self._engine, scope, check_id(id), is_relevant=is_relevant, actor=self._actor, reason=reason
        )

    def delete(self, scope: Scope, id: str, *, reason: str = "") -> Receipt:
        """Delete the text, vectors and history of one memory or message, and everything derived only from that item.

        Memories that also have other sources are flagged, derived again by a job, and listed in the receipt's notes.

        Args:
            id: The id of the memory or message, or "graph" for all corrections of the graph.
            reason: The reason to record in the history.
        """
        return delete(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def clear(self, scope: Scope, *, levels: Iterable[Level | str] = (), reason: str = "") -> Receipt:
        """Delete all memories at the given levels of the scope. Messages are kept.

        Args:
            levels: The levels. Default: the first of user, agent and session that the scope sets.
            reason: The reason to record in the history.
        """
        wanted = tuple(check_choice(Level, level, "levels") for level in levels) or (scope.default_level,)
        return clear(self._engine, scope, wanted, actor=self._actor, reason=reason)

    def history(self, scope: Scope, id: str) -> Sequence[HistoryEntry]:
        """Return every change to a memory, including its deletion, oldest first.

        Args:
            id: The memory's id.
        """
        return browse.history(self._engine, scope, check_id(id))

    def run_file_command(
        self,
        scope: Scope,
        command: FileCommand,
        *,
        path: str | None = None,
        view_range: Sequence[int] | None = None,
        file_text: str | None = None,
        old_str: str | None = None,
        new_str: str | None = None,
        insert_line: int | None = None,
        insert_text: str | None = None,
        old_path: str | None = None,
        new_path: str | None = None,
        trust: Trust | str = Trust.ASSISTANT,
    ) -> str:
        """Run a command of Anthropic's memory tool on memory as files, and return the text for the model.

        The folder "/memories" contains profile.md and a page per kind of memory, with one item per memory. Every other
        file in the folder is one memory. Error messages use the wording that models expect.

        Args:
            command: "view", "create", "str_replace", "insert", "delete" or "rename".
            path: The path of a file or folder, such as "/memories/facts.md". For all commands except "rename".
            view_range: For "view": the first and last line, such as [1, 20]. Use -1 for the end.
            file_text: For "create": the content.
            old_str: For "str_replace": the text to replace, which must occur exactly once.
            new_str: For "str_replace": the new text. Default: empty.
            insert_line: For "insert": the line to insert after, or 0 for the start.
            insert_text: For "insert": the text.
            old_path: For "rename": the current path.
            new_path: For "rename": the new path.
            trust: The origin of the text. Default: "assistant".
        """
        given = given_arguments(locals(), "command", "trust")
        tree = MemoryTree(self, scope, self._engine.settings.quarantine, check_choice(Trust, trust, "trust"))
        return tree.run(command, {name: value for name, value in given.items() if value is not None})

    def window(self, scope: Scope, *, limit: int | None = None, include_closed: bool = False) -> builtins.list[Message]:
        """Return the last messages of the scope's session, oldest first. The result is empty if the session is unknown
        or has been inactive for two hours (`memory.window.ttl-minutes`).

        Args:
            limit: Maximum number of messages. Default: the window size, 20.
            include_closed: Return messages regardless of their age.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(cast("object", limit), int) or limit < 1):
            raise InvalidInputError(f"limit must be a whole number of at least 1, not {limit!r}")
        return window(self._engine, scope, limit, include_closed=include_closed)

    def messages(
        self,
        scope: Scope,
        *,
        since: datetime | str | None = None,
        before: datetime | str | None = None,
        in_session: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> MessagePage:
        """List messages, newest first, one page at a time. Pass `MessagePage.next` as `after` to get the next page.
        Imported messages are ordered by their original time, not by their import time.

        Args:
            since: Include only messages from this time or later (ISO 8601).
            before: Include only messages from before this time (ISO 8601).
            in_session: List only messages from the scope's session.
            limit: Messages per page. Default: 50.
            after: The `next` value of the previous page.
        """
        return browse.list_messages(self._engine, scope, message_query_of(scope, given_arguments(locals())))

    def contexts(
        self,
        scope: Scope,
        *,
        id: str | None = None,
        message: str | None = None,
        in_session: bool = False,
        limit: int = 50,
        after: str | None = None,
    ) -> ContextPage:
        """List the contexts shown to models, newest first, one page at a time. Each record has the time, interface,
        message, and memories with their relevance. Records are kept for 30 days (the setting `context.keep-days`).

        Args:
            id: List only the record with this id.
            message: List only the contexts for the message with this id.
            in_session: List only records from the scope's session.
            limit: Records per page, 1 to 1000. Default: 50.
            after: The `next` value of the previous page.
        """
        page = message_query_of(scope, {"in_session": in_session, "limit": limit, "after": after})
        ids = {"message_id": message, "id": id}
        named = {name: check_id(each, name) for name, each in ids.items() if each is not None}
        query = ContextQuery(session=page.session, limit=page.limit, after=page.after, **named)
        return browse.list_contexts(self._engine, scope, query)

    def sessions(self, scope: Scope, *, limit: int = 50) -> builtins.list[SessionSummary]:
        """List a user's sessions with their first message, most recently active first.

        Args:
            limit: Maximum number of sessions, 1 to 1000. Default: 50.
        """
        return browse.list_sessions(self._engine, scope, limit)

    def users(self) -> builtins.list[UserSummary]:
        """List all users of the store with counts and last activity, most recently active first."""
        return browse.list_users(self._engine)

    def agents(self) -> builtins.list[AgentSummary]:
        """List all agents with shared memories and their counts, most recently active first."""
        return browse.list_agents(self._engine)

    @property
    def profile(self) -> ProfileVerbs:
        """Verbs for the profile: set, get, all, format."""
        return ProfileVerbs(self._engine, self._actor)

    @property
    def documents(self) -> DocumentVerbs:
        """Verbs for documents: list, get, text, passages, delete."""
        return DocumentVerbs(self._engine, self._actor)

    @property
    def graph(self) -> GraphVerbs:
        """Verbs for the graph: entities, overview, neighbours, path, correct, undo, extract."""
        return GraphVerbs(self._engine, self._actor)

    @property
    def jobs(self) -> JobVerbs:
        """Verbs for jobs: list, retry."""
        return JobVerbs(self._engine)

    @property
    def keys(self) -> KeyVerbs:
        """Verbs for API keys: create, list, revoke, rotate, audit."""
        return KeyVerbs(self._engine, self._actor)

    def _draft(self, memory: str | MemoryDraft | Mapping[str, object]) -> MemoryDraft:
        if isinstance(memory, MemoryDraft):
            memory = {name: getattr(memory, name) for name in MemoryDraft.__dataclass_fields__}
        fields = dict(memory) if isinstance(memory, Mapping) else {"text": memory}
        return memory_draft(fields.pop("text", None), cast("Mapping[str, object]", fields), self._engine.settings)


def _content_of(texts: str | Sequence[str] | None) -> object:
    return texts if texts is None or isinstance(texts, str) else builtins.list(texts)


def _exchange(
    messages: Iterable[MessageLike] | None, user: str | None, assistant: str | Sequence[str] | None
) -> Iterable[MessageLike]:
    if messages is not None:
        if user is not None or assistant is not None:
            raise InvalidInputError("pass either messages or user= and assistant=, not both")
        return messages
    given = ((Role.USER, user), (Role.ASSISTANT, _content_of(assistant)))
    return [{"role": role, "content": text} for role, text in given if text is not None]
