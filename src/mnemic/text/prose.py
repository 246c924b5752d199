"""Tells what people write from what machines write: code, markup, JSON, logs, stack traces, commands, placeholders.

Answers for spans of lines. It would rather let a line of code pass than lose a sentence: a line counts as a machine's
only by a mark that people do not make.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.text.normalise import late_pattern

MAX_WORD_CHARS = 80
"""A longer run without a blank, in a script that uses blanks, is a path, a key or encoded data."""

LEAST_LETTERS = 0.55
"""Share of letters and blanks in a line of at least `MEASURED_CHARS`; tables, numbers and code have less."""

MEASURED_CHARS = 24

_FENCE = re.compile(r"\s*(?:```|~~~)")
_PLACEHOLDER = late_pattern(
    r"!?\[(?:image|photo|picture|video|audio|file|sticker|gif|attachment|screenshot)\b[^\]\n]{0,400}\](?:\([^)\n]*\))?"
    r"|!\[[^\]\n]*\]\([^)\n]*\)",
    re.IGNORECASE,
)
_MARKUP = late_pattern(r"\s*</?[a-zA-Z!][^<>\n]*>|.*</[a-zA-Z][\w-]*>\s*$|\s*<[!?]")
_JSON = late_pattern(r"\s*[{\[]\s*(?:[\"'{\[\d]|$)|\s*\"[^\"\n]*\"\s*:|\s*[}\]]+[,;)]*\s*$|.*\"\s*:\s*[\[{\"\d].*[}\]]")
_TRACE = late_pattern(
    r"\s*Traceback \(most recent call last\)|\s*File \"[^\"\n]+\", line \d+|\s*at [\w$.<>/]+ ?\(.*\)\s*$"
    r"|\s*at .*:\d+:\d+\)?$|\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Warning|Fault|Panic)\b\s*(?::|$)"
    r"|\s*(?:panic|fatal|error|warning|E|F|W)(?:\[\w+\])?: |\s*thread '[^']*' panicked|\s*goroutine \d+ \["
    r"|\s*(?:Uncaught )?Error: |\s*[\w./-]+:[\w./-]+:\d+\b|.*\bENOENT\b|\s*[➜❯λ]\s|\s*Node\.js v\d[\d.]*\s*$|.*\\n.*\\n"
    r"|\s*Caused by: |\s*called `|\s*\.\.\. \d+ more|\s*-->\s+\S+:\d+|\s*npm (?:ERR!|WARN)|\s*Segmentation fault"
)
_LOG = late_pattern(
    r"\s*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?\S*\s+\S"
    r"|\s*\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|TRACE|CRITICAL)\]?[\s:|]"
    r"|\s*(?:diff --git|index [0-9a-f]{7}|@@ |\+\+\+ |--- [ab/])|[0-9a-f]{32,}"
)
_COMMAND = late_pattern(
    r"\s*(?:[$#%>]|>>>|\w+@[\w-]+[:~]\S*[$#])\s+\S|\s*(?:sudo |docker(?:[ -]compose)?|kubectl|npm|npx|yarn|pnpm"
    r"|pip3?|cargo|git|apt(?:-get)?|brew|curl|wget|systemctl|chmod|python3?|node|psql|ssh|scp|rsync)"
    r" +[\w./:=@-]+(?: +[\w./:=@,-]+){0,12}\s*$"
)
_CODE = late_pattern(
    r"\s*(?:def |class |async def |func |fn |pub |impl |const |let |var |from [\w.]+ import|#include|package "
    r"|using |public |private |static |return\b|function\b|if \(|for \(|while \(|@\w+(?:\(|$)|elif |else:|try:)"
    r".*(?:[;:{}()=]|$)$|.*[;{]\s*$|\s*[)}\]]+[;,]?\s*$|\s{4,}\S.*[()=\[\]{}]"
    r"|\s*import (?:[\w.]+(?: as \w+)?|.* from ['\"].*)\s*;?$"
    r"|\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|ALTER TABLE)\b.*(?:\bFROM\b|\bSET\b|\bVALUES\b|\()"
    r"|\s*[\w.\[\]\"']+ ?(?:[-+*/|&]?=|:=|=>|->) ?\S.*[()\[\]{}\"'\d]\s*$"
)
_OPENS_CODE = late_pattern(
    r"\s*(?:return|import|let|from|class|using|package|private|public|static|if|for|while) [a-z' ]+[.!?]?$"
)
_MARKS = (_MARKUP, _JSON, _TRACE, _LOG, _COMMAND)
_SCRIPT_WITH_BLANKS = late_pattern(r"[a-zA-Z0-9+/=_.:-]")


def machine_spans(text: str) -> list[tuple[int, int]]:
    """Half-open spans of whole lines that a machine wrote, and of placeholders within lines; in order, not joined."""
    spans: list[tuple[int, int]] = []
    is_fenced = was_machine = False
    position = 0
    for line in text.splitlines(keepends=True):
        start, position = position, position + len(line)
        bare = line.rstrip("\r\n")
        is_fence = _FENCE.match(bare) is not None
        is_more = was_machine and bare[:2].strip() == "" and bool(bare.strip())
        if is_fence or is_fenced or is_more or is_machine_line(bare):
            spans.append((start, position))
            was_machine = True
        else:
            was_machine = was_machine and not bare.strip()
            spans += [(start + found.start(), start + found.end()) for found in _PLACEHOLDER.finditer(bare)]
        is_fenced = is_fenced != is_fence
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
    """True when a machine wrote most of a text: at least half of its characters that are no blanks."""
    total = sum(not character.isspace() for character in text)
    machine = sum(not c.isspace() for start, end in machine_spans(text) for c in text[start:end])
    return 2 * machine >= total > 0


def prose_parts(text: str) -> Iterator[tuple[int, int]]:
    """The spans between what machines wrote, without the blank ones."""
    begin = 0
    for start, end in [*machine_spans(text), (len(text), len(text))]:
        if text[begin:start].strip():
            yield begin, start
        begin = max(begin, end)
