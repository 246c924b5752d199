"""Splits messages into statements about the user, and reads which slot a statement fills.

Questions, guesses, orders, quoted and pasted text and other people's words are left out. Items of a self-description
("34, nurse, two kids") become sentences.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from mnemic.text import sanitise
from mnemic.text.facts.own_words import own_words
from mnemic.text.facts.when import cut_label
from mnemic.text.languages import NEVER, Language, Rules, detect, languages
from mnemic.text.normalise import late_pattern
from mnemic.text.prose import machine_spans, prose_parts
from mnemic.text.sentences import sentences

Span = tuple[int, int]
MAX_MESSAGE_CHARS = 8000
"""More than the beginning of a message or a reply is not read: who writes so much has pasted it."""

_LIST = 3
"""Minimum items of a list without "I" or a label: two, such as "Paris, two nights", can be about anything."""

_SPOKEN_WORDS = 22
"""Text with more words for each punctuation mark is dictated; no message of LongMemEval has so many. A longer clause
tells several things at once.
"""

_MARK = late_pattern(r"[,;:…!?.–—-]")
_MARKS_AROUND = " ,;:-–—"  # of a shortened fact
ASIDE_WORDS = 4
"""A piece of more words is cut at an end of a fact only: in its midst, a head is right for short ones."""

_MOST_PIECES = 12  # bounds the runs that are compared; no sentence of a person has more
_FEWEST_WORDS = 4  # of a part that is told without the rest of its clause
_PAUSE = late_pattern(r"[.,;:!?\n…。，！？；：](?!\w)")
_BULLETS = ("-", "*", "•", "–")
_LINE = late_pattern(r"(?:(?! [/|•] |[.;] [A-Z][\w ]{1,20}: )[^\n])+")  # also one of "Name: Ana / Job: welder"
_MARKS = " \t\r\n-*•.,;"  # around an item
MAX_STATEMENT_CHARS = 400  # a longer sentence is no single fact
MAX_DECLARED_CHARS = 200  # a longer sentence declares no single decision or order

_SPEAKER = late_pattern(
    r"(?:\[[\d:. ]+\]\s*)?(?:[A-Z][\w.'’-]*(?:\s[A-Z][\w.'’-]*)?|user|assistant|system|human|ai)\s*[:：]\s"
    r"|(?:[\w\u4e00-\u9fff]{1,6})[:：]\s*[“\"「我]",
    re.IGNORECASE,
)
QUOTED = late_pattern(r"\"[^\"]*\"|[“„][^“”]*[”“]|«[^»]*»|»[^«]*«|「[^」]*」|『[^』]*』|《[^》]*》")
_CODE = late_pattern(r"^\s*(?:```|~~~|>|\||[{}<>/#$])|^\s{4,}\S.*[;{}()=]\s*$")


CHANGES = ("home", "job", "employer", "relationship", "partner", "car", "manager", "diet")
"""Slots whose value a later statement replaces."""


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
    """True for a decision, a lesson, a standing order or an item of a self-description. The text is then rewritten."""


def find_statements(text: str) -> list[Statement]:
    """The statements of a message in order. No string raises."""
    text = own_words(text[:MAX_MESSAGE_CHARS])
    is_spoken = len(text.split()) > _SPOKEN_WORDS * (1 + len(_PAUSE.findall(text)))
    # A phone capitalises the first letter by itself. Who ends with a full stop also writes commas.
    is_hasty = is_spoken or (text[1:].islower() and not text.rstrip().endswith((".", "!", "?")))
    text = detect(text).restore_capitals(text)
    hostile = [*(finding.span for finding in sanitise.findings(text)), *machine_spans(text)]
    found: list[Statement] = []
    lines = _read_lines(text)
    is_described, is_labelled = len(lines) > 1, False
    for start, end in sentences(text):
        sentence = text[start:end]
        language = detect(sentence)
        if _CODE.match(sentence) or language.statements.speech.search(sentence):
            continue
        if language.statements.material.search(sentence):
            break
        if any(left < end and start < right for left, right in hostile):
            continue
        label = language.notes.label.match(sentence)
        is_described = is_described or label is not None
        is_labelled = is_labelled or (label is not None and label["me"] is not None)
        begin = start + (label.end() if label else 0)
        if is_described and (mine := [each for each in lines if start <= each.start < end]):
            found += sorted(mine, key=lambda each: each.start)
        elif notes := _find_notes(text, begin, end, language, is_described=is_described):
            is_described = True
            found += notes
        elif label or not is_anothers(sentence, language):
            told = list(_find_clauses(text, begin, end, language, is_hasty=is_hasty))
            told += _find_owned(text[begin:end], begin, told, language)
            is_item = begin > start or sentence.lstrip().startswith(_BULLETS)
            is_noted = is_labelled and is_item and language.slots.first_person.search(text, begin, end) is None
            found += (_find_rest(text, [(begin, end)], language) if is_noted else []) or told
    return [clear for each in found if (clear := _clear(each))] if is_spoken else found


def _clear(statement: Statement) -> Statement | None:
    """A dictated clause, up to its first link if it goes on too long. None if it still does, or takes a word back."""
    rules = statement.language.statements
    is_long = len(statement.text.split()) > _SPOKEN_WORDS
    if is_long and (link := rules.linked.search(statement.text)) is not None:
        text = statement.text[: link.start()]
        statement = replace(statement, text=text, end=statement.start + len(text))
    is_long = len(statement.text.split()) > _SPOKEN_WORDS
    return None if is_long or rules.taken_back.search(statement.text) else statement


def _read_lines(text: str) -> list[Statement]:
    """Statements for lines such as "Job: welder" or "Job: welder / City: Accra". Ignore a single line: it may be about
    anything.
    """
    if ":" not in text or detect(text).slots.commission.search(text):
        return []
    spans: list[tuple[int, int]] = []
    for line in _LINE.finditer(text):
        start = line.start() + len(line[0]) - len(line[0].lstrip(_MARKS))
        spans += [(start, start + len(line[0].strip(_MARKS)))] if ":" in line[0] else []
    told: list[Statement] = []
    for language in languages():
        said = [(start, end, tell(language.notes.lines, text[start:end])) for start, end in spans]
        found = [Statement(*each, language, is_whole=False, is_declared=True) for each in said if each[2]]
        told = max(told, found, key=len)
    left = [span for span in spans if span not in {(each.start, each.end) for each in told}] if len(told) > 1 else []
    return told + [each for span in left for each in _find_rest(text, [span], told[0].language)]


def _find_notes(text: str, start: int, end: int, language: Language, *, is_described: bool) -> list[Statement]:
    """Statements for a list without an "I" in each item: "34, nurse, two kids, live in Leeds". Empty if the sentence is
    not such a list, or is about somebody else. `is_described`: the message describes the user.
    """
    rules = language.notes
    spans = _split_list(text, start, end, language)
    if len(spans) == 1 and not is_described:
        return []  # most sentences
    pieces = [text[left:right] for left, right in spans]
    owned = [rules.own.match(piece) is not None for piece in pieces]
    acts = [piece if is_own else tell(rules.acts, piece) for piece, is_own in zip(pieces, owned, strict=True)]
    items = [tell(rules.items, piece) for piece in pieces]
    tails = [act[head.end() :] for act in acts if (head := rules.head.match(act)) is not None]
    is_about_user = is_described or any(tell(rules.items, tail) or rules.name.fullmatch(tail) for tail in tails)
    if not is_about_user and owned[0]:
        items = ["" for _ in items]  # they may be another's: "I know a nurse, two kids"
        if any(rules.bound.search(piece) for piece, is_own in zip(pieces, owned, strict=True) if is_own):
            return []  # "I want to …, use …" goes on with an infinitive
    elif not is_about_user and (not items[0] or any(owned)):
        return []  # what begins with a verb orders something
    is_sure = is_described or (is_about_user and len(pieces) >= _LIST)
    found, lost = _tell_items(text, list(zip(spans, acts, items, strict=True)), language, is_sure=is_sure)
    if any(rules.others.match(text[left:right]) for left, right in lost):
        return []  # "my wife is a nurse, vegan"
    is_list = len(found) > len(lost)
    if not is_about_user:
        has_commas = "," in text[spans[0][1] : spans[-1][0]]
        is_list = is_list and not (lost and owned[0]) and (len(found) >= _LIST or (owned[0] and has_commas))
    if not is_list or all(each.text == text[each.start : each.end] for each in found):
        return []
    return [*found, *_find_rest(text, lost, language)]


def _tell_items(
    text: str, items: Sequence[tuple[tuple[int, int], str, str]], language: Language, *, is_sure: bool
) -> tuple[list[Statement], list[tuple[int, int]]]:
    """Statements for a list's items, and the spans of the others. `items`: the span, and the sentences for an item with
    and without a verb, or "".
    """
    found: list[Statement] = []
    lost: list[tuple[int, int]] = []
    is_act = False
    for (left, right), act, item in items:
        said = act or item
        if language.statements.refused.search(said or text[left:right]):
            lost.append((left, right))
        elif said:
            found.append(Statement(left, right, said, language, is_whole=False, is_declared=is_sure))
            is_act = bool(act)
        elif found and is_act:  # "I speak Dutch, French"
            last = found[-1]
            found[-1] = replace(last, end=right, text=last.text + text[last.end : right])
        else:
            lost.append((left, right))
    return found, lost


def _split_list(text: str, start: int, end: int, language: Language) -> list[tuple[int, int]]:
    """The spans of the items of a list."""
    cuts = [(start + cut.start(), start + cut.end()) for cut in language.notes.cut.finditer(text[start:end])]
    spans: list[tuple[int, int]] = []
    for (_, left), (right, _) in pairwise([(start, start), *cuts, (end, end)]):
        piece, shift = _trim(text[left:right], language.statements.opening)
        spans.append((left + shift, left + shift + len(piece)))
    return spans


def _find_rest(text: str, spans: Sequence[tuple[int, int]], language: Language) -> list[Statement]:
    """Quote the parts of a self-description that no rule reads, unless they are questions, greetings or long."""
    rules = language.statements
    pieces = [text[start:end].strip(_MARKS) for start, end in spans]
    told = ", ".join(
        each for each in pieces if each and not (rules.refused.search(each) or rules.opening.fullmatch(f"{each}, "))
    )
    if not told or not language.notes.rest or len(told) > MAX_DECLARED_CHARS:
        return []
    said = language.notes.rest.format(told)
    return [Statement(spans[0][0], spans[-1][1], said, language, is_whole=False, is_declared=True)]


def tell(rules: Rules, piece: str) -> str:
    """Turn an item into a sentence in the first person. Empty if no rule matches. An item may begin with a capital."""
    for words in (piece[:1].lower() + piece[1:], piece):
        for template, rule in rules:
            if (match := rule.match(words)) is not None:
                return template.format(**match.groupdict())
    return ""


def _find_owned(sentence: str, start: int, told: Sequence[Statement], language: Language) -> Iterator[Statement]:
    """What a request says in passing of the user's people, pets, things and health: "a toy for my cat Luna"."""
    rules = language.statements
    unowned = (rules.unreal, rules.one_task, rules.condition)
    if not rules.refused.search(sentence) or any(rule.search(sentence) for rule in unowned):
        return
    unquoted = QUOTED.sub(lambda quoted: " " * len(quoted[0]), sentence)
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
        elif (told := longest_part(Statement(start, end, sentence, language), rules.refused.search)) is not None:
            yield told
        return
    for left, right in edges:
        if (declared := _declare(text, start + left, start + right, language)) is not None:
            yield declared
            continue
        piece, shift = _trim(sentence[left:right], rules.opening if left else None)
        begin = start + left + shift
        closing = text[start + right : end] if start + right >= end - 1 else ""  # the question mark of the last clause
        if piece and len(piece) <= MAX_STATEMENT_CHARS:
            yield from _read_clause(
                Statement(begin, begin + len(piece), piece, language, is_whole=len(edges) == 1), closing
            )


