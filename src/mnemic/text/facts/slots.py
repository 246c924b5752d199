"""Which attribute of the user a statement fills, where it fills one that holds a single value at a time.

`text/attributes` reads what goes into a profile, where a wrong line does lasting harm. Here a wrong slot does less: the
memory that it retires stays and can be brought back; so a few more wordings count.
"""

from __future__ import annotations

import re

from mnemic.text.attributes import attributes
from mnemic.text.late_pattern import late_pattern

_WORD = r"[A-ZÀ-ÖØ-Þ][\w'’.-]*"
_TITLE = rf"{_WORD}(?: {_WORD}){{0,3}}(?:, {_WORD}(?: {_WORD})?)?"
_NO_JOB = r"(?:at|in|for|and|but|with|on|by|from|who|now|last|this|next|a|since)\b"
_JOB = rf"[a-z][\w&/’'-]*(?: (?!{_NO_JOB})[\w&/’'-]+){{0,3}}"
_NOW = r"(?:(?:just|now|recently|finally|currently|also|still) )*"
_STATUS = "vegetarian|vegan|pescatarian|lactose intolerant|gluten[- ]free|keto|halal|kosher"
_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "home",
        late_pattern(
            rf"\bI(?:['’]ve| have|['’]m| am)? {_NOW}(?:moved|relocated"
            rf"|moving) (?:back )?(?:from {_TITLE} )?to (?P<value>{_TITLE})"
        ),
    ),
    ("home", late_pattern(rf"\b(?:I|we) {_NOW}live in (?P<value>{_TITLE})")),
    (
        "job",
        late_pattern(
            rf"\bI(?:['’]ve| have)? {_NOW}(?:(?:been |got |was )+(?:promoted to|hired as|appointed(?: as)?)"
            rf"|bec[ao]me(?= an? | the )"
            rf"|accepted a promotion to) (?:an? |the )?(?P<value>(?:{_TITLE}|{_JOB}))(?= (?:at|of|in|on|last"
            rf"|this)\b|$|[,.])"
        ),
    ),
    ("job", late_pattern(rf"\bI(?:['’]m| am) {_NOW}an? (?P<value>{_JOB}) (?:at|for) {_WORD}")),
    (
        "job",
        late_pattern(
            rf"\bI(?:['’]ve| have|['’]m| am)? {_NOW}(?:(?:got|found|took|accepted|landed|start(?:ed|ing)) a (?:new )?"
            rf"(?:job|position|role)|started(?: working)?|now work|working) as (?:an? |the )?(?P<value>{_JOB})"
            rf"(?= (?:at|of|in|on|for|last|this)\b|$|[,.])"
        ),
    ),
    (
        "employer",
        late_pattern(
            rf"\bI(?:['’]ve| have|['’]m| am)? {_NOW}(?:started (?:working )?at|joined|work(?:ing)? (?:at"
            rf"|for)) (?P<value>{_TITLE})(?= as\b| last\b| this\b| now\b|,|$)"
        ),
    ),
    ("age", late_pattern(r"\bI(?:['’]m| am| (?:just )?turned) (?P<value>\d{1,2})(?: years old)?(?=$|[,.]| and\b)")),
    (
        "diet",
        late_pattern(
            rf"\bI(?:['’]m| am|['’]ve (?:become|gone)| (?:became|went)) {_NOW}(?:an? )?(?P<value>{_STATUS})\b"
        ),
    ),
    (
        "relationship",
        late_pattern(
            r"\bI(?:['’]m| am| got|['’]ve (?:just )?got) (?:now )?(?P<value>married|divorced|engaged|widowed|single)\b"
            r"(?!-| (?:in|to (?:my|the) (?:work|job)))"
        ),
    ),
    (
        "home",
        late_pattern(
            r"我(?:们)?(?:刚|最近|已经|昨天|上周|上个月|去年)*搬(?:到|去)了?(?P<value>[\u4e00-\u9fff]{2,6}?)(?:了|住|$|[，,。])"
        ),
    ),
    ("age", late_pattern(r"我(?:今年|已经)?(?P<value>\d{1,2})岁")),
    ("relationship", late_pattern(r"我(?:已经|刚)?(?P<value>结婚|离婚|订婚|单身)了?$")),
    ("diet", late_pattern(r"我(?:是|现在是)(?P<value>素食者|素食主义者)|我(?:现在)?(?P<other>吃素)")),
)
HOW_LONG = "how long "
"""Slots of this beginning say for how long the user has been doing something: the next count replaces the last."""

_HOW_LONG = late_pattern(
    r"\bI(?:['’]ve| have) (?:\w+ly |now |just )?been (?P<thing>[^,.;]{4,80}?) for (?:about |around |over |almost "
    r"|nearly )?"
    r"(?P<value>(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) (?:week|month"
    r"|year)s?)(?: now)?$"
)
_FAVOURITE = late_pattern(
    r"\b[Mm]y favou?rite (?P<thing>[a-z]+(?: [a-z]+)?) (?:is|are) (?:now )?(?P<value>[^,.;]{2,60})$"
)
_ZH_FAVOURITE = late_pattern(r"我最喜欢的(?P<thing>[\u4e00-\u9fff]{1,6}?)(?:现在)?是(?P<value>[^，。；]{1,20})$")


def slot_of(statement: str) -> tuple[str, str]:
    """The slot that a statement in the first person fills, and its value; both "" where it fills none."""
    for slot, value in attributes(statement).items():
        return slot, value
    for slot, rule in _RULES:
        if (match := rule.search(statement)) is not None and not _is_doubtful(statement, match):
            return slot, (match["value"] or match.groupdict().get("other") or "").strip(" .,-")
    for rule in (_FAVOURITE, _ZH_FAVOURITE):
        if (match := rule.search(statement)) is not None:
            return f"favourite {match['thing']}", match["value"].strip()
    if (match := _HOW_LONG.search(statement)) is not None:
        return f"{HOW_LONG}{match['thing'].casefold()}", match["value"]
    return "", ""


_DOUBT = late_pattern(
    r"\b(?:not|never|used to|almost|want|plan|hope|when|before|until|back in|ago)\b|n['’]t\b"
    r"|\bi was\b(?! (?:promoted|hired|appointed))"
    r"|没|不|想|打算|以前|曾经|小时候",
    re.IGNORECASE,
)


def _is_doubtful(statement: str, match: re.Match[str]) -> bool:
    return _DOUBT.search(statement, 0, match.end()) is not None
