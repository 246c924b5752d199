"""Regular expressions that are compiled when they are first used.

Those with the letters of many scripts take milliseconds each to compile, and a process that answers one question needs
few of them.
"""

from __future__ import annotations

import re
from typing import cast


def pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, which is called with the first use; a source that is no expression shows then. Only what is
    called on the pattern works, not `re.sub(pattern, …)` or `isinstance`.
    """
    return cast("re.Pattern[str]", _Pattern(source, flags))


class _Pattern:
    """Finds methods of the compiled expression, and keeps them: a second use costs no more than without."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._source, self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found
