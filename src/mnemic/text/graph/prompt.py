"""What a language model is asked when a text is read for the graph, and how its answer is read.

An answer counts as far as the text carries it: a name must stand in the text, and a relation must join two of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from mnemic.errors import BadReplyError
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.graph import MAX_TYPE_CHARS, RELATED_TO, EntityType
from mnemic.model.item import Role
from mnemic.text import sanitise
from mnemic.text.graph.find import MOST_RELATIONS, Findings, Found
from mnemic.text.graph.names import Name, clean_name, name_key, type_of
from mnemic.text.graph.phrases import Phrase, relation_types
from mnemic.text.late_pattern import late_pattern
from mnemic.text.replies import read_item
from mnemic.text.wordings import wording

PROMPT_VERSION = "graph-1"
"""Part of the name of the reader; it changes with any wording here."""

TIMEOUT_S = 20.0
REPLY_TOKENS = 700
MAX_SHOWN_CHARS = 4000
_BEGIN, _END = "---BEGIN TEXT---", "---END TEXT---"
_FORGED = late_pattern(r"[-=_*#<\[]+\s*(?:begin|end)[\s_-]+text\s*[-=_*#>\]]*", re.IGNORECASE)
_LIST: dict[str, object] = {"type": "array", "items": {"type": "object"}}
_REPLY: dict[str, object] = {
    "type": "object",
    "properties": {"entities": _LIST, "relations": _LIST},
    "required": ["entities"],
}
_USER = ("user", "the user", "i", "用户", "我")
_TYPE = re.compile(r"[A-Z][A-Z0-9_]*")


def graph_prompt(text: str) -> Prompt:
    """Asks for the entities and relations of one text."""
    order = wording("en", "graph.ask").format(entities=", ".join(EntityType), relations=", ".join(relation_types()))
    inside = _FORGED.sub("[REDACTED]", sanitise.sanitise(text[:MAX_SHOWN_CHARS]))
    messages = (PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, f"{_BEGIN}\n{inside}\n{_END}"))
    return Prompt(messages=messages, schema=_REPLY, max_tokens=REPLY_TOKENS, timeout_s=TIMEOUT_S)


def read_graph(completion: Completion, text: str, speaker: str) -> Found:
    """What a reply says of the text. Raises `BadReplyError` for one that is cut or holds no such object.

    What does not stand in the text is left out; `speaker` is the name of the user, "" where there is nobody to note.
    """
    if completion.finish is Finish.LENGTH:
        raise BadReplyError("the model's reply was cut at its limit of tokens")
    reading = read_item(completion.text, _REPLY)
    if not reading.items:
        why = reading.refused[0].reason if reading.refused else "there is no JSON object in it"
        raise BadReplyError(f"the model's reply holds no entities: {why}")
    reply, findings = reading.items[0], Findings()
    known: dict[str, Name] = {}
    for entry in _entries(reply.get("entities")):
        name = _name(entry.get("name"), text, speaker)
        if name is not None:
            known.setdefault(name.key, name)
            findings.see(name, entity_type(entry.get("type")))
    for entry in _entries(reply.get("relations"))[:MOST_RELATIONS]:
        ends = [_name(entry.get(end), text, speaker) for end in ("source", "target")]
        first, second = (None if end is None else known.get(end.key) for end in ends)
        if first is not None and second is not None:
            span = (min(first.start, second.start), max(first.end, second.end))
            findings.relate(first, second, Phrase(relation_type(entry.get("type"))), span)
    return findings.found()


def entity_type(said: object) -> EntityType:
    """The type that somebody named, THING for one that is not known."""
    word = str(said or "").strip().lower().replace("organization", EntityType.ORGANISATION.value)
    word = {"company": "organisation", "location": "place", "tool": "technology", "people": "person"}.get(word, word)
    return EntityType(word) if word in tuple(EntityType) else EntityType.THING


def relation_type(said: object) -> str:
    """The type of a relation in capitals, RELATED_TO for what cannot be one."""
    type_ = re.sub(r"[^A-Za-z0-9]+", "_", str(said or "")).strip("_").upper()
    return type_ if _TYPE.fullmatch(type_) and len(type_) <= MAX_TYPE_CHARS else RELATED_TO


def _entries(value: object) -> list[Mapping[str, object]]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, object]", entry) for entry in found if isinstance(entry, dict)]


def _name(said: object, text: str, speaker: str) -> Name | None:
    """A name where it stands in the text; None when it does not."""
    if not isinstance(said, str):
        return None
    if said.strip().lower() in _USER:
        place = re.search(r"\b(?:user|I)\b|用户|我", text, re.IGNORECASE)
        return Name(speaker, place.start(), place.end(), EntityType.PERSON) if speaker and place else None
    shown = clean_name(said)
    place = re.search(_whole(shown), text, re.IGNORECASE) if shown and name_key(shown) else None
    if place is None or sanitise.findings(shown):
        return None
    return Name(clean_name(place.group()), place.start(), place.end(), type_of(shown))


def _whole(name: str) -> str:
    """An expression for a name that is no part of a longer word; scripts without blanks have no such parts."""
    before = r"(?<!\w)" if name[0].isascii() else ""
    return before + re.escape(name) + (r"(?!\w)" if name[-1].isascii() and name[-1].isalnum() else "")
