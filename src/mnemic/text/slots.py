"""Finds the attribute (slot) and value in a plain sentence: "User lives in Porto" fills `home` with "Porto". Cautious
rules: a sentence counts only if it says that alone, about the user ("User", "I") or a named person. "Anna lives in
Porto" fills `home of anna`. So equal values of a slot mean the same, and different ones contradict each other.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from mnemic.text.languages import SlotRules, detect, languages
from mnemic.text.normalise import key_words, late_pattern

MAX_CHARS = 160  # a longer sentence says more than one thing
_ALIASES = {
    **dict.fromkeys(("location", "residence", "city", "lives in", "home city", "address city", "current city"), "home"),
    **dict.fromkeys(("occupation", "profession", "job title", "role at work", "position"), "job"),
    **dict.fromkeys(("company", "workplace", "works at", "works for"), "employer"),
    **dict.fromkeys(("marital status", "relationship status", "civil status"), "relationship"),
    **dict.fromkeys(("date of birth", "birth date", "birthdate", "dob"), "birthday"),
    **dict.fromkeys(("full name", "first name", "preferred name"), "name"),
    **dict.fromkeys(("email address", "e-mail", "mail address"), "email"),
    **dict.fromkeys(("phone number", "telephone", "mobile number"), "phone"),
    "time zone": "timezone",
}
_SINGLE = frozenset(
    ("home", "job", "employer", "relationship", "birthday", "name", "email", "phone", "timezone", "age")
) | {"partner", "car", "manager", "diet", "handedness"}
ORDER = "wants the assistant to "
"""Slots of this beginning name a standing order to the assistant. The value is "always", "never" or an alternative."""

REMEMBER = f"{ORDER}remember: "
"""Slots of this beginning hold a wish in the user's words, in quotation marks. The value is "always"."""

_SINGLE_BEGINNINGS = ("favourite ", "likes ", "prefers ", "how long ", "when ", "own ", ORDER)
_AGAINST = frozenset(("dislike", "hate", "no longer"))
_ARTICLES = frozenset(("a", "an", "the", "in", "at", "on", "of", "my", "his", "her", "their"))

_ORDINAL = late_pattern(r"^(\d+)(?:st|nd|rd|th)$")


class Relation(StrEnum):
    """How two values of one slot relate. COMPATIBLE ones may both hold, as "Lisbon" and "Lisbon, Portugal" do."""

    SAME = "same"
    COMPATIBLE = "compatible"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot, by its canonical name, and its value."""

    slot: str
    value: str
    is_change: bool = False


def slot_of(text: str) -> Filled | None:
    """The slot that a sentence fills if it says nothing else, or None."""
    sentence = text.strip().rstrip(".!。！").strip()
    if len(sentence) > MAX_CHARS:
        return None
    language = detect(sentence)
    rules = language.slots
    if sentence[:1].islower() and not sentence.startswith(rules.begins_lower):
        sentence = language.restore_capitals(sentence)
    if not (sentence[:1].isupper() or sentence.startswith(rules.begins_lower)):
        return None
    if sentence.startswith(rules.begins_first_person):
        sentence = language.third_person(sentence)
    for slot, rule in rules.told:
        if (match := rule.fullmatch(sentence)) is not None:
            value = match["value"].strip()
            name = canonical(slot or match["slot"])
            if (owner := _owner(match, rules)) is None:
                return None
            if rules.open_end.search(value) and name != "name":
                return None
            return Filled(name + owner, value, is_change=rules.change.search(sentence) is not None)
    return _preference(sentence, rules)


def read_alternative(order: str) -> Filled | None:
    """What an order chooses where only one can hold: "answer in German", "call them Max". None for other orders."""
    for language in languages():
        for key, rule in language.slots.alternatives:
            if (match := rule.fullmatch(order.strip())) is not None:
                return Filled(ORDER + key.format(**match.groupdict()).casefold(), match["value"].strip())
    return None


def forbids(order: Filled) -> bool:
    """True for a standing order to never do something."""
    said = f"{order.value} {order.slot.removeprefix(ORDER)}"
    return any(language.slots.forbids.search(said) for language in languages())


def words_of(order: Filled) -> str:
    """The words that an order was given in: what to do always or never, or the alternative."""
    is_plain = any(order.value in language.slots.order_values for language in languages())
    return order.slot.removeprefix(REMEMBER).removeprefix(ORDER) if is_plain else order.value


def is_of_project(sentence: str) -> bool:
    """True for a sentence about the current project, such as "Here we use tabs"."""
    return detect(sentence).slots.of_project.search(sentence) is not None


def is_for_any_prompt(slot: str) -> bool:
    """True for a standing order in the user's words, or without a condition ("when they ask about dates"). Others are
    recalled.
    """
    is_open = not any(each.slots.condition.search(slot) for each in languages())
    return slot.startswith(ORDER) and (is_open or slot.startswith(REMEMBER))


def profile_line(key: str, value: str) -> str:
    """The line of a prompt's profile; an order is a sentence of its own."""
    if key.startswith(REMEMBER):
        return key
    is_order = key.startswith(ORDER) and any(value in language.slots.order_values for language in languages())
    return f"{ORDER}{value} {key.removeprefix(ORDER)}" if is_order else f"{key}: {value}"


