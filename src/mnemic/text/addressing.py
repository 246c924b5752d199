"""Whether the sentence around a passage speaks to the model, or only uses the same words about everyday things.

Answers for the grammar around a match, in English; the wordings themselves are data in `injection_patterns`.
"""

from __future__ import annotations

import re

from mnemic.text.wording import Address

REACH_CHARACTERS = 100
"""How far before and after a passage its sentence is looked at."""

_SENTENCE_END = re.compile(r"[.!?;:\n\"()\[\]{}<>|•]")
_WORD = re.compile(r"[^\W_]+")


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_ORDER_OPENERS = _words(
    "please now then and or so just also first but you must should shall may can will have to need kindly simply "
    "always ok okay hey hi hello assistant ai chatgpt gpt claude gemini llama model bot dear stop important "
    "attention note system from on want would like your task is immediately before anything else next for this "
    "request conversation user admin urgent override new instruction instructions remember warning therefore "
    "instead completely totally d ll re are "
)
_OTHERS = _words(
    "i he she we they who people everyone nobody somebody someone it kids children users employees students players "
    "my his her our their"
)
_QUESTIONS = _words("do did does don didn doesn if when why how have has had whenever because since while")
_REPORTS = _words("that me us him her them said says means since because so if when told hear heard think believe")
_LIFE = re.compile(
    r" (?:(?:an?|the|my|our|officially|proud|happy) ){0,3}"
    r"(?:father|mother|dad|mum|mom|parent|grand\w*|uncle|aunt|godfather|godmother|brother|sister|husband|wife"
    r"|widow\w*|couple|member|citizen|resident|home ?owner|owner|subscriber|customer|graduate|teenager|adult|certified"
    r"|licensed|registered|qualified|part of|vegetarian|vegan|senior citizen|student|pensioner|retiree|guest|friend"
    r"|team|family|\w+(?:ed|ing)\b|\d+|able|ready|free to|in (?:the|your|my|a)\b|at\b|on\b|off\b|out\b|aware|welcome"
    r"|safe|eligible|good|too|so|very|much|more|less|all set|set\b|online|offline|old|done|here|there|back|home|live"
    r"|pregnant|well)"
)
_ROLE_WORDS = re.compile(
    r"\b(?:ai|assistant|chatbot|bot|llm|gpt\w*|chatgpt|language model|dan|jailbr\w+|unrestricted|uncensored|unfiltered"
    r"|unlimited|liberated|(?:developer|god|admin|debug|sudo|root|maintenance|dan|unrestricted|evil|test) mode"
    r"|no restrictions|no rules|no limits|free from|without restrictions|persona|role ?play\w*|admin\w*|root|hacker)\b"
)


def addresses_model(text: str, start: int, end: int, address: Address) -> bool:
    """Whether the folded text around the passage [start, end) is what `address` asks for."""
    if address == "any":
        return True
    before = _words_before(text, start)
    if address == "order":
        return _is_order(before)
    if address == "role":
        return _is_role(before, _SENTENCE_END.split(text[end : end + REACH_CHARACTERS], maxsplit=1)[0])
    return "you" in before or "your" in before or not _OTHERS.intersection(before)


def _words_before(text: str, start: int) -> list[str]:
    return _WORD.findall(_SENTENCE_END.split(text[max(0, start - REACH_CHARACTERS) : start])[-1])


def _is_order(before: list[str]) -> bool:
    if not before:
        return True
    if before[0] in _QUESTIONS:
        return False
    if "you" in before[-5:]:
        return True
    return not _OTHERS.intersection(before) and _ORDER_OPENERS.issuperset(before)


def _is_role(before: list[str], after: str) -> bool:
    if _ROLE_WORDS.search(after):
        return True
    if before and before[-1] in _REPORTS:
        return False
    return not _LIFE.match(after)
