"""German rules that need code; the others are in `de.toml`."""

import re
from collections.abc import Callable
from itertools import pairwise

from mnemic.text.languages import OwnRules, read_language, words
from mnemic.text.normalise import any_case, late_pattern

_OWN = OwnRules("de")
_QUOTED = late_pattern(r"„[^“”\"]*[“”\"]|\"[^\"]*\"|»[^«]*«|«[^»]*»")
_TOKEN = late_pattern(r"[^\W\d_]+|\W|[\d_]+")
_OWNED = {f"{stem}{ending}": "Users" for stem in ("mein", "unser") for ending in ("", "e", "en", "em", "er", "es")}
_PERSONS: dict[str, str] = {"mich": "User", "mir": "User", "uns": "User"} | _OWNED
_FORMS = _OWN.forms("forms")
"""Verbs with an irregular third person; those in -te here are no past forms."""

_SHORTEST_VERB = 4  # shorter words in -e are articles and pronouns
_NO_VERBS = _OWN.words("no_verbs")  # words in -e beside a subject that are no verbs


_STRONG_PAST = _OWN.words("strong_past")
_PREFIXES = ("be", "ver", "er", "ent", "ge", "zer", "")
_WITH_E = late_pattern(r"(?:[dt]|[^aeiouäöülrhmn][nm])$")  # after these stems the ending is -et: "rechnet"
_WITHOUT_VOWEL = late_pattern(r"(?<=[bcdfgkmnpstz])le$|(?<=ch)le$")
"""Ending of verbs in -eln after "ich": "sammle", "lächle"."""


def _conjugate(verb: str) -> str | None:
    """The verb form for "User" from that for "ich", or None."""
    lower = verb.lower()
    form = _FORMS.get(lower)
    if form is None and _is_past_form(lower):
        form = lower
    if form is None:
        if not _is_present(lower):
            return None
        stem = _WITHOUT_VOWEL.sub("el", lower) if _WITHOUT_VOWEL.search(lower) else lower[:-1]
        form = stem + ("et" if _WITH_E.search(stem) else "t")
    return form.capitalize() if verb[0].isupper() else form


def _is_past_form(lower: str) -> bool:
    bare = (lower.removeprefix(prefix) for prefix in _PREFIXES if lower.startswith(prefix))
    is_weak = lower.endswith("te") and len(lower) > _SHORTEST_VERB and lower not in _NO_VERBS
    return is_weak or any(each in _STRONG_PAST for each in bare)


def _conjugate_plural(verb: str) -> str | None:
    """The verb form for "User" from that for "wir", or None."""
    lower = verb.lower()
    if lower in _OF_ONE:
        return _conjugate(_OF_ONE[lower] if verb.islower() else _OF_ONE[lower].capitalize())
    if lower in _NO_PLURALS or not lower.endswith(("en", "eln", "ern")):
        return None
    if lower.endswith(("eln", "ern")):
        return verb[:-1] + "t"
    if _is_past_form(lower[:-2]):
        return verb[:-2]
    return _conjugate(verb[:-1])


_NO_PLURALS = _OWN.words("no_plurals")
_OF_ONE = _OWN.forms("of_one")


def _is_present(word: str) -> bool:
    return len(word) >= _SHORTEST_VERB and word.endswith("e") and not word.endswith("te") and word not in _NO_VERBS


def third_person(clause: str) -> str:
    """The clause about User: "Ich wohne in Wien" becomes "User wohnt in Wien". No string raises."""
    pieces: list[str] = []
    done = 0
    for quoted in _QUOTED.finditer(clause):
        pieces += [_rewrite(clause[done : quoted.start()]), quoted.group()]
        done = quoted.end()
    return "".join([*pieces, _rewrite(clause[done:])])


def _rewrite(clause: str) -> str:
    tokens = [match.group() for match in _TOKEN.finditer(clause)]
    out: list[str] = [_PERSONS.get(token.lower(), token) for token in tokens]
    for place, token in enumerate(tokens):
        if token.lower() in _SUBJECTS:
            out[place] = "User"
            for verb, form in _find_verbs(tokens, place):
                out[verb] = form
            for each in _same_part(tokens, place):
                if tokens[each].lower() in ("mich", "mir", "uns"):
                    out[each] = "sich"
    return "".join(out)


_SUBJECTS = ("ich", "wir")
_COORDINATING = words("und aber oder denn sondern doch")
_SUBORDINATING = _OWN.words("subordinating")
_AUXILIARIES = _OWN.words("auxiliaries")


def _same_part(tokens: list[str], subject: int) -> list[int]:
    """Places of the words between the punctuation marks around a subject."""
    left = max((place for place in range(subject) if tokens[place] in ",;:.!?()–—"), default=-1)
    marks = (place for place in range(subject, len(tokens)) if tokens[place] in ",;:.!?()–—")
    right = min((place for place in marks if not _goes_on(tokens, place)), default=len(tokens))
    return [place for place in range(left + 1, right) if tokens[place][0].isalpha()]


def _goes_on(tokens: list[str], comma: int) -> bool:
    """True where a verb of the same subject follows: "Ich heiße Wiebke, bin 58"."""
    return tokens[comma] == "," and "".join(tokens[comma + 2 : comma + 3]) in _FORMS


