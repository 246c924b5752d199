"""English: what of its rules only code can say; the rest stands in `en.toml`, its verbs and persons in `english`."""

import re

from mnemic.text.analyser import STOP_WORDS
from mnemic.text.languages import any_case, read_language
from mnemic.text.languages.english import PARTICIPLES, first_person, is_of_one, is_past, third_person
from mnemic.text.normalise import late_pattern

_REASON = late_pattern(
    r"(?:^|(?:,|(?<![,\s]))\s++(?:especially\s+|particularly\s+)?)(?i:since|because|as|now that|given that"
    r"|(?:considering|seeing)(?: that)?(?=[^,?]{0,200}(?: (?:am|is|are|was|were|have|has|had)"
    r"|['’](?:m|ve))\b))\s+(?=(?:I|i|I['’](?:m|ve)|my|we|we['’](?:re|ve)|our)\b)"
)
"""What follows gives the reason of a question or of a request, and is told as true."""

_REASON_ENDS = any_case(
    r",\s+(?=(?:what|how|which|where|who|when|why|can|could|would|will|do|does|did|is|are|should|please|any|give|help"
    r"|suggest|recommend|tell|show|i['’]d|i was|i would|i want|i need|i wonder|let['’]s)\b)"
)
_SUBORDINATE = any_case(
    r"\b(?:if|when|whenever|since|because|although|though|while|as|after|before|once|until|unless|that|which|who|where"
    r"|whether|than)\b[^,;]*$"
)
_COMMENT = any_case(
    r"\s*(?:[,;–—-]|,?\s+(?:and|but|so|which))\s+(?:it|that|this|which)?(?:['’]s|\s+(?:is|was|has|had|seems?|feels?"
    r"|felt))\s+[^,;]*$"
)
_TELLING = late_pattern(r"\d|(?<=[a-z,] )(?!I\b)[A-Z][a-z]|\b(?:since|because|as) (?:I|my)\b")
"""A comment with a number, a name or a reason of the speaker's in it says more than an opinion."""

_NO_OBJECT = any_case(
    r"i (?:\w+ly )?(?:stopped|quit|did|do|don['’]t|didn['’]t|failed|recovered|survived|agreed|tried|gave up)\b(?! "
    r"\w+ing|\s+(?:my|the|like))"
)
_VERB = any_case(
    r"\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|can|could|will|would|['’](?:m|s|re|ve|ll|d))\b|['’](?:m"
    r"|s|re|ve|ll|d)\b|\b[a-z]+(?:ed|s)\b|\bI\s+[a-z]+|\bwe\s+[a-z]+"
)
_PAIR_WORDS = 4
"""More words before "and I" are a clause, no name of a person."""