def _read_clause(statement: Statement, closing: str) -> Iterator[Statement]:
    """The statements of a clause, or of its longest part that asks nothing; `closing`: the mark behind it."""
    refused = statement.language.statements.refused
    if not refused.search(statement.text + closing):
        yield from _apart(statement)
    elif (told := longest_part(statement, lambda part: refused.search(part + closing))) is not None:
        yield told


def longest_part(statement: Statement, is_refused: Callable[[str], object]) -> Statement | None:
    """The longest run of a statement's pieces that begins with the speaker and is not refused. None if what is left out
    may limit it, or says whose words it is.
    """
    language, text = statement.language, statement.text
    spans = split_pieces(text) if len(text) <= MAX_STATEMENT_CHARS else []
    if not 1 < len(spans) <= _MOST_PIECES:
        return None
    runs = [(left, right) for place, (left, _) in enumerate(spans) for _, right in spans[place:]]
    runs.remove((spans[0][0], spans[-1][1]))
    for left, right in sorted(runs, key=lambda run: run[0] - run[1]):
        piece, shift = _trim(_rule(language, "end").sub("", text[left:right]), language.statements.opening)
        is_of_speaker = language.statements.first_person.match(piece) is not None
        if not is_of_speaker or len(piece.split()) < _FEWEST_WORDS or is_refused(piece):
            continue
        if any(_rule(language, "outside").search(rest) for rest in (text[:left], text[right:])):
            return None
        start = statement.start + left + shift
        return replace(statement, start=start, end=start + len(piece), text=piece, is_whole=False)
    return None


