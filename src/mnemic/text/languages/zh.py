"""Chinese: what of its rules only code can say; the rest stands in `zh.toml`."""

import re

from mnemic.text import normalise as scripts
from mnemic.text.languages import read_language
from mnemic.text.normalise import late_pattern

_QUOTED = late_pattern(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
_PERSON = late_pattern(r"我们|咱们|(?<!自)我(?![国方])|咱")
_GROUP = late_pattern(r"(?:我们|咱们)(?:这个|的)?组(?![织成合建装])")
_OURS = (
    "(?:的|爸|妈|女儿|儿子|家|一家|公司|团队|部门|学校|班|单位|小区|店|乐队|老板|同事|朋友|狗|猫|组|邻居|经理|项目|房)"
)
_OF_ONE = (
    r"(?:今|去|明|前|后|昨|上|下|每|现|目|最|刚|已经|正|一直|周|星期|早|晚|\d|[一二三四五六七八九十]+[月号点]"
    r"|[住搬有买去来养收领打计准想要会在喜爱用租结订决生吃喝开看卖换学把给从没不常还将快就也约报签装种修带送接找做])"
)
_OF_MANY = late_pattern(
    rf"(?:我们|咱们)(?!{_OURS}|{_OF_ONE})"
    rf"|(?:我们|咱们)(?!{_OURS})[^，。；]{{0,6}}(?:都|俩|两个|[三四五六七八九十几\d]+个人|大家|互相|彼此|一起|之间|一共)"
)
"""What is said of several people, or of what is not known; "we" and a noun is the user's."""

_OWNED = late_pattern(
    r"爸|妈|哥|姐|弟|妹|爷|奶|女儿|儿子|老公|老婆|丈夫|妻子|先生|太太|家(?:里|人|乡|在|住|有)|朋友|同事|老板|男友|女友"
    r"|男朋友|女朋友|外公|外婆|姥|叔|舅|姑|姨|父|母|公司|团队|部门|学校|班(?!了)|单位|小区|店|乐队|小组|邻居|经理|项目|室友|[大小老]?(?:狗|猫)"
)
_ENDINGS = late_pattern(r"(?<![呢呀啊哦啦吧哈嘛])[呢呀啊哦啦吧哈嘛]++$")


def third_person(clause: str) -> str:
    """The clause with the speaker as 用户: 我搬家了 becomes 用户搬家了; quotations stay. No string raises."""
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


_SHORTEST_CLAUSE = 4
"""Fewer characters before a comma are no clause."""

_USER = late_pattern("[你您]们?")


def _keeps_together(left: str, _sentence: str, _cut: re.Match[str]) -> bool:
    return len(left) < _SHORTEST_CLAUSE


def _first_person(sentence: str) -> str:
    return _USER.sub("我", sentence)


_PAST = late_pattern(
    r"(?<!除)(?<!为)了(?!解)|过(?=[，。；]|$|[一两三几]|的)|去过|来过|曾|已经|刚|以来|自从|从[^，。]{1,8}(?:开始|起)就|当时|那时"
)


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