def _find_verbs(tokens: list[str], subject: int) -> list[tuple[int, str]]:
    """Places of a subject's verbs, and their forms for "User": beside it, or last ("weil ich in Wien wohne"), and after
    "und". None if there is no verb.
    """
    part = _same_part(tokens, subject)
    before = [place for place in part if place < subject]
    behind = [place for place in part if place > subject]
    opener = tokens[before[-1]].lower() if before else ""
    if opener == "und" and _is_pair(tokens, before, behind):
        return [(behind[0], tokens[behind[0]])]
    tried = behind[:1] if not opener or opener in _COORDINATING else (*before[-1:], *behind[:1])
    if opener in _SUBORDINATING:
        tried = (*behind[-1:], *behind[:1])
    conjugate = _conjugate if tokens[subject].lower() == "ich" else _conjugate_plural
    for place in tried:
        form = conjugate(tokens[place]) if tokens[place].islower() or place < subject else None
        if form is not None:
            return [(place, form), *_find_further(tokens, part, place, conjugate)]
    return []


def _is_pair(tokens: list[str], before: list[int], behind: list[int]) -> bool:
    """True for "Meine Frau und ich haben": the verb stays plural."""
    return bool(behind) and len(before) > 1 and _conjugate_plural(tokens[behind[0]]) is not None


def _find_further(
    tokens: list[str], part: list[int], verb: int, conjugate: Callable[[str], str | None]
) -> list[tuple[int, str]]:
    """Further verbs of the subject: "Ich wohne in Wien und arbeite bei der Bahn"."""
    if conjugate is _conjugate_plural and tokens[verb].lower() in _AUXILIARIES:
        return []  # "gegessen und getrunken" look like verbs of "wir"
    found: list[tuple[int, str]] = []
    for left, right in pairwise(part):
        word = tokens[right]
        is_next = tokens[left].lower() in ("und", "aber") or tokens[left + 1] == ","
        if left < verb or not is_next or not word.islower() or word in _PERSONS:
            continue
        following = tokens[right + 2 : right + 3]
        is_adjective = bool(following) and following[0][:1].isupper() and word not in _VERBS
        if not is_adjective and (form := conjugate(word)) is not None:
            found.append((right, form))
    return found


_VERBS = _OWN.words("verbs")  # before a noun other words of their form are adjectives: "Obst und frische Säfte"
_OF_MANY = _OWN.pattern("of_many")


def _is_told(clause: str) -> bool:
    """False if no verb fits the speaker, or the clause is only true of a group."""
    tokens = [match.group() for match in _TOKEN.finditer(_QUOTED.sub(" ", clause))]
    subjects = [place for place, token in enumerate(tokens) if token.lower() in _SUBJECTS]
    return _OF_MANY.search(clause) is None and all(_find_verbs(tokens, place) for place in subjects)


_HASTY = any_case(r"((?:^|(?<=\bich ))(?:wohn|leb|fahr|arbeit|hab))\b(?= \w)(?! (?:ist|war|macht)\b)")  # "wohn in Ulm"
_NO_SUBJECT = _OWN.pattern("no_subject")


def _add_subject(clause: str) -> str:
    """The clause with its subject: "Hab mir ein Rad gekauft" as "Ich hab mir ein Rad gekauft"."""
    clause = _HASTY.sub(r"\1e", clause)
    return f"Ich {clause[:1].lower()}{clause[1:]}" if _NO_SUBJECT.match(clause) else clause


_I = r"(?:ich|wir)"
_VERB = any_case(rf"\b{_I}\s+\w+|\b\w+(?:e|t|en|bin|war)\s+{_I}\b|\b(?:ist|sind|war|hat|haben|heißt|wohnt|hatte|kam)\b")
_SUBORDINATE = any_case(r"(?:weil|dass|als|obwohl|da|seit|während|bevor|nachdem|damit|wo)\b")
_PAST = _OWN.pattern("past")

_BECOMES = {"bist": "bin", "hast": "habe", "warst": "war", "hattest": "hatte"} | {
    "du": "ich",
    "dich": "mich",
    "dir": "mir",
}
_YOU = _OWN.pattern("you")


def first_person(sentence: str) -> str:
    """The sentence about the user as the user would say it: "ich wohne in Wien" for "Du wohnst in Wien"."""
    return _YOU.sub(
        lambda match: (
            f"mein{match['ending']}"
            if match["owned"]
            else _BECOMES[match["word"].lower()]
            if match["word"]
            else f"{match['stem']}e"
        ),
        sentence,
    )


def _keeps_together(left: str, _sentence: str, cut: re.Match[str]) -> bool:
    is_tied = _SUBORDINATE.match(left) is not None and cut.group().strip() == ","
    return is_tied or (_VERB.search(left) is None and not cut.group().isspace())


def _is_past(folded: str) -> bool:
    return _PAST.search(folded) is not None


def _plural(who: str, verb: str) -> str:
    return f"{verb[:-1]}en" if who.endswith("andere") else verb


LANGUAGE = read_language(
    "de",
    third_person=third_person,
    statements={
        "keeps_together": _keeps_together,
        "add_subject": _add_subject,
        "is_told": _is_told,
        "first_person": any_case(r"\b(?:ich|wir|mich|mir|uns|mein\w{0,2}|unser\w{0,2})\b"),
    },
    dates={"is_past": _is_past},
    restating={"first_person": first_person},
    choices={"plural": _plural},
)
