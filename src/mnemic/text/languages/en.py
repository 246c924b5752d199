"""English rules that need code; the others are in `en.toml`, and verbs and persons in `english`."""

import re

from mnemic.text.analyser import STOP_WORDS
from mnemic.text.languages import OwnRules, read_language, words
from mnemic.text.languages.english import (
    PARTICIPLES,
    first_person,
    is_of_one,
    is_past,
    spell_out,
    tell_order,
    third_person,
)
from mnemic.text.normalise import late_pattern

_OWN = OwnRules("en")
_REASON = _OWN.pattern("reason")  # introduces the reason of a question or request, which is stated as true
_REASON_ENDS = _OWN.pattern("reason_ends")
_SUBORDINATE = _OWN.pattern("subordinate")
_NO_OBJECT = _OWN.pattern("no_object")
_VERB = _OWN.pattern("verb")
_GOVERNS = _OWN.pattern("governs")  # words that take a question as their object
_ASKS = _OWN.pattern("asks")
_SELF_TOLD = _OWN.pattern("self_told")
_RELATIVE = _OWN.pattern("relative")  # a noun, of which "im in" may tell more
_PAIR_WORDS = 4  # more words before "and I" are a clause, no person's name


def _keeps_together(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """True unless the cut separates two clauses: after a verb, outside a subordinate clause and a pair of nouns."""
    left = left[-400:]  # a longer clause states nothing
    opened = _SUBORDINATE.search(left)
    is_comma = cut.group().strip() == "," and not _ASKS.match(sentence, cut.end())
    is_tied = opened is not None and (is_comma or opened.start() == 0)
    has_verb = _VERB.search(left) is not None
    if cut.group().isspace():
        if _SELF_TOLD.match(sentence, cut.end()):
            has_verb = has_verb or LANGUAGE.statements.refused.search(left) is not None
            is_tied = is_tied or not has_verb or _RELATIVE.search(left) is not None
        return is_tied or _GOVERNS.search(left) is not None
    is_one = _is_pair(left, sentence, cut) or _NO_OBJECT.match(sentence, cut.end()) is not None
    return is_tied or is_one or not has_verb


_POINTING = _OWN.pattern("pointing")
_NAMED_BEFORE = _OWN.pattern("named_before")
_MANY_BEFORE = _OWN.pattern("many_before")  # a noun without an article that "them" may refer to, but "it" may not
_HARMLESS = _OWN.pattern("harmless")
_PLURAL = ("them", "these", "those")  # "an airline" does not name what "them" is


_FINITE = _OWN.pattern("finite")


def _has_verb(clause: str) -> bool:
    return _FINITE.search(clause) is not None or any(is_past(word) for word in clause.lower().split())


def _is_told(clause: str) -> bool:
    return _has_verb(clause) and is_of_one(clause)


def _is_hanging(clause: str) -> bool:
    """True for a pronoun whose noun is not in the clause before it ("I have never used one"), and for a clause without
    a verb ("Half a page").
    """
    if not _has_verb(clause):
        return True
    clause = _HARMLESS.sub(" ", clause)
    match = _POINTING.search(clause)
    if match is None or (_MANY_BEFORE.search(clause, 0, match.start()) is not None and match.group().lower() != "it"):
        return False
    return match.group().lower() in _PLURAL or _NAMED_BEFORE.search(clause, 0, match.start()) is None


_STATES = words("gonna allergic based engaged married pregnant")
_REMINDER = _OWN.pattern("reminder")
_NO_SUBJECT = _OWN.pattern("no_subject")  # starts of a clause whose "I" was left out, as people write in a hurry


def _add_subject(clause: str) -> str:
    """The clause with its subject: "sold the camper" as "I sold the camper", "remind me to" as "I have to"."""
    clause = _REMINDER.sub("I have to ", spell_out(clause))
    match = _NO_SUBJECT.match(clause)
    if match is None:
        return clause
    word, verb, *_ = clause.lower().split()
    has_been = word in ("been", "gone") or (
        word == "never" and verb in PARTICIPLES - {"had", "read"}
    )  # also past forms
    subject = "I'm" if word.endswith("ing") or word in _STATES else "I've" if has_been else "I"
    start = clause[: len(word) if clause[:2].isupper() else 1].lower()
    return f"{subject} {start}{clause[len(start) :]}"


_FIRST_PERSON = _OWN.pattern("first_person")  # after a word such as "War", the "I" is a number


# Only what follows the last of these belongs to "and I".
_CLAUSE_END = late_pattern(r"[,;:]\s+|\b(?:but|so|because|that|when|while)\s+")


def _is_pair(left: str, sentence: str, cut: re.Match[str]) -> bool:
    """True for one subject or object, not two statements: "My wife and I", "my dog and my cat"."""
    after = sentence[cut.end() : cut.end() + 60]
    if re.match(r"(?:my|our)\b", after, re.IGNORECASE):
        return not re.match(
            r"(?:my|our)\s+[\w'’-]+(?:\s+[\w'’-]+)?\s+(?:is|are|was|were|has|have|had|will|can)\b", after
        )
    left = _CLAUSE_END.split(left.rstrip(" ,;:"))[-1]
    return (
        not re.search(r"\b(?:[Ii](?:m|ve)?|we|names?)\b|['’](?:m|ve|s)\b|\b(?:is|are|was|were|has|had|have)\b", left)
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
    """True for "since we last spoke", which is no reason."""
    if "since" not in match.group().lower():
        return False
    is_apart = match.start() == 0 or match.group().startswith(",")
    subject, *words = re.findall(r"[\w'’]+", sentence[match.end() :].lower())[:4]
    return any(is_past(word) for word in words) if subject in ("i", "we") else not is_apart and subject in ("my", "our")


_NO_PAST = _OWN.pattern("no_past")  # a participle after "am" is no past ("I'm excited"), nor is "has got"
_PERFECT = late_pattern(rf"(?:\b(?:have|has|had)|'(?:ve|s)) (?:\w+ )?(?:{'|'.join(sorted(PARTICIPLES))})\b")


def _is_past(folded: str) -> bool:
    """True if the verbs of a statement, not only its feelings, are in the past."""
    told = _NO_PAST.sub(" ", folded)
    is_told = any(is_past(word) or word == "since" for word in re.findall(r"[\w-]+", told))
    return is_told or _PERFECT.search(told) is not None


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
        "is_hanging": _is_hanging,
        "add_subject": _add_subject,
        "is_told": _is_told,
        "first_person": _FIRST_PERSON,
        "tell_order": tell_order,
    },
    dates={"is_past": _is_past},
    restating={"first_person": first_person},
    choices={"plural": _plural},
)
