"""`mnemic eval …`: how good and how fast Mnemic is, on your own data and on this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.commands import command
from mnemic.cli.options import AsJson
from mnemic.cli.output import note, one_line, progress_bars, show_answer, show_json, show_progress, write
from mnemic.errors import InvalidInputError
from mnemic.model.item import Trust

if TYPE_CHECKING:
    from mnemic.evaluation.answers import AnswerMeans, AnswerOptions, Way
    from mnemic.evaluation.blocks import BlockReport
    from mnemic.evaluation.dataset import Means, Report
    from mnemic.evaluation.extraction_score import ExtractionReport, Share, Updates
    from mnemic.evaluation.guard import Judged, Section, Tally
    from mnemic.evaluation.speed import SpeedResult, Spread

SPEED_ROWS = ("remember", "window", "context", "recall", "search", "embedding", "scan")
BLOCK_COLUMNS = ("evidence", "all", "sessions", "all_sessions", "answer_words", "tokens")
MEGABYTE = 1_000_000  # bytes; decimal, as disks are sold
MISSES_SHOWN = 10
"""Wrongly judged texts that are shown of each section."""

Corpus = Annotated[Path, typer.Option(help="The conversations: JSON Lines, optionally gzipped.", metavar="FILE")]
Haystacks = Annotated[
    Path | None, typer.Option(help="JSON file that maps each question's id to the sessions to search.", metavar="FILE")
]
EmbedderName = Annotated[str, typer.Option(help="The embedder's name, as in the configuration.")]


@dataclass(frozen=True, slots=True)
class RetrievalFiles:
    """A test set, and where its run goes."""

    corpus: Annotated[Path, typer.Option(help="The texts to search: JSON Lines, optionally gzipped.", metavar="FILE")]
    queries: Annotated[Path, typer.Option(help="The questions and their expected results.", metavar="FILE")]
    haystacks: Haystacks = None
    run: Annotated[
        Path | None,
        typer.Option(
            help="Write each question's ranking and time to this file, or resume from it (use .gz to compress).",
            metavar="FILE",
        ),
    ] = None
    by: Annotated[str, typer.Option(help="The question field by which to group the table.")] = "category"
    gold: Annotated[str, typer.Option(help="The question field that lists the expected results.")] = "gold"


@dataclass(frozen=True, slots=True)
class RetrievalChoices:
    """How the test set is run."""

    store: Annotated[str, typer.Option(help="The store: sqlite (temporary), memory, or the URL of an empty store.")] = (
        "sqlite"
    )
    embedder: EmbedderName = "minilm"
    rerank: Annotated[str, typer.Option(help="The reranker's name, as in the configuration.", metavar="NAME")] = "none"
    limit: Annotated[int, typer.Option("--limit", "-n", help="Number of hits per question.")] = 100
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class SpeedChoices:
    """What is measured."""

    sizes: Annotated[str, typer.Option(help="Comma-separated numbers of memories to test with.")] = "1000,10000"
    real: Annotated[
        bool,
        typer.Option("--real-embeddings/--synthetic", help="Embed texts, or use random vectors (for large sizes)."),
    ] = True
    recalls: Annotated[int, typer.Option(help="Number of questions per size.")] = 200
    seed: Annotated[int, typer.Option(help="Random seed. The same seed generates the same texts.")] = 1
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class ExtractionFiles:
    """A test set, and where what is produced goes."""

    corpus: Corpus
    memories: Annotated[Path, typer.Option(help="The expected memories.", metavar="FILE")]
    produced: Annotated[
        Path | None, typer.Option(help="Write all extracted memories to this file, or resume from it.", metavar="FILE")
    ] = None


@dataclass(frozen=True, slots=True)
class ExtractionChoices:
    """How the test set is run."""

    embedder: EmbedderName = "minilm"
    llm: Annotated[str, typer.Option(help="The model's name, as in the configuration.", metavar="NAME")] = "none"
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class GuardFiles:
    """A test set, and where the run goes."""

    attacks: Annotated[Path, typer.Option(help="Hostile texts: JSON Lines, optionally gzipped.", metavar="FILE")]
    benign: Annotated[Path, typer.Option(help="Harmless texts that must stay unchanged.", metavar="FILE")]
    carriers: Annotated[Path | None, typer.Option(help="Harmless documents to test with.", metavar="FILE")] = None
    run: Annotated[
        Path | None, typer.Option(help="Write each text's outcome to this file (use .gz to compress).", metavar="FILE")
    ] = None


@dataclass(frozen=True, slots=True)
class GuardChoices:
    """How the test set is run."""

    trust: Annotated[Trust, typer.Option(help="The origin to assume for the texts.")] = Trust.DOCUMENT
    are_misses_shown: Annotated[bool, typer.Option("--misses", help="Show the misjudged texts.")] = False
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """A test set, and where its run goes."""

    corpus: Corpus
    queries: Annotated[Path, typer.Option(help="The questions and their expected answers.", metavar="FILE")]
    haystacks: Haystacks = None
    run: Annotated[
        Path | None,
        typer.Option(help="Append answers to this file. Questions already answered are skipped.", metavar="FILE"),
    ] = None


@dataclass(frozen=True, slots=True)
class ContextFiles:
    """A test set, and where its run goes."""

    corpus: Corpus
    queries: Annotated[Path, typer.Option(help="The questions and their supporting evidence.", metavar="FILE")]
    haystacks: Haystacks = None
    unrelated: Annotated[
        Path | None, typer.Option(help="Prompts that no memory answers, used in every group.", metavar="FILE")
    ] = None
    run: Annotated[Path | None, typer.Option(help="Write every context block to this file.", metavar="FILE")] = None


@dataclass(frozen=True, slots=True)
class ContextChoices:
    """How the test set is run."""

    budget: Annotated[int, typer.Option(help="Maximum number of tokens that memory adds to a prompt.")] = 2048
    embedder: EmbedderName = "minilm"
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class AnswerChoices:
    """Who answers, and how."""

    llm: Annotated[str | None, typer.Option(help="The model that answers. Default: the configured model.")] = None
    llm_url: Annotated[str | None, typer.Option(help="The URL of the OpenAI-compatible server.", metavar="URL")] = None
    judge: Annotated[str, typer.Option(help="The judge: none, same (the answering model), or a model name.")] = "none"
    embedder: EmbedderName = "minilm"
    ways: Annotated[str, typer.Option(help="Comma-separated sources to show the model.")] = "memory,everything,nothing"
    budget: Annotated[int, typer.Option(help="Maximum number of tokens that memory adds to a prompt.")] = 2048
    questions: Annotated[
        int | None, typer.Option("--questions", "-n", help="Number of questions to ask, sampled evenly. Default: all.")
    ] = None
    as_json: AsJson = False


@command("eval retrieval")
def retrieval(files: RetrievalFiles, choices: RetrievalChoices) -> None:
    """Store a test set group by group, ask its questions, and measure the quality and speed of retrieval."""
    from mnemic.evaluation.dataset import Fields, load_dataset, run_key, score_run
    from mnemic.evaluation.retrieval import RetrievalOptions, UnfinishedRun, run_retrieval

    options = RetrievalOptions(
        store=choices.store, embedder=choices.embedder, reranker=choices.rerank, limit=choices.limit
    )
    fields = Fields(gold=files.gold, category=files.by)
    dataset = load_dataset(files.corpus, files.queries, files.haystacks, fields)
    run = None if files.run is None else UnfinishedRun(files.run, run_key(dataset, options))
    known = [] if run is None else run.known
    if known:
        note(f"resuming an interrupted run: {len(known)} questions have already been asked")
    resume = "nothing was saved, because --run was not given" if run is None else "run the same command again to resume"
    with show_progress(lambda: f"; {resume}") as tell:
        rankings = run_retrieval(dataset, options, tell, {ranking.qid for ranking in known})
        answered = list(rankings) if run is None else run.write(rankings)
    report = score_run(dataset, answered)
    show_answer(report, _show_report, as_json=choices.as_json)


@command("eval context")
def context(files: ContextFiles, choices: ContextChoices) -> None:
    """Store a test set group by group, build the context for each question, and measure how much of the evidence the
    context contains. With --unrelated, also measure how often unrelated prompts get no memory.
    """
    from mnemic.evaluation.blocks import load_prompts, run_blocks, score_blocks, write_blocks
    from mnemic.evaluation.dataset import load_dataset
    from mnemic.evaluation.retrieval import RetrievalOptions

    dataset = load_dataset(files.corpus, files.queries, files.haystacks)
    prompts = [] if files.unrelated is None else load_prompts(files.unrelated)
    with progress_bars() as tell:
        options = RetrievalOptions(embedder=choices.embedder)
        every = list(run_blocks(dataset, choices.budget, prompts, options, tell))
    if files.run is not None:
        write_blocks(files.run, every)
    report = score_blocks(dataset, every)
    show_answer(report, _show_blocks, as_json=choices.as_json)


@command("eval speed")
def speed(choices: SpeedChoices) -> None:
    """Measure ingestion, writes, recall, cold starts, memory and disk usage by store size, with lower bounds."""
    from mnemic.evaluation.speed import SYNTHETIC, SpeedOptions, run_speed

    options = SpeedOptions(
        sizes=_parse_sizes(choices.sizes),
        embedder="minilm" if choices.real else SYNTHETIC,
        recalls=choices.recalls,
        seed=choices.seed,
    )
    with progress_bars() as tell:
        results = list(run_speed(options, tell))
    show_answer(results, _show_speed, as_json=choices.as_json)


@command("eval extraction")
def extraction(files: ExtractionFiles, choices: ExtractionChoices) -> None:
    """Extract memories from a test set session by session, and count the correct and incorrect ones."""
    from mnemic.evaluation.dataset import load_corpus
    from mnemic.evaluation.extraction import ExtractionOptions, extract_by_group, run_extraction
    from mnemic.evaluation.extraction_score import load_gold, score_extraction

    corpus, gold = load_corpus(files.corpus), load_gold(files.memories)
    options = ExtractionOptions(embedder=choices.embedder, llm=choices.llm)
    resume = "run the same command again to resume after the last group"
    if files.produced is None:
        resume = "nothing was saved, because --produced was not given"
    with show_progress(lambda: f"; {resume}") as tell:
        if files.produced is None:
            produced = run_extraction(corpus, options, tell)
        else:
            produced = extract_by_group(corpus, options, files.produced, tell)
    report = score_extraction(gold, produced, corpus)
    if choices.as_json:
        show_json({**asdict(report), "f1": report.f1})
    else:
        _show_extraction(report)


@command("eval guard")
def guard(files: GuardFiles, choices: GuardChoices) -> None:
    """Store hostile and harmless texts, and count how many are excluded from recall, redacted or returned unchanged."""
    from mnemic.evaluation.guard import load_texts, run_guard, tally, write_run

    given = {"attacks": files.attacks, "benign": files.benign, "carriers": files.carriers}
    texts = {name: load_texts(path) for name, path in given.items() if path is not None}
    with progress_bars() as tell:
        every = run_guard([text for part in texts.values() for text in part], choices.trust, tell)
    if files.run is not None:
        write_run(files.run, every)
    parts = _group_by_section(texts, every)
    sections = {name: tally(part) for name, part in parts.items() if part}
    if choices.as_json:
        show_json({name: _section_to_json(section) for name, section in sections.items()})
        return
    for name, section in sections.items():
        _show_section(name.replace("_", " "), section)
    if choices.are_misses_shown:
        _show_misses(parts)


@command("eval answers")
def answers(files: AnswerFiles, choices: AnswerChoices) -> None:
    """Ask a language model the questions in a test set, and score its answers by token F1 and optionally by a judge."""
    from mnemic.evaluation.answers import Failures, append_answer, means_by_way, read_answers, run_answers
    from mnemic.evaluation.dataset import load_dataset

    options = _build_answer_options(choices)
    dataset = load_dataset(files.corpus, files.queries, files.haystacks)
    given = [] if files.run is None else read_answers(files.run)
    failures = Failures()
    with progress_bars() as tell:
        for answer in run_answers(dataset, options, known=given, failures=failures, progress=tell):
            given.append(answer)
            if files.run is not None:
                append_answer(files.run, answer)
    means = means_by_way(given)
    if choices.as_json:
        show_json({"ways": {way.value: asdict(each) for way, each in means.items()}, "failures": failures.by_kind})
        return
    _show_means(means)
    if failures.by_kind:
        note("not answered: " + ", ".join(f"{count} {kind}" for kind, count in failures.by_kind.items()))


def _show_report(report: Report) -> None:
    """Shows the means as a table, all questions first. What was left out goes to standard error."""
    names = list(report.overall.metrics)
    lines: dict[str, Means] = {"all": report.overall, **(report.by_category if len(report.by_category) > 1 else {})}
    columns = ("questions", "n", *names, "p50 ms", "p95 ms")
    _show_table([columns, *(_format_means(name, means, names) for name, means in lines.items())])
    note(
        f"not scored: {report.unanswerable} unanswerable, {report.without_gold} without gold; "
        f"without a ranking: {report.missing}; ids from outside the group or haystack: {report.foreign_ids}"
    )


def _show_blocks(report: BlockReport) -> None:
    """Shows the means as a table, all questions first; then silence by kind of prompt."""
    lines = {"all": report.overall, **(report.by_category if len(report.by_category) > 1 else {})}
    columns = [name for name in BLOCK_COLUMNS if name in report.overall]
    rows = [(name, *(_format_fraction(means.get(column)) for column in columns)) for name, means in lines.items()]
    _show_table([("questions", *columns), *rows])
    if report.silence:
        write("silence: " + ", ".join(f"{kind} {share:.3f}" for kind, share in report.silence.items()))
    note(f"rows expected but not shown: {report.not_shown}; questions without a block: {report.missing}")


def _show_speed(results: Iterable[SpeedResult]) -> None:
    """One line per measurement, one column per size."""
    table = {f"{result.memories:,} {result.embedder}": _format_speed(result) for result in results}
    names = next(iter(table.values()))
    rows = [(name, *(cells[name] for cells in table.values())) for name in names]
    _show_table([("memories", *table), *rows])


def _parse_sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip().replace("_", "") for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise InvalidInputError(f"--sizes must be whole numbers separated by commas, such as 1000,10000, not {text!r}")
    return tuple(int(part) for part in parts)


def _show_table(rows: Sequence[Sequence[str]]) -> None:
    """A table with its head, numbers to the right, the same on a terminal and in a file: it is meant to be kept."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        write("  ".join([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]))


