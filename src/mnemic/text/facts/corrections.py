"""Reads what a message takes back: a wrong value ("No, it's Thursday", "it's Dana, not Dona"), a standing order ("you
can use emojis again"), a plan ("the Berlin trip is off") or a tie ("we split up"). By rules alone, in every language
that has some. Where it is unclear what was wrong, nothing is taken back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mnemic.model.item import Memory
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.facts.find import terms_of
from mnemic.text.facts.own_words import own_words
from mnemic.text.facts.statements import is_anothers
from mnemic.text.facts.when import cut_label
from mnemic.text.facts.worth import Head, hash_phrases, read_heads
from mnemic.text.languages import NEVER, CorrectionRules, Language, detect, languages, lookup
from mnemic.text.normalise import late_pattern
from mnemic.text.sentences import sentences
from mnemic.text.slots import ORDER, REMEMBER, Filled, forbids, read_alternative

MAX_CHARS = 200  # of a message; a longer one says more than what was wrong
MAX_PASSING = 400  # of a message in which a change stands beside a question
NEAR = 3  # messages of the user whose wrong value need not be named

MAX_WORDS = 14
"""A sentence with more words corrects no value. Without a limit, 18 of 5,395 messages changed something by mistake."""

LEAST_SHARE = 0.3
"""Share of a memory's topic terms that a sentence about its end repeats, unless it repeats a name. With 0.2, three more
of 2,740 memories ended by mistake.
"""
MAX_ENDING_WORDS = 40  # of a sentence that ends something, as long as those that the classifier was fitted to
ALIKE = 0.6
"""Two words so alike may be spellings of one name: "Dona" and "Dana" (the ratio of `difflib`)."""

NAMED = 0.5  # the share of a topic's terms that an order must contain
_FEWEST_TERMS = 2  # that a plan shares with what is over, unless nothing else can be meant
_MOST_WORDS = 4  # of a wrong value
_MOST_HAN = 8
_MOST_BESIDE = 5  # words beside "cancelled" that tell what is
_MOST_PARTS = 2  # of a memory that may be cut: one that says more keeps what it says
_FEWEST_LETTERS = 3  # of a name that may be misspelt
_MOST_LETTERS = 2  # that a misspelt name may be longer or shorter
_MOST_TIMES = 5  # that a number may be larger or smaller than the wrong one
_NAMES = ("name", f"{ORDER}call them")
_HAN = late_pattern("[\u4e00-\u9fff]")
_CLAUSE = late_pattern(r"(?:[^,;:，；：.]|[.:](?!\s))+[,;:，；：.]?")
_TOPIC = "it"
_TOKEN = late_pattern(r"[\w'’]+|[^\w\s]")
_WORD = late_pattern(r"[^\s,;:!?()\"“”]+")


@dataclass(frozen=True, slots=True)
class Correction:
    """A wrong value, as it was said, and the right one; `start` and `end`: the sentence of the message."""

    wrong: str
    right: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What no longer holds: the `text` that says so and its terms, and the `clause` that says it is over. `ends`:
    "over", "name", a tie such as "partner", or the value of a standing order ("always", "never", or "order" for any).
    `tie`: if `ends` is "over", the key of `CorrectionRules.ties` that a memory must match.
    """

    text: str
    ends: str
    terms: frozenset[str]
    clause: str = ""
    tie: str = "over"


def takes_back(message: str) -> bool:
    """True for a short message that may correct a value, or end an order, a plan, a tie or a habit."""
    passing = _read_sentences(message, is_passing=True)
    return any(_is_cue(sentence, language.corrections) for _, sentence, language in passing) or bool(
        find_endings(message)
    )


def find_endings(message: str) -> list[str]:
    """The English sentences of a message whose words may end something, and which `ends_topic` should judge. One in
    five of all other statements is among them.
    """
    heads, language = load_endings(), detect(message)
    read = [text for _, text, each in _read_sentences(message, is_passing=True) if each is language]
    short = [text for text in read if len(text.split()) <= MAX_ENDING_WORDS]
    plain = [text for text in short if not language.corrections.unsure.search(text)]
    if not heads or not plain or language.code != "en":
        return []
    return [text for text, odds in zip(plain, heads[0].odds(hash_phrases(plain)), strict=True) if odds > 0]


