"""Selects memories and messages for the facts block and lays them out.

Candidates are taken by value per token until the budget is spent. Each level has a reserved share, so that one policy
is not lost among eighty remarks. Long messages are shortened first, and widened again if room is left. Messages are
grouped by conversation in order of time, with the neighbours that explain them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from mnemic.engine.engine import Engine
from mnemic.engine.inputs import Question, Selection
from mnemic.engine.recall import AskedBefore
from mnemic.model.bookkeeping import due_in
from mnemic.model.item import Chunk, Item, Kind, Memory, Message, Role, Trust
from mnemic.model.recall import Contribution, Hit
from mnemic.model.scope import Level
from mnemic.ranking.digest import (
    FULL_CONTENT,
    LEAST_CONTENT,
    content,
    digest,
    is_question,
    leaves_open,
    needles,
    shortened_tokens,
    stems,
)
from mnemic.ranking.extract import is_small_talk
from mnemic.text.blocks import (
    AGENT,
    CONVERSATION,
    ORGANISATION,
    SECTIONS,
    SESSION,
    Language,
    Section,
    facts_block,
    quote,
    section_block,
)
from mnemic.text.languages import detect
from mnemic.text.normalise import SameTexts
from mnemic.text.sanitise import sanitise
from mnemic.text.sentences import cut_at_sentence

DUE: Mapping[Language, str] = {"en": "(due {}) ", "zh": "（{}到期）"}
"""Prefix of a memory that is shown because it is due."""

BECAUSE_DUE = Contribution("due", 1.0, 1.0, 1.0)
"""The contribution of a hit that was found because it is due."""

AS_OF: Mapping[Language, str] = {"en": "(as of {}) ", "zh": "（截至{}）"}
"""Prefix of a memory from an earlier day, which may be outdated."""

TO_BE_CONFIRMED: Mapping[Language, str] = {"en": "(to be confirmed) ", "zh": "（待确认）"}
"""Prefix of a flagged memory."""

RANK_OFFSET = 10.0
"""A hit at rank r is worth 1 / (RANK_OFFSET + r): steeper than RRF, as evidence is likelier among the first ten."""

CHEAPEST_TOKENS = 50
"""Minimum cost of a line in tokens, so that a short remark does not overtake a better one only by its length."""

LEVEL_SHARE = 6
"""A level beside the user's gets up to a sixth of the budget before the levels compete."""

LEAST_WORTH = 0.3
"""Share of its value that a message without content keeps. Chosen with a look at LoCoMo: between 0.3 and 0.5 evidence
is within 0.1 points, and the block has fewer remarks such as "Sounds great, John!".
"""

SHORT_TOKENS = 12
"""A message of up to this many tokens often needs the one before it."""

MOST_BESIDE = 12  # messages read as neighbours of the chosen ones
BESIDE_TOKENS = 40
"""Longer neighbours are shortened or left out: they explain, they are no evidence."""

MOST_CONTINUED, CONTINUED = 3, 0.3
"""Number of best lines of which messages are shown with their author's next one, and their least relevance."""

_SEVERAL_SENTENCES = re.compile(r"[.!?:][\"')\]]*\s+\S|[。！？]\S|\n")
_DERIVED = frozenset({Kind.SUMMARY, Kind.REFLECTION})
_SECTION_OF: Mapping[Level, Section] = {Level.AGENT: AGENT, Level.ORG: ORGANISATION, Level.SESSION: SESSION}


@dataclass(frozen=True, slots=True)
class Line:
    """A hit as shown: `text` is `whole` or a part of it. `section` None: a fact about the user. `lead` precedes the
    text; a speaker is shown once above a run of lines. `worth`: 0 to 1, how much the text says regardless of the
    question.
    """

    hit: Hit
    rank: int
    section: Section | None
    lead: str
    text: str
    whole: str
    tokens: int
    worth: float = 1.0

    @property
    def density(self) -> float:
        """Value per token."""
        return self.worth / (RANK_OFFSET + self.rank) / max(self.tokens, CHEAPEST_TOKENS)

    @property
    def group(self) -> tuple[str, str] | None:
        """The conversation and day of a message."""
        item = self.hit.item
        return (item.session, item.observed_at.date().isoformat()) if isinstance(item, Message) else None


@dataclass(frozen=True, slots=True)
class Filled:
    """The block, and its hits in the order of their numbers from 1."""

    block: str
    hits: tuple[Hit, ...]


