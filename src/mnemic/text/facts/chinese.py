"""From the first person to the third, in Chinese: 我搬到了里斯本 becomes 用户搬到了里斯本."""

from __future__ import annotations

import re

from mnemic.text.late_pattern import late_pattern

_QUOTED = late_pattern(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
_PERSON = late_pattern(r"我们|咱们|我|咱")
_OWNED = late_pattern(
    r"爸|妈|哥|姐|弟|妹|爷|奶|女儿|儿子|老公|老婆|丈夫|妻子|先生|太太|家(?:里|人|乡|在|住|有)|朋友|同事|老板|男友|女友|男朋友"
    r"|女朋友|外公|外婆|姥|叔|舅|姑|姨|父|母|公司|室友|[大小老]?(?:狗|猫)"
)
_ENDINGS = late_pattern(r"[呢呀啊哦啦吧哈嘛]+$")


def third_person(clause: str) -> str:
    """The clause with the speaker as 用户; quotations stay. No string raises."""
    pieces: list[str] = []
    done = 0
    for quoted in _QUOTED.finditer(clause):
        pieces += [_PERSON.sub(_named, clause[done : quoted.start()]), quoted.group()]
        done = quoted.end()
    pieces.append(_PERSON.sub(_named, clause[done:]))
    return _ENDINGS.sub("", "".join(pieces))


def _named(person: re.Match[str]) -> str:
    if len(person.group()) > 1:
        return "用户和其他人"
    return "用户的" if _OWNED.match(person.string, person.end()) else "用户"
