"""Reads items for the graph: what they name and how they relate it.

Rules read everything; where there is a model, it reads the memories, which are few and say most in the fewest words.
What one page of items says is one transaction, and an item is not read twice by the same reader: a run that ends early
is gone on with by the next.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mnemic.engine.graph.vectors import A_JOB, try_to_fill
from mnemic.engine.parts import Parts
from mnemic.errors import MnemicError
from mnemic.model.graph import GraphEntry, GraphReport, Sheet, SourceKind, Unread
from mnemic.model.scope import Level, Partition, Scope, Visibility
from mnemic.text.graph.find import EXTRACTOR, Found, find
from mnemic.text.graph.prompt import PROMPT_VERSION, graph_prompt, read_graph

PAGE = 100
"""With rules, one transaction holds what so many items say."""

MODEL_PAGE = 5
PAGES_A_JOB = 100
MODEL_PAGES_A_JOB = 4
"""With a model, one job reads twenty memories: well within its lease."""

SHOWN = 200
"""The report tells of so many items; it counts them all."""

SPEAKER = "User"
"""The name of a user who is not named."""

_log = logging.getLogger("mnemic.graph")


def extract_graph(
    parts: Parts, scope: Scope, levels: Sequence[Level], *, limit: int | None = None, is_dry_run: bool = False
) -> GraphReport:
    """Read what is unread of the levels (none: of all that the scope names), at most `limit` items.

    What was read gets its vectors too. What is private to other agents is left to the worker. Raises the errors of the
    language model; what was read before one stays.
    """
    report = _Report(is_dry_run=is_dry_run)
    for partition in scope.visibility.at(*levels).partitions:
        reading = _Reading(parts, partition, scope.visibility, is_dry_run=is_dry_run)
        while not reading.is_finished and (limit is None or report.items < limit):
            report.add(reading.page(None if limit is None else limit - report.items))
        if not is_dry_run:
            try_to_fill(parts, partition)
        report.is_finished = report.is_finished and reading.is_finished
    return report.told()


def graph_partition(parts: Parts, partition: Partition, after: str = "") -> str | None:
    """The work of one job: some pages of what is unread behind the id `after`. Where the model fails, the rules stand
    in until the next run. Returns the id to go on behind, None at the end.
    """
    reading = _Reading(parts, partition, None, is_dry_run=False, may_fall_back=True, after=after)
    count = 0
    for _ in range(PAGES_A_JOB if parts.llm is None else MODEL_PAGES_A_JOB):
        if reading.is_finished:
            break
        count += len(reading.page(None))
    if count:
        _log.info("%s: %d items read", partition.level.value, count)
    try_to_fill(parts, partition, A_JOB)
    return None if reading.is_finished else reading.after


@dataclass(slots=True)
class _Report:
    is_dry_run: bool
    items: int = 0
    mentions: int = 0
    relations: int = 0
    is_finished: bool = True
    entries: list[GraphEntry] = field(default_factory=list[GraphEntry])

    def add(self, entries: Sequence[GraphEntry]) -> None:
        self.items += len(entries)
        self.mentions += sum(len(entry.names) for entry in entries)
        self.relations += sum(len(entry.relations) for entry in entries)
        self.entries += [entry for entry in entries if entry.names][: SHOWN - len(self.entries)]

    def told(self) -> GraphReport:
        counts = (self.items, self.mentions, self.relations)
        return GraphReport(*counts, tuple(self.entries), is_finished=self.is_finished, is_dry_run=self.is_dry_run)


class _Reading:
    """One run over one partition."""

    def __init__(
        self,
        parts: Parts,
        partition: Partition,
        visible: Visibility | None,
        *,
        is_dry_run: bool,
        may_fall_back: bool = False,
        after: str = "",
    ) -> None:
        self._parts, self._partition, self._visible = parts, partition, visible
        self._is_dry_run, self._may_fall_back = is_dry_run, may_fall_back
        self._readers = readers(parts)
        self.after = after
        self._speaker = SPEAKER if partition.level in (Level.USER, Level.SESSION) else ""
        self.is_finished = False

    def page(self, limit: int | None) -> list[GraphEntry]:
        """Read the next items; what was read before an error of the model is kept."""
        size = PAGE if self._parts.llm is None else MODEL_PAGE
        size = size if limit is None else min(size, limit)
        with self._parts.store.read() as work:
            items = work.graph.unread(self._partition, self._readers, self.after, size)
        self.is_finished = len(items) < size
        visible = self._visible
        mine = [each for each in items if visible is None or visible.admits(self._partition, each.private_agent)]
        done: list[tuple[Unread, Found, str, str]] = []
        try:
            for item in mine:
                found, reader, fallback = self._read(item)
                done.append((item, found, reader, fallback))
        finally:
            self._keep(done, size)
        self.after = items[-1].id if items else self.after
        return [_entry(item, found, fallback) for item, found, _, fallback in done]

    def _keep(self, done: Sequence[tuple[Unread, Found, str, str]], size: int) -> None:
        """Write what was read, but for items that were changed meanwhile: these are read again."""
        if self._is_dry_run or not done:
            return
        now = self._parts.clock.now()
        with self._parts.store.write() as work:
            present = work.graph.unread(self._partition, self._readers, self.after, size)
            sheets = [sheet for sheet, item in _sheets(done, now) if item in present]
            work.graph.put(self._partition, sheets)
        self._parts.observer.count("mnemic.graph.items", len(sheets))

    def _read(self, item: Unread) -> tuple[Found, str, str]:
        """What an item says, who read it, and for which failure the rules did."""
        speaker = self._speaker if item.kind is SourceKind.MEMORY else self._said_by(item)
        llm, fallback = self._parts.llm, ""
        if llm is not None and item.kind is SourceKind.MEMORY:
            try:
                prompt = graph_prompt(item.text)
                return read_graph(llm.complete(prompt), item.text, speaker), self._readers[item.kind], ""
            except MnemicError as error:
                fallback = type(error).__name__
                self._parts.observer.count("mnemic.graph.errors", kind=fallback)
                if not self._may_fall_back:
                    raise
        return find(item.text, speaker), EXTRACTOR, fallback

    def _said_by(self, item: Unread) -> str:
        """Who says "I" in a message: nobody in particular in what an assistant says, or in a passage."""
        if item.kind is not SourceKind.MESSAGE or item.role != "user":
            return ""
        return item.author or self._speaker


def readers(parts: Parts) -> Mapping[SourceKind, str]:
    """Who reads which kind of item."""
    model = EXTRACTOR if parts.llm is None else f"{parts.llm.name} {PROMPT_VERSION}"
    return {SourceKind.MEMORY: model, SourceKind.MESSAGE: EXTRACTOR, SourceKind.DOCUMENT: EXTRACTOR}


def _entry(item: Unread, found: Found, fallback: str) -> GraphEntry:
    names = tuple(named.name for named in found.names)
    relations = tuple((names[each.source], each.type, names[each.target]) for each in found.relations)
    return GraphEntry(item.id, item.kind, names, relations, fallback)


def _sheets(done: Sequence[tuple[Unread, Found, str, str]], now: datetime) -> Iterator[tuple[Sheet, Unread]]:
    for item, found, reader, _ in done:
        yield (
            Sheet(
                item_id=item.id,
                extractor=reader,
                at=now,
                names=found.names,
                relations=found.relations,
                private_agent=item.private_agent,
                valid_from=item.valid_from,
                valid_to=item.valid_to,
                is_dated=item.kind is SourceKind.MEMORY,
            ),
            item,
        )
