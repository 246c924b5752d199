"""Finds what a message states of its user, and turns it into facts in the third person, by rules alone.

Sentences are cut into clauses. Questions, guesses, orders, quoted and pasted text and words of others are left out.
What an assistant said of the user counts where the user's next message takes it up, with the assistant's trust.
`read_attributes` reads what goes into a profile with care, since a wrong line is in every prompt and a missing one is
no harm. `slot_of` takes a few more wordings, since a superseded memory can be brought back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.model.item import Fact, Kind, Provenance, Trust
from mnemic.text import normalise as scripts
from mnemic.text import sanitise
from mnemic.text.analyser import Analyser
from mnemic.text.facts import when as times
from mnemic.text.facts.when import cut_label
from mnemic.text.languages import Language, RestatingRules, detect
from mnemic.text.normalise import late_pattern
from mnemic.text.prose import machine_spans, prose_parts
from mnemic.text.sentences import sentences
from mnemic.text.slots import ORDER, Filled, is_for_any_prompt
from mnemic.text.slots import slot_of as filled_by

MAX_MESSAGE_CHARS = 8000
"""More than the beginning of a message or a reply is not read: who writes so much has pasted it."""

MAX_STATEMENT_CHARS = 400  # a longer sentence is no single fact
MAX_DECLARED_CHARS = 200  # a longer sentence declares no single decision or order

_SPEAKER = late_pattern(
    r"(?:\[[\d:. ]+\]\s*)?(?:[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*)?|user|assistant|system|human|ai)\s*[:：]\s"
    r"|(?:[\w\u4e00-\u9fff]{1,6})[:：]\s*[“\"「我]",
    re.IGNORECASE,
)
_CODE = late_pattern(r"^\s*(?:```|~~~|>|\||[{}<>/#$])|^\s{4,}\S.*[;{}()=]\s*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """A clause that may hold a fact: half-open span in the message, without outer white space and closing marks."""

    start: int
    end: int
    text: str
    language: Language
    is_whole: bool = True
    """False for a part of a sentence."""

    is_declared: bool = False
    """True for a decision, a lesson or a standing order; the text is then rewritten."""


def find_statements(text: str) -> list[Statement]:
    """The statements of a message in order. No string raises."""
    text = text[:MAX_MESSAGE_CHARS]
    # A phone capitalises the first letter by itself. Who ends with a full stop also writes commas.
    is_hasty = text[1:].islower() and not text.rstrip().endswith((".", "!", "?"))
    text = detect(text).restore_capitals(text)
    hostile = [*(finding.span for finding in sanitise.findings(text)), *machine_spans(text)]
    found: list[Statement] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        language = detect(sentence)
        if _CODE.match(sentence) or language.statements.speech.search(sentence):
            continue
        if language.statements.material.search(sentence):
            break
        is_hostile = any(left < end and start < right for left, right in hostile)
        if not is_hostile and not is_anothers(sentence, language):
            told = list(_find_clauses(text, start, end, language, is_hasty=is_hasty))
            found += [*told, *_find_owned(sentence, start, told, language)]
    return found


def _find_owned(sentence: str, start: int, told: Sequence[Statement], language: Language) -> Iterator[Statement]:
    """What a request says in passing of the user's people, pets, things and health: "a toy for my cat Luna"."""
    rules = language.statements
    unowned = (rules.unreal, rules.one_task, rules.condition)
    if not rules.refused.search(sentence) or any(rule.search(sentence) for rule in unowned):
        return
    unquoted = _QUOTED.sub(lambda quoted: " " * len(quoted[0]), sentence)
    for template, rule in rules.owned:
        for match in rule.finditer(unquoted):
            left, right = start + match.start(), start + match.end()
            if not any(each.start < right and left < each.end for each in told):
                # It reaches to the end of the sentence, so that "She is six" may follow.
                yield Statement(left, start + len(sentence), template.format(**match.groupdict()), language)


