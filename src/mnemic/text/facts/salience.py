"""How much a statement is worth keeping: a linear score over features that can be read off its words.

Answers for the number only. What a person says of themselves, concretely, in whole thoughts, for the first time, is
kept; comments on the talk are not. The weights are round and lie beside this file, in `salience.json`, which names
those that were set by hand and those that `benchmarks/fit/salience.py` moved on a set under a permissive licence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mnemic.model.item import Kind
from mnemic.text.facts.verbs import words
from mnemic.text.late_pattern import late_pattern

KEPT = 2.4
"""A statement of less is not kept."""

WHOLE_WORDS = 10
"""So many words that carry meaning make a whole thought."""

SHORT_WORDS = 2
"""Fewer are short, unless they fill a slot."""

OPENING_MESSAGES = 6
"""People open a talk with its news: what they say later mostly adds to it."""

_LIFE = late_pattern(
    r"\b(?:my|our) (?:[\w-]+ )?(?:mother|mum|mom|father|dad|parents?|sister|brother|siblings?|wife|husband|partner"
    r"|spouse"
    r"|fianc[eé]e?|girlfriend|boyfriend|son|daughter|kids?|child(?:ren)?|baby|twins|grand\w+|uncle|aunt|cousin"
    r"|niece|nephew"
    r"|family|in-laws?|roommate|flatmate|neighbou?rs?|boss|manager|dog|cat|puppy|kitten|parrot|rabbit|horse|hamster"
    r"|pets?"
    r"|name|birthday|anniversary|wedding|job|salary|house|flat|apartment|car|bike|phone|laptop|school|university|degree"
    r"|thesis|doctor|therapist|surgery|diagnosis|blood type|hobby|hobbies|hometown|address|e-?mail|native language)\b"
    r"|\bi(?:['’]m| am) (?:\w+ )?(?:in|at|based in|staying in|living in) (?-i:[A-Z])"
    r"|\bi(?:['’]m| am) (?:\w+ )?(?:an? (?!bit|little|lot|big fan)|from\b|allergic|intolerant|diabetic|pregnant"
    r"|married|single"
    r"|divorced|engaged|retired|unemployed|vegan|vegetarian|left-handed|colou?r-?blind|\d+)"
    r"|\b(?:i|we) (?:\w+ly )?(?:have|own|got|adopted) (?:an?|two|three|four|five|\d+|no) (?!lot\b|bit\b|great\b"
    r"|good\b|feeling"
    r"|strong\b|chance|question)|\b(?:i|we) (?:\w+ly )?(?:live|work|study|teach|speak|play|drive|volunteer|commute"
    r"|grew up)\b"
    r"|\bi (?:can(?:['’]|no)t|don['’]t|never|do not) (?:eat|drink|drive|fly|swim|smoke|watch|work)\b|\bdiagnosed with\b"
    r"|我(?:的)?(?:爸|妈|父|母|哥|姐|弟|妹|爷|奶|外婆|外公|女儿|儿子|老公|老婆|丈夫|妻子|女朋友|男朋友|孩子|狗|猫|生日|名字|工作"
    r"|专业|老家|母语)|我(?:是一?[名个位]|叫|姓|来自|住|有一?[只个辆套]|养了?|在.{1,12}(?:工作|上班|上学|读书)|会说|对.{1,8}过敏|不吃"
    r"|不喝|毕业)",
    re.IGNORECASE,
)
_OWN = late_pattern(r"(?:\w+(?:ly)?,? ){0,2}(?:i|we)\b|我|咱", re.IGNORECASE)
_OWNED = late_pattern(r"\b(?:my|mine|our|me|myself|us|i|we)\b|我|咱", re.IGNORECASE)
_NAMED = late_pattern(r"(?<=[a-z,] )(?!I\b)[A-Z][\w'’-]+|《|[A-Za-z]{2,}(?=[\u4e00-\u9fff])")
_NUMBER = late_pattern(
    r"\d|\b(?:every|each) (?:single )?(?:day|morning|evening|night|week|weekend|month|year|\w+day)\b"
    r"|\b(?:once|twice|two|three|four|five|six|seven|eight|nine|ten) (?:times )?(?:a|per|days|weeks|months|years)\b"
    r"|[一二三四五六七八九十两]+(?:个|年|天|岁|次|只|名|位|月)",
    re.IGNORECASE,
)
_FEELING = late_pattern(
    r"\b(?:happy|sad|excited|anxious|afraid|scared|worried|grateful|proud|angry|upset|stressed|overwhelmed|nervous"
    r"|lonely"
    r"|disappointed|relieved|frustrated|optimistic|curious|passionate|confident|enthusiastic|thrilled|depressed"
    r"|love|hate"
    r"|enjoy|prefer|allergic|favou?rite)\b|高兴|开心|难过|焦虑|担心|紧张|自豪|失望|喜欢|讨厌|害怕|生气|兴奋|过敏|压力",
    re.IGNORECASE,
)
_DECISION = late_pattern(
    r"\b(?:decided|decide|accepted|started|stopped|quit|switched|changed|chose|joined|signed|promoted|moved|bought|sold"
    r"|began|launched|committed|updated|refined|adopted|planning|considering|saving|training)\b|决定|开始|换|放弃|加入|接受|买了|搬",
    re.IGNORECASE,
)
_HANGING = late_pattern(
    r"^(?:it|this|that|these|those|they|he|she|there|such|both|which)\b|\b(?:these|those) \w+|\bthis \w+"
    r"|\b(?:about|of|for|with|in|on|to|from|by|doing|do|see|think|find|make|know|try) (?:it|that|them|this)\b"
    r"|^(?:它|他|她|这|那)",
    re.IGNORECASE,
)
_HELD = late_pattern(
    r"\b(?:this|these) (?:morning|afternoon|evening|week|weekend|month|year|summer|winter|spring|autumn|fall|days|time"
    r"|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b",
    re.IGNORECASE,
)
_IMPERSONAL = late_pattern(
    r"(?:\w+, )?(?:it|that|this|there|they|these|he|she|his|her|their)(?:['’]|\b)|^(?:这|那|它)", re.IGNORECASE
)
_OF_IT = late_pattern(
    r"(?:i|we)(?:['’]\w+)? (?:(?!(?:a|an|the|my|our|his|her|their|some|any|no|this|that|these|those|to|and|but|if|when"
    r"|think|feel|find|know|see|will|hope|believe|make|made)\b)[\w’'-]+ ){1,4}?(?:it|them|him)(?!['’])(?! (?:is|was"
    r"|were"
    r"|would|could|hard"
    r"|difficult|easy|to|when|if|clear|that)\b)\b",
    re.IGNORECASE,
)
"""Its object is a pronoun for what was named before."""

_OPINION = late_pattern(
    r"\b(?:i|we) (?:\w+ly )?(?:think|believe|guess|suppose|feel like|hope|imagine|expect|see|agree|know)\b"
    r"|\b(?:important|crucial|essential|key|vital) (?:to|for|that|in)\b|我(?:觉得|认为|想(?!要)|相信|希望)",
    re.IGNORECASE,
)
_INTENTION = late_pattern(
    r"\b(?:i|we)(?:['’]ll| will)\b|\bcontinue to\b|\bkeep \w+ing\b"
    r"|\b(?:i|we)(?: \w+ly)? (?:plan|intend|aim|want|hope)\b|\b(?:i['’]m|i am) (?:\w+ing to|hoping)\b",
    re.IGNORECASE,
)
_REQUEST = late_pattern(
    r"\blooking (?:for|to get|to find|into) (?:[\w-]+ ){0,4}(?:recommendations?|suggestions?|tips|advice|ideas?"
    r"|inspiration"
    r"|info(?:rmation)?|resources|guidance|help|ways)\b"
    r"|\b(?:i|we)(?:['’]m| am|['’]re| are) (?:\w+ ){0,2}?(?:trying to (?:figure out|understand|decide)"
    r"|not sure (?:how|what"
    r"|which|where|if|whether|why|about)|unsure|curious (?:about|to|how|if|whether|what|why)|torn between"
    r"|glad (?:to (?:hear"
    r"|know|see)|you|i could)|open to|happy to)\b"
    r"|\b(?:would|['’]d) (?:\w+ )?(?:like|love) to (?:know|hear|see|get|learn more|find out|understand)\b"
    r"|\binterested in (?:learning|knowing|hearing|finding out|getting|reading|exploring) (?:more|about)\b"
    r"|\b(?:i|we)(?:['’]ve| have) (?:\w+ )?heard\b|\b(?:like|love) (?:the|that|this|your) (?:idea|suggestion|sound)s?\b"
    r"|\b(?:need|needs) (?:some |a little |more )?(?:help|advice|information)\b"
    r"|\b(?:i|we)(?:['’]ll| will) (?:\w+ly )?(?:check|look|try|consider|keep|give|make sure|start|go with|see"
    r"|think about"
    r"|take a look)\b|\b(?:think|guess) i(?:['’]ll| will)\b|\bwant to (?:make sure|see if|know)\b"
    r"|^(?:i|we)(?:['’]m| am|['’]re| are) (?:\w+ly |so |very |also )*(?:excited|curious|happy|glad|sure|ready"
    r"|interested)$",
    re.IGNORECASE,
)
"""Asks for something, or takes up an answer: what was asked is gone with the talk."""

_COURTESY = late_pattern(
    r"\b(?:thank|thanks|appreciate|conversation|chat with|talking to you|your|you|sounds)\b|谢谢|感谢|你", re.IGNORECASE
)
_VAGUE = words(
    "amaz approach aspect balanc balance best better bit challeng come continu crucial definit differ effort "
    "energ enhanc enjoy essenc essenti experi explor feel find focu fulfil get go goal good great grow growth "
    "help idea impact import improv incred inspir interest journey keep key kind level look lot make matter "
    "meaning mindset moment motiv need nice opportun perspect posit potenti process progress realli reward see "
    "sens sort step success support take thing think thought time valu valuabl vital way wonder work "
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement as the score sees it: its words, the terms that carry meaning, what was said before it.

    `terms`: stems without stop words. `said`: those of earlier messages of the talk. `position`: of its message among
    the user's in that talk, from 1. `is_dated`: it names a time. `is_restated`: the assistant said it, and the user
    took it up.
    """

    text: str
    terms: tuple[str, ...]
    kind: Kind
    is_slotted: bool
    is_dated: bool = False
    said: Collection[str] = frozenset()
    position: int = 1
    is_restated: bool = False


