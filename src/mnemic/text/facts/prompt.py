"""What a language model is asked when facts are sought in a user's message, and how its answer is read."""

import re
from collections.abc import Sequence
from datetime import datetime

from mnemic.errors import BadReplyError
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.item import Fact, Kind, Provenance, Role
from mnemic.text import sanitise
from mnemic.text.analyser import Analyser
from mnemic.text.blocks import Language
from mnemic.text.facts.find import EXTRACTOR, MAX_FACTS, Said, read_attributes, slot_of
from mnemic.text.languages import detect
from mnemic.text.normalise import late_pattern
from mnemic.text.replies import read_items
from mnemic.text.sentences import sentences
from mnemic.text.wordings import wording

PROMPT_VERSION = "facts-1"
"""Part of the version in provenance; it changes with any wording here."""

TIMEOUT_S = 15.0
REPLY_TOKENS = 512
MAX_SHOWN_CHARS = 4000
MAX_FACT_CHARS = 500

KINDS = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.CONTEXT, Kind.EVENT)
_CONFIDENCE = 0.8
_BEGIN, _END = "---BEGIN MESSAGE---", "---END MESSAGE---"
_FORGED = late_pattern(r"(?<![-=_*#<\[])[-=_*#<\[]++\s*+(?:begin|end)[\s_-]++message\s*+[-=_*#>\]]*+", re.IGNORECASE)

_ITEM: dict[str, object] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": [kind.name for kind in (*KINDS, Kind.LEARNING)]},
        "content": {"type": "string", "maxLength": MAX_FACT_CHARS},
    },
    "required": ["type", "content"],
}
_ANALYSER = Analyser()


def extraction_prompt(text: str, at: datetime, language: Language, *, has_learnings: bool = False) -> Prompt:
    """Asks for the facts in one message. With `has_learnings`, also for what the assistant should learn from it."""
    types = ", ".join(kind.name for kind in KINDS)
    order = wording(language, "facts.ask").format(day=f"{at:%Y-%m-%d}", types=types, most=MAX_FACTS)
    if has_learnings:
        order += wording(language, "facts.learning")
    inside = _FORGED.sub("[REDACTED]", sanitise.sanitise(text[:MAX_SHOWN_CHARS]))
    messages = (PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, f"{_BEGIN}\n{inside}\n{_END}"))
    return Prompt(messages=messages, max_tokens=REPLY_TOKENS, timeout_s=TIMEOUT_S)


def read_facts(completion: Completion, said: Said, version: str, *, has_learnings: bool = False) -> list[Fact]:
    """The facts in a reply, at most three, without any that addresses the assistant as an instruction.

    Each names the sentence of the message that carries most of its words. Raises `BadReplyError` for a reply that holds
    no list.
    """
    if completion.finish is Finish.LENGTH:
        raise BadReplyError("the model's reply was cut at its limit of tokens")
    reading = read_items(completion.text, _ITEM)
    if not reading.is_answer:
        why = reading.refused[0].reason if reading.refused else "there is no JSON array in it"
        raise BadReplyError(f"the model's reply holds no facts: {why}")
    facts: list[Fact] = []
    for item in reading.items:
        text, kind = sanitise.one_line(str(item["content"])), Kind[str(item["type"])]
        is_wanted = kind is not Kind.LEARNING or has_learnings
        if not text or not is_wanted or sanitise.findings(text) or text in [fact.text for fact in facts]:
            continue
        facts.append(_fact(text, kind, said, version))
    return facts[:MAX_FACTS]


def _fact(text: str, kind: Kind, said: Said, version: str) -> Fact:
    start, end, support = _carrier(text, said.text)
    span = said.text[start:end]
    slot, value = slot_of(span, detect(span))
    is_filled = bool(value) and value.casefold() in text.casefold() and kind is not Kind.LEARNING
    return Fact(
        text=text,
        kind=kind,
        observed_at=said.at,
        confidence=_CONFIDENCE,
        slot=slot if is_filled else "",
        value=value if is_filled else "",
        provenance=(Provenance(said.id, start, end, EXTRACTOR, version, support),),
        trust=said.trust,
        profile={} if kind is Kind.LEARNING else read_attributes(span),
    )


def _carrier(fact: str, message: str) -> tuple[int, int, float]:
    """The span of the sentence that holds most of the fact's words, and the share of them that it holds; the whole
    message where it holds more than any sentence.
    """
    wanted = set(_ANALYSER.query_terms(fact)) - set(_ANALYSER.query_terms("User 用户"))
    spans: Sequence[tuple[int, int]] = [*sentences(message), (0, len(message))]

    def share(span: tuple[int, int]) -> float:
        held = wanted.intersection(_ANALYSER.terms(message[span[0] : span[1]]))
        return round(len(held) / len(wanted), 2) if wanted else 1.0

    best = max(spans, key=share)
    return best[0], best[1], share(best)
