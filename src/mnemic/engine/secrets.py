"""Redacts secrets before storage, and gates memories: orders to the model that the user did not say are kept but not
recalled (docs/decisions/0017-write-gate.md). Messages and passages pass; recall removes orders from them.
"""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

from mnemic.engine.engine import Engine
from mnemic.engine.inputs import check_line
from mnemic.model.item import Memory, MemoryDraft, Message, MessageDraft, ProfileEntry, State, Trust
from mnemic.model.records import HistoryEntry
from mnemic.model.settings import Quarantine
from mnemic.ports.models import SecretSpan
from mnemic.text.sanitise import findings

_log = logging.getLogger("mnemic.secrets")

MAX_REASON_CHARS = 4000  # a page; it is kept in the item's history for good
MAX_ROUNDS = 4
"""Redaction passes: text around a removed secret may look like one. After the last pass the text stays as it is."""

TEXTS = ("text", "name", "context", "snippet", "source", "reason")
MAPPINGS = ("metadata", "bookkeeping", "before", "after")
Noun = TypeVar("Noun", bound=MessageDraft | MemoryDraft | Message | Memory | HistoryEntry)
Kinds = tuple[str, ...]
_PLACEHOLDER = re.compile(r"\[REDACTED: [a-z0-9-]{1,40}\]")


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret found: its kind, and the line in which it began (from 1)."""

    kind: str
    line: int


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text and its findings in order. `rounds`: replacements, by positions before each round."""

    text: str
    findings: tuple[SecretFinding, ...] = ()
    rounds: tuple[tuple[SecretSpan, ...], ...] = ()

    def moved(self, position: int) -> int:
        """Position in this text of a position in the original. Inside a secret: the start of its placeholder."""
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
    def kinds(self) -> Kinds:
        """The kinds found, each once, in order of occurrence."""
        return tuple(dict.fromkeys(finding.kind for finding in self.findings))


def redact(engine: Engine, text: str) -> Redacted:
    """Replace each secret by `[REDACTED: <kind>]`, overlapping ones as one. Unchanged without a detector, or for
    allowed kinds. Idempotent.
    """
    found: list[SecretFinding] = []
    rounds: list[tuple[SecretSpan, ...]] = []
    if engine.detector is not None:
        for _ in range(MAX_ROUNDS):
            if not (spans := _spans(engine, text)):
                break
            found += [SecretFinding(span.kind, text.count("\n", 0, span.start) + 1) for span in spans]
            rounds.append(tuple(spans))
            text = _replace_spans(text, spans)
    return Redacted(text, tuple(found), tuple(rounds))


def without_secrets(engine: Engine, noun: Noun) -> tuple[Noun, Kinds]:
    """A draft or item with redacted texts and metadata, and the kinds found. Without any it is returned as is."""
    fields = {name: getattr(noun, name) for name in (*TEXTS, *MAPPINGS) if hasattr(noun, name)}
    clean, kinds = fields_without_secrets(engine, fields)
    return (replace(noun, **clean), kinds) if kinds else (noun, ())


def clean_reason(engine: Engine, reason: str) -> str:
    """Check a reason for the history. Raises `InvalidInputError` if it is too long or invalid Unicode."""
    return redact(engine, check_line(reason, "reason", limit=MAX_REASON_CHARS)).text


def fields_without_secrets(engine: Engine, fields: Mapping[str, Any]) -> tuple[dict[str, Any], Kinds]:
    """Fields of a draft or item with redacted texts and mappings, and the kinds found."""
    if engine.detector is None:
        return dict(fields), ()
    kinds: list[str] = []
    clean = dict(fields)
    for name, value in fields.items():
        if value and name in TEXTS:
            redacted = redact(engine, value)
            kinds += redacted.kinds
            clean[name] = redacted.text
        elif value and name in MAPPINGS:
            clean[name] = _clean(engine, "", value, kinds)
    return clean, tuple(dict.fromkeys(kinds))


def fact_without_secrets(engine: Engine, fact: ProfileEntry) -> ProfileEntry:
    """A profile entry with a redacted value. Its key may mark the value as a secret."""
    kinds: list[str] = []
    value = cast("str", _clean(engine, fact.key, fact.value, kinds))
    tell_redacted(engine, kinds)
    return replace(fact, value=value) if kinds else fact


