"""What an answer is worth: token F1 against the right ones, and whether it owns up to not knowing.

Token F1 as for reading comprehension (Rajpurkar et al. 2016): both sides folded, without punctuation and English
articles; the harmonic mean of the shares of tokens that they have in common, each as often as it occurs; against
several right answers the best. Scripts without blanks count by character.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

UNKNOWN = {"en": "I don't know.", "zh": "我不知道。"}
"""What a model is told to answer when it does not know."""

_ARTICLES = frozenset(("a", "an", "the"))
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\W_]+(?:['.,][^\W_]+)*")
_DECLINES = re.compile(
    r"(?:i (?:do not|don't|dont) (?:know|have (?:any |that |enough )?information)"
    r"|(?:there is|there's) no (?:information|mention)"
    r"|no information|not (?:mentioned|specified|provided|known)|unknown|cannot be (?:determined|known)"
    r"|不知道|无法(?:确定|得知|回答)|無法(?:確定|得知|回答)|没有(?:提到|提及|相关)|沒有(?:提到|提及|相關))",
    re.IGNORECASE,
)


def tokens(text: str) -> list[str]:
    """The tokens that are compared: folded words and numbers without articles, or characters of unspaced scripts."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return [token for token in _TOKEN.findall(folded) if token not in _ARTICLES]


def token_f1(answer: str, right: Sequence[str]) -> float:
    """The best F1 over the right answers, 0 to 1; of two sides without any token 1."""
    return max((_f1(tokens(answer), tokens(each)) for each in right), default=0.0)


def is_exact(answer: str, right: Sequence[str]) -> bool:
    """True when the answer has just the tokens of a right one, in order."""
    given = tokens(answer)
    return any(given == tokens(each) for each in right)


def declines(answer: str) -> bool:
    """True when the answer says that it does not know, in its first sentence or so."""
    return _DECLINES.search(answer.replace("’", "'")[:200]) is not None


def _f1(given: Sequence[str], right: Sequence[str]) -> float:
    if not given or not right:
        return float(not given and not right)
    common = sum((Counter(given) & Counter(right)).values())
    if not common:
        return 0.0
    precision, recall = common / len(given), common / len(right)
    return 2 * precision * recall / (precision + recall)
