"""Chinese rules that need code; the others are in `zh.toml`."""

import re

from mnemic.text import normalise as scripts
from mnemic.text.languages import OwnRules, read_language
from mnemic.text.normalise import late_pattern

_OWN = OwnRules("zh")
_QUOTED = late_pattern(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
_PERSON = late_pattern(r"我们|咱们|(?<!自)我(?![国方])|咱")
_GROUP = late_pattern(r"(?:我们|咱们)(?:这个|的)?组(?![织成合建装])")
_OF_MANY = _OWN.pattern("of_many")  # about several people, or unknown ones; "we" with a noun is the user's
_OWNED = _OWN.pattern("owned")
_ENDINGS = late_pattern(r"(?<![呢呀啊哦啦吧哈嘛])[呢呀啊哦啦吧哈嘛]++$")


def third_person(clause: str) -> str:
    """The clause with the speaker as 用户: 我搬家了 becomes 用户搬家了. Quotations stay. No string raises."""
    clause = _GROUP.sub("我们小组", clause)
    pieces: list[str] = []
    done = 0
    for quoted in _QUOTED.finditer(clause):
        pieces += [_PERSON.sub(_name, clause[done : quoted.start()]), quoted.group()]
        done = quoted.end()
    pieces.append(_PERSON.sub(_name, clause[done:]))
    return _ENDINGS.sub("", "".join(pieces))


def _name(person: re.Match[str]) -> str:
    return "用户的" if _OWNED.match(person.string, person.end()) else "用户"


_SHORTEST_CLAUSE = 4  # fewer characters before a comma are no clause
_USER = late_pattern("[你您]们?")


def _keeps_together(left: str, _sentence: str, _cut: re.Match[str]) -> bool:
    return len(left) < _SHORTEST_CLAUSE


def _first_person(sentence: str) -> str:
    return _USER.sub("我", sentence)


_PAST = _OWN.pattern("past")


def _is_past(text: str) -> bool:
    return _PAST.search(text) is not None


def _is_told(clause: str) -> bool:
    return _OF_MANY.search(clause) is None


LANGUAGE = read_language(
    "zh",
    script=late_pattern(f"[{scripts.HAN}]"),
    never=late_pattern(f"[{scripts.KANA}]"),
    third_person=third_person,
    statements={"keeps_together": _keeps_together, "is_told": _is_told, "first_person": _PERSON},
    dates={"is_past": _is_past},
    restating={"first_person": _first_person},
)
