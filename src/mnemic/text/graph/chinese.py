"""The same for Chinese, where no capital and no blank tells a name: what stands around a phrase within a clause."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mnemic.model.graph import EntityType
from mnemic.text import scripts
from mnemic.text.graph.names import Name, clean_name, type_of
from mnemic.text.graph.phrases import ORGANISATION, PERSON, PHRASES, PLACE, Phrase
from mnemic.text.late_pattern import late_pattern

_HAN = late_pattern(f"[{scripts.HAN}]")
_KANA = late_pattern(f"[{scripts.KANA}]")
_CLAUSE = late_pattern("[^\uff0c,\u3002\uff1b;\uff01!\uff1f?\u3001\uff1a:\n\uff08\uff09()]+")
_A = "(?P<a>[^\\s]{1,12}?|[A-Za-z][\\w .-]{0,30}?)"
_B = "(?P<b>[^\\s]{1,14}?|[A-Za-z][\\w .-]{0,30}?)"
_LATELY = "(?:现在|目前|已经|一直|也|都|主要)?"
_END = "(?:了|的)?"
_WORK = Phrase("WORKS_AT", PERSON, ORGANISATION)
_HOME = Phrase("LIVES_IN", PERSON, PLACE)
_RULES: tuple[tuple[re.Pattern[str], Phrase], ...] = tuple(
    (late_pattern(source), phrase)
    for source, phrase in (
        (f"{_A}{_LATELY}在{_B}(?:工作|上班|任职){_END}", _WORK),
        (f"{_A}{_LATELY}(?:住在|居住在|搬到了?|搬去了?){_B}{_END}", _HOME),
        (f"{_A}{_LATELY}(?:依赖于?|取决于|基于){_B}{_END}", PHRASES["depends on"]),
        (f"{_A}{_LATELY}(?:使用|采用|用的是){_B}{_END}", PHRASES["uses"]),
        (
            f"{_A}是?由{_B}(?:创建|开发|创立|创办|编写|设计){_END}",
            PHRASES["created by"],
        ),
        (f"{_A}(?:创建|开发|创立|创办)了{_B}", PHRASES["created"]),
        (f"{_A}由{_B}(?:负责|领导|管理){_END}", PHRASES["managed by"]),
        (f"{_A}{_LATELY}(?:负责|领导|管理){_B}{_END}", PHRASES["manages"]),
        (f"{_A}{_LATELY}向{_B}汇报{_END}", PHRASES["reports to"]),
        (f"{_A}是{_B}的(?:一部分|子公司|组成部分)", PHRASES["part of"]),
        (f"{_A}(?:属于|隶属于){_B}{_END}", PHRASES["part of"]),
        (f"{_A}位于{_B}{_END}", PHRASES["located in"]),
        (f"{_A}(?:适用于|约束){_B}{_END}", PHRASES["governs"]),
        (f"{_A}(?:遵守|遵循|受制于){_B}{_END}", PHRASES["governed by"]),
        (f"{_A}(?:又称|简称|也叫|又名){_B}", PHRASES["also known as"]),
    )
)
_SPEAKERS = ("我", "用户")
_OWNING = late_pattern("^(?:我们的?|我的|用户的|这个|那个|他们的?|其中|因为|所以|但是?|而且?|现在|目前)+")
_TYPED = late_pattern("^(?:项目|公司|系统)(?=.)|(?:这座城市|这家公司)$")
_DENYING = late_pattern("不|没|别|如果|假如|是否|可能|也许|吗|吧|谁|什么|哪")
_NOBODY = late_pattern("^(?:他|她|它|他们|她们|大家|你|您|你们|这|那|这里|那里|家|家里|一起|自己)$")


def is_written_in(sentence: str) -> bool:
    """True for a sentence with Chinese characters and no Japanese ones."""
    return _HAN.search(sentence) is not None and _KANA.search(sentence) is None


def relations(sentence: str, offset: int, speaker: str) -> Iterator[tuple[Name, Name, Phrase, tuple[int, int]]]:
    """What each clause says: two names with the phrase between them, and where; `offset` is added to all places."""
    for clause in _CLAUSE.finditer(sentence):
        if _DENYING.search(clause.group()):
            continue
        text = clause.group().rstrip()
        for rule, phrase in _RULES:
            match = rule.fullmatch(text)
            if match is None:
                continue
            begin = offset + clause.start()
            first, second = _name(match, "a", begin, speaker), _name(match, "b", begin, speaker)
            if first is not None and second is not None:
                yield first, second, phrase, (begin, begin + len(text))
            break


def _name(match: re.Match[str], group: str, begin: int, speaker: str) -> Name | None:
    said = match[group].strip()
    if said in _SPEAKERS:
        return Name(speaker, begin + match.start(group), begin + match.end(group), PERSON) if speaker else None
    shown = clean_name(_TYPED.sub("", _OWNING.sub("", said)))
    if not shown or _NOBODY.match(shown) or (len(shown) == 1 and not shown.isascii()):
        return None
    type_ = type_of(shown)
    kind = next((kind for ending, kind in _ENDINGS if shown.endswith(ending)), EntityType.THING)
    return Name(
        shown, begin + match.start(group), begin + match.end(group), kind if type_ is EntityType.THING else type_
    )


_ENDINGS = (
    ("公司", ORGANISATION),
    ("大学", ORGANISATION),
    ("银行", ORGANISATION),
    ("医院", ORGANISATION),
    ("项目", EntityType.PROJECT),
    ("政策", EntityType.POLICY),
    ("条例", EntityType.POLICY),
    ("市", PLACE),
    ("省", PLACE),
)
