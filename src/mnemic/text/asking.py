"""What a question says beside its words: which days it names, and whether it asks for what the assistant said.

Answers for dates written out (2023-05-07, 07.05.2023, 7 May 2023, May 7th, in May, 5月7日) in English, German, French,
Spanish, Italian, Portuguese and Chinese, and for the wordings by which people come back to an assistant's reply. Days
counted from the day of the question ("yesterday") are read by `ago`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from mnemic.text.ago import Span, spans
from mnemic.text.analyser import is_unspaced
from mnemic.text.late_pattern import late_pattern

MONTHS = (
    "january januar janvier enero gennaio janeiro jan",
    "february februar février febrero febbraio fevereiro feb",
    "march märz mars marzo março mar",
    "april avril abril aprile apr",
    "may mai mayo maggio maio",
    "june juni juin junio giugno junho jun",
    "july juli juillet julio luglio julho jul",
    "august août agosto aug",
    "september septembre septiembre settembre setembro sept sep",
    "october oktober octobre octubre ottobre outubro oct okt",
    "november novembre noviembre novembro nov",
    "december dezember décembre diciembre dicembre dezembro dec dez",
)
_MONTH_OF = {name: month for month, names in enumerate(MONTHS, start=1) for name in names.split()}

_NAME = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_BEFORE = (
    "in|of|during|since|until|till|by|from|to|before|after|early|late|mid|last|this|next|between|and"
    "|im|seit|bis|ab|vom|en|em|de|di|a|depuis|dès|desde|hasta|até|dal|fino"
)
_NAMED = late_pattern(rf"\b(?:{_NAME})\b")
_NUMBERS = late_pattern(r"(?<!\d)(?:(\d{4})-(\d{1,2})(?:-(\d{1,2}))?|(\d{1,2})\.(\d{1,2})\.(\d{4}))(?!\d)")
_WORDS = late_pattern(
    rf"(?:\b(?P<before>\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?\s+(?:of\s+|de\s+)?|\b(?P<lead>{_BEFORE})\s+(?:the\s+)?)?"
    rf"\b(?P<name>{_NAME})\b\.?"
    r"(?:\s+(?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?(?:,?\s+(?:of\s+|de\s+|del\s+)?(?P<year>\d{4})\b)?"
)
_NUMERALS = {name: number for number, name in enumerate((*"一二三四五六七八九十", "十一", "十二"), start=1)}
_CHINESE = late_pattern(
    r"(?:(\d{4})\s*年\s*)?(?<!\d)(\d{1,2}|十[一二]?|[一二三四五六七八九])\s*月(?:\s*(\d{1,2})\s*[日号號])?"
)
_LAST_MONTH, _LAST_DAY = 12, 31

_SAID = (
    "recommended|suggested|mentioned|said|told|gave|provided|advised|proposed|listed|described|explained|wrote|shared"
    "|named|referred|were"
)
_ASSISTANT = late_pattern(
    rf"\byou (?:(?:had|have|just|specifically|also|once|previously|earlier) )*(?:{_SAID})\b"
    r"|\bdid you (?!know\b)|\byour (?:\w+ )?(?:recommendation|suggestion|advice|answer|reply|explanation)s?\b"
    r"|\b(?:previous|last|earlier|past) (?:chat|conversation|discussion)\b|\bwe (?:talked|discussed|spoke|chatted)\b"
    r"|\bremind me\b"
    r"|\b(?:hast du|du hast|haben sie|sie haben|hattest du)\b.*\b(?:empfohlen|gesagt|vorgeschlagen|erwähnt|genannt)\b"
    r"|\b(?:tu m'as|vous m'avez|m'as-tu|m'avez-vous)\b|\b(?:me )?(?:recomendaste|dijiste|sugeriste|mencionaste)\b"
    r"|[你您](?:之前|上次|曾經|曾经|剛才|刚才)?[^，。？]{0,4}(?:推薦|推荐|建議|建议|提到|告訴|告诉|說過|说过)"
)


@dataclass(frozen=True, slots=True)
class Date:
    """A day (all three set), a month of a year, or that month or day of any year."""

    year: int | None
    month: int
    day: int | None


@dataclass(frozen=True, slots=True)
class Asking:
    """What was found in a question. `is_unspaced`: its terms are pairs of characters, most of which stand in no text
    that answers it.
    """

    dates: tuple[Date, ...] = ()
    is_of_assistant: bool = False
    spans: tuple[Span, ...] = ()
    is_unspaced: bool = False

    @property
    def is_dated(self) -> bool:
        """True when it names days of any kind."""
        return bool(self.dates or self.spans)

    @classmethod
    def of(cls, text: str, today: date) -> Asking:
        """What `text`, asked on `today`, says beside its words; a month's name counts beside a number or after a word
        such as "in".
        """
        folded = text.casefold()
        is_of_assistant = _ASSISTANT.search(folded) is not None
        dates, named = tuple(dict.fromkeys(_dates(folded))), tuple(spans(folded, today))
        return cls(dates, is_of_assistant, named, is_unspaced(text))


def _dates(folded: str) -> Iterator[Date]:
    for found in _NUMBERS.finditer(folded):
        year, month, day = (found[1], found[2], found[3]) if found[1] else (found[6], found[5], found[4])
        yield from _date(year, int(month), day)
    for found in _WORDS.finditer(folded) if _NAMED.search(folded) else ():  # most questions name no month
        day = found["before"] or found["after"]
        if day or found["year"] or found["lead"]:
            yield from _date(found["year"], _MONTH_OF[found["name"]], day)
    for found in _CHINESE.finditer(folded) if "月" in folded else ():
        yield from _date(found[1], _NUMERALS.get(found[2]) or int(found[2]), found[3])


def _date(year: str | None, month: int, day: str | None) -> Iterator[Date]:
    if 1 <= month <= _LAST_MONTH and (day is None or 1 <= int(day) <= _LAST_DAY):
        yield Date(int(year) if year else None, month, int(day) if day else None)
