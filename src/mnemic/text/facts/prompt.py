"""What a language model is asked when facts are sought in a user's message, and how its answer is read.

It sees the talk before the message and what is noted already. A fact whose words the message lacks ("she is ill")
names the earlier messages that hold them as its sources too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.errors import BadReplyError
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.item import Fact, Kind, Message, Provenance, Role, Trust
from mnemic.text import sanitise
from mnemic.text.analyser import Analyser
from mnemic.text.blocks import Language
from mnemic.text.facts.find import EXTRACTOR, MAX_FACTS, Said
from mnemic.text.facts.statements import MAX_MESSAGE_CHARS, slot_of
from mnemic.text.languages import detect
from mnemic.text.normalise import late_pattern
from mnemic.text.prompts import speaker
from mnemic.text.replies import read_items
from mnemic.text.sentences import sentences
from mnemic.text.wordings import wording

PROMPT_VERSION = "facts-2"
"""Part of the version in provenance; it changes with any wording here."""

TIMEOUT_S = 15.0
REPLY_TOKENS = 1024
MAX_LINE_CHARS = 1000
"""More of a message in the talk before is not shown."""

MAX_TALK_CHARS = 4000
_MISSING = 0.4
"""Largest share of a fact's words that its own message may lack. Above it, earlier messages become sources too."""

_ORDER_TOKENS = 900  # the order in the longest language, with markers and notes
_CHARS_PER_TOKEN = 2  # few, so that Chinese fits too
MAX_FACT_CHARS = 500

KINDS = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.CONTEXT, Kind.EVENT)
_CONFIDENCE = 0.8
_FORGED = late_pattern(
    r"(?<![-=_*#<\[])[-=_*#<\[]++\s*+(?:begin|end)[\s_-]++(?:message|talk|notes)\s*+[-=_*#>\]]*+", re.IGNORECASE
)

_ITEM: dict[str, object] = {
    "type": "object",
    "properties": {
        "type": {"type": "string", "enum": [kind.name for kind in (*KINDS, Kind.LEARNING)]},
        "content": {"type": "string", "maxLength": MAX_FACT_CHARS},
    },
    "required": ["type", "content"],
}
_ANALYSER = Analyser()


@dataclass(frozen=True, slots=True)
class Asked:
    """A message for a model, the talk before it, what is noted already, and how many facts it may find. With
    `has_learnings` it also looks for what the assistant should learn.
    """

    said: Said
    talk: Sequence[Message] = ()
    notes: Sequence[str] = ()
    most: int = MAX_FACTS
    has_learnings: bool = False


def extraction_prompt(asked: Asked, language: Language, context_tokens: int) -> Prompt:
    """Asks for the facts in one message, with as much of the talk as the context allows."""
    types, said = ", ".join(kind.name for kind in KINDS), asked.said
    order = wording(language, "facts.ask").format(day=f"{said.at:%A, %Y-%m-%d}", types=types, most=asked.most)
    if asked.has_learnings:
        order += wording(language, "facts.learning")
    room = max(1000, (context_tokens - REPLY_TOKENS - _ORDER_TOKENS) * _CHARS_PER_TOKEN)
    message, notes = said.text[: min(MAX_MESSAGE_CHARS, room)], [f"- {note}" for note in asked.notes]
    room = min(MAX_TALK_CHARS, room - len(message) - sum(map(len, notes)))
    lines = [f"{speaker(each)}: {sanitise.one_line(each.text[:MAX_LINE_CHARS])}" for each in asked.talk]
    while lines and sum(map(len, lines)) > room:
        del lines[0]
    parts = {"TALK": lines, "NOTES": notes, "MESSAGE": [message]}
    inside = "\n".join(
        f"---BEGIN {name}---\n{_FORGED.sub('[REDACTED]', sanitise.sanitise(chr(10).join(part)))}\n---END {name}---"
        for name, part in parts.items()
        if part
    )
    messages = (PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, inside))
    return Prompt(messages=messages, max_tokens=REPLY_TOKENS, timeout_s=TIMEOUT_S)


def read_facts(completion: Completion, asked: Asked, version: str) -> list[Fact]:
    """The facts in a reply, up to the limit, without any that addresses the assistant as an instruction.

    Each names the sentence of the message that carries most of its words. Raises `BadReplyError` for a reply that holds
    no list.
    """
    if completion.finish is Finish.LENGTH:
        raise BadReplyError("the model's reply was cut off at its token limit")
    reading = read_items(completion.text, _ITEM)
    if not reading.is_answer:
        why = reading.refused[0].reason if reading.refused else "it has no JSON array"
        raise BadReplyError(f"the model's reply contains no facts: {why}")
    facts: list[Fact] = []
    for item in reading.items:
        text, kind = sanitise.one_line(str(item["content"])), Kind[str(item["type"])]
        is_wanted = kind is not Kind.LEARNING or asked.has_learnings
        if not text or not is_wanted or sanitise.findings(text) or text in [fact.text for fact in facts]:
            continue
        facts.append(_fact(text, kind, asked, version))
    return facts[: asked.most]


def _fact(text: str, kind: Kind, asked: Asked, version: str) -> Fact:
    said, others = asked.said, _carriers(text, asked)
    sources = tuple(_carrier(text, each, version) for each in (said, *others))
    span = said.text[sources[0].start : sources[0].end]
    slot, value = slot_of(span, detect(span))
    is_filled = bool(value) and value.casefold() in text.casefold() and kind is not Kind.LEARNING
    return Fact(
        text=text,
        kind=kind,
        observed_at=said.at,
        confidence=_CONFIDENCE,
        slot=slot if is_filled else "",
        value=value if is_filled else "",
        provenance=sources,
        trust=Trust.lowest(*(each.trust for each in (said, *others))),
    )


def _carriers(fact: str, asked: Asked) -> list[Message]:
    """The earlier messages that hold words of the fact where its own lacks too many: the user's first, the newest in
    front, and then the assistant's.
    """
    wanted = _words(fact)
    missing = wanted.difference(_ANALYSER.terms(asked.said.text))
    found: list[Message] = []
    for message in sorted(asked.talk, key=lambda each: (each.role is not Role.USER, -each.position)):
        held = missing.intersection(_ANALYSER.terms(message.text))
        if held and len(missing) > _MISSING * len(wanted):
            missing -= held
            found.append(message)
    return found


def _words(fact: str) -> set[str]:
    return set(_ANALYSER.query_terms(fact)).difference(_ANALYSER.query_terms("User 用户"))


def _carrier(fact: str, source: Said | Message, version: str) -> Provenance:
    """The sentence of a source that holds most of the fact's words, and the share of them that it holds; the whole text
    where it holds more than any sentence.
    """
    wanted = _words(fact)

    def share(span: tuple[int, int]) -> float:
        held = wanted.intersection(_ANALYSER.terms(source.text[span[0] : span[1]]))
        return round(len(held) / len(wanted), 2) if wanted else 1.0

    best = max([*sentences(source.text), (0, len(source.text))], key=share)
    return Provenance(source.id, *best, EXTRACTOR, version, share(best))
