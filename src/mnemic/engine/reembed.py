"""Fills a changed embedder's space beside the old one, during live traffic and in durable batches; removes unused
spaces. `RetiredSpace` decides where to search meanwhile. A crash needs no repair.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mnemic.engine.engine import Engine
from mnemic.engine.graph_extract import fill_entities
from mnemic.engine.indexing import fill_vectors, missing_texts, sides
from mnemic.errors import ConfigError
from mnemic.model.scope import Partition
from mnemic.ports.models import Embedder
from mnemic.ports.store import UnitOfWork

Progress = Callable[[int, int], object]
"""Progress callback: `(vectors, expected vectors)`."""

SAMPLE = 16  # texts embedded to estimate the total time


@dataclass(frozen=True, slots=True)
class SpaceFill:
    """Coverage of one embedder's space: `items` with content, and how many have a vector."""

    model: str
    space: str
    items: int
    vectors: int

    @property
    def share(self) -> float:
        """Coverage from 0 to 1; 1 without items."""
        return self.vectors / self.items if self.items else 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated work: `texts` to embed, their `characters` and the `seconds` needed."""

    texts: int
    characters: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ReembedReport:
    """`spaces`: each embedder's coverage at the end. `filled`: stored vectors, entities included. `refused`: ids found
    by keyword only. `kept`: vectors of other spaces, for switching back; `removed`: those removed (or to be).
    `estimate`: of a dry run.
    """

    spaces: tuple[SpaceFill, ...]
    filled: int
    refused: tuple[str, ...]
    kept: Mapping[str, int]
    removed: Mapping[str, int]
    is_dry_run: bool
    seconds: float
    estimate: Estimate | None = None


def reembed(
    engine: Engine, *, is_dry_run: bool = False, is_pruning: bool = False, progress: Progress | None = None
) -> ReembedReport:
    """Embed every item and entity in the configured spaces; `is_pruning` then removes all other vectors. Batches are
    durable, so an interrupted run resumes. A dry run embeds a few texts to measure. Raises `ConfigError` without an
    embedder, `BackendError` on failure; stored vectors stay, and nothing is removed.
    """
    if not engine.embedders:
        raise ConfigError("no embedder is configured; set one, such as embedder.name = 'minilm', and try again")
    start = time.perf_counter()
    with engine.store.read() as work:
        places = work.partitions.all()
        spaces = _spaces(engine, work, places)
        estimate = _estimate(engine, work, places) if is_dry_run else None
    filled, refused = 0, tuple[str, ...]()
    if not is_dry_run:
        filled, refused = _fill(engine, places, spaces, progress)
    removed = _remove_spaces(engine, is_dry_run=is_dry_run) if is_pruning else {}
    with engine.store.read() as work:
        spaces = spaces if is_dry_run else _spaces(engine, work, work.partitions.all())
        kept = _others(engine, work)
    seconds = time.perf_counter() - start
    return ReembedReport(spaces, filled, refused, kept, removed, is_dry_run, seconds, estimate)


def space_fill(work: UnitOfWork, places: Sequence[Partition], embedder: Embedder) -> SpaceFill:
    """Coverage of an embedder's space."""
    counts = [work.vectors.coverage(place, embedder.space.id) for place in places]
    items, vectors = sum(items for items, _ in counts), sum(held for _, held in counts)
    return SpaceFill(embedder.space.model, embedder.space.id, items, vectors)


def _spaces(engine: Engine, work: UnitOfWork, places: Sequence[Partition]) -> tuple[SpaceFill, ...]:
    return tuple(space_fill(work, places, embedder) for embedder in engine.embedders)


def _fill(
    engine: Engine, places: Sequence[Partition], spaces: Sequence[SpaceFill], progress: Progress | None
) -> tuple[int, tuple[str, ...]]:
    """Fill partition by partition, so that each is soon searched in the new space alone."""
    done, total = sum(space.vectors for space in spaces), sum(space.items for space in spaces)

    def told(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(min(done, total), total)

    told(0)
    filled, refused = 0, list[str]()
    for place in places:
        report = fill_vectors(engine, place, limit=sys.maxsize - 1, told=told)
        filled += report.filled
        refused += report.refused
        filled += fill_entities(engine, place)
    return filled, tuple(refused)


def _others(engine: Engine, work: UnitOfWork) -> dict[str, int]:
    """Vectors per space that no configured embedder fills."""
    own = {embedder.space.id for embedder in engine.embedders}
    counts = work.vectors.spaces()
    return {space: counts.get(space, 0) for space in sorted(work.vectors.known() - own)}


def _remove_spaces(engine: Engine, *, is_dry_run: bool) -> dict[str, int]:
    """Remove the vectors of all other spaces by partition; the space itself with the last of them."""
    with engine.store.read() as work:
        removed, places = _others(engine, work), work.partitions.all()
    if is_dry_run:
        return removed
    for space in removed:
        for place in places:
            with engine.store.write() as work:
                work.vectors.remove(place, space)
        with engine.store.write() as work:
            work.vectors.remove(None, space)
        if engine.retired is not None and engine.retired.embedder.space.id == space:
            engine.retired.is_removed = True
    if engine.served_index is not None:
        engine.served_index.diagnose(sides(places))  # also removes its data of these spaces
    return removed


def _estimate(engine: Engine, work: UnitOfWork, places: Sequence[Partition]) -> Estimate:
    """Estimate from the time of a few missing texts. The first call is not counted, since it may load a model."""
    texts, characters, seconds = 0, 0.0, 0.0
    for embedder in engine.embedders:
        fill = space_fill(work, places, embedder)
        missing = fill.items - fill.vectors
        sample = _sample(engine, work, places, embedder)
        if not missing or not sample:
            continue
        embedder.embed_documents(sample[:1])
        start = time.perf_counter()
        embedder.embed_documents(sample)
        seconds += (time.perf_counter() - start) / len(sample) * missing
        characters += sum(map(len, sample)) / len(sample) * missing
        texts += missing
    return Estimate(texts, round(characters), seconds)


def _sample(engine: Engine, work: UnitOfWork, places: Sequence[Partition], embedder: Embedder) -> list[str]:
    found: list[str] = []
    for place in places:
        found += missing_texts(engine, work, embedder, place, SAMPLE - len(found)).values()
        if len(found) >= SAMPLE:
            break
    return found
