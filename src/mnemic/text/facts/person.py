"""From the first person to the third, in English: "I moved with my sister" becomes "User moved with User's sister".

"We" becomes "User and others": who the others are is not said. What stands in quotation marks is somebody's words and
stays as it is.
"""

from __future__ import annotations

from mnemic.text.facts import verbs
from mnemic.text.late_pattern import late_pattern

_TOKEN = late_pattern(
    '"[^"]*"|\u201c[^\u201d]*\u201d|\u00ab[^\u00bb]*\u00bb'  # a quotation is one token and stays
    "|[^\\W\\d_]+(?:['\u2019][^\\W\\d_]+)*|\\s+|."
)
_OTHERS = "User and others"
_WORDS = {
    "my": "User's",
    "mine": "User's",
    "me": "User",
    "myself": "themselves",
    "our": "User's",
    "ours": "User's",
    "us": _OTHERS,
    "ourselves": "themselves",
}
_SUBJECTS = {"i": ("User", False), "we": (_OTHERS, True)}
_ENDINGS = {"m": "am", "ve": "have", "ll": "will", "re": "are"}
_NUMBERED = verbs.words("war type part phase stage class grade level volume chapter elizabeth charles act tier")
_INVERTED = {"am": "is", "do": "does", "have": "has"}
_COMPOUND = late_pattern(
    r"(?:(?:[Mm]y|[Oo]ur|[Tt]he|[Bb]oth)\s+[\w'\u2019-]+(?:\s+[\w'\u2019-]+)?|[A-Z]\w+)"
    r"(?:,\s+[\w' ]{2,30})?\s+and\s+I\b"
)


def third_person(clause: str) -> str:
    """The clause with the speaker as "User". No string raises."""
    return _Rewriting(clause).done()


def has_compound_subject(clause: str) -> bool:
    """True when it begins as in "My wife and I went"; the verb then keeps its plural."""
    match = _COMPOUND.match(clause)
    if match is None:
        return False
    words = match.group().lower().split()[:-2]
    return not any(verbs.is_past(word) or word in _VERBS for word in words[1:])


_VERBS = verbs.words("is are was were has have had will can does do likes loves hates lives works wants needs")


class _Rewriting:
    """One walk over the words of a clause."""

    def __init__(self, clause: str) -> None:
        self._tokens = _TOKEN.findall(clause)
        self._is_compound = has_compound_subject(clause)
        self._may_go_on = False
        self._out: list[str] = []
        self._place = 0

    def done(self) -> str:
        """The rewritten clause."""
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            word, _, ending = token.lower().replace("\u2019", "'").partition("'")
            if word in _SUBJECTS and self._is_subject(token, word, ending):
                self._subject(word, ending)
            elif word in _WORDS and (not ending or ending == "s") and not self._is_of_a_name(token):
                self._put(_WORDS[word])
            elif self._may_go_on and word in ("and", "but"):
                self._and(token)
            else:
                self._may_go_on = self._may_go_on and word not in ("to", ".", ";", ":") and word not in verbs.MODALS
                self._put(token)
        return "".join(self._out)

    def _put(self, text: str) -> None:
        self._out.append(text)
        self._place += 1

    def _is_subject(self, token: str, word: str, ending: str) -> bool:
        following = self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else ""
        before = self._word_before()
        if (word == "i" and before in _NUMBERED) or (word == "we" and not ending and self._is_of_a_name(token)):
            return False
        return bool(ending) or token[0] != "i" or following.isspace()

    def _is_of_a_name(self, token: str) -> bool:
        """True for "US", and the last word of "The Rest of Us": a capital behind a word."""
        before = self._out[-2][-1:] if len(self._out) > 1 and self._out[-1].isspace() else ""
        return token.isupper() or (token[0].isupper() and before.isalpha())

    def _word_before(self) -> str:
        said = [token for token in self._tokens[max(0, self._place - 2) : self._place] if not token.isspace()]
        return said[-1].lower() if said else ""

    def _subject(self, word: str, ending: str) -> None:
        name, is_plural = _SUBJECTS[word]
        before = self._word_before()
        if before in _INVERTED and self._out and not is_plural:  # "so am I"
            self._out[-2 if self._out[-1].isspace() else -1] = _INVERTED[before]
        is_plural = is_plural or (self._is_compound and before == "and")
        self._put(name)
        if ending:
            auxiliary = self._had_or_would() if ending == "d" else _ENDINGS.get(ending, ending)
            self._out.append(" " + (auxiliary if is_plural else verbs.with_user(auxiliary)))
            return
        if before not in _INVERTED:
            self._verb(is_plural=is_plural)

    def _verb(self, *, is_plural: bool) -> None:
        """Carry the words up to the verb over, and put the verb into its form."""
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            lower = token.lower()
            if token.isspace() or verbs.is_adverb(lower):
                self._put(token)
                continue
            if lower[:1].isalpha() and not is_plural:
                form = verbs.with_user(token)
                self._may_go_on = verbs.is_base(lower)
                self._put(form)
            return

    def _and(self, token: str) -> None:
        """After a verb in the present and "and" or "but", the next verb goes with the same subject."""
        self._put(token)
        blank, verb, behind = (*self._tokens[self._place : self._place + 3], "", "", "")[:3]
        if blank.isspace() and verbs.may_follow_and(verb.lower()) and behind.isspace():
            self._put(blank)
            self._put(verbs.with_user(verb))

    def _had_or_would(self) -> str:
        rest = [token.lower() for token in self._tokens[self._place : self._place + 6] if token[:1].isalpha()]
        verb = next((word for word in rest if not verbs.is_adverb(word)), "")
        is_had = verb == "better" or verb in verbs.PARTICIPLES or (verb.endswith("ed") and verb != "need")
        return "had" if is_had else "would"