def is_anothers(sentence: str, language: Language) -> bool:
    """True for a line with its speaker before it, as in a transcript."""
    return _SPEAKER.match(sentence) is not None and language.statements.own_label.match(sentence) is None


def _find_clauses(text: str, start: int, end: int, language: Language, *, is_hasty: bool) -> Iterator[Statement]:
    rules = language.statements
    sentence = text[start:end]
    if (greeting := rules.opening.match(sentence)) is not None and greeting.end() < len(sentence):
        start += greeting.end()
    sentence = text[start:end]
    if rules.condition.search(sentence):
        return
    edges = _find_edges(sentence, language, is_hasty=is_hasty)
    if len(edges) == 1 and rules.refused.search(sentence) and _declare(text, start, end, language) is None:
        # A question or a thanks may follow a statement in one sentence: "I moved to Rome, can you …?" keeps its start.
        if (span := rules.find_reason(sentence)) is not None:
            piece, shift = _trim(sentence[span[0] : span[1]], None)
            begin = start + span[0] + shift
            if not rules.refused.search(piece):
                yield Statement(begin, begin + len(piece), piece, language, is_whole=False)
        return
    for left, right in edges:
        if (declared := _declare(text, start + left, start + right, language)) is not None:
            yield declared
            continue
        piece = sentence[left:right]
        if len(edges) == 1 and (comment := rules.find_comment(piece)) is not None:
            piece = piece[:comment]
        piece, shift = _trim(piece, rules.opening if left else None)
        begin = start + left + shift
        closing = text[start + right : end] if start + right >= end - 1 else ""  # the question mark of the last clause
        if piece and len(piece) <= MAX_STATEMENT_CHARS and not rules.refused.search(piece + closing):
            yield from _apart(Statement(begin, begin + len(piece), piece, language, is_whole=len(edges) == 1))


def _apart(statement: Statement) -> Iterator[Statement]:
    """A statement that fills two slots, as two: "I live in Chicago and work for Deloitte"."""
    language, text = statement.language, statement.text
    for templates, rule in language.slots.apart:
        if (match := rule.match(text)) is not None:
            for template in templates.split(" | "):
                yield replace(statement, text=template.format(**match.groupdict()), is_whole=False)
            return
    for joint in language.statements.joints.finditer(text):
        parts = text[: joint.start()], text[joint.end() :]
        slots = {slot_of(language.statements.add_subject(part), language)[0] for part in parts}
        if len(slots) == len(parts) and slots <= {*_CHANGES, "name"}:
            start = statement.start + joint.end()
            yield replace(statement, end=statement.start + joint.start(), text=parts[0], is_whole=False)
            yield from _apart(replace(statement, start=start, text=parts[1], is_whole=False))
            return
    yield statement


def _declare(text: str, start: int, end: int, language: Language) -> Statement | None:
    """The decision, lesson or standing order in a clause, as a statement in the first person."""
    clause, shift = _trim(text[start:end], None)
    rules = language.statements
    if len(clause) > MAX_DECLARED_CHARS or text[start + shift + len(clause) : end].lstrip().startswith(("?", "？")):
        return None
    for template, rule in rules.declared:
        if (match := rule.match(clause)) is None:
            continue
        groups = match.groupdict()
        if "order" in groups:
            if len(text) > MAX_ATTRIBUTE_CHARS or rules.one_task.search(text):
                return None
            groups["order"] = rules.tell_order(groups["order"])
        if "when" in groups:  # it began the sentence
            groups["when"] = groups["when"][:1].lower() + groups["when"][1:]
        said = template.format(**groups)
        return Statement(start + shift, start + shift + len(clause), said, language, is_declared=True)
    return None