@cache
def weights() -> Mapping[str, float]:
    """By feature; each feature is 0 to 1, or a count where its reading says so."""
    text = Path(__file__).with_name("salience.json").read_text(encoding="utf-8")
    return json.loads(text)["weights"]


def is_own(text: str) -> bool:
    """True for a statement in which the speaker is named at all."""
    return _OWNED.search(text) is not None


def goes_on(text: str) -> bool:
    """True for a statement that is only understood from the one before: "It was …", "I got them on Friday"."""
    return _IMPERSONAL.match(text) is not None or _OF_IT.match(text) is not None


def features(reading: Reading) -> dict[str, float]:
    """The features of a statement by name, before their weights."""
    text, terms = reading.text, reading.terms
    fresh = sum(term not in reading.said for term in terms) / max(len(terms), 1)
    is_impersonal = _IMPERSONAL.match(text) is not None
    vague = sum(term in _VAGUE for term in terms) / max(len(terms), 1)
    return {
        "own": float(_OWN.match(text) is not None),
        "owned": float(_OWN.match(text) is None and _OWNED.search(text) is not None),
        "content": min(len(terms), WHOLE_WORDS) / WHOLE_WORDS,
        "life": float(_LIFE.search(text) is not None),
        "slot": float(reading.is_slotted),
        "named": float(_NAMED.search(text) is not None),
        "number": float(_NUMBER.search(text) is not None),
        "dated": float(reading.is_dated),
        "plain": (1.0 - vague) * (reading.kind in (Kind.EVENT, Kind.PREFERENCE)),
        "feeling": float(_FEELING.search(text) is not None),
        "decision": float(_DECISION.search(text) is not None),
        "new": fresh,
        "opening": max(0.0, 1.0 - (reading.position - 1) / OPENING_MESSAGES),
        "vague": vague,
        "hanging": min(2.0, len(_HANGING.findall(_HELD.sub("", text)))),
        "impersonal": float(is_impersonal),
        "opinion": float(_OPINION.search(text) is not None),
        "intention": float(_INTENTION.search(text) is not None),
        "courtesy": float(_COURTESY.search(text) is not None),
        "request": float(not reading.is_restated and _REQUEST.search(text) is not None),
        "short": float(len(terms) < SHORT_WORDS and not (reading.is_slotted or _LIFE.search(text))),
        "restated": float(reading.is_restated),
    }


def salience(found: Mapping[str, float]) -> float:
    """The score: the features times their weights, summed."""
    return sum(weights()[name] * value for name, value in found.items())
