"""English verbs as far as the change of person needs them: which forms are past, and the form that goes with "User"."""

from __future__ import annotations


def words(listed: str) -> frozenset[str]:
    """The words of a list that is written with blanks between."""
    return frozenset(listed.split())


MODALS = words("can could will would shall should may might must cannot can't couldn't won't wouldn't shan't")
"""With them the verb keeps its form. Negated ones too."""

ADVERBS = words(
    "always never often usually also still just now currently recently already sometimes rarely mostly even only "
    "then finally once generally normally mainly almost ever seldom no longer primarily lately today yesterday "
    "personally both all too either first last ever"
)
"""Words that may stand between a subject and its verb, beside those that end in -ly."""

_NOT_ADVERBS = words("apply reply rely supply multiply fly comply imply bully rally ally tally sully")
_PRESENT_IN_ED = words("need feed bleed breed speed exceed proceed succeed heed seed weed shed embed wed tweed")
_PAST = words(
    "ate awoke beat became began bent bet bit bled blew bought bound bred broke brought built burnt burst came "
    "caught chose clung cost crept cut dealt did dove drank dreamt drew drove dug fed fell felt fled flew forgave "
    "forgot fought found froze gave got grew ground had heard held hid hit hung hurt kept knelt knew laid lay led "
    "leapt learnt left lent let lit lost made meant met misunderstood mistook outgrew overcame overslept paid "
    "proved put quit ran rang redid rose rode said sang sank sat saw sent sewed shone shook shot showed shrank "
    "shut slept slid sold sought spent spilt split spoke spread sprang spun stole stood strode struck stuck sung "
    "swam swept swore swung taught thought threw tore told took underwent understood undertook upset was went "
    "wept were withdrew woke won wore wound wove wrote relearnt rebuilt reread resold rewrote retook undid "
    "unwound withheld"
)
PARTICIPLES = words(
    "been begun broken chosen come done drawn driven drunk eaten fallen flown forgotten given gone grown had "
    "known made met ridden risen run seen shown spoken stolen sung swum taken thrown woken worn written bought "
    "brought built kept left lost paid read said sent sold spent thought told won"
)
"""Irregular ones: after 'd they say that it means "had"."""

_FORMS = {
    "am": "is",
    "have": "has",
    "do": "does",
    "don't": "does not",
    "haven't": "has not",
    "ain't": "is not",
    "wasn't": "was not",
    "didn't": "did not",
    "hadn't": "had not",
    "can't": "cannot",
    "won't": "will not",
    "couldn't": "could not",
    "wouldn't": "would not",
    "shouldn't": "should not",
    "dont": "does not",
    "didnt": "did not",
    "cant": "cannot",
    "gotta": "has to",
    "wanna": "wants to",
    "gonna": "is going to",
}
_AND_VERBS = words(
    "hate love like enjoy prefer want have make take try speak drink eat keep get know live teach do go dislike "
    "own play work need use read write listen watch"
)
"""After "and" in the clause of a conjugated verb, these go on with the same subject."""


def is_adverb(word: str) -> bool:
    """True for a lower-case word that may stand before the verb."""
    return word in ADVERBS or (word.endswith("ly") and word not in _NOT_ADVERBS)


def is_past(word: str) -> bool:
    """True for the past form of a verb, lower case; one with the same form in the present counts as past."""
    return word in _PAST or (word.endswith("ed") and word not in _PRESENT_IN_ED)


def is_base(word: str) -> bool:
    """True for a lower-case word that would be the present form after "I", if it is a verb."""
    return (
        word.isalpha() and not is_past(word) and word not in MODALS and word not in _FORMS and not word.endswith("ing")
    )


def may_follow_and(word: str) -> bool:
    """True for a verb that goes on after "and" with the same subject."""
    return word in _AND_VERBS


def with_user(word: str) -> str:
    """The form of the verb `word`, given as it stands after "I", that goes with "User"."""
    lower = word.lower().replace("\u2019", "'")
    if lower in _FORMS:
        return _FORMS[lower]
    return _third(word) if is_base(lower) else word


def _third(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