def _keeps_together(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """A cut parts two clauses only behind a verb, outside a subordinate clause and a pair of nouns."""
    opened = _SUBORDINATE.search(left)
    is_tied = opened is not None and (cut.group().strip() == "," or opened.start() == 0)
    has_verb = _VERB.search(left) is not None
    return not has_verb or is_tied or _is_pair(left, sentence, cut) or bool(_NO_OBJECT.match(sentence, cut.end()))


_POINTING = any_case(
    r"\b(?:it|them|one|ones|him|her|those|these|both|such)\b"
    r"(?! (?:of|day|time|more|thing|hour|year|\w+ing)\b)"
)
_NAMED_BEFORE = late_pattern(
    r"(?i:\b(?:an?|the|some|any|every|each|his|their|no|two|three|four|five|six|\d+)\s+[\w-]+)"
    r"|(?i:\b(?:my|our)\s+[\w-]+)"
    r"|(?<=\s)(?!I\b)[A-Z][\w'’-]+|\b[a-z]{3,}(?<!ss)s\b(?<!was)(?<!does)(?<!has)"
)
_HARMLESS = any_case(
    r"\b(?:make|made|makes|find|found|think|thought) it \w+"
    r"|\bit(?:['’]s| is| was) (?:\w+ )?(?:that|to|when)\b|\bone of\b"
)


_FINITE = any_case(
    r"\b(?:am|is|are|was|were|have|has|had|do|does|did|can|could|will|would|must|should|i|we|user)\b|['’](?:m|s|re|ve|ll|d|t)\b"
    r"|\b[a-z]{2,}(?:ed|s)\b"
)


def _is_hanging(clause: str) -> bool:
    """True where a pronoun points at something that the clause does not name before it ("I have never used one"), and
    for a clause without a verb ("Half a page").
    """
    if _FINITE.search(clause) is None and not any(is_past(word) for word in clause.lower().split()):
        return True
    clause = _HARMLESS.sub(" ", clause)
    match = _POINTING.search(clause)
    return match is not None and _NAMED_BEFORE.search(clause, 0, match.start()) is None


_NO_SUBJECT = any_case(
    r"(?:(?:been|gonna|going to|moved|sold|bought|got|went|started|finished|quit|lost|met|had|took|joined|signed|booked"
    r"|passed|broke|changed|switched|gave up|stopped|tried|ordered|adopted|hired|saw|watched|read|visited|ran|won|made"
    r"|decided)\b"
    r"(?! (?:it|that|this|them|me|you|to know)\b)|(?:can['’]t|don['’]t|never|hate|love|prefer|live|work|moving|leaving"
    r"|starting|training for|saving for|working (?:at|as|on)|living in)\b)(?= \w+)"
)
"""Words that open a clause whose "I" was left out, as people write in a hurry."""


def _add_subject(clause: str) -> str:
    """The clause with its subject: "sold the camper" as "I sold the camper"."""
    match = _NO_SUBJECT.match(clause)
    if match is None:
        return clause
    word = match.group().lower().split()[0]
    subject = "I'm" if word.endswith("ing") or word == "gonna" else "I've" if word == "been" else "I"
    return f"{subject} {clause[:1].lower()}{clause[1:]}"


_FIRST_PERSON = late_pattern(
    r"(?i:\b(?:i['’](?:m|ve|ll|d)|me|my|myself|mine(?! \w+)|our|ours|ourselves)\b)(?<!\bME)"
    r"|(?<!\w[.'’-])\b[iI]\b(?![.'’-]\w)(?<!(?:War|ase|age|ume|ion|ter|ype|art|ade|ime|ass|vel|eth|les|act|Act|ier) I)"
    r"|(?:^|(?<=[a-z,] ))we(?:['’]\w+)?\b|(?:^|[.;] )Im (?=[a-z])"
)
"""Behind a word such as "War", the "I" is a number."""


def _is_pair(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """One subject or object, no two statements: "My wife and I", "my dog and my cat"."""
    after = sentence[cut.end() : cut.end() + 60]
    if re.match(r"(?:my|our)\b", after, re.IGNORECASE):
        return not re.match(
            r"(?:my|our)\s+[\w'’-]+(?:\s+[\w'’-]+)?\s+(?:is|are|was|were|has|have|had|will|can)\b", after
        )
    return (
        not re.search(r"\b(?:I|we)\b|['’](?:m|ve|s)\b|\b(?:is|are|was|were|has|had|have)\b", left)
        and len(left.split()) <= _PAIR_WORDS
    )


def _find_reason(sentence: str) -> tuple[int, int] | None:
    """The reason that a question gives: "Since I am allergic to nuts, what can I bake?"."""
    if (match := _REASON.search(sentence)) is None or _tells_a_time(sentence, match):
        return None
    until = _REASON_ENDS.search(sentence, match.end()) if match.start() == 0 else None
    if match.start() == 0 and until is None:
        return None
    end = len(sentence.rstrip("?")) if until is None else until.start()
    return match.end(), max(match.end(), end)


def _tells_a_time(sentence: str, match: re.Match[str]) -> bool:
    """True for "since we last spoke", as no reason is."""
    if "since" not in match.group().lower():
        return False
    is_apart = match.start() == 0 or match.group().startswith(",")
    subject, *words = re.findall(r"[\w'’]+", sentence[match.end() :].lower())[:4]
    return any(is_past(word) for word in words) if subject in ("i", "we") else not is_apart and subject in ("my", "our")


def _find_comment(clause: str) -> int | None:
    """Where a mere opinion begins: "I moved to Rome, which was nice"."""
    match = _COMMENT.search(clause)
    is_opinion = match is not None and match.start() > len(clause) // 3 and not _TELLING.search(match.group())
    return match.start() if match is not None and is_opinion else None


_NO_PAST = late_pattern(
    r"(?:\b(?:am|is|are|be|feels?|feeling|gets?|getting|getting so|seems?|looks?)|'(?:m|re)) (?:(?:\w+ly|so|very|not"
    r"|quite|a bit|a little) )*(?:\w+ed|held|set|put|left|kept|sold|paid|made|met|lost)\b"
    r"|(?:\b(?:has|have)|'(?:s|ve)) (?:\w+ly )?got\b"
)
"""A participle behind "am" is no past ("I'm excited"), nor is "has got"."""

_PERFECT = late_pattern(rf"(?:\b(?:have|has|had)|'(?:ve|s)) (?:\w+ )?(?:{'|'.join(sorted(PARTICIPLES))})\b")


def _is_past(folded: str) -> bool:
    """True where the verbs of a statement, and not only its feelings, are in the past."""
    told = _NO_PAST.sub(" ", folded)
    return any(is_past(word) or word == "since" for word in told.replace("'", " ").split()) or bool(
        _PERFECT.search(told)
    )


def _plural(who: str, verb: str) -> str:
    if not who.endswith("others"):
        return verb
    return "go with" if verb == "goes with" else verb.removesuffix("s")


LANGUAGE = read_language(
    "en",
    common=STOP_WORDS,
    third_person=third_person,
    statements={
        "keeps_together": _keeps_together,
        "find_reason": _find_reason,
        "find_comment": _find_comment,
        "is_hanging": _is_hanging,
        "add_subject": _add_subject,
        "is_told": is_of_one,
        "first_person": _FIRST_PERSON,
    },
    dates={"is_past": _is_past},
    restating={"first_person": first_person},
    choices={"plural": _plural},
)
