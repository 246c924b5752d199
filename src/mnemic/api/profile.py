"""The verbs of the profile."""

from __future__ import annotations

import builtins
from collections.abc import Mapping

from mnemic.engine.engine import Parts
from mnemic.engine.profile import get_profile, set_profile, whole_profile
from mnemic.model.item import Profile, ProfileEntry
from mnemic.model.scope import Scope
from mnemic.text.blocks import Language, profile_block


class ProfileVerbs:
    """Hard facts of a user, by key; names and values are text."""

    def __init__(self, parts: Parts, actor: str) -> None:
        self._parts, self._actor = parts, actor

    def set(self, scope: Scope, facts: Mapping[str, str | None]) -> list[ProfileEntry]:
        """Write facts by key; None removes one. The answer is the whole static profile."""
        return set_profile(self._parts, scope, facts, source=self._actor)

    def get(self, scope: Scope) -> builtins.dict[str, str]:
        """The facts by key, ordered; empty when there are none."""
        return {entry.key: entry.value for entry in get_profile(self._parts, scope)}

    def all(self, scope: Scope) -> Profile:
        """The static facts, and beside them the most important and the newest memories of the user."""
        return whole_profile(self._parts, scope)

    def format(self, scope: Scope, *, language: Language = "en") -> str:
        """The block for a system prompt: a heading and "key: value" lines; "" when there is nothing."""
        return profile_block(self.get(scope), language)