def is_work_order(slot: str) -> bool:
    """True for a standing order about the work, such as "never push to main", which need not hold in other projects."""
    order = slot.removeprefix(ORDER)
    return order != slot and any(each.slots.work_order.match(order) for each in languages())


def canonical(slot: str) -> str:
    """The canonical name of a slot, whatever a model called it. The user's own words stay."""
    if slot.startswith(REMEMBER):
        return slot
    name = " ".join(slot.casefold().replace("_", " ").split())
    name = name.replace("favorite", "favourite").replace("color", "colour")
    return _ALIASES.get(name, name)


def is_single(slot: str) -> bool:
    """True for a slot (canonical name) with one value at a time; all others may have many."""
    return slot.partition(" of ")[0] in _SINGLE or slot.startswith(_SINGLE_BEGINNINGS)


def relation(slot: str, one: str, other: str, *, is_change: bool = False) -> Relation:
    """How two values of a slot relate. A town and a country may both be a home, unless one is a change of the other."""
    if slot.startswith("likes "):
        if one == other:
            return Relation.SAME
        return Relation.OTHER if (one in _AGAINST) != (other in _AGAINST) else Relation.COMPATIBLE
    first, second = _words(one), _words(other)
    if first == second:
        return Relation.SAME
    is_part = set(first) <= set(second) or set(second) <= set(first)
    is_inside = slot.partition(" of ")[0] == "home" and not is_change and _is_region(one) != _is_region(other)
    return Relation.COMPATIBLE if is_part or is_inside else Relation.OTHER


def _is_region(place: str) -> bool:
    return any(each.slots.regions.fullmatch(place) is not None for each in languages())


def _preference(sentence: str, rules: SlotRules) -> Filled | None:
    """What the user likes, prefers, or wants the assistant to do."""
    if (match := rules.order.fullmatch(sentence)) is not None and (quote := match.groupdict().get("quote")):
        return read_alternative(quote) or Filled(f'{REMEMBER}"{quote}"', "always")
    if match is not None:
        order = Filled(f"{ORDER}{match['thing'].casefold()}", match.groupdict().get("value") or "always")
        return order if forbids(order) else read_alternative(match["thing"]) or order
    if (match := rules.prefers.fullmatch(sentence)) is not None:
        one, other = (" ".join(_words(match[name])) for name in ("one", "other"))
        owner = _owner(match, rules)
        is_told = one and other and owner is not None
        return Filled("prefers " + " | ".join(sorted((one, other))) + str(owner), one) if is_told else None
    stopped = rules.stopped.fullmatch(sentence)
    match = rules.feels.fullmatch(stopped["rest"] if stopped else sentence)
    if match is None or rules.open_end.search(match["object"]):
        return None
    feeling, liked = rules.feelings[match["feeling"]], " ".join(_words(match["object"]))
    owner = _owner(match, rules)
    if not liked or owner is None or (stopped and feeling not in _AGAINST):
        return None
    return Filled(f"likes {liked}{owner}", "no longer" if stopped else feeling)


def _owner(match: re.Match[str], rules: SlotRules) -> str | None:
    """The owner's part of the slot's name: "" for the user; None if no person is named."""
    who = match.groupdict().get("who")
    if who is None:
        return ""
    name = who.casefold()
    return None if rules.pronouns.intersection(name.split()) else f" of {name}"


def _words(value: str) -> list[str]:
    words = [_ORDINAL.sub(r"\1", word) for word in key_words(value)]
    return [word for word in words if word not in _ARTICLES] or words