def hide_topic(sentence: str, memory: str) -> str:
    """A sentence with "it" in place of the words that it shares with a memory. Returns "" if it shares too few or only
    repeats the memory, or if the memory is about the past.
    """
    language, said = detect(memory), cut_label(memory)
    is_past = language.dates.is_past(said.casefold()) and not language.corrections.ongoing.search(said)
    topics = frozenset[str]() if is_past else _topic_terms(said, language)
    shared = topics & _topic_terms(sentence, language)
    is_named = any(word[:1].isupper() and shared & _unify(word, language) for word in said.split()[1:])
    is_about = is_named or len(shared) >= LEAST_SHARE * len(topics)
    if not is_about or shared == _topic_terms(sentence, language):  # another thing, or the memory said again
        return ""
    words = [_TOPIC if shared & _unify(word, language) else word for word in _TOKEN.findall(sentence.lower())]
    runs = [word for word, before in zip(words, ["", *words], strict=False) if not word == before == _TOPIC]
    return " ".join(runs) if shared else ""


def ends_topic(layers: NDArray[np.float32]) -> bool:
    """True if a sentence of `hide_topic` ends its topic. `layers`: its features from the inner layers, `(f,)`."""
    return bool(load_endings()[1].odds(layers.astype(np.float64)) > 0)


def make_withdrawal(sentence: str) -> Withdrawal:
    """The withdrawal of a sentence that ends something."""
    return Withdrawal(sentence, "over", _topic_terms(sentence, detect(sentence)))


@cache
def load_endings() -> tuple[Head, ...]:
    """The classifiers of sentences by their words, and by the embedder's inner layers with the topic hidden."""
    return read_heads("endings.json")


def find_corrections(message: str, said: str, reply: str, between: Sequence[str] = ()) -> list[Correction]:
    """The values of what the user `said` that the message corrects. `between`: the user's messages since then. After
    `NEAR` of them, the message must name the wrong value. `reply`: what the assistant said right before the message. It
    tells which of several values is meant, and what "No, Tuesday" is about.
    """
    found: list[Correction] = []
    for start, sentence, language in _read_sentences(message):
        rules = language.corrections
        if len(sentence.split()) > MAX_WORDS:
            continue
        pairs = [*_find_named(sentence, said, language)]
        is_meant = rules.slip.search(sentence) is not None or _is_starred(sentence)
        if not pairs and len(between) < NEAR and (is_meant or _is_answer(sentence, reply, rules)):
            is_explicit = rules.explicit.search(sentence) is not None or _is_starred(sentence)
            later = between if is_explicit else [reply]
            is_last = is_explicit or not between
            values = _find_values(sentence, said, reply, rules)
            pairs = [(a, b) for a, b in values if _pattern(a).search(reply) or (is_last and _is_only(a, later, rules))]
        known = {each.wrong.casefold() for each in found}
        found += [Correction(a, b, start, start + len(sentence)) for a, b in pairs if a.casefold() not in known]
    return found


def _is_answer(sentence: str, reply: str, rules: CorrectionRules) -> bool:
    """True for "No, it's Thursday" if the assistant asked nothing that this may answer."""
    denial = rules.answer.match(sentence)
    if denial is None or reply.rstrip().endswith(("?", "？")):
        return False
    return len(rules.filler.sub("", sentence[denial.end() :]).split()) <= _MOST_WORDS


def _is_only(wrong: str, later: Sequence[str], rules: CorrectionRules) -> bool:
    """True unless a text said later has a value of the same kind, which may be meant: "No, June 20"."""
    kinds = [kind for _, kind in rules.kinds if kind.fullmatch(wrong)] or [rules.name]
    return not any(kind.search(text) for kind in kinds for text in later)


def correct(text: str, wrong: str, right: str) -> str | None:
    """The text with the right value in place of the wrong one. None if it does not have that, or has both."""
    said = cut_label(text)
    match = _pattern(wrong).search(said)
    if match is None or _pattern(right).search(said) is not None:
        return None
    is_name = match.group()[:1].isupper() and right.islower()
    rest, right = said[match.end() :], right.title() if is_name else right
    if _HAN.search(right):  # "crab allergy" for the shrimp of a "shrimp allergy"
        right = next((right[:cut] for cut in range(1, len(right)) if rest.startswith(right[cut:])), right)
    return said[: match.start()] + right + rest


