"""Separates people's text from machine output: code, markup, JSON, logs, stack traces, commands, placeholders. Works on
spans of lines. It prefers passing a line of code to losing a sentence: a line counts as a machine's only by a mark that
people do not make.
"""

import re
from collections.abc import Iterator
from functools import partial

from mnemic.text.normalise import late_pattern, stored_pattern

MAX_WORD_CHARS = 80
"""A longer run without a blank, in a script that uses blanks, is a path, a key or encoded data."""

LEAST_LETTERS = 0.55
"""Minimum share of letters and blanks in a line of at least `MEASURED_CHARS`; tables, numbers and code have less."""

MEASURED_CHARS = 24

_pattern = partial(stored_pattern, __name__)
_FENCE = re.compile(r"\s*(?:```|~~~)")
_MESSAGE_BELOW = late_pattern(r"\s*thread '[^']*' panicked at .*:$")
_PLACEHOLDER = _pattern("placeholder")
_MARKUP = late_pattern(r"\s*</?[a-zA-Z!][^<>\n]*>|.*</[a-zA-Z][\w-]*>\s*$|\s*<[!?]")
_JSON = _pattern("json")
_TRACE = _pattern("trace")
_LOG = _pattern("log")
_COMMAND = _pattern("command")
_CODE = _pattern("code")
_OPENS_CODE = _pattern("opens_code")
_MARKS = (_MARKUP, _JSON, _TRACE, _LOG, _COMMAND)
_SCRIPT_WITH_BLANKS = late_pattern(r"[a-zA-Z0-9+/=_.:-]")


def machine_spans(text: str) -> list[tuple[int, int]]:
    """Half-open spans of machine-written lines, and of placeholders and errors within lines; in order, not joined."""
    spans: list[tuple[int, int]] = []
    is_fenced = was_machine = says_more = False
    position = 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        bare = line.rstrip("\r\n")
        is_fence = _FENCE.match(bare) is not None
        is_more = says_more or (was_machine and bare[:2].strip() == "" and bool(bare.strip()))
        if is_fence or is_fenced or is_more or is_machine_line(bare):
            spans.append((start, position))
            was_machine = True
        else:
            was_machine = was_machine and not bare.strip()
            spans += [(start + found.start(), start + found.end()) for found in _PLACEHOLDER.finditer(bare)]
        is_fenced = is_fenced != is_fence
        says_more = _MESSAGE_BELOW.match(bare) is not None
    return spans


def is_machine_line(line: str) -> bool:
    """True for a line of code, markup, data, a log, a trace or a command."""
    if not line.strip():
        return False
    if any(mark.match(line) for mark in _MARKS):
        return True
    if _CODE.match(line) and not _OPENS_CODE.match(line):
        return True
    longest = max(line.split(), key=len)
    if len(longest) > MAX_WORD_CHARS and all(_SCRIPT_WITH_BLANKS.match(character) for character in longest):
        return True
    shown = line.strip()
    plain = sum(character.isalpha() or character.isspace() for character in shown)
    return len(shown) >= MEASURED_CHARS and plain < LEAST_LETTERS * len(shown)


def is_machine_text(text: str) -> bool:
    """True if a machine wrote at least half of the non-blank characters."""
    total = sum(not character.isspace() for character in text)
    machine = sum(not c.isspace() for start, end in machine_spans(text) for c in text[start:end])
    return 2 * machine >= total > 0


def prose_parts(text: str) -> Iterator[tuple[int, int]]:
    """The non-blank spans between machine output."""
    begin = 0
    for start, end in [*machine_spans(text), (len(text), len(text))]:
        if text[begin:start].strip():
            yield begin, start
        begin = max(begin, end)
