"""mem0's `Memory` over Mnemic: a program written for mem0 runs with its import changed, and without a model. Results
are mem0's dictionaries. Users, agents and runs are Mnemic's users, agents and sessions.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import Kind, Verdict
from mnemic.model.item import Memory as Kept
from mnemic.model.records import Action, HistoryEntry
from mnemic.model.scope import Level, Scope

IDS = ("user_id", "agent_id", "run_id")
ANY = "*"
SESSION = "mem0"
"""The session of messages that name no run."""

RUN = "mem0 run "  # begins the name of the agent that owns a run's memories if the run has no user or agent

REASON = "through mem0's interface"
KINDS = tuple(kind for kind in Kind if kind is not Kind.DOCUMENT)
MAX_KNOWN = 100_000  # ids whose owner is remembered: bounds memory; the owner of others is searched for
PAGE = 500  # memories per request
EVENTS: Mapping[Verdict | None, str] = {Verdict.ADD: "ADD", Verdict.DISPUTE: "ADD", Verdict.SUPERSEDE: "UPDATE"}
CHANGES = {Action.CREATED: "ADD", Action.DELETED: "DELETE"}

Fields = Mapping[str, Any]


class Memory:
    """mem0's memory. Its settings are Mnemic's own: `store` as in `Mnemic.open`, or an open `mnemic`, which its owner
    closes. `config` is accepted and ignored, as mem0's parts have no counterpart. `ids` are `user_id`, `agent_id` and
    `run_id`.
    """

    def __init__(self, config: object = None, *, store: str | Path | None = None, mnemic: Mnemic | None = None) -> None:
        self.config, self._is_own = config, mnemic is None
        self.mnemic = Mnemic.open(store, has_worker=False) if mnemic is None else mnemic
        self._known: OrderedDict[str, Scope] = OrderedDict()

    @classmethod
    def from_config(cls, config_dict: Fields) -> Self:
        """A memory over the user's own store. mem0's settings are ignored."""
        return cls(config_dict)

    def close(self) -> None:
        """Close the memory, if it was opened here."""
        if self._is_own:
            self.mnemic.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def add(
        self,
        messages: str | Fields | Sequence[Fields],
        *,
        metadata: Fields | None = None,
        infer: bool = True,
        **ids: object,
    ) -> dict[str, Any]:
        """Store the facts in messages. With `infer=False` each message is stored as it is. Returns the new memories."""
        (owner,) = find_owners(_join(None, ids))
        scope, notes = (
            _find_scope(owner),
            {**(metadata or {}), **{name: owner[name] for name in IDS[1:] if name in owner}},
        )
        said = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        several = [said] if isinstance(said, Mapping) else list(said)
        if not infer:
            drafts = [{"text": str(each["content"]), "metadata": {**notes, "role": each["role"]}} for each in several]
            kept = self.mnemic.remember_many(scope, drafts)
            return {"results": [{**self._told(scope, each), "event": "ADD"} for each in kept]}
        within = Scope(user=scope.user, agent=scope.agent, session=owner.get("run_id", SESSION))
        self.mnemic.capture_many(within, [several])
        found = [each for each in self.mnemic.extract(within).entries if each.memory_id and each.verdict in EVENTS]
        results: list[dict[str, Any]] = []
        for each in found:
            memory = self._get(scope, str(each.memory_id))
            if memory is None:
                continue
            if notes:
                memory = self.mnemic.update(scope, memory.id, metadata={**memory.metadata, **notes}, reason=REASON)
            results.append({**self._told(scope, memory), "event": EVENTS.get(each.verdict)})
        self.mnemic.work()
        return {"results": results}

    def search(
        self,
        query: str,
        *,
        limit: int = 100,
        top_k: int | None = None,
        filters: Fields | None = None,
        threshold: float | None = None,
        **ids: object,
    ) -> dict[str, Any]:
        """The memories about a query, best first. `score` is the relevance, 0 to 1."""
        conditions, most = _join(filters, ids), top_k or limit
        found: list[dict[str, Any]] = []
        for scope in self._scopes(conditions):
            for hit in self.mnemic.recall(
                scope, query, limit=None, levels=[scope.default_level], kinds=KINDS, min_relevance=threshold or 0.0
            ):
                if isinstance(hit.item, Kept):
                    score = hit.score if hit.relevance is None else hit.relevance
                    found.append({**self._told(scope, hit.item), "score": score})
        ranked = sorted(found, key=operator.itemgetter("score"), reverse=True)
        return {"results": list(islice((each for each in ranked if matches(each, conditions)), most))}

    def get_all(
        self, *, filters: Fields | None = None, limit: int = 100, top_k: int | None = None, **ids: object
    ) -> dict[str, Any]:
        """All memories that match, newest first."""
        conditions = _join(filters, ids)
        return {"results": list(islice(self._matching(conditions), top_k or limit))}

    def get(self, memory_id: str) -> dict[str, Any] | None:
        """A memory, None if there is none."""
        scope = self._owner(memory_id)
        memory = None if scope is None else self._get(scope, memory_id)
        return None if scope is None or memory is None else self._told(scope, memory)

    def update(self, memory_id: str, data: str, metadata: Fields | None = None) -> dict[str, Any]:
        """Change a memory's text, and its metadata if given. Raises `NotFoundError` if there is none."""
        known = self.get(memory_id) or {}
        notes = {name: known[name] for name in IDS[1:] if name in known}
        changes: dict[str, Any] = {} if metadata is None else {"metadata": {**metadata, **notes}}
        self.mnemic.update(self._owned(memory_id), memory_id, text=data, reason=REASON, **changes)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> dict[str, Any]:
        """Delete a memory. Raises `NotFoundError` if there is none."""
        self.mnemic.delete(self._owned(memory_id), memory_id, reason=REASON)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, **ids: object) -> dict[str, Any]:
        """Delete every memory of a user, agent or run."""
        for each in list(self._matching(_join(None, ids))):
            self.delete(each["id"])
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[dict[str, Any]]:
        """The changes of a memory's text, oldest first, including its deletion. A deleted memory's texts are gone."""
        scope = self._owner(memory_id)
        if scope is None:
            return []
        told = [each for each in map(_change, self.mnemic.history(scope, memory_id)) if each is not None]
        memory = self._get(scope, memory_id)
        for each, later in zip(told, [*told[1:], {"old_memory": memory and memory.text}], strict=True):
            each["new_memory"] = each["new_memory"] or later["old_memory"]
        return told

    def reset(self) -> None:
        """Erase every user, agent and run that this interface can reach."""
        for scope in self._owners():
            self.mnemic.erase(scope)
        self._known.clear()

    def _matching(self, conditions: Fields) -> Iterator[dict[str, Any]]:
        for scope in self._scopes(conditions):
            given: dict[str, Any] = {"levels": [scope.default_level], "kinds": KINDS, "limit": PAGE}
            while True:
                page = self.mnemic.list(scope, **given)
                told = (self._told(scope, memory) for memory in page.memories)
                yield from (each for each in told if matches(each, conditions))
                if page.next is None:
                    break
                given["after"] = page.next

    def _scopes(self, conditions: Fields) -> list[Scope]:
        """The scopes that conditions can match. Raises `InvalidInputError` if they name no owner."""
        scopes: dict[Scope, None] = {}
        for owner in find_owners(conditions):
            scope = _find_scope(owner)
            ((name, value),) = _name_owner(scope).items()
            every = (each for each in self._owners() if name in _name_owner(each))
            scopes |= dict.fromkeys(every if value == ANY else [scope])
        return list(scopes)

    def _owners(self) -> list[Scope]:
        """Every user, agent and run."""
        names = {Level.USER: "user", Level.AGENT: "agent"}
        places = [each for each in self.mnemic.partitions if each.org == Scope().org and each.level in names]
        return [Scope(**{names[each.level]: each.owner}) for each in places]

    def _told(self, scope: Scope, memory: Kept) -> dict[str, Any]:
        """A memory as mem0 returns it."""
        self._known[memory.id] = scope
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return {
            "id": memory.id,
            "memory": memory.text,
            "metadata": {name: value for name, value in memory.metadata.items() if name not in IDS} or None,
            "categories": list(memory.categories),
            "created_at": memory.created_at.isoformat(),
            "updated_at": memory.updated_at.isoformat(),
            **{name: memory.metadata[name] for name in IDS[1:] if memory.metadata.get(name)},
            **_name_owner(scope),
        }

    def _get(self, scope: Scope, id: str) -> Kept | None:
        try:
            item = self.mnemic.get(scope, id)
        except NotFoundError:
            return None
        return item if isinstance(item, Kept) else None

    def _owned(self, id: str) -> Scope:
        scope = self._owner(id)
        if scope is None:
            raise NotFoundError(f"there is no memory {id[:64]!r}")
        return scope

    def _owner(self, id: str) -> Scope | None:
        """The scope of a memory, perhaps a deleted one. None if there is none."""
        for scope in (self._known[id],) if id in self._known else self._owners():
            try:
                if self.mnemic.history(scope, id):
                    return scope
            except NotFoundError:
                continue
        return None