def _is_alike(one: str, other: str) -> bool:
    """True for two words that may be spellings of one name."""
    ratio = SequenceMatcher(None, one.casefold(), other.casefold()).ratio()
    is_near = one[:1].casefold() == other[:1].casefold() or len(one) == len(other)
    is_long = min(len(one), len(other)) >= _FEWEST_LETTERS and abs(len(one) - len(other)) <= _MOST_LETTERS
    return ALIKE <= ratio < 1 and is_near and is_long


def read_withdrawal(message: str) -> Withdrawal | None:
    """The standing order, plan or tie that a message takes back."""
    for _, sentence, language in _read_sentences(message, is_passing=True):
        rules = language.corrections
        if rules.unsure.search(sentence) is not None:
            continue
        for name, rule in rules.withdrawn:
            if (match := rule.search(sentence)) is not None:
                topic = match.groupdict().get("topic") or ""
                terms = _topic_terms(topic, language)
                is_clear = terms or name == "name" or name in dict(rules.ties) or read_alternative(topic) is not None
                clause = sentence if name == "employer" and rules.over.search(sentence) else ""  # "I quit the choir"
                return Withdrawal(topic or sentence, name, terms, clause) if is_clear else None
        if (match := rules.over.search(sentence)) is not None:
            clause = next(each for each in _CLAUSE.finditer(sentence) if match.start() < each.end())
            before = sentence[clause.start() : match.start()].split()[-_MOST_BESIDE:]
            behind = rules.going_on.split(sentence[match.end() : max(clause.end(), match.end())])[0].split()
            is_loose = _is_plain(message) or rules.object_end is NEVER
            if is_loose and not match.groupdict().get("parted"):
                text, about = message if _is_plain(message) else sentence, " ".join([*before, *behind[:_MOST_BESIDE]])
                return Withdrawal(text, "over", _topic_terms(text, language), about)
            is_of_user = match.groupdict().get("parted") or match.groupdict().get("act")
            places = ([] if is_of_user else before, sentence[match.end() :].split())
            head = next(filter(None, (_find_head(words, language) for words in places)), "")
            tie = "event" if match.groupdict().get("event") else "over"
            return Withdrawal(head, "over", _topic_terms(head, language), head, tie)
    return None


def _find_head(words: Sequence[str], language: Language) -> str:
    """The last word of the first thing that some words name: "boiler" of "the boiler in the flat". It names a topic."""
    parts = language.corrections.object_end.split(" ".join(words))
    head = next((part.split()[-1] for part in parts if part.strip()), "")
    return head if _topic_terms(head, language) else ""


def find_over(withdrawal: Withdrawal, known: Sequence[tuple[Memory, Filled | None]]) -> list[Memory]:
    """Which of the known memories, with the slots that they fill, are what was taken back."""
    if withdrawal.ends in ("always", "never", "order"):
        filled_orders = [(memory, filled) for memory, filled in known if filled and filled.slot.startswith(ORDER)]
        return [memory for memory, order in filled_orders if _is_order(withdrawal, order)]
    if withdrawal.ends == "name":
        named = [(memory, filled.value.casefold()) for memory, filled in known if filled and filled.slot in _NAMES]
        return [memory for memory, value in named if value == withdrawal.text.casefold()]
    told = [memory for memory, filled in known if filled is None or not filled.slot.startswith(ORDER)]
    if withdrawal.ends != "over":
        name = "job" if withdrawal.ends == "employer" else withdrawal.ends
        ties = [(m, dict(detect(m.text).corrections.ties).get(name, NEVER)) for m in told]
        found = [m for m, tie in ties if tie.search(m.text) and withdrawal.terms <= {*terms_of(m.text)}]
        if withdrawal.ends != "employer" and (found or not withdrawal.terms):
            return found
        found = [m for m in told if _is_employed(m.text, withdrawal.text)]
        if found or not withdrawal.clause:
            return found
    shares = [(m, _topic_terms(cut_label(m.text), detect(m.text))) for m in told if _may_end(withdrawal, m)]
    most = max((len(withdrawal.terms & terms) for _, terms in shares), default=0)
    best = [memory for memory, terms in shares if len(withdrawal.terms & terms) == most]
    named = _topic_terms(withdrawal.clause, detect(withdrawal.clause))
    is_named = len(named) <= _FEWEST_TERMS and _is_alone(named or withdrawal.terms, best)
    is_clear = most >= _FEWEST_TERMS or is_named or any(cut_half(m.text, withdrawal) for m in best)
    return best if most and len(best) == 1 and is_clear else []