def tell_redacted(engine: Engine, kinds: Iterable[str]) -> None:
    """Count and log the redacted kinds, never the secrets."""
    counted = Counter(kinds)
    for kind, number in counted.items():
        engine.observer.count("mnemic.secrets.redacted", number, kind=kind)
    if counted:
        _log.info("redacted secrets before storing: %s", ", ".join(f"{kind} {n}" for kind, n in counted.items()))


def noted(reason: str, kinds: Iterable[str]) -> str:
    """A change's reason with the kinds redacted from its texts."""
    told = ", ".join(kinds)
    return "; ".join(part for part in (reason, f"redacted: {told}" if told else "") if part)


def _clean(engine: Engine, key: str, value: object, kinds: list[str]) -> object:
    """A redacted JSON value. Its key may mark it as a secret, as in `{"password": "…"}`."""
    if isinstance(value, str):
        redacted = redact(engine, value)
        if not redacted.findings and key:
            redacted = _under_key(engine, key, value)
        kinds += redacted.kinds
        return redacted.text
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {name: _clean(engine, name, inner, kinds) for name, inner in items}
    if isinstance(value, list | tuple):
        return [_clean(engine, key, inner, kinds) for inner in cast("list[object]", value)]
    return value


def _under_key(engine: Engine, key: str, value: str) -> Redacted:
    before, after = f'{key} = "', '"'
    redacted = redact(engine, f"{before}{value}{after}")
    if redacted.text.startswith(before) and redacted.text.endswith(after):
        return replace(redacted, text=redacted.text[len(before) : -len(after)], rounds=())
    return Redacted(value)


def placeholder(kind: str) -> str:
    """The replacement of a secret in a stored text."""
    return f"[REDACTED: {kind}]"


def _spans(engine: Engine, text: str) -> list[SecretSpan]:
    """The spans to replace, in order, without overlap and without earlier placeholders."""
    detector, passing = engine.detector, engine.settings.secrets_passing
    found = [span for span in detector.find(text) if span.kind not in passing] if detector is not None else []
    if not found:
        return []
    done = [match.span() for match in _PLACEHOLDER.finditer(text)]
    fresh = [span for span in found if not any(start <= span.start and span.end <= end for start, end in done)]
    return list(_merge_spans(fresh))


def _merge_spans(spans: Iterable[SecretSpan]) -> Iterator[SecretSpan]:
    """Join overlapping spans, under the kind of the first, or of the longest of several first."""
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


def _replace_spans(text: str, spans: Iterable[SecretSpan]) -> str:
    pieces: list[str] = []
    done = 0
    for start, end, kind in spans:
        pieces += [text[done:start], placeholder(kind)]
        done = end
    return "".join([*pieces, text[done:]])


SUSPECT = "it gives orders to the model"  # start of the gate's reason for a quarantine
HIGH = "high"


def suspicion(engine: Engine, memory: Memory) -> str:
    """Why a memory needs trust before it may be recalled; "" if it does not."""
    return suspicion_of(engine, memory.trust, (memory.text, memory.context, memory.snippet))


def suspicion_of(engine: Engine, trust: Trust, texts: Sequence[str]) -> str:
    """The same for texts that are no memory yet."""
    return orders(engine.settings.quarantine, trust, texts)


def orders(wanted: Quarantine, trust: Trust, texts: Sequence[str]) -> str:
    """The same if only the setting is known."""
    if wanted is Quarantine.OFF or (wanted is Quarantine.UNTRUSTED and trust is Trust.USER):
        return ""
    found = {one.pattern for text in texts if text for one in findings(text) if one.severity == HIGH}
    return f"{SUSPECT}: {', '.join(sorted(found))}" if found else ""


def gated(engine: Engine, memory: Memory) -> tuple[Memory, str]:
    """An active memory, quarantined if suspicious, and the suspicion."""
    reason = suspicion(engine, memory) if memory.state is State.ACTIVE else ""
    if not reason:
        return memory, ""
    engine.observer.count("mnemic.guard.quarantined", trust=memory.trust.value)
    return replace(memory, state=State.QUARANTINED), reason