def split_pieces(text: str) -> list[Span]:
    """The spans of a sentence's clauses and asides, in order, without the date behind a fact."""
    language, end = detect(text), len(cut_label(text))
    lead = _rule(language, "lead").match(text, 0, end)
    begin = lead.end() if lead is not None else 0
    cuts = [(begin, begin)] if begin else []
    cuts += [cut.span() for cut in _rule(language, "cut").finditer(text, begin, end)]
    spans: list[Span] = []
    for (_, start), (until, _) in pairwise([(0, 0), *cuts, (end, end)]):
        stop = start + len(text[start:until].rstrip())
        last = spans[-1] if spans else (0, 0)
        if spans and not _MARK.search(text[last[1] : start]) and _rule(language, "ties").search(text[slice(*last)]):
            spans[-1] = (last[0], stop)
        elif stop > start:
            spans.append((start, stop))
    return spans


def _rule(language: Language, name: str) -> re.Pattern[str]:
    return language.pieces.get(name, NEVER)


def cut_pieces(text: str, spans: Sequence[Span], odds: Sequence[float]) -> str:
    """The fact without the pieces of positive log odds and the date behind it, as far as the rest is sound. A piece is
    cut at an end of the fact, or if it is a short aside.
    """
    kept, told, language = list(range(len(spans))), cut_label(text), detect(text)
    refused: set[int] = set()
    while kept:
        ends = (kept[0], kept[-1])
        loose = [
            place
            for place in kept
            if odds[place] > 0.0 and place not in refused and (place in ends or _is_aside(text, spans, place))
        ]
        if not loose:
            break
        place = max(loose, key=lambda each: odds[each])
        rest = [each for each in kept if each != place]
        shorter = _join_pieces(text, spans, rest, language)
        if _is_free(text, spans, place, language) and _is_sound(text, shorter, language):
            kept, told = rest, shorter
        else:
            refused.add(place)
    return told