def _is_employed(text: str, employer: str) -> bool:
    """True for a text about a job at this employer; not at "Anna Freud Centre", if it is "Anna"."""
    ties, name = dict(detect(text).corrections.ties), re.compile(rf"(?i:{re.escape(employer)})\b(?! [A-Z&])")
    places = ties.get("employer", NEVER).finditer(text) if ties["job"].search(text) else ()
    return any(name.match(text, place.end()) for place in places)


def cut_half(text: str, withdrawal: Withdrawal) -> str | None:
    """A text of two things without the one that is over: "plays chess" for "plays chess and tennis". Empty if it cannot
    be cut, and None if it is about one thing.
    """
    said, language = cut_label(text), detect(text)
    halves = language.corrections.halves.split(said)
    if len(halves) + len(re.findall(r"[,;，；]", said)) > _MOST_PARTS:
        return ""
    if len(halves) != _MOST_PARTS or len(said.split()) > MAX_WORDS:
        return None
    *before, word = halves[0].split()
    if withdrawal.terms & _unify(word, language):
        rest = f"{' '.join(before)}|{halves[1]}"
        for replacement, rule in language.corrections.joined:
            rest = rule.sub(replacement, rest)
        return rest.replace("|", " ")
    is_last = bool(withdrawal.terms & _unify(halves[1], language))
    return halves[0] if is_last else "" if withdrawal.terms & _unify(halves[0], language) else None


def _is_order(withdrawal: Withdrawal, filled: Filled) -> bool:
    said, other = f"{filled.value} {filled.slot.removeprefix(ORDER)}", read_alternative(withdrawal.text)
    if other is not None and other.slot == filled.slot and withdrawal.ends == "never":
        return other.value.casefold() != filled.value.casefold()  # "you can answer in English again"
    shared = len(withdrawal.terms & _unify(said, detect(said)))
    is_meant = filled.slot.startswith(REMEMBER) or withdrawal.ends == ("never" if forbids(filled) else "always")
    return (is_meant or withdrawal.ends == "order") and shared >= NAMED * len(withdrawal.terms)


def revises(new: str, old: str) -> int:
    """How many topic terms a wish to the assistant shares with the older one that it changes; 0 if it changes none."""
    language = detect(new)
    if language.corrections.revised.search(new) is None:
        return 0
    terms = _topic_terms(new, language)
    shared = len(terms & _topic_terms(old, language))
    return shared if shared >= _FEWEST_TERMS or shared > NAMED * len(terms) else 0


def _may_end(withdrawal: Withdrawal, memory: Memory) -> bool:
    """True for a plan or a habit, if nobody else is named who may have given up theirs."""
    language, said = detect(memory.text), cut_label(memory.text)
    others = {match.group().split()[-1].casefold() for match in language.due.others.finditer(withdrawal.clause)}
    ties = dict(language.corrections.ties)
    is_lasting = ties.get(withdrawal.tie, ties["over"]).search(said) is not None
    return is_lasting and all(each in said.casefold() for each in others)


def _is_alone(terms: frozenset[str], memories: Sequence[Memory]) -> bool:
    """True if a term stands in a memory as a word of its own, not as part of another thing: "sugar cookies"."""
    for memory in memories:
        words, language = cut_label(memory.text).split(), detect(memory.text)
        for word, behind in zip(words, [*words[1:], ""], strict=True):
            if terms & _unify(word, language):
                is_last = word[-1:] in ",;." or not _topic_terms(behind, language)
                return is_last or not word.islower()
    return any(_HAN.search(memory.text) for memory in memories)


def _topic_terms(text: str, language: Language) -> frozenset[str]:
    """The terms of a text that name a topic."""
    return _unify(text, language) - _frame_of(language.code)


def _unify(text: str, language: Language) -> frozenset[str]:
    """The terms of a text, with one for what is alike: "married" is about a "wedding"."""
    alike = _alike_of(language.code)
    return frozenset(alike.get(term, term) for term in terms_of(text))


