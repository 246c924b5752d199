"""Random nouns for operations on a store: scopes, memories, filters and queries with every field as it falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from random import Random

from mnemic.model.filter import NUMBER_FIELDS, TIME_FIELDS, parse_filter
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.recall import MemoryQuery, Order
from mnemic.model.scope import Level, Partition, Scope
from mnemic.testing.samples import MINUTE, NOW, a_memory

TEXTS = ("tea", "Tea ", "", " \n", "ü😀", "a'b\"c\\", "nul \x00 nul", "long " * 40)
KEYS = ("n", "s", "list", "deep")
VALUES: tuple[object, ...] = (
    2**62 + 1,
    1,
    1.0,
    0,
    -2.5,
    2**53 + 1,
    True,
    False,
    None,
    "1",
    "tea",
    "ü",
    ["tea", 1, True],
    {"n": 1},
)
SCALARS: tuple[str | float, ...] = (
    1,
    1.0,
    0,
    -2.5,
    2**53,
    True,
    False,
    "1",
    "tea",
    "te",
    "",
    "ü",
    "nul ",
    2.0**62,
    2**62 + 1,
)
TIMES = tuple(NOW + step * MINUTE for step in range(-2, 4))


@cache
def every_scope() -> tuple[Scope, ...]:
    """Two orgs, each part one of two names or missing."""
    names: tuple[tuple[str | None, ...], ...] = ((None, "jarvis", "friday"), (None, "anna", "bert"), (None, "s1", "s2"))
    return tuple(
        Scope(org=org, agent=agent, user=user, session=session)
        for org in ("acme", "other")
        for agent in names[0]
        for user in names[1]
        for session in names[2]
    )


@dataclass(slots=True)
class RandomNouns:
    """Decides by `random`; remembers the ids that were made, so that later operations meet them. `now` may move."""

    random: Random
    scopes: Sequence[Scope] = every_scope()
    now: datetime = NOW
    memory_ids: list[str] = field(default_factory=list[str])
    message_ids: list[str] = field(default_factory=list[str])
    document_ids: list[str] = field(default_factory=list[str])
    chunk_ids: list[str] = field(default_factory=list[str])
    places: dict[str, Partition] = field(default_factory=dict[str, Partition])

    @property
    def item_ids(self) -> Sequence[str]:
        """The last ids of every sort of item."""
        return (*self.memory_ids[-20:], *self.message_ids[-20:], *self.chunk_ids[-20:])

    def scope(self) -> Scope:
        """Any of the scopes."""
        return self.random.choice(self.scopes)

    def partition(self) -> Partition:
        """The partition of some scope at some level that it has."""
        scope = self.scope()
        parts = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
        return scope.partition(self.random.choice([level for level, part in parts.items() if part is not None]))

    def moment(self) -> datetime:
        """A time near now."""
        return self.now + self.random.randint(-2, 3) * MINUTE

    def memory(self, partition: Partition) -> Memory:
        """A memory with every field as it falls."""
        pick = self.random.choice
        text = pick(TEXTS)
        optional = {name: pick((None, self.moment())) for name in ("valid_from", "valid_to", "retired_at")}
        return a_memory(
            text,
            partition,
            kind=pick(tuple(Kind)),
            state=pick((State.ACTIVE,) * 4 + tuple(state for state in State if state != State.ERASED)),
            private_agent=pick((None, None, "jarvis", "friday")),
            agent=pick((None, "jarvis")),
            trust=pick(tuple(Trust)),
            importance=pick((0.0, 0.25, 0.5, 1.0)),
            faded=pick((None, None, 0.1)),
            confidence=pick((0.0, 1 / 3, 1.0)),
            categories=tuple(self.random.sample(("tea", "plan", "ü", "1"), self.random.randint(0, 2))),
            source=pick(("", "chat")),
            is_pinned=pick((True, False)),
            metadata=self.metadata(),
            bookkeeping=self.metadata(),
            created_at=self.moment(),
            observed_at=self.moment(),
            updated_at=self.now,
            expires_at=pick((None, None, None, None, self.moment())),
            **optional,
        )

    def filter_mapping(self, depth: int = 2) -> dict[str, object]:
        """A filter over any field and operator, up to `depth` levels of and, or, not."""
        kind = self.random.randint(0, 5 if depth else 2)
        if kind <= 2:
            return self._condition()
        inner = [self.filter_mapping(depth - 1) for _ in range(self.random.randint(0, 3))]
        return {"not": self.filter_mapping(depth - 1)} if kind == 5 else {("and", "or")[kind - 3]: inner}

    def query(self) -> MemoryQuery:
        """A query with a filter more often than not, and each other condition now and then, so that rows remain."""
        pick = self.random.choice
        return MemoryQuery(
            now=self.now,
            states=pick(((), (), (State.ACTIVE,), tuple(self.random.sample(tuple(State), 2)))),
            kinds=pick(((), (), (), tuple(Kind)[:6])),
            filter=parse_filter(pick((None, self.filter_mapping(), self.filter_mapping()))),
            as_of=pick((None, None, None, self.moment())),
            known_at=pick((None, None, None, self.moment())),
            order=pick(tuple(Order)),
            limit=pick((None, None, None, 0, 1, 3)),
            after=pick((None, None, None, self.known(self.memory_ids))),
        )

    def metadata(self) -> dict[str, object]:
        """Up to three keys with values of every kind."""
        keys = self.random.sample(KEYS, self.random.randint(0, 3))
        return {key: self.random.choice(VALUES) for key in keys}

    def _condition(self) -> dict[str, object]:
        pick = self.random.choice
        name = pick(("kind", "state", "level", "agent", "text", "categories", "is_pinned", "metadata", "metadata"))
        name = pick((name, name, pick(NUMBER_FIELDS), pick(TIME_FIELDS)))
        operator = pick(("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists"))
        if name == "is_pinned":
            return {name: {pick(("eq", "ne")): pick((True, False))}}
        if name == "metadata":
            name = "metadata." + pick((*KEYS, "deep.n", "list.0"))
            operator, values = pick((operator, "contains")), SCALARS
        elif name == "categories":
            operator, values = pick(("contains", "exists")), ("tea", "te", "ü")
        elif name in TIME_FIELDS:
            values = tuple(time.isoformat() for time in TIMES)
        elif name in NUMBER_FIELDS:
            values = (0, 0.25, 0.5, 1, 3)
        else:
            operator, values = pick((operator, "contains")), ("fact", "active", "user", "jarvis", "tea", "e", "")
        value: object = pick(values)
        if operator == "exists":
            value = pick((True, False))
        elif operator == "in":
            value = [pick(values) for _ in range(self.random.randint(0, 3))]
        return {name: {operator: value}}

    def known(self, ids: Sequence[str]) -> str:
        """One of the last ids made, now and then one that nothing has."""
        return self.random.choice((*ids[-30:], "unknown"))

    def conversation(self) -> tuple[Partition, str]:
        """The place of some session."""
        scope = self.random.choice([scope for scope in self.scopes if scope.session is not None])
        return scope.message_partition, scope.session or ""
