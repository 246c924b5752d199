"""`mnemic eval`: how good and how fast Mnemic is, on your own data and on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.options import command
from mnemic.cli.output import note, show_json, write
from mnemic.cli.progress import progress_bars
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.evaluation.metrics import Means, Report
    from mnemic.evaluation.speed import SpeedResult, Spread

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
SPEED_ROWS = ("remember", "window", "context", "recall", "search", "embedding", "scan")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class RetrievalFiles:
    """A test set, and where its run goes."""

    corpus: Annotated[Path, typer.Option(help="What is searched: JSON lines, may be packed (.gz).", metavar="FILE")]
    queries: Annotated[Path, typer.Option(help="What is asked, and what should be found.", metavar="FILE")]
    haystacks: Annotated[
        Path | None, typer.Option(help="JSON: question id to the sessions that are searched.", metavar="FILE")
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(
            help="Write each question's ranking and time here (.gz packs); an interrupted run goes on.", metavar="FILE"
        ),
    ] = None
    by: Annotated[str, typer.Option(help="The field of a question that the table is divided by.")] = "category"
    gold: Annotated[str, typer.Option(help="The field of a question that holds what should be found.")] = "gold"


@dataclass(frozen=True, slots=True)
class RetrievalChoices:
    """How the test set is run."""

    store: Annotated[str, typer.Option(help="sqlite (a temporary file), memory, or an empty store's URL.")] = "sqlite"
    embedder: Annotated[str, typer.Option(help="The embedder, as in the configuration.")] = "minilm"
    rerank: Annotated[str, typer.Option(help="The reranker, as in the configuration.", metavar="NAME")] = "none"
    limit: Annotated[int, typer.Option("--limit", "-n", help="Hits per question.")] = 100
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class SpeedChoices:
    """What is measured."""

    sizes: Annotated[str, typer.Option(help="Numbers of memories, with commas between.")] = "1000,10000"
    real: Annotated[
        bool,
        typer.Option("--real-embeddings/--synthetic", help="The offline model, or random vectors (for large sizes)."),
    ] = True
    recalls: Annotated[int, typer.Option(help="Questions asked at each size.")] = 200
    seed: Annotated[int, typer.Option(help="The same seed makes the same texts.")] = 1
    as_json: AsJson = False


def retrieval(files: RetrievalFiles, choices: RetrievalChoices) -> None:
    """Store a test set group by group, ask its questions, and tell how much of the gold is found, and how soon."""
    from mnemic.evaluation.dataset import Fields, load_dataset
    from mnemic.evaluation.metrics import score_run
    from mnemic.evaluation.retrieval import RetrievalOptions, UnfinishedRun, run_key, run_retrieval

    options = RetrievalOptions(
        store=choices.store, embedder=choices.embedder, reranker=choices.rerank, limit=choices.limit
    )
    fields = Fields(gold=files.gold, category=files.by)
    dataset = load_dataset(files.corpus, files.queries, files.haystacks, fields)
    run = None if files.run is None else UnfinishedRun(files.run, run_key(dataset, options))
    known = [] if run is None else run.known
    if known:
        note(f"going on with an interrupted run: {len(known)} questions were asked already")
    try:
        with progress_bars() as told:
            rankings = run_retrieval(dataset, options, told, {ranking.qid for ranking in known})
            answered = list(rankings) if run is None else run.write(rankings)
    except KeyboardInterrupt as error:
        go_on = "nothing was kept, since no --run was named" if run is None else "the same command goes on from there"
        note(f"interrupted; {go_on}")
        raise typer.Exit(INTERRUPTED) from error
    report = score_run(dataset, answered)
    if choices.as_json:
        show_json(asdict(report))
    else:
        show_report(report)


def speed(choices: SpeedChoices) -> None:
    """Measure ingest, single writes, recall, a cold start, memory and disk by size, beside the floors."""
    from mnemic.evaluation.speed import SYNTHETIC, SpeedOptions, run_speed

    options = SpeedOptions(
        sizes=_sizes(choices.sizes),
        embedder="minilm" if choices.real else SYNTHETIC,
        recalls=choices.recalls,
        seed=choices.seed,
    )
    with progress_bars() as told:
        results = list(run_speed(options, told))
    if choices.as_json:
        show_json([asdict(result) for result in results])
    else:
        show_speed(results)


def show_report(report: Report) -> None:
    """The means as a table, all questions first; what was left out goes to the standard error."""
    names = list(report.overall.metrics)
    lines: dict[str, Means] = {"all": report.overall, **(report.by_category if len(report.by_category) > 1 else {})}
    columns = ("questions", "n", *names, "p50 ms", "p95 ms")
    _show_table([columns, *(_means_row(name, means, names) for name, means in lines.items())])
    note(
        f"not scored: {report.unanswerable} unanswerable, {report.without_gold} without gold; "
        f"without a ranking: {report.missing}; ids from outside the group or haystack: {report.foreign_ids}"
    )


def show_speed(results: Iterable[SpeedResult]) -> None:
    """One line per measurement, one column per size."""
    table = {f"{result.memories:,} {result.embedder}": _speed_cells(result) for result in results}
    names = next(iter(table.values()))
    rows = [(name, *(cells[name] for cells in table.values())) for name in names]
    _show_table([("memories", *table), *rows])


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    command(
        app,
        "retrieval",
        examples="""
        mnemic eval retrieval --corpus corpus.jsonl.gz --queries queries.jsonl.gz
        mnemic eval retrieval --corpus c.jsonl --queries q.jsonl --run run.jsonl.gz --json
        """,
    )(retrieval)
    command(
        app,
        "speed",
        examples="""
        mnemic eval speed --sizes 1000,10000
        mnemic eval speed --sizes 100000 --synthetic --json
        """,
    )(speed)


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InvalidInputError(f"--sizes {text!r} must be whole numbers with commas between, as 1000,10000")
    return tuple(int(part) for part in parts)


def _show_table(rows: Sequence[Sequence[str]]) -> None:
    """A table with its head, numbers to the right, the same on a terminal and in a file: it is meant to be kept."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        write("  ".join([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]))


def _means_row(name: str, means: Means, names: Iterable[str]) -> tuple[str, ...]:
    values = [f"{means.metrics[metric]:.3f}" if metric in means.metrics else "–" for metric in names]
    times = [f"{ms:.1f}" if ms is not None else "–" for ms in (means.p50_ms, means.p95_ms)]
    return (name, f"{means.n:,}", *values, *times)


def _speed_cells(result: SpeedResult) -> Mapping[str, str]:
    spreads: dict[str, Any] = {name: getattr(result, name) for name in SPEED_ROWS}
    memory = "–" if result.rss_bytes is None else f"{result.rss_bytes / MEGABYTE:,.0f}"
    return {
        "ingest, rows/s": f"{result.ingest_rows_per_s:,.0f}",
        "embedder within it, rows/s": f"{result.embedding_rows_per_s:,.0f}",
        "share of the embedder": f"{result.ingest_share:.2f}",
        **{f"{name} p50 / p95 / p99, ms": _spread(spread) for name, spread in spreads.items()},
        "cold start: import, open, recall, ms": " / ".join(
            f"{ms:,.0f}" for ms in (result.cold_import_ms, result.cold_open_ms, result.cold_recall_ms)
        ),
        "memory after it, MB": memory,
        "disk, MB": f"{result.disk_bytes / MEGABYTE:,.1f}",
    }


def _spread(spread: Spread) -> str:
    return f"{spread.p50_ms:.2f} / {spread.p95_ms:.2f} / {spread.p99_ms:.2f}"
