"""Takes secrets out of a text before it is stored, and says what was taken out without saying what it was."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mnemic.engine.parts import Parts
from mnemic.ports.detector import SecretSpan

MAX_ROUNDS = 4
"""What stands around a secret may read like one once it is out; after so many looks the text is as it is."""

_PLACEHOLDER = re.compile(r"\[REDACTED: [a-z0-9-]{1,40}\]")


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret that a text held: its kind, and the line, counted from 1, in which it began."""

    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and what they were, in their order. Without findings the text is the one given.

    `rounds`: what was replaced, in positions of the text as it was before that round.
    """

    text: str
    findings: tuple[SecretFinding, ...] = ()
    rounds: tuple[tuple[SecretSpan, ...], ...] = ()

    def moved(self, position: int) -> int:
        """Where a position of the given text is in this one; one inside a secret is where its placeholder begins."""
        for spans in self.rounds:
            shift = 0
            for start, end, kind in spans:
                if position < end:
                    position = min(position, start)
                    break
                shift += len(placeholder(kind)) - (end - start)
            position += shift
        return position

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds found, each once, in the order of their first."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))


def redact(parts: Parts, text: str) -> Redacted:
    """The text with each secret replaced by `[REDACTED: <kind>]`, all else verbatim; secrets that overlap become one.

    Without a detector, or for kinds that the settings let pass, the text stays. Redacting twice changes nothing more.
    """
    found: list[SecretFinding] = []
    rounds: list[tuple[SecretSpan, ...]] = []
    if parts.detector is not None:
        for _ in range(MAX_ROUNDS):
            if not (spans := _spans(parts, text)):
                break
            found += [SecretFinding(span.kind, text.count("\n", 0, span.start) + 1) for span in spans]
            rounds.append(tuple(spans))
            text = _replaced(text, spans)
    return Redacted(text, tuple(found), tuple(rounds))


def placeholder(kind: str) -> str:
    """What stands in a stored text where a secret was."""
    return f"[REDACTED: {kind}]"


def _spans(parts: Parts, text: str) -> list[SecretSpan]:
    """What is to be replaced, in order and without overlap; what was replaced before is no secret."""
    detector, passing = parts.detector, parts.settings.secrets_passing
    found = [span for span in detector.find(text) if span.kind not in passing] if detector is not None else []
    if not found:
        return []
    done = [match.span() for match in _PLACEHOLDER.finditer(text)]
    fresh = [span for span in found if not any(start <= span.start and span.end <= end for start, end in done)]
    return list(_merged(fresh))


def _merged(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Spans that overlap as one, under the kind of the one that begins first, of several the longest."""
    held: SecretSpan | None = None
    for span in sorted(spans, key=lambda span: (span.start, -span.end, span.kind)):
        if held is None or span.start >= held.end:
            if held is not None:
                yield held
            held = span
        else:
            held = held._replace(end=max(held.end, span.end))
    if held is not None:
        yield held


def _replaced(text: str, spans: Iterable[SecretSpan]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += [text[done:start], placeholder(kind)]
        done = end
    return "".join([*pieces, text[done:]])
