"""Research's notes: read from pieces, reduced in a tree to one prompt, and answered from, within limits; also the
coverage. The prompts are in `text.research`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from mnemic.engine.research_steps import Cost, Missed, Steps, Wish, cost_of, digest, prompt_key, side_by_side
from mnemic.errors import BackendError
from mnemic.model.chat import Completion
from mnemic.model.document import Coverage, Document, ResearchQuote, Stretch
from mnemic.text.blocks import Language
from mnemic.text.outline import last_page_of, page_of
from mnemic.text.research import (
    Asking,
    Note,
    Piece,
    answer_prompt,
    find_quotes,
    map_prompt,
    read_answer,
    read_merged,
    read_notes,
    reduce_prompt,
)
from mnemic.text.wordings import wording

MOST_STRETCHES = 100  # unread parts listed in a report; bounds its size
TOLD_STRETCHES = 5  # named in the answer; the others are counted


def coverage_of(
    pieces: Sequence[Piece], read: Collection[int], kept: int, reasons: Mapping[int, str], pages: Sequence[int]
) -> Coverage:
    """The coverage of the pieces read. `reasons`: why others were not read, by piece index."""
    stretches: list[Stretch] = []
    for piece in pieces:
        if piece.index in read:
            continue
        reason = reasons.get(piece.index, "")
        last = page_of(pages, piece.end - 1)
        if stretches and (stretches[-1].end, stretches[-1].reason) == (piece.own, reason):
            stretches[-1] = replace(stretches[-1], end=piece.end, last_page=last)
        else:
            stretches.append(Stretch(piece.own, piece.end, reason, page_of(pages, piece.own), last))
    failed = sum(1 for index in reasons if index not in read and reasons[index] != LIMITED)
    return Coverage(
        pieces=len(pieces),
        read=len(read),
        kept=kept,
        failed=failed,
        unread=len(pieces) - len(read) - failed,
        characters=pieces[-1].end if pieces else 0,
        characters_read=sum(piece.end - piece.own for piece in pieces if piece.index in read),
        missing=tuple(stretches[:MOST_STRETCHES]),
    )


LIMITED = "the limits did not allow it"  # why a piece was skipped


def percent(coverage: Coverage) -> str:
    """Percentage of characters read, never rounded up to 100."""
    return f"{min(99.9, 100 * coverage.characters_read / max(coverage.characters, 1)):.1f}"


def not_read(coverage: Coverage, language: Language) -> str:
    """A sentence on how much was read and where the rest is; "" if all was."""
    if coverage.is_whole:
        return ""
    told, pages, characters, more = (
        wording(language, f"research.{name}") for name in ("coverage", "pages", "characters", "more_stretches")
    )
    places = [
        characters.format(each.start, each.end)
        if each.first_page is None
        else pages.format(each.first_page, each.last_page)
        for each in coverage.missing[:TOLD_STRETCHES]
    ]
    if len(coverage.missing) > TOLD_STRETCHES:
        places.append(more.format(len(coverage.missing) - TOLD_STRETCHES))
    listed = wording(language, "research.and").join(places)
    return told.format(read=coverage.read, pieces=coverage.pieces, percent=percent(coverage), places=listed)


Told = Callable[[int, int, str], None]
HOPELESS = 5  # failed pieces, without any success, after which research stops
_NOTES_TOKENS = 2
"""Maximum tokens of a reply's notes per token of the reply: they are counted high and have frames."""

_MAX_QUOTES = 12  # per merged note