def _find_scope(ids: Fields) -> Scope:
    """The scope of the first id that is given. A run without a user or agent owns its memories."""
    user, agent, run = (ids.get(name) for name in IDS)
    if user:
        return Scope(user=user)
    if agent:
        return Scope(agent=agent)
    if not run:
        raise InvalidInputError("pass at least one of user_id, agent_id and run_id")
    return Scope(agent=f"{RUN}{run}")


def _name_owner(scope: Scope) -> dict[str, str]:
    """The id whose memories are in a scope."""
    if scope.user is not None:
        return {"user_id": scope.user}
    agent = scope.agent or ""
    return {"run_id": agent.removeprefix(RUN)} if agent.startswith(RUN) else {"agent_id": agent}


def _change(entry: HistoryEntry) -> dict[str, Any] | None:
    """An entry of the history as mem0 returns it, None if the text did not change."""
    old, new = entry.before.get("text"), entry.after.get("text")
    event = CHANGES.get(entry.action, "UPDATE")
    if event == "UPDATE" and old == new:
        return None
    at = entry.at.isoformat()
    told = {"id": entry.id, "memory_id": entry.item_id, "old_memory": old, "new_memory": new, "event": event}
    return {**told, "created_at": at, "updated_at": at, "is_deleted": event == "DELETE"}