class Filling:
    """Fills `room` tokens of a context with the hits of one question."""

    def __init__(self, engine: Engine, question: Question, language: Language, room: int, largest: int) -> None:
        self._engine, self._question = engine, question
        self._language: Language = language
        self._room, self._largest = room, largest
        self._count: Callable[[str], int] = engine.analyser.token_count
        self._left = room
        self._matters = needles(question.text)
        self._asked = AskedBefore(question.text, engine)
        self._taken: dict[str, Line] = {}
        self._frames: set[object] = set()

    def fill(self, hits: Sequence[Hit], known: Collection[str], *, is_fallback: bool = False) -> Filled:
        """Select from `hits` (best first). Hits with a `known` id are in the prompt already."""
        usable = self._usable(hits, known)
        names = stems(" ".join({hit.item.author for hit in usable if isinstance(hit.item, Message)}))
        every = [self._line(hit, rank, names) for rank, hit in enumerate(usable)]
        at = {place: line for line in every if (place := _place(line.hit.item)) is not None}
        lines = [line for line in every if line.worth]
        for line in [*_first_of_levels(lines, self._room), *sorted(lines, key=lambda each: -each.density)]:
            if self._take(line) and line.rank < MOST_BESIDE and _needs_context(line, self._count):
                self._take_before(line, at)
        self._left += self._repeated_speakers()
        for line in sorted(lines, key=lambda each: -each.density):
            self._take(line)
        if not self._taken and lines:
            self._cut(lines[0])
        self._widen()
        if not is_fallback and not self._question.limits:  # caps on levels are exact
            self._add_surroundings(known)
        return self._lay_out(is_fallback=is_fallback)

    def _usable(self, hits: Sequence[Hit], known: Collection[str]) -> list[Hit]:
        """The hits that may be shown and do not repeat a better one."""
        now, chosen = self._engine.clock.now(), Selection(self._question)
        usable: list[Hit] = []
        messages, sources = set[str](), set[str]()
        said = SameTexts()
        for hit in hits:
            item = hit.item
            shown = messages | sources if hit.kind == Kind.SUMMARY else messages  # a summary repeats its facts
            if (
                item.id in known
                or item.id in sources
                or (isinstance(item, Memory) and not shown.isdisjoint(item.source_ids))
                or item.text in said
                or self._asked.is_repeated_by(item)
            ):
                continue
            if isinstance(item, Message) and (item.role is Role.SYSTEM or is_small_talk(item.text)):
                continue
            if chosen.takes(item, now):
                usable.append(hit)
                said.add(item.text)
                if isinstance(item, Memory):
                    sources.update(item.source_ids)
                else:
                    messages.add(item.id)
        return usable

    def _line(self, hit: Hit, rank: int, names: frozenset[str]) -> Line:
        """The line of a hit with its whole text. A message costs no more than its shortened form."""
        item, tokens, worth = hit.item, self._count(hit.item.text), 1.0
        if isinstance(item, Message):
            worth = _worth(item.text, names)
            lead, section, tokens = f"{item.author}:", CONVERSATION, shortened_tokens(tokens)
        else:
            section = None if hit.is_fallback else _SECTION_OF.get(item.partition.level)
            is_flagged = isinstance(item, Memory) and bool(item.flags)
            lead = TO_BE_CONFIRMED[self._language] if is_flagged else ""
            days = due_in(item.bookkeeping) if isinstance(item, Memory) and BECAUSE_DUE in hit.contributions else None
            if days:
                lead += DUE[self._language].format(" – ".join(dict.fromkeys(days)))
            elif (day := item.observed_at.date()) < self._engine.clock.now().date():
                lead += AS_OF[self._language].format(day)
            if is_quoted(item):
                lead += f"{source_of(item)}: "
        frame = self._count(f'- [1] {lead}""' if is_quoted(item) else f"- [1] {lead}")
        return Line(hit, rank, section, lead, item.text, item.text, tokens + frame, worth)

    def _take(self, line: Line) -> bool:
        """Take a line if it fits, including the headings that it opens."""
        cost = line.tokens + sum(self._frame_tokens(frame) for frame in self._new_frames(line))
        if line.hit.id in self._taken or cost > self._left:
            return False
        self._frames.update(self._new_frames(line))
        if isinstance(line.hit.item, Message):
            text = digest(line.whole, self._matters, self._count)
            tokens = self._count(f"[1] {line.lead} {text}")
            cost += tokens - line.tokens
            line = replace(line, text=text, tokens=tokens)
        self._taken[line.hit.id] = line
        self._left -= cost
        return True

    def _take_before(self, line: Line, at: Mapping[tuple[str, int], Line]) -> None:
        """Take the previous message too if it was found, is short, and asks or says something."""
        session, position = _place(line.hit.item) or ("", 0)
        before = at.get((session, position - 1))
        if before is not None and before.tokens <= BESIDE_TOKENS and _explains(before):
            self._take(before)

    def _repeated_speakers(self) -> int:
        """Tokens saved for lines whose speaker is already shown above."""
        talk = sorted((line for line in self._taken.values() if line.group), key=_conversation_order)
        same = (line for before, line in pairwise(talk) if (before.group, before.lead) == (line.group, line.lead))
        return sum(self._count(line.lead) for line in same)

    def _new_frames(self, line: Line) -> list[object]:
        frames = (line.section, line.group) if line.group else (line.section,)
        return [frame for frame in frames if frame not in self._frames]

    def _frame_tokens(self, frame: object) -> int:
        if isinstance(frame, tuple):
            return 1
        lines = ["x"]
        block = section_block(frame, lines, self._language) if isinstance(frame, Section) else self._facts(lines)
        return self._count(block) - 1

    def _facts(self, lines: Sequence[str], *, is_fallback: bool = False) -> str:
        return facts_block(lines, self._language, is_fallback=is_fallback)

    def _cut(self, line: Line) -> None:
        """Take the first sentences of the best line if it exceeds even the whole budget."""
        room = self._room - sum(self._frame_tokens(frame) for frame in self._new_frames(line))
        if line.tokens <= self._largest:
            return
        text = cut_at_sentence(line.whole, lambda kept: self._count(f"- [1] {line.lead}{kept}") <= room)
        if text:
            self._take(replace(line, text=text, tokens=self._count(f"- [1] {line.lead}{text}")))

    def _widen(self) -> None:
        """Restore shortened messages, best first, while there is room."""
        for line in sorted(self._taken.values(), key=lambda each: each.rank):
            more = self._count(line.whole) - self._count(line.text)
            if line.text != line.whole and isinstance(line.hit.item, Message) and more <= self._left:
                self._taken[line.hit.id] = replace(line, text=line.whole, tokens=line.tokens + more)
                self._left -= more

    def _add_surroundings(self, known: Collection[str]) -> None:
        """Add the message before each short one that answers or refers to it, and after the best ones that leave
        something open, what their author says next.
        """
        lines = sorted(self._taken.values(), key=lambda each: each.rank)
        for line in [each for each in lines if _needs_context(each, self._count)][:MOST_BESIDE]:
            item = line.hit.item
            if isinstance(item, Message) and item.position > 1 and self._left >= SHORT_TOKENS:
                self._take_beside(self._read_beside(item, item.position - 2, 1), known)
        for line in lines[:MOST_CONTINUED]:
            item, is_near = line.hit.item, (line.hit.relevance or 0.0) >= CONTINUED
            if isinstance(item, Message) and is_near and self._left >= SHORT_TOKENS and leaves_open(item.text):
                after = [each for each in self._read_beside(item, item.position, 2) if each.role is item.role]
                # A question or an order begins something new.
                left = [each for each in after[:1] if not detect(each.text).statements.refused.search(each.text)]
                self._take_beside(left, known)

    def _read_beside(self, item: Message, after: int, most: int) -> Sequence[Message]:
        """The other messages of the item's conversation after a position, at most `most`."""
        with self._engine.store.read() as work:
            found = work.conversations.messages(item.partition, item.session, after, most)
        return [each for each in found if each.id != item.id]

    def _take_beside(self, found: Sequence[Message], known: Collection[str]) -> None:
        """Take those of some messages that are short and say or ask something."""
        for each in found:
            if each.id in known or is_small_talk(each.text) or self._asked.is_repeated_by(each):
                continue
            beside = self._line(Hit(each, 0.0, None, ()), len(self._taken), frozenset())
            if beside.tokens <= BESIDE_TOKENS and _explains(beside):
                self._take(beside)

    def _lay_out(self, *, is_fallback: bool) -> Filled:
        """The block, trimmed to the room: the sum of its parts may be inexact."""
        while True:
            block, hits = self._blocks(is_fallback=is_fallback)
            if not self._taken or self._count(block) <= self._room:
                return Filled(block, hits)
            del self._taken[max(self._taken.values(), key=lambda line: line.rank).hit.id]

    def _blocks(self, *, is_fallback: bool) -> tuple[str, tuple[Hit, ...]]:
        hits: list[Hit] = []
        blocks: list[str] = []
        for section in (*SECTIONS, None):
            mine = [line for line in self._taken.values() if line.section is section]
            lines: list[str] = []
            group, speaker = None, ""
            for line in sorted(mine, key=_conversation_order if section is CONVERSATION else _by_rank):
                if line.group != group and line.group is not None:
                    lines.append(line.group[1])
                    speaker = ""
                if line.group is not None and line.lead != speaker:
                    lines.append(line.lead)
                    speaker = line.lead
                group = line.group
                hits.append(line.hit)
                bullet = "" if section in (None, CONVERSATION) else "- "
                lead, quotes = "" if line.group else line.lead, is_quoted(line.hit.item)
                text = sanitise(line.text) if lead or quotes else line.text  # as a quotation it would seem harmless
                lines.append(f"{bullet}[{len(hits)}] {lead}{quote(text) if quotes else text}")
            blocks.append(
                self._facts(lines, is_fallback=is_fallback)
                if section is None
                else section_block(section, lines, self._language)
            )
        return "\n\n".join(block for block in blocks if block), tuple(hits)


