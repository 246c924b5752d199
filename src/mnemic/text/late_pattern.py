"""Regular expressions that are compiled when they are first used, not on import.

Rules are many and long, and some name the letters of many scripts: compiling them all takes tens of milliseconds, which
a process that answers one question need not wait for. A wrong expression is found by its first use, so every rule needs
a test.
"""

from __future__ import annotations

import re
from typing import cast


def late_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, which is called with the first use. Only what is called on the pattern works, not
    `re.sub(pattern, …)` or `isinstance`. May be used by several threads: the worst is that two compile the same.
    """
    return cast("re.Pattern[str]", _LatePattern(source, flags))


class _LatePattern:
    """Finds methods of the compiled expression, and keeps them: a second use costs no more than without."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._source, self._flags), name)  # `re` keeps what it has compiled
        setattr(self, name, found)
        return found