def _join(filters: Fields | None, ids: Fields) -> Fields:
    """The filters with the ids that are given. Other arguments have no counterpart here. Raises `InvalidInputError` for
    an id that is no text, or is `*`, which only filters may have: an argument may come from a user of the program.
    """
    given = {name: ids[name] for name in IDS if ids.get(name) not in (None, "")}
    for name, value in given.items():
        if not isinstance(value, str) or value == ANY:
            raise InvalidInputError(
                f"{name} must be a string such as 'ana', not {value!r:.64}; only filters accept {ANY!r}"
            )
    return {**check_filters(filters or {}), **check_filters(given)}


def check_filters(conditions: object) -> Fields:
    """The filters with conditions as operators. Raises `InvalidInputError` if they do not have the form of mem0's."""
    if not isinstance(conditions, Mapping):
        raise InvalidInputError(f"filters must be a mapping such as {{'user_id': 'ana'}}, not {conditions!r:.64}")
    return {name: _check_filter(name, wanted) for name, wanted in cast("Fields", conditions).items()}


def _check_filter(name: str, wanted: Any) -> list[Fields] | Fields:
    is_mapping, is_list = (isinstance(cast("object", wanted), kind) for kind in (Mapping, list))
    if name in JOINS or (name == "metadata" and is_mapping):
        several = [wanted] if name not in ("AND", "OR") and is_mapping else wanted
        if not isinstance(several, list):
            raise InvalidInputError(f"{name} requires a list of filters, such as {{{name!r}: [{{'user_id': 'ana'}}]}}")
        return [check_filters(each) for each in cast("list[object]", several)]
    tests: Fields = wanted if is_mapping else {"in" if is_list else "eq": wanted}
    for test, operand in tests.items():
        if test not in TESTS:
            raise InvalidInputError(f"{test!r} is not a filter operator; use {', '.join([*TESTS, *JOINS])}")
        values = cast("list[object]", operand if isinstance(operand, list) else [operand])
        if test in ("in", "nin") and values is not operand:
            raise InvalidInputError(f"{test!r} requires a list, such as {{{name!r}: {{{test!r}: ['a', 'b']}}}}")
        if name in IDS and not all(isinstance(each, str | None) for each in values):
            raise InvalidInputError(f"{name} must be a string such as 'ana', not {operand!r:.64}")
        if name == "agent_id" and any(str(each).startswith(RUN) for each in values):
            raise InvalidInputError(f"an agent_id cannot begin with {RUN!r}; use run_id")
    return tests