def _is_aside(text: str, spans: Sequence[Span], place: int) -> bool:
    start, end = spans[place]
    return len(text[start:end].split()) <= ASIDE_WORDS and _MARK.search(text[end : spans[place + 1][0]]) is not None


def _is_free(text: str, spans: Sequence[Span], place: int, language: Language) -> bool:
    """False for a piece that the others need, or that has half of a pair of brackets."""
    start, end = spans[place]
    is_last = place + 1 == len(spans)
    following = "" if is_last else text[slice(*spans[place + 1])]
    is_marked = is_last or _MARK.search(text[end : spans[place + 1][0]]) is not None
    is_linked = place == 0 or _rule(language, "link").match(following) is not None
    if not is_marked and (_rule(language, "dependent").match(following) or not is_linked):
        return False
    if _rule(language, "limiting").match(text, start) or _rule(language, "back").match(following):
        return False
    return _is_closed(text[start:end]) and not text[:start].rstrip().endswith(("..", "…"))


def _is_sound(text: str, rest: str, language: Language) -> bool:
    """False if the rest is no statement, leaves something open, or says "they" before it names the user."""
    if len(rest.split()) <= 1 or not _is_closed(rest) or not language.statements.is_told(rest):
        return False
    third = _rule(language, "third").search(rest)
    is_named = 0 <= rest.find(language.user) < (third.start() if third is not None else len(rest))
    return is_named or language.user not in text


