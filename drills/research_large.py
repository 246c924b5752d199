"""Researches a document of ten million tokens. Facts that are far apart must be combined, and limits must be kept.

The document consists of generated sentences under numbered headings. It contains a few facts about one ship, none of
which answers the question alone. It is ingested like any file, without an embedder. The model is scripted: it quotes
the sentences that a careful reader would find, combines notes and answers. First, only the part that 32 calls allow is
read. Then all of it is read by a process that is killed in the middle (SIGKILL), and the cost of continuing is counted.
A separate process ingests the document, so that the memory of research is measured alone.

    python drills/research_large.py --characters 40000000

The times say nothing about a real model, which takes seconds for each call. They measure everything except the model.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.chat import Prompt
from mnemic.model.document import ResearchReport
from mnemic.model.scope import Scope

SCOPE = Scope(user="anna")
SOURCE = "harbour.md"
QUESTION = "Who commanded the ship Halcyon-77, where was she built, and what was her last cargo?"
FACTS = (
    (0.03, "The Halcyon-77 was built at Turku in the yard of Lindqvist."),
    (0.31, "Command of the Halcyon-77 went to Mireille Okafor in the spring."),
    (0.64, "The Halcyon-77 was repaired after the storm and went on."),
    (0.97, "On her last journey the Halcyon-77 carried nine hundred barrels of pitch."),
)
CONTEXT_TOKENS = 32_768
CALLS, TOKENS = 32, 500_000
CHILD, INGEST = "--child", "--ingest"
ALL_CALLS, ALL_TOKENS = 10_000, 100_000_000
_NUMBERED = re.compile(r"^Source: .*\[(\d+)\]$", re.MULTILINE)
HEAD = ["what", "pieces", "read", "kept before", "calls", "tokens", "facts cited", "s", "CPU s"]


def write(path: Path, characters: int) -> None:
    """Write the document."""
    due = [(place * characters, fact) for place, fact in FACTS]
    written = 0
    with path.open("w", encoding="utf-8") as file:
        for number, lines in enumerate(sections()):
            while due and written >= due[0][0]:
                lines.insert(len(lines) // 2, due.pop(0)[1])
            written += file.write(f"# Entry {number}\n\n{' '.join(lines)}\n\n")
            if written >= characters and not due:
                return


def sections() -> Iterator[list[str]]:
    """Sentences of one section after the other, without end."""
    texts = GeneratedTexts(1).texts(20_000)
    stock = [*texts]
    step = 0
    while True:
        step += 1
        yield [stock[(step * 7919 + place * 31) % len(stock)] for place in range(40)]


def careful(prompt: Prompt) -> Script:
    """What a careful reader would say."""
    told = prompt.messages[-1].content
    if prompt.schema is None:
        return " ".join(f"It is noted [{number}]." for number in _NUMBERED.findall(told))
    if "You read one part" in prompt.messages[0].content:
        return json.dumps({"notes": [{"quote": fact, "says": fact} for _, fact in FACTS if fact in told]})
    numbers = [*map(int, _NUMBERED.findall(told))]
    return json.dumps({"notes": [{"says": "Merged.", "numbers": numbers}]})


def opened(store: Path) -> Mnemic:
    """A Mnemic with the scripted model."""
    parts = build(Config(store=str(store), embedder="none"))
    return Mnemic(
        replace(parts, llm=ScriptedLlm(careful, context_tokens=CONTEXT_TOKENS)), actor="drill", has_worker=False
    )


@dataclass(slots=True)
class Run:
    """One call of `research`, and what it took."""

    name: str
    report: ResearchReport
    seconds: float
    cpu_s: float

    @property
    def cited(self) -> int:
        """How many of the facts the answer cites."""
        quotes = {quote.text for citation in self.report.citations for quote in citation.quotes}
        return sum(fact in quotes for _, fact in FACTS)

    @property
    def row(self) -> list[str]:
        """As a row of the table."""
        coverage, usage = self.report.coverage, self.report.usage
        tokens = usage.prompt_tokens + usage.completion_tokens
        counts = (coverage.pieces, coverage.read, coverage.kept, usage.calls, tokens)
        return [self.name, *(f"{count:,}" for count in counts), str(self.cited), *self._times]

    @property
    def _times(self) -> tuple[str, str]:
        return f"{self.seconds:.1f}", f"{self.cpu_s:.1f}"


def run(name: str, mnemic: Mnemic, *, max_calls: int, max_tokens: int) -> Run:
    """Ask the question."""
    start, cpu = time.perf_counter(), time.process_time()
    report = mnemic.research(SCOPE, SOURCE, QUESTION, max_calls=max_calls, max_tokens=max_tokens)
    return Run(name, report, time.perf_counter() - start, time.process_time() - cpu)


def take_in(store: Path) -> None:
    """Ingest the document that lies beside the store, and say what came of it."""
    start, cpu = time.perf_counter(), time.process_time()
    with opened(store) as mnemic:
        taken = mnemic.ingest(SCOPE, store.with_name(SOURCE), source=SOURCE)
    if not taken.chunks:
        raise SystemExit(taken.why_nothing)
    facts = {
        "characters": f"{taken.characters:,}",
        "passages": f"{taken.chunks:,}",
        "seconds of the ingest": round(time.perf_counter() - start),
        "of these on the CPU": round(time.process_time() - cpu),
        "memory of the ingest at most, MiB": _memory(),
    }
    print(json.dumps(facts))


def child(store: Path) -> None:
    """Read all of it, and say how far it has come."""
    with opened(store) as mnemic:
        mnemic.research(
            SCOPE,
            SOURCE,
            QUESTION,
            max_calls=ALL_CALLS,
            max_tokens=ALL_TOKENS,
            progress=lambda done, _, what: print(done, what, flush=True),
        )


def killed(store: Path, after: int) -> None:
    """Begin in a process of its own, and kill it when it has read so many pieces."""
    command = [sys.executable, str(Path(__file__).resolve()), CHILD, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            if int(line.split()[0]) >= after:
                break
        os.kill(process.pid, signal.SIGKILL)


def drill(folder: Path, characters: int) -> tuple[dict[str, object], list[Run], list[str]]:
    """The facts, the runs, and what is wrong."""
    store = folder / "memory.db"
    write(store.with_name(SOURCE), characters)
    command = [sys.executable, str(Path(__file__).resolve()), INGEST, str(store)]
    facts: dict[str, object] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    with opened(store) as mnemic:
        runs = [run(f"{CALLS} calls", mnemic, max_calls=CALLS, max_tokens=TOKENS)]
        before = run("nothing more", mnemic, max_calls=1, max_tokens=TOKENS).report.coverage.kept
        pieces = runs[0].report.coverage.pieces
    killed(store, pieces // 3)
    with opened(store) as mnemic:
        text = mnemic.documents.text(SCOPE, SOURCE)
        runs.append(run(f"all, killed after {pieces // 3} pieces", mnemic, max_calls=ALL_CALLS, max_tokens=ALL_TOKENS))
        runs.append(run("all, asked again", mnemic, max_calls=ALL_CALLS, max_tokens=ALL_TOKENS))
    facts["memory of research at most, MiB"] = _memory()
    return facts, runs, [*problems(runs, text), *_limits(runs[0], before)]


def problems(runs: list[Run], text: str) -> Iterator[str]:
    """What is wrong with the answers."""
    few, rest, again = runs
    for each in runs:
        quotes = [quote for citation in each.report.citations for quote in citation.quotes]
        if any(text[quote.start : quote.end] != quote.text for quote in quotes):
            yield f"{each.name}: a quote does not stand where its citation says"
        if each.cited < len(FACTS):
            yield f"{each.name}: {each.cited} of {len(FACTS)} facts are cited"
    if not rest.report.coverage.is_whole or not again.report.coverage.is_whole:
        yield "not all was read without limits"
    if not few.report.coverage.is_whole and "Not read: " not in few.report.text:
        yield "an answer hides that not all was read"
    if rest.report.usage.calls > rest.report.coverage.pieces - rest.report.coverage.kept + 1:
        yield "a piece was paid for twice"
    if again.report.usage.calls:
        yield "asking again was paid for"


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _limits(few: Run, kept: int) -> Iterator[str]:
    usage = few.report.usage
    if usage.calls > CALLS or usage.prompt_tokens + usage.completion_tokens > TOKENS:
        yield "a limit was passed"
    if kept != few.report.coverage.read:
        yield f"{few.report.coverage.read} pieces were read and {kept} kept"


def main() -> int:
    """The command."""
    if CHILD in sys.argv:
        child(Path(sys.argv[-1]))
        return 0
    if INGEST in sys.argv:
        take_in(Path(sys.argv[-1]))
        return 0
    told = options(__doc__, characters=40_000_000)
    with TemporaryDirectory(prefix="mnemic-drill-") as folder:
        facts, runs, wrong = drill(Path(folder), told.characters)
    rows = [each.row for each in runs]
    return Outcome(
        name="research_large", about=__doc__ or "", facts=facts, problems=wrong, tables=[(HEAD, rows)]
    ).told()


if __name__ == "__main__":
    sys.exit(main())