def find_owners(conditions: Fields) -> list[dict[str, str]]:
    """The alternatives of user, agent and run that checked filters can match."""
    owners: list[dict[str, str]] = [{}]
    for name, wanted in conditions.items():
        if name in IDS:
            more = [{name: value} for value in wanted.get("in", [wanted.get("eq")]) if value] or [{}]
        elif name == "AND":
            more = find_owners({})
            for each in wanted:
                more = [{**one, **other} for one in more for other in find_owners(each)]
        elif name == "OR":
            more = [owner for each in wanted for owner in find_owners(each)]
        else:
            continue
        owners = [{**one, **other} for one in owners for other in more]
    return owners


def matches(record: Fields, conditions: Fields) -> bool:
    """True if a memory meets checked filters: `AND`, `OR`, `NOT` and conditions on its fields and metadata."""
    return all(_meets(record, name, wanted) for name, wanted in conditions.items())


def _meets(record: Fields, name: str, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return JOINS.get(name, all)([matches(record, each) for each in cast("list[Fields]", wanted)])
    notes = cast("Fields", record["metadata"] or {})
    held: Any = record[name] if name in record else notes.get(name.removeprefix("metadata."))
    if wanted == {"eq": ANY}:
        return held not in (None, [], "")
    return all(TESTS[test](held, operand) for test, operand in wanted.items())


def _is_equal(held: Any, wanted: Any) -> bool:
    if isinstance(held, list) and not isinstance(wanted, list):
        return wanted in held
    return isinstance(held, bool) == isinstance(wanted, bool) and held == wanted


def _compare(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compare(held: Any, wanted: Any) -> bool:
        is_text = isinstance(held, str) and isinstance(wanted, str)
        is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (held, wanted))
        return (is_text or is_number) and test(held, wanted)

    return compare


def _contains(held: Any, wanted: Any) -> bool:
    return wanted in held if isinstance(held, list) else f"{wanted}" in held if isinstance(held, str) else False


def _contains_folded(held: Any, wanted: Any) -> bool:
    texts = cast("list[object]", [held] if isinstance(held, str) else held if isinstance(held, list) else [])
    return any(str(wanted).casefold() in str(each).casefold() for each in texts)


JOINS: Mapping[str, Callable[[list[bool]], bool]] = {"AND": all, "OR": any, "NOT": lambda found: not any(found)}
TESTS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": _is_equal,
    "ne": lambda held, wanted: not _is_equal(held, wanted),
    "gt": _compare(operator.gt),
    "gte": _compare(operator.ge),
    "lt": _compare(operator.lt),
    "lte": _compare(operator.le),
    "in": lambda held, wanted: any(_is_equal(held, each) for each in wanted),
    "nin": lambda held, wanted: not any(_is_equal(held, each) for each in wanted),
    "contains": _contains,
    "icontains": _contains_folded,
}
"""mem0's operators."""
