"""What is due: the days on which a statement falls due, questions for what is due, and sentences that show that it is
done. By rules alone, in every language that has some. All days are those of UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache

from mnemic.text.analyser import Analyser
from mnemic.text.facts.when import When, cut_label, find_time
from mnemic.text.languages import DueRules, Language, detect, languages, lookup
from mnemic.text.sentences import sentences

_DAY = timedelta(days=1)
_FEWEST_TERMS = 2  # of a task: "send the report", not "send"
_COVERED = 2 / 3
"""The share of a task's terms that evidence needs: "I sent the report" is none for "send the invoice"."""

_TOPIC = 0.5  # the share of a topic's terms: "the dentist" for "a dentist check-up"
MAX_CHARS = 1000  # of a message that may be evidence; a longer one is more likely pasted
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
    when = find_time(said, said_at, language.dates)
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
    language = next((each for each in languages() if each.due.asked.search(text)), None)
    if language is None:
        return None
    when = find_time(text, now, language.dates)
    days = Due(now.date(), date.max) if when is None else _days_of(when)
    return Due(max(days.first, now.date()), days.last) if days.last >= now.date() else None


def find_evidence(text: str, known: str, first: date, said_at: datetime) -> str:
    """The sentence of a user's message that shows that the `known` statement, due from `first`, is done. "" if none.

    Evidence for a task has its verb in the past and its object: "I sent the report". An appointment is not over before
    its day, and only what has an end is dealt with earlier: "I renewed my passport".
    """
    said = cut_label(known)
    for start, end in sentences(text[:MAX_CHARS]) if len(text) <= MAX_CHARS else ():
        sentence = text[start:end].strip()
        language = detect(sentence)
        rules = language.due
        if language is detect(said) and not sentence.endswith(("?", "？")) and _is_past(sentence, language):
            task = rules.task.search(said)
            may_be_over = first <= said_at.date() or rules.ends.search(said) is not None
            if task is not None:
                may_be_over, is_shown = True, _shows_task(task["act"], sentence, language)
            else:
                is_shown = _shows_topic(said, sentence, language)
            if may_be_over and is_shown:
                return sentence
    return ""


def _is_past(sentence: str, language: Language) -> bool:
    folded = sentence.casefold().replace("’", "'")
    if language.due.undone.search(sentence) or language.restating.negation.search(sentence):
        return False
    return bool(language.due.is_done.search(sentence)) or language.dates.is_past(folded)


def _shows_task(act: str, sentence: str, language: Language) -> bool:
    rules = language.due
    wanted = _topic_terms(act, language)
    if len(wanted) < _FEWEST_TERMS:
        wanted = _terms(act) - _frame_of(language.code)
    is_finished = rules.finished.search(sentence) is not None
    found = len(_terms(_with_bases(sentence, rules)) & wanted) + is_finished
    return (is_finished or rules.own.search(sentence) is not None) and found >= max(
        _FEWEST_TERMS, _COVERED * len(wanted)
    )


def _shows_topic(said: str, sentence: str, language: Language) -> bool:
    wanted = _topic_terms(said, language)
    found = _terms(sentence) & wanted
    return bool(found) and bool(language.due.is_done.search(sentence)) and len(found) >= _TOPIC * len(wanted)


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