def _first_of_levels(lines: Sequence[Line], room: int) -> list[Line]:
    """The best lines of each level beside the user's, up to its share of the room."""
    first: list[Line] = []
    for level in (Level.ORG, Level.AGENT, Level.SESSION):
        left = room // LEVEL_SHARE
        for line in lines:
            if line.hit.item.partition.level is level and line.tokens <= left:
                first.append(line)
                left -= line.tokens
    return first


def _worth(text: str, names: frozenset[str]) -> float:
    """How much a message says, 0 to 1."""
    found = content(text, names)
    return 0.0 if found < LEAST_CONTENT else LEAST_WORTH + (1.0 - LEAST_WORTH) * found / FULL_CONTENT


def is_quoted(item: Item) -> bool:
    """True for text of a tool or a document, and for text of several sentences, which may contain that of others. An
    order in it is shown as a quotation.
    """
    if isinstance(item, Chunk) or _SEVERAL_SENTENCES.search(item.text):
        return True
    if isinstance(item, Message):
        return item.role is Role.TOOL
    return item.trust in (Trust.TOOL, Trust.DOCUMENT)


def source_of(item: Item) -> str:
    """Who or what an item's text is quoted from: an author, a document, a summary, or the memory's trust."""
    if isinstance(item, Message):
        return item.author
    if isinstance(item, Chunk):
        return item.title or item.source
    if item.trust is Trust.DOCUMENT and item.source:
        return f"{item.trust.value} {item.source}"
    return item.kind.value if item.kind in _DERIVED else item.trust.value