def _trim(piece: str, opening: re.Pattern[str] | None) -> tuple[str, int]:
    """The piece without its outer marks, and how much was cut from its start."""
    left = len(piece) - len(piece.lstrip(" \t\r\n,;:–—-*•，；、"))
    piece = piece[left:]
    if opening is not None and (match := opening.match(piece)) is not None and match.end() < len(piece):
        left, piece = left + match.end(), piece[match.end() :]
    return piece.rstrip(" \t\r\n.,;:!。，；！…~～–—-"), left


def _find_edges(sentence: str, language: Language, *, is_hasty: bool = False) -> list[tuple[int, int]]:
    """Where the clauses of a sentence with subjects of their own begin and end."""
    edges: list[tuple[int, int]] = []
    begin = 0
    rules = (language.statements.cut, *([language.statements.run_on] if is_hasty else ()))
    for cut in sorted((cut for rule in rules for cut in rule.finditer(sentence)), key=lambda cut: cut.start()):
        if cut.start() > begin and not language.statements.keeps_together(sentence[begin : cut.start()], sentence, cut):
            edges.append((begin, cut.start()))
            begin = cut.end()
    reason = language.statements.find_reason(sentence) if edges else None
    if reason is not None and reason[1] >= edges[0][1] and " " not in sentence[: reason[0]].rstrip():
        edges[0] = (reason[0], edges[0][1])  # "Since I work nights, can you …?"
    return [*edges, (begin, len(sentence))]


TAKEN_UP = 0.15  # so much of a sentence's words must come back in the user's answer
AGREED = 0.1  # that much is enough where the answer opens with assent
NEW = 0.2  # so much of its words the user must not have said before: else it was found already
_MOST_WORDS = 45
_FEWEST_TERMS = 3


@dataclass(frozen=True, slots=True)
class Restated:
    """Half-open span of a sentence in the reply, its words in the first person, and the share taken up, 0..1."""

    start: int
    end: int
    statement: Statement
    taken_up: float


def find_restated(
    reply: str, answer: str, terms_of: Callable[[str], Iterable[str]], before: Collection[str] = ()
) -> list[Restated]:
    """The sentences of a reply that speak of the user and that the answer to it takes up, in order. No string raises.

    `terms_of` gives the words of a text that carry meaning, in one form each; `before` those that the user had said
    earlier. Names and numbers that the user never said count only where the answer opens with assent.
    """
    answer = answer.lstrip()
    rules = detect(answer).restating
    if rules.denial.match(answer):
        return []
    has_assent = rules.assent.match(answer) is not None
    heard, denied = set(terms_of(answer)), _denied_terms(answer, terms_of)
    hostile = [finding.span for finding in sanitise.findings(reply[:MAX_MESSAGE_CHARS])]
    found: list[Restated] = []
    for start, end in sentences(reply[:MAX_MESSAGE_CHARS]):
        if any(left < end and start < right for left, right in hostile):
            continue
        for statement in _read_sentence(reply[start:end]):
            said = set(terms_of(statement.text)) - {"user"}
            taken_up = len(said & heard) / max(len(said), 1)
            is_new = len(said.difference(before)) >= NEW * len(said)
            if len(said) < _FEWEST_TERMS or not is_new or said & denied:
                continue
            names = set(terms_of(" ".join(statement.language.restating.named.findall(statement.text))))
            if taken_up >= (AGREED if has_assent else TAKEN_UP) and (has_assent or names <= heard.union(before)):
                found.append(Restated(start, end, statement, taken_up))
    return found


def _denied_terms(answer: str, terms_of: Callable[[str], Iterable[str]]) -> set[str]:
    """The words of the sentences of an answer that negate."""
    told = (answer[start:end] for start, end in sentences(answer))
    return {term for text in told if detect(text).restating.negation.search(text) for term in terms_of(text)}