def _is_closed(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count('"') % 2 == 0 and text.count("“") == text.count("”")


def _join_pieces(text: str, spans: Sequence[Span], places: Sequence[int], language: Language) -> str:
    """The pieces at these places as one sentence."""
    told, link = "", _rule(language, "link")
    for place in places:
        start, end = spans[place]
        piece, gap = text[start:end], text[spans[place - 1][1] : start] if place else ""
        if told and not gap.strip() and place - 1 not in places and not link.match(piece):
            gap = ", "
        is_opened = place and not told and link.match(piece) is not None
        told += gap * bool(told) + (link.sub("", piece, count=1) if is_opened else piece)
    told = _rule(language, "end").sub("", told.strip(_MARKS_AROUND)).rstrip(_MARKS_AROUND + ".…")
    return told[:1].upper() + told[1:]


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
        if len(slots) == len(parts) and slots <= {*CHANGES, "name"}:
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
            if not groups["order"]:
                return None
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
    piece = piece.rstrip(" \t\r\n.,;:!。，；！…~～–—-")
    is_aside = piece.startswith("(") and (piece.endswith(")") or ")" not in piece)
    left, piece = (left + 1, piece[1:]) if is_aside else (left, piece)
    return piece[:-1] if piece.endswith(")") and "(" not in piece else piece, left


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


MAX_ATTRIBUTE_CHARS = 1500  # a longer message is more likely to be pasted than told
MAX_SENTENCE_CHARS = 300  # a longer sentence says more than one thing
HOW_LONG = "how long "
"""Slots of this beginning say for how long the user has been doing something: the next count replaces the last."""


def read_plain(text: str) -> dict[str, str]:
    """The slots that plain sentences in a user's own words fill, by name; a later one wins."""
    found: dict[str, str] = {}
    for statement, language in _plain_sentences(text):
        for key, rule in language.slots.plain:
            for match in rule.finditer(statement):
                value = match["value"].strip(" .,-–—")
                if value and not language.slots.no_value.match(value):
                    found[key] = value
    return found


def plain_statements(text: str) -> list[str]:
    """The sentences in which a user plainly says how things are now; none of a text that is to be worked on."""
    return [sentence for sentence, _ in _plain_sentences(own_text(text))]


def own_text(text: str) -> str:
    """The user's own words with the capitals of names. Empty for a long text, which is more likely pasted than told."""
    return restore_capitals(own_words(text)) if len(text) <= MAX_ATTRIBUTE_CHARS else ""


def restore_capitals(text: str) -> str:
    """The text with the capitals of names; a long text is as it was."""
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
    for slot, value in read_plain(statement).items():
        return slot, value
    rules = language.slots
    for slot, rule in rules.loose:
        if (match := rule.search(statement)) is not None and rules.doubt.search(statement, 0, match.end()) is None:
            return slot, match["value"].strip(" .,-")
    for name, rule in rules.things:
        if (match := rule.search(statement)) is not None:
            return f"{name}{match['thing'].casefold().strip()}", match["value"].strip(" .,-")
    return "", ""


def declares(text: str, start: int, end: int) -> bool:
    """True if a sentence of the text declares a decision, a lesson or an order."""
    language = detect(text[start:end])
    edges = _find_edges(text[start:end], language) if language.statements.declared else ()
    return any(_declare(text, start + left, start + right, language) is not None for left, right in edges)