def _format_means(name: str, means: Means, names: Iterable[str]) -> tuple[str, ...]:
    values = [f"{means.metrics[metric]:.3f}" if metric in means.metrics else "–" for metric in names]
    times = [f"{ms:.1f}" if ms is not None else "–" for ms in (means.p50_ms, means.p95_ms)]
    return (name, f"{means.n:,}", *values, *times)


def _format_speed(result: SpeedResult) -> Mapping[str, str]:
    spreads: dict[str, Spread] = {name: getattr(result, name) for name in SPEED_ROWS}
    memory = "–" if result.rss_bytes is None else f"{result.rss_bytes / MEGABYTE:,.0f}"
    return {
        "ingest, rows/s": f"{result.ingest_rows_per_s:,.0f}",
        "embedder within it, rows/s": f"{result.embedding_rows_per_s:,.0f}",
        "share of the embedder": f"{result.ingest_share:.2f}",
        **{
            f"{name} p50 / p95 / p99, ms": " / ".join(f"{ms:.2f}" for ms in (each.p50_ms, each.p95_ms, each.p99_ms))
            for name, each in spreads.items()
        },
        "cold start: import, open, recall, ms": " / ".join(
            f"{ms:,.0f}" for ms in (result.cold_import_ms, result.cold_open_ms, result.cold_recall_ms)
        ),
        "memory after it, MB": memory,
        "disk, MB": f"{result.disk_bytes / MEGABYTE:,.1f}",
    }