def tell_item(item: Item) -> str:
    """An item's text for the result of a tool: sanitised, and quoted with its source unless it is one plain fact."""
    text = sanitise(item.text)  # before it is quoted, as a quotation would seem harmless
    if isinstance(item, Message):
        return f"{item.author} said: {quote(text)}"
    return f"{source_of(item)}: {quote(text)}" if is_quoted(item) else text


def _by_rank(line: Line) -> tuple[date, str, int]:
    return date.min, "", line.rank


def _explains(line: Line) -> bool:
    """True for a message that says something or asks what the next one answers."""
    return line.worth > 0 or is_question(line.whole)


def _place(item: Item) -> tuple[str, int] | None:
    """A message's session and position."""
    return (item.session, item.position) if isinstance(item, Message) else None


def _conversation_order(line: Line) -> tuple[date, str, int]:
    session, position = _place(line.hit.item) or ("", 0)
    return line.hit.item.observed_at.date(), session, position


def _needs_context(line: Line, count: Callable[[str], int]) -> bool:
    """True for a message that answers something, or is so short that it refers to another."""
    if not isinstance(line.hit.item, Message):
        return False
    answers = any(each.feature == "answer" and each.points > 0 for each in line.hit.contributions)
    return answers or count(line.whole) <= SHORT_TOKENS