@cache
def _alike_of(code: str) -> Mapping[str, str]:
    rows = [terms_of(row) for row in lookup(code).corrections.alike]
    return {term: row[0] for row in rows for term in row}


@cache
def _frame_of(code: str) -> frozenset[str]:
    language = lookup(code)
    words = (language.corrections.frame, *language.common, *STOP_WORDS)
    return frozenset(term for word in words for term in terms_of(word))  # a text of stop words alone has terms


def _read_sentences(message: str, *, is_passing: bool = False) -> Iterator[tuple[int, str, Language]]:
    """The sentences of a short message with their starts, with every language that may be theirs. One that begins with
    "not" belongs to a short one before it, as in "Peonies! Not dahlias". `is_passing`: of a longer one, or one that
    ends with a question, too.
    """
    if not _is_plain(message) and not (is_passing and len(message) <= MAX_PASSING):
        return
    message = own_words(message)
    found: list[tuple[int, int]] = []
    for start, end in sentences(message):
        if any(each.statements.material.search(message[start:end]) for each in languages()):
            return
        rest = message[start:end].lstrip()
        is_part = bool(found) and any(each.corrections.negated.match(rest) for each in languages())
        is_joined = is_part and len(message[slice(*found[-1])].split()) < _MOST_WORDS
        found.append((found.pop()[0] if is_joined else start, end))
    for start, end in found:
        text = message[start:end].strip()
        for language in languages():
            others = (language.corrections.foreign, language.statements.speech)
            is_foreign = any(rule.search(text) for rule in others) or is_anothers(text, language)
            if (_HAN.search(text) is None) is language.is_cased and not is_foreign:
                statement = language.corrections.question_behind.sub("", text) if is_passing else text
                yield start, language.restore_capitals(statement), language


def _is_plain(message: str) -> bool:
    return len(message) <= MAX_CHARS and not message.rstrip().endswith(("?", "？"))


def _is_cue(sentence: str, rules: CorrectionRules) -> bool:
    cues = (rules.slip, rules.answer, rules.negated, rules.over, *(rule for _, rule in rules.withdrawn))
    return _is_starred(sentence) or any(cue.search(sentence) for cue in cues)


def _is_starred(sentence: str) -> bool:
    return sentence.startswith("*") or sentence.endswith("*")


def _find_named(sentence: str, said: str, language: Language) -> Iterator[tuple[str, str]]:
    """The wrong value that the sentence names, and the right one beside it: "Dana, not Dona", "not Dona but Dana"."""
    rules = language.corrections
    for match in rules.negated.finditer(sentence):
        rest = sentence[match.end() :]
        wrong = _longest_said(rest, said)
        if not wrong or not (right := _find_right(sentence[: match.start()], rest[len(wrong) :], wrong, rules)):
            continue
        others = rules.answer.sub("", rules.slip.sub("", _last_clause(sentence[: match.start()]).replace(right, " ")))
        about = _topic_terms(others, language)
        if rules.unsure.search(sentence) or not (_is_content(wrong, language) and _is_content(right, language)):
            continue
        is_about = about <= {*terms_of(said)} or _is_alike(right, wrong) or rules.slip.search(sentence) is not None
        if right.casefold() != wrong.casefold() and is_about:
            yield wrong, right


def _is_content(text: str, language: Language) -> bool:
    """True unless all words are function words."""
    is_value = any(kind.fullmatch(text) for _, kind in language.corrections.kinds)
    words = [re.split("['’]", word)[0] for word in text.casefold().split()]
    return is_value or any(word not in STOP_WORDS and word not in language.common for word in words)


def _last_clause(before: str) -> str:
    return next(iter(_CLAUSE.findall(before.rstrip(" ,;:.!，"))[::-1]), "")


def _longest_said(rest: str, said: str) -> str:
    """The longest beginning of a text that was said before."""
    if _HAN.match(rest):
        return next((rest[:size] for size in range(_MOST_HAN, 0, -1) if len(rest) >= size and rest[:size] in said), "")
    ends = [match.end() for match in _WORD.finditer(rest)][:_MOST_WORDS]
    texts = (rest[:end].rstrip(".!*") for end in reversed(ends) if not re.search(r"[,;:!?]", rest[:end]))
    return next((text for text in texts if _pattern(text).search(said)), "")


