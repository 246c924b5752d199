"""`mnemic eval extraction`: how good the facts are that are found in conversations, on your own data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.failures import INTERRUPTED
from mnemic.cli.options import command
from mnemic.cli.output import note, show_json, write
from mnemic.cli.progress import progress_bars

if TYPE_CHECKING:
    from mnemic.evaluation.extraction_score import ExtractionReport, Share, Updates


@dataclass(frozen=True, slots=True)
class ExtractionFiles:
    """A test set, and where what is produced goes."""

    corpus: Annotated[Path, typer.Option(help="What was said: JSON lines, may be packed (.gz).", metavar="FILE")]
    memories: Annotated[Path, typer.Option(help="What should be kept of it.", metavar="FILE")]
    produced: Annotated[
        Path | None,
        typer.Option(help="Write every memory that was made here (.gz packs); can be continued.", metavar="FILE"),
    ] = None


@dataclass(frozen=True, slots=True)
class ExtractionChoices:
    """How the test set is run."""

    embedder: Annotated[str, typer.Option(help="The embedder, as in the configuration.")] = "minilm"
    llm: Annotated[str, typer.Option(help="The language model, as in the configuration.", metavar="NAME")] = "none"
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")] = False


def extraction(files: ExtractionFiles, choices: ExtractionChoices) -> None:
    """Let a test set be said, session by session, and tell how much of what should be kept is found, and what else."""
    from mnemic.evaluation.dataset import load_corpus
    from mnemic.evaluation.extraction import ExtractionOptions, extract_by_group, run_extraction
    from mnemic.evaluation.extraction_score import load_gold, score_extraction

    corpus, gold = load_corpus(files.corpus), load_gold(files.memories)
    options = ExtractionOptions(embedder=choices.embedder, llm=choices.llm)
    try:
        with progress_bars() as told:
            if files.produced is None:
                produced = run_extraction(corpus, options, told)
            else:
                produced = extract_by_group(corpus, options, files.produced, told)
    except KeyboardInterrupt as error:
        kept = "nothing was kept, since no --produced was named"
        note(f"interrupted; {kept if files.produced is None else 'the same command goes on behind the last group'}")
        raise typer.Exit(INTERRUPTED) from error
    report = score_extraction(gold, produced, corpus)
    if choices.as_json:
        show_json({**asdict(report), "f1": report.f1})
    else:
        show_report(report)


def show_report(report: ExtractionReport) -> None:
    """One line for each score, with the numbers that it is made of."""
    lines: list[tuple[str, str]] = [
        ("recall", _share(report.recall)),
        ("precision", _share(report.precision)),
        ("F1", f"{report.f1:.3f}"),
        ("lenient precision", _share(report.lenient)),
        ("interference", _share(report.interference)),
        ("duplicates", _share(report.duplicates)),
        ("update accuracy", _updates(report.updates)),
        ("update accuracy, reachable", _updates(report.reachable)),
        ("session right", _share(report.session_right)),
        *((f"recall of {name}", _share(each)) for name, each in report.recall_by_type.items()),
    ]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        write(f"{name.ljust(width)}  {value}")
    junk = ", ".join(f"{name} {number}" for name, number in report.junk.items())
    note(f"junk: {junk or 'none'}; memories that match interference: {report.interference_rows}")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(
        app,
        "extraction",
        examples="""
        mnemic eval extraction --corpus corpus.jsonl.gz --memories memories.jsonl.gz
        mnemic eval extraction --corpus c.jsonl --memories m.jsonl --produced made.jsonl --json
        """,
    )(extraction)


def _share(share: Share) -> str:
    return "–" if share.ratio is None else f"{share.ratio:.3f}  ({share.part} of {share.whole})"


def _updates(updates: Updates) -> str:
    return f"{_share(updates.right)}, found {updates.found}, marked {updates.marked}"
