"""Which attribute a plain sentence fills, and with what: "User lives in Porto" fills `home` with "Porto".

Rules, and careful ones: a sentence counts only when it says that one thing and nothing else, of the user ("User", "I")
or of somebody who is named; "Anna lives in Porto" fills `home of anna`. So two sentences with one slot and the same
value say the same, and with other values they cannot both hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from mnemic.text.facts.person import third_person
from mnemic.text.late_pattern import late_pattern
from mnemic.text.normalise import key_words

MAX_CHARS = 160
"""A longer sentence says more than one thing."""

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
)
_SINGLE_BEGINNINGS = ("favourite ", "likes ", "prefers ", "how long ")
_FEELING = {
    **dict.fromkeys(("likes", "enjoys", "is fond of", "does like"), "like"),
    **dict.fromkeys(("loves", "adores"), "love"),
    **dict.fromkeys(("dislikes", "does not like", "doesn't like", "does not enjoy", "doesn't enjoy"), "dislike"),
    **dict.fromkeys(("hates", "detests", "loathes", "cannot stand", "can't stand"), "hate"),
    **dict.fromkeys(("no longer likes", "no longer enjoys", "no longer loves", "does not love"), "no longer"),
    **dict.fromkeys(("stopped liking", "stopped enjoying", "stopped loving", "doesn't love"), "no longer"),
    **dict.fromkeys(("喜欢", "爱"), "like"),
    **dict.fromkeys(("不喜欢", "不爱"), "dislike"),
    **dict.fromkeys(("讨厌", "恨"), "hate"),
    "不再喜欢": "no longer",
}
_AGAINST = frozenset(("dislike", "hate", "no longer"))
_ARTICLES = frozenset(("a", "an", "the", "in", "at", "on", "of", "my", "his", "her", "their"))

_NAME = r"(?:[^\W\d_a-z][\w'\u2019.&-]*)"
_WHO = r"(?:(?:The[ ]|the[ ])?[Uu]ser|(?P<who>[^\W\d_a-z][\w-]+(?:[ ][^\W\d_a-z][\w-]+)?))"
_S = rf"{_WHO}[ ](?:(?:now|currently|also)[ ])?"
_OF = rf"{_WHO}['\u2019]s[ ](?:current[ ]|new[ ])?"
_NOBODY = frozenset(
    (
        *("he", "she", "it", "they", "we", "you", "this", "that", "these", "those", "there", "who", "what", "one"),
        *("someone", "somebody", "everyone", "everybody", "nobody", "people", "the", "an"),
        *("my", "his", "her", "their", "our", "your"),
    )
)
_VALUE = rf"(?P<value>{_NAME}(?:[ ](?:{_NAME}|de|da|do|of|la|le|am|upon|and|the|&))*(?:,[ ]{_NAME}(?:[ ]{_NAME})*)*)"
_ROLE = r"(?P<value>(?:(?!at\b|in\b|for\b|and\b|but\b|with\b|on\b|or\b)[\w/&'\u2019-]+[ ]?){1,5})"
_ANY = r"(?P<value>[^,;:.!?]{1,60}?|[\w.+-]+@[\w.-]+|\+?[\d ()/.-]+)"
_LATELY = r"(?:[ ](?:now|currently|these[ ]days|at[ ]the[ ]moment|at[ ]present))?"
_STATUS = r"(?P<value>single|married|divorced|engaged|widowed|separated)"
_ATTRIBUTES = (
    r"(?P<slot>full name|first name|name|home|home city|job|job title|occupation|profession|employer|company|birthday"
    r"|date of birth|age|e-?mail(?: address)?|phone(?: number)?|time ?zone|relationship status|marital status"
    r"|favou?rite [\w ]{1,30}?)"
)
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (slot, late_pattern(source))
    for slot, source in (
        ("home", rf"{_S}(?:lives|resides|is[ ]living|is[ ]based)[ ]in[ ]{_VALUE}{_LATELY}"),
        ("home", rf"{_S}(?:has[ ])?(?:just[ ]|recently[ ])?(?:moved|relocated)[ ]to[ ]{_VALUE}"),
        ("name", rf"{_S}is[ ](?:called|named)[ ]{_VALUE}"),
        ("job", rf"{_S}(?:works|is[ ]working)[ ]as[ ](?:an?[ ]|the[ ])?{_ROLE}{_LATELY}"),
        ("employer", rf"{_S}(?:works|is[ ]working)[ ](?:at|for)[ ]{_VALUE}{_LATELY}"),
        ("age", rf"{_S}is[ ](?P<value>\d{{1,3}})(?:[ ]years[ ]old)?"),
        ("relationship", rf"{_S}is[ ]{_STATUS}{_LATELY}"),
        ("", rf"{_OF}{_ATTRIBUTES}[ ]is[ ](?:on[ ])?{_ANY}"),
        ("home", r"用户(?:现在|目前)?(?:住在|搬到了?)(?P<value>[^，,。；;、 ]{1,12}?)了?"),
        ("employer", r"用户(?:现在|目前)?在(?P<value>[^，,。；;、 ]{2,16}?)(?:工作|上班)"),
        ("name", r"用户(?:叫|名叫|的名字(?:是|叫))(?P<value>[^，,。；;、 ]{1,8})"),
        ("job", r"用户的(?:职业|工作)是(?P<value>[^，,。；;、 ]{1,12})"),
    )
)
_STOPPED = late_pattern(r"(?P<rest>.+?)[ ](?:any[ ]?more|any[ ]longer)")
_FEELS = late_pattern(
    rf"(?:{_S}|用户(?:现在|目前)?)(?P<feeling>{'|'.join(sorted(_FEELING, key=len, reverse=True))})"
    r"[ ]?(?P<object>[^,;:.!?，。；！？]{1,60})"
)
_PREFERS = late_pattern(rf"{_S}prefers[ ](?P<one>[^,;:.!?]{{1,30}}?)[ ](?:to|over)[ ](?P<other>[^,;:.!?]{{1,30}})")
_ORDINAL = late_pattern(r"^(\d+)(?:st|nd|rd|th)$")
_OPEN_END = late_pattern(r"\b(?:and|but|when|if|because|while|until|unless|since|although|or|than)\b", re.IGNORECASE)

_FIRST_PERSON = ("I ", "I'm ", "I\u2019m ", "My ")
_CHANGE = late_pattern(r"[ ](?:moved|relocated)[ ]to[ ]|搬到")


class Relation(StrEnum):
    """How two values of one slot stand to each other: COMPATIBLE ones may both hold, as "Lisbon" and "Lisbon, Portugal"
    do.
    """

    SAME = "same"
    COMPATIBLE = "compatible"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Filled:
    """A slot, by its one name, and the value that fills it."""

    slot: str
    value: str
    is_change: bool = False


def slot_of(text: str) -> Filled | None:
    """The slot that a sentence fills, when it says nothing else; None otherwise."""
    sentence = text.strip().rstrip(".!。！").strip()
    if len(sentence) > MAX_CHARS or not (sentence[:1].isupper() or sentence.startswith(("user", "the user", "用户"))):
        return None
    if sentence.startswith(_FIRST_PERSON):
        sentence = third_person(sentence)
    for slot, rule in _RULES:
        if (match := rule.fullmatch(sentence)) is not None:
            value = match["value"].strip()
            name = canonical(slot or match["slot"])
            if (owner := _owner(match)) is None:
                return None
            if _OPEN_END.search(value) and name != "name":
                return None
            return Filled(name + owner, value, is_change=_CHANGE.search(sentence) is not None)
    return _preference(sentence)


def canonical(slot: str) -> str:
    """The one name of a slot, whatever a model called it."""
    name = " ".join(slot.casefold().replace("_", " ").split())
    name = name.replace("favorite", "favourite").replace("color", "colour")
    return _ALIASES.get(name, name)


def is_single(slot: str) -> bool:
    """True for a slot (by its one name) that holds one value at a time; every other may hold many."""
    return slot.partition(" of ")[0] in _SINGLE or slot.startswith(_SINGLE_BEGINNINGS)


def relation(slot: str, one: str, other: str) -> Relation:
    """How two values of a slot stand to each other."""
    if slot.startswith("likes "):
        if one == other:
            return Relation.SAME
        return Relation.OTHER if (one in _AGAINST) != (other in _AGAINST) else Relation.COMPATIBLE
    first, second = _words(one), _words(other)
    if first == second:
        return Relation.SAME
    is_part = set(first) <= set(second) or set(second) <= set(first)
    return Relation.COMPATIBLE if is_part else Relation.OTHER


def _preference(sentence: str) -> Filled | None:
    if (match := _PREFERS.fullmatch(sentence)) is not None:
        one, other = (" ".join(_words(match[name])) for name in ("one", "other"))
        owner = _owner(match)
        is_told = one and other and owner is not None
        return Filled("prefers " + " | ".join(sorted((one, other))) + str(owner), one) if is_told else None
    stopped = _STOPPED.fullmatch(sentence)
    match = _FEELS.fullmatch(stopped["rest"] if stopped else sentence)
    if match is None or _OPEN_END.search(match["object"]):
        return None
    feeling, liked = _FEELING[match["feeling"]], " ".join(_words(match["object"]))
    owner = _owner(match)
    if not liked or owner is None or (stopped and feeling not in _AGAINST):
        return None
    return Filled(f"likes {liked}{owner}", "no longer" if stopped else feeling)


def _owner(match: re.Match[str]) -> str | None:
    """How the slot of somebody else is told from the user's: "" for the user; None where nobody is named."""
    who = match.groupdict().get("who")
    if who is None:
        return ""
    name = who.casefold()
    return None if _NOBODY.intersection(name.split()) else f" of {name}"


def _words(value: str) -> list[str]:
    words = [_ORDINAL.sub(r"\1", word) for word in key_words(value)]
    return [word for word in words if word not in _ARTICLES] or words