@dataclass(slots=True, kw_only=True)
class Reading:
    """One question about one document. `room`: tokens of notes in a prompt; notes cite `quotes` by number, from 0."""

    asking: Asking
    document: Document
    text: str
    pieces: Sequence[Piece]
    steps: Steps
    parallel: int
    room: int
    progress: Told
    quotes: list[ResearchQuote] = field(default_factory=list[ResearchQuote])
    notes: dict[int, list[Note]] = field(default_factory=dict[int, list[Note]])
    failed: dict[int, str] = field(default_factory=dict[int, str])
    kept: set[int] = field(default_factory=set[int])
    degraded: list[str] = field(default_factory=list[str])
    dropped: int = 0
    _under_way: int = 0
    _weight: int = 0
    _next: tuple[int, Wish[list[_Found]]] | None = None

    def key(self, piece: Piece) -> str:
        """Key of a piece's kept reply: a hash of everything that the reply depends on."""
        page = page_of(self.document.pages, piece.own)
        shown = self.text[piece.start : piece.end]
        return digest(self.steps.llm, self.asking.recipe, str(page), shown)

    def take_kept(self) -> None:
        """Use the kept replies of earlier runs."""
        keys = {self.key(piece): piece for piece in self.pieces}
        for key, completion in self.steps.kept([*keys]).items():
            noted = self._read_notes(keys[key], completion)
            if noted is not None:
                self.kept.add(keys[key].index)
                self._add(keys[key], noted)

    def worst(self, piece: Piece) -> Cost:
        """Maximum cost of reading a piece, before its prompt is made."""
        # characters per token: below English's four, so that the estimate is high
        size = math.ceil((piece.end - piece.start) / 2.5)
        return Cost(1, max(size, self.asking.reply_tokens) + self.asking.frame_tokens + self.asking.reply_tokens)

    def ahead(self, more: int = 0) -> Cost:
        """Maximum cost of combining and answering, with the notes of `more` further pieces."""
        weight = self._weight + more * _NOTES_TOKENS * self.asking.reply_tokens
        fixed, usable = self.asking.frame_tokens + self.asking.reply_tokens, max(1, 2 * self.room // 3)
        cost = Cost()
        while weight > self.room:
            calls = math.ceil(weight / usable)
            cost += Cost(calls, weight + calls * fixed)
            weight //= 2
        return cost + self._last

    @property
    def _last(self) -> Cost:
        """Maximum cost of the answer."""
        return Cost(1, self.room + self.asking.frame_tokens + self.asking.reply_tokens)

    def read(self, order: Sequence[Piece]) -> None:
        """Read these pieces in order as far as the limits allow. Raises the errors of `Steps.ask`."""
        waiting = list(reversed(order))
        total = len(order)

        def following() -> Callable[[], tuple[Piece, list[_Found] | Missed]] | None:
            if not waiting:
                return None
            wish = self._wish(waiting[-1])
            ahead = self.ahead(self._under_way + 1)
            if not self.steps.budget.take(cost_of(wish.prompt), ahead):
                return None
            piece = waiting.pop()
            self._under_way += 1
            wanted = replace(wish, ahead=ahead)
            return lambda: (piece, self.steps.ask(wanted))

        self.progress(0, total, "reading")
        with closing(side_by_side(following, self.parallel)) as replies:
            for done, (piece, noted) in enumerate(replies, start=1):
                self._under_way -= 1
                self._take(piece, noted)
                self.progress(done, total, "reading")

    def _take(self, piece: Piece, noted: Sequence[_Found] | Missed) -> None:
        if not isinstance(noted, Missed):
            self._add(piece, noted)
            return
        self.failed[piece.index] = noted.reason
        if not self.notes and len(self.failed) >= HOPELESS:
            raise BackendError(f"the model keeps failing on pieces of the document: {noted.reason}")

    def combined(self) -> list[Note]:
        """All notes in document order, reduced until one prompt takes them."""
        notes = [note for index in sorted(self.notes) for note in self.notes[index]]
        level = 0
        while _weigh(notes) > self.room:
            level += 1
            groups = list(_groups(notes, self.room))
            merged: dict[int, list[Note]] = {}
            self._weight = _weigh(notes)
            with closing(self._merge_groups(groups)) as kept:
                for number, fewer in kept:
                    merged[number] = fewer
                    self.progress(len(merged), len(groups), "combining" if level == 1 else f"combining, level {level}")
            notes = [note for number in sorted(merged) for note in merged[number]]
        self._weight = _weigh(notes)
        return notes

    def answer(self, notes: Sequence[Note], share: str) -> tuple[str, list[int]] | Missed:
        """The model's answer from notes that fit, and the numbers of the cited ones, from 1."""
        prompt = answer_prompt(self.asking, notes, share)
        numbers = range(1, len(notes) + 1)
        wish = Wish(prompt_key(self.steps.llm, prompt), prompt, lambda told: read_answer(told, numbers))
        self.progress(0, 1, "answering")
        before = self.steps.asked_before(wish)
        if before is None:
            if not self.steps.budget.take(cost_of(prompt)):
                return Missed(LIMITED)
            before = self.steps.ask(wish)
        self.progress(1, 1, "answering")
        return before

    def _wish(self, piece: Piece) -> Wish[list[_Found]]:
        if self._next is not None and self._next[0] == piece.index:
            return self._next[1]
        shown = self.text[piece.start : piece.end]
        page = page_of(self.document.pages, piece.own)
        prompt = map_prompt(self.asking, shown, page, (piece.index + 1, len(self.pieces)))
        wish = Wish(self.key(piece), prompt, lambda told: self._read_notes(piece, told))
        self._next = (piece.index, wish)
        return wish

    def _read_notes(self, piece: Piece, completion: Completion) -> list[_Found] | None:
        """The notes of a reply with the places of their quotes. Quotes not found in the text have none."""
        said = read_notes(completion)
        if said is None:
            return None
        return [_Found(says, find_quotes(quote, self.text, piece.start, piece.end)) for quote, says in said]

    def _add(self, piece: Piece, noted: Sequence[_Found]) -> None:
        notes: list[Note] = []
        for each in noted:
            if not each.places:
                self.dropped += 1
                continue
            first = len(self.quotes)
            for start, end in each.places:
                pages = page_of(self.document.pages, start), last_page_of(self.document.pages, start, end)
                self.quotes.append(ResearchQuote(self.text[start:end], start, end, *pages))
            added = self.quotes[first:]
            words = " … ".join(quote.text for quote in added)
            numbers = tuple(range(first, len(self.quotes)))
            notes.append(self._light(Note(each.says, numbers, words, added[0].page, added[-1].last_page)))
        self.notes[piece.index] = notes
        self._weight += _weigh(notes)

    def _merge_groups(self, groups: Sequence[Sequence[Note]]) -> Generator[tuple[int, list[Note]]]:
        """Halve the weight of each group: by the model if the limits allow it, else by keeping the first notes."""
        waiting = list(reversed([*enumerate(groups)]))

        def following() -> Callable[[], tuple[int, list[Note]]] | None:
            if not waiting:
                return None
            number, group = waiting.pop()
            return lambda: (number, self._reduce_notes(group))

        return side_by_side(following, self.parallel)

    def _light(self, note: Note) -> Note:
        """The note without its quote, and shortened if needed, so that two others fit beside it."""
        most = self.room // 3
        if note.weight > most:
            note = replace(note, text="")
        return note if note.weight <= most else replace(note, says=note.says[: most // 4])

    def _reduce_notes(self, group: Sequence[Note]) -> list[Note]:
        if len(group) == 1:
            return [*group]
        most = max(_weigh(group) // 2, 1)
        prompt = reduce_prompt(self.asking, group)
        key = prompt_key(self.steps.llm, prompt)
        wish = Wish(key, prompt, lambda told: read_merged(told, group), self._last)
        merged: list[Note] | Missed | None = self.steps.asked_before(wish)
        if merged is None:
            is_allowed = self.steps.budget.take(cost_of(prompt), wish.ahead)
            merged = self.steps.ask(wish) if is_allowed else Missed(LIMITED)
        if isinstance(merged, Missed):
            self.degraded.append(f"combining: {merged.reason}; half of {len(group)} notes were left out")
            return _first(group, most)
        kept = _first([self._light(replace(note, quotes=note.quotes[:_MAX_QUOTES])) for note in merged], most)
        if len(kept) < len(merged):
            self.degraded.append(f"combining: {len(merged) - len(kept)} notes did not fit")
        return kept


@dataclass(frozen=True, slots=True)
class _Found:
    """A model's note and the places of its quote; empty if not found."""

    says: str
    places: Sequence[tuple[int, int]]


def _weigh(notes: Sequence[Note]) -> int:
    return sum(note.weight for note in notes)


def _first(notes: Sequence[Note], most: int) -> list[Note]:
    """The first notes within `most` tokens; at least one."""
    kept: list[Note] = []
    for note in notes:
        if kept and _weigh(kept) + note.weight > most:
            break
        kept.append(note)
    return kept


def _groups(notes: Sequence[Note], room: int) -> Iterator[list[Note]]:
    """Successive notes, as many as one prompt takes, at least two."""
    group: list[Note] = []
    weight = 0
    for note in notes:
        if len(group) > 1 and weight + note.weight > room:
            yield group
            group, weight = [], 0
        group.append(note)
        weight += note.weight
    if group:
        yield group