def _show_extraction(report: ExtractionReport) -> None:
    """One line for each score, with the numbers that it is made of."""
    lines: list[tuple[str, str]] = [
        ("recall", _format_share(report.recall)),
        ("precision", _format_share(report.precision)),
        ("F1", f"{report.f1:.3f}"),
        ("lenient precision", _format_share(report.lenient)),
        ("interference", _format_share(report.interference)),
        ("duplicates", _format_share(report.duplicates)),
        ("update accuracy", _format_updates(report.updates)),
        ("update accuracy, reachable", _format_updates(report.reachable)),
        ("session right", _format_share(report.session_right)),
        *((f"recall of {name}", _format_share(each)) for name, each in report.recall_by_type.items()),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        write(f"{name.ljust(width)}  {value}")
    junk = ", ".join(f"{name} {number}" for name, number in report.junk.items())
    note(f"junk memories: {junk or 'none'}; memories that match an interference entry: {report.interference_rows}")


def _format_share(share: Share) -> str:
    return "–" if share.ratio is None else f"{share.ratio:.3f}  ({share.part} of {share.whole})"


def _format_updates(updates: Updates) -> str:
    return f"{_format_share(updates.right)}, found {updates.found}, marked {updates.marked}"


def _group_by_section(texts: dict[str, Any], every: Sequence[Judged]) -> dict[str, list[Judged]]:
    """What was judged by section: attacks that are hostile only inside a document have one of their own."""
    parts: dict[str, list[Judged]] = {}
    left = list(every)
    for name, part in texts.items():
        parts[name], left = left[: len(part)], left[len(part) :]
    attacks = parts.pop("attacks")
    plain = [each for each in attacks if not each.text.needs_context]
    return {"attacks": plain, "needs_context": [each for each in attacks if each.text.needs_context], **parts}


def _show_section(name: str, section: Section) -> None:
    lines = [(name, section.overall)]
    lines += [(f"  {field} {value}", each) for field, values in section.by.items() for value, each in values.items()]
    width = max(len(title) for title, _ in lines)
    for title, each in lines:
        counts = ", ".join(f"{outcome.value} {n}" for outcome, n in each.outcomes.items() if n)
        caught, kept_out = _format_fraction(each.caught), _format_fraction(each.kept_out)
        write(f"{title.ljust(width)}  {caught} not as it was, {kept_out} kept out  ({counts})")


def _show_misses(parts: dict[str, list[Judged]]) -> None:
    for name, judged in parts.items():
        is_attack = name in ("attacks", "needs_context")
        wrong = [each for each in judged if (each.outcome.value == "allowed") is is_attack]
        for each in wrong[:MISSES_SHOWN]:
            note(f"{name} {each.text.id} {', '.join(each.reasons)}: {one_line(each.text.text)[:120]}")
        if len(wrong) > MISSES_SHOWN:
            note(f"{name}: and {len(wrong) - MISSES_SHOWN} more")


def _section_to_json(section: Section) -> dict[str, Any]:
    by = {name: {value: _tally_to_json(each) for value, each in values.items()} for name, values in section.by.items()}
    return {"overall": _tally_to_json(section.overall), "by": by}


def _tally_to_json(each: Tally) -> dict[str, Any]:
    outcomes = {outcome.value: number for outcome, number in each.outcomes.items()}
    return {"n": each.number, **outcomes, "rate": each.caught, "kept_out_rate": each.kept_out}


def _show_means(means: Mapping[Way, AnswerMeans]) -> None:
    rows: list[Sequence[str]] = [
        ("given", "n", "F1", "exact", "judged", "declined", "tokens", "seconds", "cut"),
        *(
            (
                way.value,
                f"{each.n:,}",
                *(_format_fraction(value) for value in (each.f1, each.exact, each.judged_right, each.declined)),
                f"{each.tokens:,.0f}",
                f"{each.seconds:.2f}",
                f"{each.cut:,}",
            )
            for way, each in means.items()
        ),
    ]
    _show_table(rows)
    note(
        "declined: unanswerable questions that the model declined to answer; tokens: average per prompt; "
        "cut: prompts that could not hold the whole conversation"
    )


def _format_fraction(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _build_answer_options(choices: AnswerChoices) -> AnswerOptions:
    from mnemic.config import load_config
    from mnemic.evaluation.answers import AnswerOptions, Way

    try:
        ways = tuple(dict.fromkeys(Way(way.strip()) for way in choices.ways.split(",")))
    except ValueError as error:
        raise InvalidInputError(f"--ways must be a comma-separated list of {', '.join(Way)} ({error})") from error
    if choices.llm is None:
        config = load_config(None)
        name, given = config.llm, config.llm_options
    else:
        name, given = choices.llm, dict[str, object]()
    own = {**given, "base_url": choices.llm_url} if choices.llm_url else dict(given)
    is_same = choices.judge in ("same", name)
    return AnswerOptions(
        llm=name,
        llm_options=own,
        judge=name if is_same else choices.judge,
        judge_options=own if is_same else {},
        embedder=choices.embedder,
        ways=ways,
        budget_tokens=choices.budget,
        questions=choices.questions,
    )
