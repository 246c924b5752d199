"""`mnemic eval answers`: how well a language model answers with memory, beside everything that was said and nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import note, show_json, write
from mnemic.cli.progress import progress_bars
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.evaluation.answers import AnswerMeans, AnswerOptions, Way


@dataclass(frozen=True, slots=True)
class AnswerFiles:
    """A test set, and where its run goes."""

    corpus: Annotated[Path, typer.Option(help="What was said: JSON lines, may be packed (.gz).", metavar="FILE")]
    queries: Annotated[Path, typer.Option(help="What is asked, with the right answers.", metavar="FILE")]
    haystacks: Annotated[
        Path | None, typer.Option(help="JSON: question id to the sessions that are searched.", metavar="FILE")
    ] = None
    run: Annotated[
        Path | None,
        typer.Option(help="Add each answer to this file; what is in it already is not asked again.", metavar="FILE"),
    ] = None


@dataclass(frozen=True, slots=True)
class AnswerChoices:
    """Who answers, and how."""

    llm: Annotated[str | None, typer.Option(help="The model that answers; else the configured one.")] = None
    llm_url: Annotated[str | None, typer.Option(help="Its server, OpenAI-compatible.", metavar="URL")] = None
    judge: Annotated[str, typer.Option(help="The model that judges the answers, or none, or same.")] = "none"
    embedder: Annotated[str, typer.Option(help="The embedder, as in the configuration.")] = "minilm"
    ways: Annotated[str, typer.Option(help="What is given to the model.")] = "memory,everything,nothing"
    budget: Annotated[int, typer.Option(help="Tokens that memory may add to a prompt.")] = 2048
    questions: Annotated[
        int | None, typer.Option("--questions", "-n", help="Ask so many, evenly spread over the set; all if left out.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")] = False


def answers(files: AnswerFiles, choices: AnswerChoices) -> None:
    """Ask a language model a test set's questions and score its answers by token F1, and by a judge if one is named."""
    from mnemic.evaluation.answers import Failures, append_answer, means_by_way, read_answers, run_answers
    from mnemic.evaluation.dataset import load_dataset

    options = _options(choices)
    dataset = load_dataset(files.corpus, files.queries, files.haystacks)
    given = [] if files.run is None else read_answers(files.run)
    failures = Failures()
    with progress_bars() as told:
        for answer in run_answers(dataset, options, known=given, failures=failures, progress=told):
            given.append(answer)
            if files.run is not None:
                append_answer(files.run, answer)
    means = means_by_way(given)
    if choices.as_json:
        show_json({"ways": {way.value: asdict(each) for way, each in means.items()}, "failures": failures.by_kind})
        return
    show_means(means)
    if failures.by_kind:
        note("not answered: " + ", ".join(f"{count} {kind}" for kind, count in failures.by_kind.items()))


def show_means(means: Mapping[Way, AnswerMeans]) -> None:
    """One line for each way."""
    rows: list[Sequence[str]] = [
        ("given", "n", "F1", "exact", "judged", "declined", "tokens", "seconds", "cut"),
        *(
            (
                way.value,
                f"{each.n:,}",
                *(_share(value) for value in (each.f1, each.exact, each.judged_right, each.declined)),
                f"{each.tokens:,.0f}",
                f"{each.seconds:.2f}",
                f"{each.cut:,}",
            )
            for way, each in means.items()
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        write("  ".join([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]))
    note(
        "declined: unanswerable questions that the model did not answer; tokens: of a prompt, on average; "
        "cut: prompts that could not hold all that was said"
    )


def register(app: typer.Typer) -> None:
    """Adds the command."""
    command(
        app,
        "answers",
        examples="""
        mnemic eval answers --corpus corpus.jsonl.gz --queries queries.jsonl.gz --llm ollama:qwen3:4b -n 50
        mnemic eval answers --corpus c.jsonl --queries q.jsonl --llm openai:MODEL --llm-url URL --run run.jsonl
        """,
    )(answers)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _options(choices: AnswerChoices) -> AnswerOptions:
    from mnemic.config import load_config
    from mnemic.evaluation.answers import AnswerOptions, Way

    try:
        ways = tuple(dict.fromkeys(Way(way.strip()) for way in choices.ways.split(",")))
    except ValueError as error:
        raise InvalidInputError(f"--ways takes {', '.join(Way)}, with commas between ({error})") from error
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
