"""What is due: the days on which a statement falls due, questions for what is due, and sentences that show that it is
done. By rules alone, in every language that has some. All days are those of UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache

from mnemic.text.analyser import Analyser
from mnemic.text.facts.when import When, cut_label, find_time, read_label
from mnemic.text.languages import DueRules, Language, detect, languages, lookup
from mnemic.text.normalise import late_pattern
from mnemic.text.sentences import sentences

_DAY = timedelta(days=1)
_FEWEST_TERMS = 2  # of a task: "send the report", not "send"
_COVERED = 2 / 3  # the share of a task's terms in languages without capitals, whose terms overlap
_TOPIC = 0.5  # the share of a topic's terms: "the dentist" for "a dentist check-up"
MAX_CHARS = 1000  # of a message that may be evidence; a longer one is more likely pasted
MAX_QUESTION_CHARS = 100  # a longer prompt asks for something else
_NAME = late_pattern(r"(?<=[\w,] )(?!I\b|I['’])[^\W\d_a-zß-ÿ][\w'’-]+")
_ANALYSER = Analyser()


@dataclass(frozen=True, slots=True)
class Due:
    """The days on which something is due, both inclusive."""

    first: date
    last: date


def find_due(text: str, said_at: datetime) -> Due | None:
    """The days of a statement about the future. None if it names none, or only a year. What lasts already, such as
    "this week", is due only if it is a task or an appointment.
    """
    said = cut_label(text)
    language = detect(said)
    when = read_label(text[len(said) :], language.dates) or find_time(said, said_at, language.dates)
    if when is None or when.unit == "year" or when.end <= said_at:
        return None
    is_pending = when.start > said_at or language.due.pending.search(said) or language.due.task.search(said)
    return _days_of(when) if is_pending else None


def is_to_do(text: str, said_at: datetime) -> bool:
    """True for a task, an appointment or an expiry with a day."""
    due = detect(text).due
    return (due.task.search(text) or due.pending.search(text)) is not None and find_due(text, said_at) is not None


def asked_days(text: str, now: datetime) -> Due | None:
    """The days of a question for what is due, from today on. None for any other question."""
    text = text.strip()
    short = languages() if len(text) <= MAX_QUESTION_CHARS else ()
    language = next((each for each in short if each.due.asked.fullmatch(text)), None)
    if language is None:
        return None
    when = find_time(text, now, language.dates)
    days = Due(now.date(), date.max) if when is None else _days_of(when)
    return Due(max(days.first, now.date()), days.last) if days.last >= now.date() else None


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence of a user's message about something past, which may show that something is done."""

    text: str
    language: Language
    said_at: datetime
    terms: frozenset[str]
    names: frozenset[str]
    others: frozenset[str]
    """The people and the speaker's relatives that it mentions."""


def read_evidence(text: str, said_at: datetime) -> list[Evidence]:
    """The sentences of a message that may be evidence: past, neither negated nor quoted nor asked."""
    if len(text) > MAX_CHARS or detect(text).statements.material.search(text):
        return []
    found: list[Evidence] = []
    for start, end in sentences(text):
        sentence = text[start:end].strip()
        language = detect(sentence)
        rules = language.due
        if sentence.endswith(("?", "？")) or not _is_past(sentence, language):
            continue
        when = find_time(sentence, said_at, language.dates)
        told_at = said_at if when is None else min(said_at, when.end)
        others = frozenset(match.group().split()[-1].casefold() for match in rules.others.finditer(sentence))
        terms = frozenset(_terms(_with_bases(sentence, rules)))
        found.append(Evidence(sentence, language, told_at, terms, _names_in(sentence), others))
    return found


def shows_done(evidence: Evidence, known: str, first: date, known_at: datetime) -> bool:
    """True if evidence shows that the `known` statement, made at `known_at` and due from `first`, is done.

    Evidence for a task has all its words, with the verb in the past, and no other name: "I sent the report" for "send
    the report to Kim". An appointment is not over before its day, and only what has an end is dealt with earlier.
    """
    said = cut_label(known)
    language, rules = evidence.language, evidence.language.due
    if language is not detect(said) or evidence.said_at <= known_at or not evidence.names <= _names_in(f"- {said}"):
        return False
    if any(each not in said.casefold() for each in evidence.others):
        return False
    if (task := rules.task.search(said)) is not None:
        return _shows_task(task["act"], evidence)
    is_dealt_with = rules.ends.search(said) is not None and rules.dealt.search(evidence.text) is not None
    is_over = first <= evidence.said_at.date() and rules.over.search(evidence.text) is not None
    wanted = _topic_terms(said, language)
    found = evidence.terms & wanted
    return (is_dealt_with or is_over) and bool(found) and len(found) >= _TOPIC * len(wanted)


def _is_past(sentence: str, language: Language) -> bool:
    folded, rules = sentence.casefold().replace("’", "'"), language.due
    if rules.undone.search(sentence) or language.restating.negation.search(sentence):
        return False
    forms = (rules.over, rules.dealt, rules.finished, *(form for form, _ in rules.bases))
    return any(form.search(folded) is not None for form in forms) or language.dates.is_past(folded)


def _shows_task(act: str, evidence: Evidence) -> bool:
    language, rules = evidence.language, evidence.language.due
    names = {name.casefold() for name in _names_in(f"- {act}")}
    wanted = _topic_terms(act, language) - _terms(" ".join(names))
    if len(wanted) < _FEWEST_TERMS:
        wanted = _topic_terms(act, language)
    first, *_ = evidence.text.casefold().split()
    if rules.finished.search(evidence.text) is not None:
        wanted = wanted - _terms(act.split(maxsplit=1)[0])  # "the report is done" names no verb
    elif not rules.own.search(evidence.text) and not (language.is_cased and language.dates.is_past(first)):
        return False
    least = len(wanted) if language.is_cased else max(_FEWEST_TERMS, _COVERED * len(wanted))
    return bool(wanted) and len(evidence.terms & wanted) >= least


def _names_in(text: str) -> frozenset[str]:
    """The words with capitals behind the first of a text."""
    return frozenset(re.sub(r"['’]s?$", "", name) for name in _NAME.findall(text))


def _topic_terms(text: str, language: Language) -> set[str]:
    return _terms(language.due.tail.sub("", text)) - _frame_of(language.code)


@cache
def _frame_of(code: str) -> set[str]:
    """The terms that name no topic."""
    return _terms(" ".join([lookup(code).due.frame, *lookup(code).common]))


def _with_bases(sentence: str, rules: DueRules) -> str:
    """The sentence, followed by the base forms of its past forms."""
    folded = sentence.casefold()
    return " ".join([sentence, *(match.expand(base) for form, base in rules.bases for match in form.finditer(folded))])


def _terms(text: str) -> set[str]:
    return {term for term in _ANALYSER.query_terms(text) if not term.isdecimal()}


def _days_of(when: When) -> Due:
    return Due(when.start.date(), (when.end - _DAY).date())
