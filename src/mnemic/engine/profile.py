"""The profile: hard facts about a user by key, always in the prompt, with the most important and newest memories."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from mnemic.engine.access import forget_answers
from mnemic.engine.engine import Engine
from mnemic.engine.importance import is_present, most_important
from mnemic.engine.inputs import check_text
from mnemic.engine.lasting_facts import live_entries, put_fitting
from mnemic.engine.secrets import fact_without_secrets
from mnemic.errors import BackendError, InvalidInputError
from mnemic.model.item import Profile, ProfileEntry
from mnemic.model.recall import MemoryQuery
from mnemic.model.scope import Level, Partition, Scope, check_unicode

_log = logging.getLogger("mnemic.profile")

MAX_KEY_CHARS = 100  # a key is a name such as `home.city`, and is part of every prompt
MAX_VALUE_CHARS = 2000  # about 500 tokens: the profile is part of every prompt
DYNAMIC_MEMORIES = 10  # shown with the profile in every prompt: a few hundred tokens
_COMPARED = 15  # memories to compare for each one that is shown


def profile_partition(scope: Scope) -> Partition:
    """The partition of a scope's profile: its user's, or without a user its session's."""
    return scope.partition(Level.USER if scope.user is not None else Level.SESSION)


def set_profile(engine: Engine, scope: Scope, entries: Mapping[str, str | None], *, source: str) -> list[ProfileEntry]:
    """Write facts by key (None removes) and return the profile. Secrets are redacted. Raises `InvalidInputError` for
    too many facts set by hand, and then writes nothing; derived ones give way.
    """
    now, partition = engine.clock.now(), profile_partition(scope)
    kept = [
        fact_without_secrets(engine, ProfileEntry(partition, _key(key), _value(engine, key, value), source, now, now))
        for key, value in entries.items()
        if value is not None
    ]
    removed = [_key(key) for key, value in entries.items() if value is None]
    with engine.store.write() as work:
        if removed:
            work.profiles.remove(partition, removed)
            forget_answers(work, [partition])
        if put_fitting(engine, work, partition, kept):
            most = engine.settings.max_profile_facts
            raise InvalidInputError(
                f"a profile can contain at most {most} facts (memory.profile.max-facts); remove some first"
            )
        return work.profiles.of(partition)


def get_profile(engine: Engine, scope: Scope) -> list[ProfileEntry]:
    """The static profile, by key; empty without a user or session, or without facts."""
    if scope.user is None and scope.session is None:
        return []
    with engine.store.read() as work:
        return live_entries(engine, work, profile_partition(scope))


def whole_profile(engine: Engine, scope: Scope) -> Profile:
    """The static facts, and the user's most important and newest memories, in one read."""
    if scope.user is None and scope.session is None:
        return Profile((), ())
    visible = scope.visibility.at(Level.USER)
    query = MemoryQuery(now=engine.clock.now(), limit=DYNAMIC_MEMORIES * _COMPARED)
    with engine.store.read() as work:
        static = live_entries(engine, work, profile_partition(scope))
        newest = work.memories.list(visible, replace(query, limit=DYNAMIC_MEMORIES // 2))
        memories = [*newest, *most_important(work, visible, query)]
    current = [m for m in memories if not m.flags and is_present(m, query.now)]
    unique = {memory.id: memory for memory in current}
    return Profile(tuple(static), tuple(unique.values())[:DYNAMIC_MEMORIES])


_Answer = TypeVar("_Answer")


def or_empty(engine: Engine, ask: Callable[[], _Answer], empty: _Answer) -> _Answer:
    """The result of `ask`. If the store fails, logs a warning and returns `empty`."""
    try:
        return ask()
    except BackendError as error:
        _log.warning("continuing without the profile (%s)", type(error).__name__)
        engine.observer.count("mnemic.profile.failure", kind=type(error).__name__)
        return empty


def check_profile_fact(engine: Engine, key: object, value: object) -> None:
    """Raises `InvalidInputError` if a key or its value is invalid."""
    _value(engine, _key(key), value)


def _key(key: object) -> str:
    if not isinstance(key, str) or not key.strip() or len(key) > MAX_KEY_CHARS or "\n" in key:
        raise InvalidInputError(f"a profile key must be one line of 1 to {MAX_KEY_CHARS} characters, not {key!r:.120}")
    return check_unicode(key.strip(), "a profile key")


def _value(engine: Engine, key: str, value: object) -> str:
    text = check_text(value, f"the value of {key!r}", engine.settings)
    if len(text) > MAX_VALUE_CHARS:
        raise InvalidInputError(
            f"the value of {key!r} has {len(text)} characters; at most {MAX_VALUE_CHARS} are allowed"
        )
    return text
