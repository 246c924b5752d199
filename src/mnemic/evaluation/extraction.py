"""Runs a corpus through the product session by session, and returns every memory that extraction wrote. A group's
results are kept beside the file until all are complete. Another corpus or other options start again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.engine import PAGE_ROWS, Engine
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.jobs import work
from mnemic.engine.kinds import EXTRACT
from mnemic.evaluation.dataset import CorpusRow, Dataset, Progress, Unfinished, run_key, silent, write_json_lines
from mnemic.model.item import Memory, Role, State
from mnemic.model.listing import group_pairs
from mnemic.model.scope import Scope, as_utc

_START = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionOptions:
    """`embedder`, `llm`: as in `Config`. Without a model, rules find the facts."""

    embedder: str = "minilm"
    llm: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    """One written memory, what it replaced, and its sources as corpus ids."""

    group: str
    session: str | None
    text: str
    kind: str | None = None
    id: str | None = None
    supersedes: tuple[str, ...] = ()
    source_ids: tuple[str, ...] = ()


class RowClock:
    """A clock at the time of the current row. It never goes back."""

    def __init__(self) -> None:
        self._now = _START

    def now(self) -> datetime:
        """The time of the latest row."""
        return self._now

    def reach(self, time: str | None) -> None:
        """Advance to the time of a row, if later."""
        if time is not None:
            self._now = max(self._now, as_utc(time, "time"))


def run_extraction(
    corpus: Sequence[CorpusRow], options: ExtractionOptions | None = None, progress: Progress | None = None
) -> list[Produced]:
    """Every memory that extraction writes for a corpus, in order, and what later superseded it. Every group is a user.
    Each session is captured exchange by exchange at the times of its rows, then the worker runs due jobs. Rows without
    a session are not messages and are left out.
    """
    options = options or ExtractionOptions()
    clock = RowClock()
    parts = replace(build(Config(store=MEMORY_URL, embedder=options.embedder, llm=options.llm)), clock=clock)
    said = (row for row in corpus if row.session is not None and row.text.strip())
    sessions = group_pairs(((row.group, row.session), row) for row in said)
    sources: dict[str, CorpusRow] = {}
    with Mnemic(parts, has_worker=False) as mnemic:
        for done, ((group, session), rows) in enumerate(sessions.items(), start=1):
            sources |= _capture_session(mnemic, clock, Scope(user=group, session=session), rows)
            work(parts, {EXTRACT: HANDLERS[EXTRACT]}, worker="evaluation")
            (progress or silent)("extract", done, len(sessions))
        groups = dict.fromkeys(group for group, _ in sessions)
        return [each for group in groups for each in _read_written(parts, group, sources)]


def write_produced(path: Path, produced: Iterable[Produced]) -> None:
    """Write one JSON row per memory, compressed if the name ends in `.gz`. The file appears when complete."""
    lists = ("supersedes", "source_ids")
    write_json_lines(path, ({**asdict(e), **{name: [*getattr(e, name)] or None for name in lists}} for e in produced))


def _capture_session(mnemic: Mnemic, clock: RowClock, scope: Scope, rows: Sequence[CorpusRow]) -> dict[str, CorpusRow]:
    """Capture a session. Returns the row of each message by its id."""
    known: dict[str, CorpusRow] = {}
    exchange: list[CorpusRow] = []
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        exchange.append(row)
        if following is None or following.role in (None, Role.USER.value):
            clock.reach(row.time)
            turn = mnemic.capture(scope, [each.message() for each in exchange])
            known |= {message.id: each for message, each in zip(turn.messages, exchange, strict=True)}
            exchange = []
    return known


def _read_written(engine: Engine, group: str, sources: Mapping[str, CorpusRow]) -> list[Produced]:
    """What extraction wrote for a user, in any state."""
    memories: list[Memory] = []
    with engine.store.read() as unit:
        after = ""
        while page := unit.upkeep.memories(Scope(user=group).message_partition, after, PAGE_ROWS):
            memories += [each for each in page if any(entry.extractor == EXTRACT for entry in each.provenance)]
            after = page[-1].id
    replaced = group_pairs((memory.other_id, memory.id) for memory in memories if memory.state is State.SUPERSEDED)
    return [_describe_memory(memory, group, sources, replaced.get(memory.id, ())) for memory in memories]


def _describe_memory(
    memory: Memory, group: str, sources: Mapping[str, CorpusRow], supersedes: Iterable[str]
) -> Produced:
    rows = [sources[entry.source_id] for entry in memory.provenance if entry.source_id in sources]
    return Produced(
        group=group,
        session=rows[0].session if rows else None,
        text=memory.text,
        kind=memory.kind.value,
        id=memory.id,
        supersedes=tuple(supersedes),
        source_ids=tuple(dict.fromkeys(row.id for row in rows)),
    )


def extract_by_group(
    corpus: Sequence[CorpusRow], options: ExtractionOptions, path: Path, progress: Progress | None = None
) -> list[Produced]:
    """Like `run_extraction`, with a memory per group. Writes `path` when all are done. An interrupted run continues
    after the last whole group, from `.NAME.unfinished` beside `path`. Raises `InvalidInputError` if a file cannot be
    read or written.
    """
    unfinished = Unfinished(path, run_key(Dataset(corpus, ()), options))
    groups = group_pairs((row.group, row) for row in corpus)
    try:
        done = {str(row["group"]): [_produced_of_row(each) for each in row["produced"]] for row in unfinished.known()}
    except (KeyError, TypeError) as error:
        raise unfinished.foreign() from error
    unfinished.begin(_unfinished_line(group, produced) for group, produced in done.items())
    for group, rows in groups.items():
        if group not in done:
            done[group] = run_extraction(rows, options, progress)
            unfinished.add([_unfinished_line(group, done[group])])
    produced = [each for group in groups for each in done[group]]
    write_produced(path, produced)
    unfinished.end()
    return produced


def _unfinished_line(group: str, produced: Sequence[Produced]) -> dict[str, object]:
    return {"group": group, "produced": [asdict(each) for each in produced]}


def _produced_of_row(row: dict[str, Any]) -> Produced:
    lists: dict[str, Any] = {name: tuple(row[name]) for name in ("supersedes", "source_ids")}
    return Produced(**(row | lists))
