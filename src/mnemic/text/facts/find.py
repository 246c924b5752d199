"""Finds what a message states of its user, and turns it into facts in the third person, by rules alone.

What an assistant said of the user counts where the user's next message takes it up, with the assistant's trust.
`read_attributes` reads what goes into a profile with care, since a wrong line is in every prompt and a missing one is
no harm. `slot_of` takes a few more wordings, since a superseded memory can be brought back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from mnemic.model.item import Fact, Kind, Provenance, Trust
from mnemic.text import normalise as scripts
from mnemic.text import sanitise
from mnemic.text.analyser import Analyser
from mnemic.text.facts import statements
from mnemic.text.facts import when as times
from mnemic.text.facts.people import People
from mnemic.text.facts.statements import Statement, find_statements, longest_part, slot_of, tell
from mnemic.text.facts.when import cut_label
from mnemic.text.facts.worth import may_be_wishes
from mnemic.text.languages import Language, RestatingRules, detect
from mnemic.text.normalise import late_pattern
from mnemic.text.sentences import sentences
from mnemic.text.slots import ORDER, Filled, is_for_any_prompt
from mnemic.text.slots import slot_of as filled_by

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
    hostile = [finding.span for finding in sanitise.findings(reply[: statements.MAX_MESSAGE_CHARS])]
    found: list[Restated] = []
    for start, end in sentences(reply[: statements.MAX_MESSAGE_CHARS]):
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


def read_attributes(text: str) -> dict[str, str]:
    """What a message of a user says of themselves, by key, in the words of the text; a later statement wins."""
    return {**statements.read_plain(statements.own_text(text)), **read_orders(text)}


def read_orders(text: str) -> dict[str, str]:
    """What a message orders the assistant to always or never do, by the key for a profile; a later order wins."""
    if len(text) > statements.MAX_ATTRIBUTE_CHARS or not any(
        statements.declares(text, start, end) for start, end in sentences(text)
    ):
        return {}  # most messages: reading all their statements would double the cost
    orders = (_read_order(each) for each in find_statements(text))
    return {each.slot: each.value for each in orders if each is not None and is_for_any_prompt(each.slot)}


def _read_order(statement: Statement) -> Filled | None:
    """The slot of a standing order, or None."""
    filled = filled_by(third_person(statement)) if statement.is_declared else None
    return filled if filled is not None and filled.slot.startswith(ORDER) else None


def state_slot(text: str, slot: str, value: str) -> str:
    """A plain sentence that says how a memory's slot is filled, "User lives in Porto" for "User moved to Porto". Empty
    if the language has none for this slot, or if the text already has its words.
    """
    stated = detect(text).slots.stated.get(slot, "").format(value)
    return stated if stated and not {*terms_of(stated)} <= {*terms_of(text)} else ""


EXTRACTOR = "extract"
VERSION = "rules-18"
"""What provenance names; the version changes with any rule of this package or of a language."""

MAX_FACTS = 3
MIN_CHARS = 10
"""A message of fewer characters, without outer white space, holds no fact."""

KEPT = 0.5
"""A statement that is less likely worth keeping is left out; `keep_probability` is scaled so."""

PLAIN_CHARS = 120  # a longer sentence says more than how a slot is filled
SPAN_SUPPORT = 1.0  # a fact of the rules is the words of its span in another person

_NAMED_RELATIVE = late_pattern(r"(?P<who>\bUser's [a-z][a-z-]*(?: [a-z-]+)?) (?P<name>[A-Z][\w’-]*)")
_HAN = late_pattern(f"[{scripts.HAN}]")
_EMOTICON = late_pattern(r"(?<!\s)\s*+(?<!\w)[:;]['’]?-?[()DPp]+(?!\w)")
_CONFIDENCE = 0.7
_SLOT_CONFIDENCE = 0.85
_RESTATED_CONFIDENCE = 0.6
_SHORTEST_WISH, _LONGEST_WISH = 12, 118  # characters; a longer one is too much for a line of each prompt
_INNER_QUOTES = str.maketrans(dict.fromkeys('"“”„', "'"))
_SHORTEST_CHARS = 5
_GAP_CHARS = 24
"""More between two sentences, and the second does not go on about the first."""

_CLAUSE_GAP = late_pattern(r"[, \t]*(?:[-–—]+ |[;，；]\s*)?(?:[^\W\d]+\s+){0,2}")
"""What stands between two clauses of one sentence."""

_MOST_STATEMENTS = 2
_MOST_JOINED_CHARS = 280  # a longer memory takes the room of several in a context
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
    """A message of the user: its id, text and time, the terms (`terms_of`) of the user's messages before it, the reply
    that it answers, and the ids and texts of the last messages, which may name whom it is about.
    """

    id: str
    text: str
    at: datetime
    trust: Trust = Trust.USER
    before: Collection[str] = frozenset()
    reply: Reply | None = None
    earlier: Sequence[tuple[str, str]] = ()


def find_candidates(said: Said) -> list[Fact]:
    """All that could be a fact: what is taken up of the reply, then the statements of the message in order."""
    if not is_long_enough(said.text):
        return []
    people = People(said.id, said.text, said.earlier)
    found = list(_read_reply(said))
    for first, *further in _find_thoughts(said.text, people):
        told = list(_read_all(said, first, further))
        if (who := people.mentions.get(first.start)) is not None:
            source = Provenance(who.source, who.start, who.end, EXTRACTOR, VERSION, SPAN_SUPPORT)
            told = [replace(fact, provenance=(*fact.provenance, source)) for fact in told]
        found += told
    return found


def find_wishes(said: Said, known: Sequence[Fact]) -> list[Fact]:
    """What may be standing wishes to the assistant, besides the orders that rules found; `are_wishes` judges them."""
    orders = [each.provenance[0] for each in known if each.slot.startswith(ORDER)]
    spans = [span for span in wish_sentences(said.text) if not any(_shares(order, *span) for order in orders)]
    passed = may_be_wishes([quote_wish(said.text[start:end]) for start, end in spans])
    return [_read_wish(said, *span) for span, may_be in zip(spans, passed, strict=True) if may_be]


def is_within(fact: Fact, wishes: Sequence[Fact]) -> bool:
    """True if a fact is read from the sentence of a wish."""
    sources = [entry for wish in wishes for entry in wish.provenance]
    return any(_shares(entry, each.start, each.end) for entry in sources for each in fact.provenance[:1])


def _shares(entry: Provenance, start: int, end: int) -> bool:
    return entry.start < end and start < entry.end


def wish_sentences(text: str) -> Iterator[tuple[int, int]]:
    """The spans of the user's own sentences that may be a wish: of a fitting length, and not about one task. None in a
    language without a form for wishes.
    """
    own = statements.own_words(text[: statements.MAX_MESSAGE_CHARS])
    hostile = [finding.span for finding in sanitise.findings(own)]
    for start, end in sentences(own):
        said = own[start:end]
        is_own = said == text[start:end] and not any(left < end and start < right for left, right in hostile)
        rules = detect(said).statements
        is_fitting = is_own and _SHORTEST_WISH <= len(said.strip()) <= _LONGEST_WISH
        if is_fitting and rules.wish and rules.tell_order(said):
            yield start, end


def quote_wish(sentence: str) -> str:
    """The memory of a wish, in its words."""
    words = " ".join(sentence.split()).rstrip(".").translate(_INNER_QUOTES)
    return detect(sentence).statements.wish.format(words)


def _read_wish(said: Said, start: int, end: int) -> Fact:
    text = quote_wish(said.text[start:end])
    filled = filled_by(text)
    slot, value = (filled.slot, filled.value) if filled is not None else ("", "")
    source = Provenance(said.id, start, end, EXTRACTOR, VERSION, SPAN_SUPPORT)
    return Fact(
        text=text,
        kind=Kind.PREFERENCE,
        observed_at=said.at,
        confidence=_CONFIDENCE,
        slot=slot,
        value=value,
        provenance=(source,),
        trust=said.trust,
    )


def choose_facts(found: Sequence[Fact], likely: Sequence[float]) -> list[int]:
    """The places of a message's candidates that are worth keeping, in their order. What plainly fills a slot, or must
    be done by a day, is kept whatever the head says of so short a sentence.
    """
    pairs = enumerate(zip(found, likely, strict=True))
    return [place for place, (fact, each) in pairs if each >= KEPT or is_plain(fact) or _is_to_do(fact)]


def join_clauses(text: str, facts: Sequence[Fact]) -> list[Fact]:
    """The facts of a message, with neighbouring clauses of one sentence about the user as one fact again. What fills a
    slot, has another date, or is a preference beside something else stays apart.
    """
    joined: list[Fact] = []
    for fact in facts:
        both = _join_clause(text, joined[-1], fact) if joined else None
        joined[-1:] = [both] if both is not None else [*joined[-1:], fact]
    return joined


def join_facts(facts: Sequence[Fact], limit: int, is_apart: Callable[[str], bool]) -> list[Fact]:
    """Merge neighbouring facts of a message until there are `limit`, or the texts become too long. Facts whose slot
    `is_apart`, and tasks, stay alone, because later messages replace or complete them.
    """
    joined = list(facts)
    while len(joined) > limit:
        loose = [place for place, fact in enumerate(joined) if not (is_apart(fact.slot) or _is_to_do(fact))]
        pairs = [(joined[one], joined[other], one, other) for one, other in pairwise(loose)]
        sizes = [(a.kind is not b.kind, len(a.text) + len(b.text), *places) for a, b, *places in pairs]
        fitting = [each for each in sizes if each[1] <= _MOST_JOINED_CHARS]
        if not fitting:
            break
        *_, one, other = min(fitting)  # of one kind if possible, then the shortest
        first, last = joined[one], joined.pop(other)
        joined[one] = replace(
            first,
            text=f"{first.text}{detect(first.text).joint}{last.text}",
            kind=first.kind if first.kind is last.kind else Kind.FACT,
            provenance=(*first.provenance, *last.provenance),
            valid_from=first.valid_from or last.valid_from,
            slot="",
            value="",
        )
    return joined


def _join_clause(text: str, one: Fact, other: Fact) -> Fact | None:
    (first, *rest), (last, *more) = one.provenance, other.provenance
    said, gap = text[first.start : last.end], text[first.end : last.start]
    if not gap.strip() or not _CLAUSE_GAP.fullmatch(gap) or len(said) > statements.MAX_STATEMENT_CHARS:
        return None
    dates, language = [fact.text[len(cut_label(fact.text)) :] for fact in (one, other)], detect(said)
    whole = Statement(first.start, last.end, language.restore_capitals(said), language)
    is_of_user = all(fact.text.startswith(f"{whole.language.user} ") for fact in (one, other))
    notes = (*whole.language.notes.acts, *whole.language.notes.items)
    is_noted = any(tell(notes, text[each.start : each.end]) for each in (first, last))  # the words of the list lack "I"
    is_alike = one.kind is other.kind or Kind.PREFERENCE not in (one.kind, other.kind)
    is_apart = any(fact.slot or is_plain(fact) for fact in (one, other)) or all(dates)
    if rest or more or is_apart or is_noted or not (is_of_user and is_alike and is_told(whole)):
        return None
    told, start = third_person(whole) + "".join(dates), one.valid_from or other.valid_from
    return replace(one, text=told, valid_from=start, provenance=(replace(first, end=last.end),))


def shorten(fact: Fact, text: str) -> Fact:
    """The fact in fewer of its words, with the time that these tell; as it was if its value is not in them."""
    language, whole = detect(text), cut_label(fact.text)
    if text == whole or fact.value.casefold() not in text.casefold():
        return fact
    before, named = (times.find_time(each, fact.observed_at, language.dates) for each in (whole, text))
    if named is not None and named == before:
        return replace(fact, text=text + fact.text[len(whole) :])
    begun = named.start if named is not None and named.start <= fact.observed_at else None
    return replace(fact, text=text + label_time(named, language), valid_from=begun)


def is_plain(fact: Fact) -> bool:
    """True for a short sentence that says how a slot is filled, or declares a decision, a lesson or an order."""
    is_certain = fact.confidence >= _SLOT_CONFIDENCE and not fact.slot.startswith(statements.HOW_LONG)
    return is_certain and len(fact.text) <= (PLAIN_CHARS if fact.slot else statements.MAX_DECLARED_CHARS)


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
    return bool(text) and slot_of(statements.restore_capitals(text.rstrip("!.")), detect(text))[0] == "name"


def without_names(text: str, sources: Iterable[str]) -> str:
    """A fact without the names of relatives that none of these sources tells: "User's brother Neil" as "User's
    brother".
    """
    said = " ".join(sources).casefold()
    return _NAMED_RELATIVE.sub(lambda match: match[0] if match["name"].casefold() in said else match["who"], text)


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
    told = statements.QUOTED.sub(" ", third_person(statement))
    is_cut = '"' in told or "“" in told
    return not is_cut and rules.first_person.search(told) is None and rules.is_told(_plain_words(statement))


def _find_thoughts(text: str, people: People) -> list[list[Statement]]:
    """The statements of a message. One that only goes on about what was just said ("It was …") stays with it, or names
    the person that it is about, and is left out if neither can be.
    """
    thoughts: list[list[Statement]] = []
    for statement in map(people.own, find_statements(text)):
        if statement.is_declared:
            thoughts.append([statement])
            continue
        if len(statement.text) < _SHORTEST_CHARS or not is_told(statement):
            continue
        rules, words = statement.language.statements, _plain_words(statement)
        named = people.name(statement)
        if not rules.goes_on(words) and not rules.is_hanging(words):
            thoughts.append([statement])
        elif thoughts and people.may_be_of(thoughts[-1], statement) and _follows(thoughts[-1], statement, text):
            thoughts[-1].append(statement)
        elif named is not None and not rules.is_hanging(named.text):
            thoughts.append([named])
        elif (part := longest_part(statement, _leans_on(statement))) is not None and is_told(part):
            thoughts.append([part])
    return thoughts


def _leans_on(statement: Statement) -> Callable[[str], bool]:
    """Whether a part of the statement cannot be understood alone."""
    rules = statement.language.statements
    return lambda part: rules.is_hanging(part) or rules.goes_on(part)


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
    for template, rule in statement.language.slots.named if fact.slot in statements.CHANGES else ():
        for match in rule.finditer(statement.text):
            yield _read(said, replace(statement, text=template.format(**match.groupdict())), ())


def _read(said: Said, statement: Statement, further: Sequence[Statement]) -> Fact:
    language = statement.language
    order = _read_order(statement)
    slot, value = (order.slot, order.value) if order is not None else slot_of(_plain_words(statement), language)
    told = (times.find_time(each.text, said.at, each.language.dates) for each in (statement, *further))
    named = next((each for each in told if each is not None), None)
    if slot in statements.CHANGES and named is not None and named.start > said.at:
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
    if slot and not slot.startswith(statements.HOW_LONG):
        return Kind.PREFERENCE if slot.startswith(("favourite", "diet", "allergy", ORDER)) else Kind.FACT
    return next((kind for kind, rule in statement.language.kinds if rule.search(statement.text)), Kind.FACT)


def label_time(named: times.When | None, language: Language) -> str:
    """The date of a time that is told by the words of that day alone, as it stands behind a fact."""
    return language.dates.labels[named.unit].format(named.start) if named is not None and named.is_relative else ""