def _read_sentence(sentence: str) -> Iterator[Statement]:
    """What a sentence states of the user, in the first person; nothing where it does not."""
    rules: RestatingRules = detect(sentence).restating
    sentence = rules.vocative.sub("", rules.frame.sub("", sentence))
    if not rules.user.search(sentence) or rules.own.search(sentence) or rules.no_report.search(sentence):
        return
    if len(sentence.split()) > _MOST_WORDS:
        return
    said = rules.first_person(sentence)
    said = rules.praised.sub(rules.praised_as, said[:1].upper() + said[1:])
    for statement in find_statements(said):
        if rules.about.match(statement.text) and not rules.praise.search(statement.text):
            yield statement


MAX_ATTRIBUTE_CHARS = 1500  # a longer message is more likely to be pasted than told
MAX_SENTENCE_CHARS = 300  # a longer sentence says more than one thing
HOW_LONG = "how long "
"""Slots of this beginning say for how long the user has been doing something: the next count replaces the last."""


def read_attributes(text: str) -> dict[str, str]:
    """What a message of a user says of themselves, by key, in the words of the text; a later statement wins."""
    return {**_read_plain(_restore_capitals(text)), **read_orders(text)}


def _read_plain(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for statement, language in _plain_sentences(text):
        for key, rule in language.slots.plain:
            for match in rule.finditer(statement):
                value = match["value"].strip(" .,-–—")
                if value and not language.slots.no_value.match(value):
                    found[key] = value
    return found


def read_orders(text: str) -> dict[str, str]:
    """What a message orders the assistant to always or never do, by the key for a profile; a later order wins."""
    if len(text) > MAX_ATTRIBUTE_CHARS or not any(_declares(text, start, end) for start, end in sentences(text)):
        return {}  # most messages: reading all their statements would double the cost
    orders = (_read_order(each) for each in find_statements(text))
    return {each.slot: each.value for each in orders if each is not None and is_for_any_prompt(each.slot)}


def _read_order(statement: Statement) -> Filled | None:
    """The slot of a standing order, or None."""
    filled = filled_by(third_person(statement)) if statement.is_declared else None
    return filled if filled is not None and filled.slot.startswith(ORDER) else None


def _declares(text: str, start: int, end: int) -> bool:
    language = detect(text[start:end])
    edges = _find_edges(text[start:end], language) if language.statements.declared else ()
    return any(_declare(text, start + left, start + right, language) is not None for left, right in edges)


def plain_statements(text: str) -> list[str]:
    """The sentences in which a user plainly says how things are now; none of a text that is to be worked on."""
    return [sentence for sentence, _ in _plain_sentences(_restore_capitals(text))]


def _restore_capitals(text: str) -> str:
    return detect(text).restore_capitals(text) if len(text) <= MAX_ATTRIBUTE_CHARS else text


def _plain_sentences(text: str) -> list[tuple[str, Language]]:
    if len(text) > MAX_ATTRIBUTE_CHARS:
        return []
    parts = [text[start:end] for start, end in prose_parts(text)]
    found = [(part[start:end], detect(part[start:end])) for part in parts for start, end in sentences(part)]
    if any(language.slots.commission.search(text) for language in {id(each): each for _, each in found}.values()):
        return []
    return [
        (sentence, language)
        for sentence, language in found
        if len(sentence) <= MAX_SENTENCE_CHARS
        and language.slots.first_person.search(sentence)
        and not language.slots.unsure.search(sentence)
    ]


def slot_of(statement: str, language: Language) -> tuple[str, str]:
    """The slot that a statement in the first person fills, and its value; both "" where it fills none."""
    for slot, value in _read_plain(statement).items():
        return slot, value
    rules = language.slots
    for slot, rule in rules.loose:
        if (match := rule.search(statement)) is not None and rules.doubt.search(statement, 0, match.end()) is None:
            return slot, match["value"].strip(" .,-")
    for name, rule in rules.things:
        if (match := rule.search(statement)) is not None:
            return f"{name}{match['thing'].casefold().strip()}", match["value"].strip(" .,-")
    return "", ""


def state_slot(text: str, slot: str, value: str) -> str:
    """A plain sentence that says how a memory's slot is filled, "User lives in Porto" for "User moved to Porto". Empty
    if the language has none for this slot, or if the text already has its words.
    """
    stated = detect(text).slots.stated.get(slot, "").format(value)
    return stated if stated and not {*terms_of(stated)} <= {*terms_of(text)} else ""


EXTRACTOR = "extract"
VERSION = "rules-12"
"""What provenance names; the version changes with any rule of this package or of a language."""

MAX_FACTS = 3
MIN_CHARS = 10
"""A message of fewer characters, without outer white space, holds no fact."""

KEPT = 0.5
"""A statement that is less likely worth keeping is left out; `keep_probability` is scaled so."""

SLOT_WORTH = 0.8
"""What a slot that is plainly filled counts at least: "User is Ana" is worth keeping, however little it says."""

PLAIN_CHARS = 120  # a longer sentence says more than how a slot is filled
SPAN_SUPPORT = 1.0  # a fact of the rules is the words of its span in another person

_HAN = late_pattern(f"[{scripts.HAN}]")
_QUOTED = late_pattern(r"\"[^\"]*\"|[“„][^“”]*[”“]|«[^»]*»|»[^«]*«|「[^」]*」|『[^』]*』|《[^》]*》")
_EMOTICON = late_pattern(r"(?<!\s)\s*+(?<!\w)[:;]['’]?-?[()DPp]+(?!\w)")
_CONFIDENCE = 0.7
_SLOT_CONFIDENCE = 0.85
_RESTATED_CONFIDENCE = 0.6
_SHORTEST_CHARS = 5
_GAP_CHARS = 24
"""More between two sentences, and the second does not go on about the first."""

_CLAUSE_GAP = late_pattern(r"[,\s]*(?:[-–—]+ |[;，；]\s*)?(?:[^\W\d]+\s+){0,2}")
"""What stands between two clauses of one sentence."""

_CHANGES = ("home", "job", "employer", "relationship", "partner", "car", "manager", "diet")
_MOST_STATEMENTS = 2
_TELLING_WORDS = 4
"""What goes on in fewer words ("It hurts", "Not anymore") is a trifle, and is left out."""

_THOUGHT_CHARS = 320
_ANALYSER = Analyser()


@dataclass(frozen=True, slots=True)
class Reply:
    """What the assistant said right before."""

    id: str
    text: str
    trust: Trust = Trust.ASSISTANT


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user: its id, text and time, the terms (`terms_of`) of the user's messages before it, and the
    reply that it answers.
    """

    id: str
    text: str
    at: datetime
    trust: Trust = Trust.USER
    before: Collection[str] = frozenset()
    reply: Reply | None = None


def find_candidates(said: Said) -> list[Fact]:
    """All that could be a fact: what is taken up of the reply, then the statements of the message in order."""
    if not is_long_enough(said.text):
        return []
    thoughts = _find_thoughts(said.text)
    return [*_read_reply(said), *(fact for first, *further in thoughts for fact in _read_all(said, first, further))]


def choose_facts(found: Sequence[Fact], likely: Sequence[float], limit: int = MAX_FACTS) -> list[int]:
    """The places of a message's candidates that are worth keeping: the `limit` most likely ones, in their order. What
    plainly fills a slot, or must be done by a day, is kept whatever the head says of so short a sentence.
    """
    pairs = zip(found, likely, strict=True)
    rated = [max(each, SLOT_WORTH) if is_plain(fact) or _is_to_do(fact) else each for fact, each in pairs]
    kept = [place for place, each in enumerate(rated) if each >= KEPT]
    return sorted(sorted(kept, key=lambda place: -rated[place])[:limit])


def join_clauses(text: str, facts: Sequence[Fact]) -> list[Fact]:
    """The facts of a message, with neighbouring clauses of one sentence about the user as one fact again. What fills a
    slot, has another date, or is a preference beside something else stays apart.
    """
    joined: list[Fact] = []
    for fact in facts:
        both = _join_clause(text, joined[-1], fact) if joined else None
        joined[-1:] = [both] if both is not None else [*joined[-1:], fact]
    return joined


def _join_clause(text: str, one: Fact, other: Fact) -> Fact | None:
    (first, *rest), (last, *more) = one.provenance, other.provenance
    said, gap = text[first.start : last.end], text[first.end : last.start]
    if not gap.strip() or not _CLAUSE_GAP.fullmatch(gap) or len(said) > MAX_STATEMENT_CHARS:
        return None
    dates, language = [fact.text[len(cut_label(fact.text)) :] for fact in (one, other)], detect(said)
    whole = Statement(first.start, last.end, language.restore_capitals(said), language)
    is_of_user = all(fact.text.startswith(f"{whole.language.user} ") for fact in (one, other))
    is_alike = one.kind is other.kind or Kind.PREFERENCE not in (one.kind, other.kind)
    is_apart = any(fact.slot or is_plain(fact) for fact in (one, other)) or all(dates)
    if rest or more or is_apart or not (is_of_user and is_alike and is_told(whole)):
        return None
    told, start = third_person(whole) + "".join(dates), one.valid_from or other.valid_from
    return replace(one, text=told, valid_from=start, provenance=(replace(first, end=last.end),))


def is_plain(fact: Fact) -> bool:
    """True for a short sentence that says how a slot is filled, or declares a decision, a lesson or an order."""
    is_certain = fact.confidence >= _SLOT_CONFIDENCE and not fact.slot.startswith(HOW_LONG)
    return is_certain and len(fact.text) <= (PLAIN_CHARS if fact.slot else MAX_DECLARED_CHARS)


def _is_to_do(fact: Fact) -> bool:
    """True for a short sentence about the user's task, appointment or expiry on a coming day."""
    from mnemic.text.facts.due import is_to_do

    is_short = len(fact.text) <= PLAIN_CHARS and detect(fact.text).user in fact.text
    return is_short and is_to_do(fact.text, fact.observed_at)


def is_long_enough(text: str) -> bool:
    """True for `MIN_CHARS` characters, of which Chinese ones count twice, and for a name however short: "I'm Ana"."""
    text = text.strip()
    if len(text) >= MIN_CHARS or len(text) + len(_HAN.findall(text)) >= MIN_CHARS:
        return True
    return bool(text) and slot_of(_restore_capitals(text.rstrip("!.")), detect(text))[0] == "name"


def terms_of(text: str) -> tuple[str, ...]:
    """The stems of a text that carry meaning, each once."""
    return tuple(_ANALYSER.query_terms(text))


def third_person(statement: Statement) -> str:
    """The statement with the speaker as "User", without words that only give weight."""
    language = statement.language
    return language.begin(language.third_person(_plain_words(statement)))


def _plain_words(statement: Statement) -> str:
    language = statement.language
    words = _EMOTICON.sub(",", statement.text).rstrip(" ,")
    return language.statements.add_subject(language.intensifier.sub("", words))


def is_told(statement: Statement) -> bool:
    """True where the third person is a sound sentence about the user: no "I" left in it, no quotation cut in two."""
    rules = statement.language.statements
    told = _QUOTED.sub(" ", third_person(statement))
    is_cut = '"' in told or "“" in told
    return not is_cut and rules.first_person.search(told) is None and rules.is_told(_plain_words(statement))


def _find_thoughts(text: str) -> list[list[Statement]]:
    """The statements of a message; one that only goes on about what was just said ("It was …") stays with it, and is
    left out where nothing was.
    """
    thoughts: list[list[Statement]] = []
    for statement in find_statements(text):
        if statement.is_declared:
            thoughts.append([statement])
            continue
        if len(statement.text) < _SHORTEST_CHARS or not is_told(statement):
            continue
        rules, words = statement.language.statements, _plain_words(statement)
        if not rules.goes_on(words) and not rules.is_hanging(words):
            thoughts.append([statement])
        elif thoughts and _follows(thoughts[-1], statement, text):
            thoughts[-1].append(statement)
    return thoughts


def _follows(thought: list[Statement], statement: Statement, text: str) -> bool:
    gap = text[thought[-1].end : statement.start]
    is_near = len(gap) <= _GAP_CHARS and "?" not in gap
    is_telling = not statement.language.is_cased or len(statement.text.split()) >= _TELLING_WORDS
    is_short = len(thought) < _MOST_STATEMENTS and statement.end - thought[0].start <= _THOUGHT_CHARS
    return is_near and is_telling and is_short


def _read_reply(said: Said) -> Iterator[Fact]:
    """What the assistant said of the user and the user took up: with the lower trust, and both as its sources."""
    if said.reply is None:
        return
    for each in find_restated(said.reply.text, said.text, terms_of, said.before):
        if not is_told(each.statement):
            continue
        spoken = Provenance(said.reply.id, each.start, each.end, EXTRACTOR, VERSION, SPAN_SUPPORT)
        answered = Provenance(said.id, 0, len(said.text), EXTRACTOR, VERSION, round(each.taken_up, 2))
        trust = Trust.lowest(said.trust, said.reply.trust)
        fact = _read(said, each.statement, ())
        yield replace(fact, provenance=(spoken, answered), trust=trust, confidence=_RESTATED_CONFIDENCE)


def _read_all(said: Said, statement: Statement, further: Sequence[Statement]) -> Iterator[Fact]:
    """The fact of a statement. If it may be superseded, also who is named beside it: "my wife Ann"."""
    fact = _read(said, statement, further)
    yield fact
    for template, rule in statement.language.slots.named if fact.slot in _CHANGES else ():
        for match in rule.finditer(statement.text):
            yield _read(said, replace(statement, text=template.format(**match.groupdict())), ())


def _read(said: Said, statement: Statement, further: Sequence[Statement]) -> Fact:
    language = statement.language
    order = _read_order(statement)
    slot, value = (order.slot, order.value) if order is not None else slot_of(_plain_words(statement), language)
    told = (times.find_time(each.text, said.at, each.language.dates) for each in (statement, *further))
    named = next((each for each in told if each is not None), None)
    if slot in _CHANGES and named is not None and named.start > said.at:
        slot, value = "", ""  # it is to come: what holds today stays
    return Fact(
        text=_join_thought(statement, further) + ("" if slot == "birthday" else label_time(named, language)),
        kind=_kind_of(statement, slot),
        observed_at=said.at,
        confidence=_SLOT_CONFIDENCE if slot or statement.is_declared else _CONFIDENCE,
        slot=slot,
        value=value,
        valid_from=named.start if named is not None and named.start <= said.at else None,
        provenance=(
            Provenance(said.id, statement.start, (statement, *further)[-1].end, EXTRACTOR, VERSION, SPAN_SUPPORT),
        ),
        trust=said.trust,
    )


def _join_thought(statement: Statement, further: Sequence[Statement]) -> str:
    """The thought as one sentence."""
    text = third_person(statement)
    for each in further:
        more = third_person(each)
        if each.language.is_cased and not more.startswith(each.language.user):
            more = more[:1].lower() + more[1:]
        text += each.language.joint + more
    return text


def _kind_of(statement: Statement, slot: str) -> Kind:
    """What fills a slot is a fact, whatever its wording: it does not fade like an event."""
    if slot and not slot.startswith(HOW_LONG):
        return Kind.PREFERENCE if slot.startswith(("favourite", "diet", "allergy", ORDER)) else Kind.FACT
    return next((kind for kind, rule in statement.language.kinds if rule.search(statement.text)), Kind.FACT)


def label_time(named: times.When | None, language: Language) -> str:
    """The date of a time that is told by the words of that day alone, as it stands behind a fact."""
    return language.dates.labels[named.unit].format(named.start) if named is not None and named.is_relative else ""
