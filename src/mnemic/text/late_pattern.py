"""Regular expressions that are compiled when they are first used, not on import.

The rules of extraction and curation are many and long: compiling them all takes tens of milliseconds, which a process
that only recalls need not wait for. A wrong expression is found by its first use, so every rule needs a test.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class LatePattern:
    """Like the `re.Pattern` of the same source and flags, of which it has the methods that rules use.

    May be used by several threads: the worst is that two of them compile the same expression once.
    """

    __slots__ = ("_compiled", "_flags", "_source")

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def pattern(self) -> re.Pattern[str]:
        """The compiled expression. Raises `re.error` for a wrong one."""
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """The first match from `start` on, and before `end`."""
        return self.pattern.search(text, start, len(text) if end is None else end)

    def match(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The match that begins at `start`."""
        return self.pattern.match(text, start)

    def fullmatch(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The match that is the whole text from `start` on."""
        return self.pattern.fullmatch(text, start)

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        """All matches that do not overlap, in order."""
        return self.pattern.finditer(text, start)

    def findall(self, text: str) -> list[str]:
        """The texts of all matches; of an expression with one group, those of the group."""
        return self.pattern.findall(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """The text with its matches replaced."""
        return self.pattern.sub(new, text, count)

    def split(self, text: str) -> list[str]:
        """The pieces between the matches."""
        return self.pattern.split(text)