def _find_right(before: str, behind: str, wrong: str, rules: CorrectionRules) -> str:
    """The value of the same kind; else as many words before "not" as the wrong value has, or behind it."""
    before = _last_clause(before)
    for _, kind in rules.kinds:
        if kind.fullmatch(wrong):
            found = {match.group() for match in kind.finditer(f"{before} ; {behind}")}
            if found or not wrong[:1].isupper():  # a name may be of no kind
                return found.pop() if len(found) == 1 else ""
    before = rules.slip.sub("", rules.answer.sub("", before)).strip(" ,;:–—-，")
    if _HAN.search(wrong):
        words = re.split(r"[，,。；;\s]+", rules.filler.sub("", behind.strip(" ,，。") or before))
        return words[0].strip() if words else ""
    words, count = _WORD.findall(before.removesuffix(" and")), len(wrong.split())
    if len(alike := [word for word in words if _is_alike(word, wrong)]) == 1:
        return alike[0]
    plain = rules.filler.sub("", before + " ").strip()
    if plain and len(words) >= count:
        return " ".join(words[-count:]).strip(".!*")
    if not rules.joint.match(behind):
        return ""  # "not training today"
    words = _WORD.findall(rules.filler.sub("", behind.lstrip(" ,;:.–—-")))
    is_last = {*" ".join(words[-count:]).casefold().split()} & {*wrong.casefold().split()}
    return " ".join(words[-count:] if is_last else words[:count]).strip(".!*")


def _find_values(sentence: str, said: str, reply: str, rules: CorrectionRules) -> Iterator[tuple[str, str]]:
    """The only value of a kind that was said, and the only one in the sentence; else the only name that was said, and a
    word that may be its spelling.
    """
    rest, is_found = sentence, False
    is_explicit = rules.explicit.search(sentence) is not None  # unlike "Actually, London is nicer"
    for kind in (kind for name, kind in rules.kinds if is_explicit or name != "place"):
        values = {match.group() for match in kind.finditer(rest)}
        if len(values) > 1 and (slip := rules.slip.search(rest)) is not None:  # "1.9. And sorry, 2034"
            values = {match.group() for match in kind.finditer(rest, slip.end())}
        value, wrong = next(iter(values), ""), _only(kind, said, reply)
        if len(values) == 1 and wrong and wrong.casefold() != value.casefold() and _is_plausible(wrong, value):
            is_found = True
            yield wrong, value
        rest = kind.sub(" ; ", rest)
    rest = rules.answer.sub("", rules.slip.sub(" ", sentence)).strip(" *.!")
    if is_found or not rest:
        return
    named = rules.named.search(sentence)
    words = [named["right"]] if named else _WORD.findall(rest) if len(rest.split()) <= _MOST_WORDS else []
    names = list(dict.fromkeys(rules.name.findall(said)))
    pairs = [(name, word) for word in words for name in names if _is_alike(name, word)]
    if not pairs and named and len(names) == 1:
        pairs = [(names[0], named["right"])]
    if len(pairs) == 1:
        yield pairs[0]


def _is_plausible(wrong: str, right: str) -> bool:
    """False for two plain numbers that differ so much that they count different things."""
    one, other = (each.replace(",", "") for each in (wrong, right))
    if not (one.isdecimal() and other.isdecimal()):
        return True
    small, large = sorted((float(one), float(other)))  # an integer may have too many digits to be read
    return large <= _MOST_TIMES * max(small, 1)


def _only(kind: re.Pattern[str], said: str, reply: str) -> str:
    """The only value of a kind that was said, or the only one of them that the reply repeats; else ""."""
    values = {match.group().casefold(): match.group() for match in kind.finditer(said)}
    heard = {match.group().casefold() for match in kind.finditer(reply)} & values.keys()
    chosen = values if len(values) == 1 else {key: values[key] for key in heard}
    return next(iter(chosen.values())) if len(chosen) == 1 else ""


def _pattern(words: str) -> re.Pattern[str]:
    """These words, not as part of others in scripts with spaces."""
    border = ("", "") if _HAN.search(words) else (r"(?<!\w)", r"(?!\w)")
    return re.compile(re.escape(words).join(border), re.IGNORECASE)
