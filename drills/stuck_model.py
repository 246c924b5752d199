"""A language model that never responds must not slow down the chat: `capture` must take as long as without a model.

Rounds without a model alternate with rounds with a stuck model, each on a separate store. In the meantime, a worker
runs the jobs that captures create. The p95 of each round is measured, and the median of the rounds with a stuck model
must be within the range of those without a model. All acknowledged captures must be stored, and the jobs must show that
they are waiting.

    python drills/stuck_model.py --rounds 5 --captures 300
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.outcome import Outcome, options
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import Config
from mnemic.errors import TimedOutError
from mnemic.evaluation.dataset import percentile
from mnemic.evaluation.speed import GeneratedTexts
from mnemic.model.chat import Prompt
from mnemic.model.scope import Scope
from mnemic.ports.models import Llm

SCOPE = Scope(user="anna", session="s1")
POLL_S = 0.05


class StuckModel:
    """Answers nothing until it is let go, and then that it is too late."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.is_over = threading.Event()

    def __call__(self, prompt: Prompt) -> Exception:
        """Wait for the end of the round."""
        self.asked.set()
        self.is_over.wait()
        return TimedOutError(f"no answer within {prompt.timeout_s:g} s")


def captures(path: Path, count: int, stuck: StuckModel | None) -> tuple[float, int, bool]:
    """The p95 of a capture in ms, how many messages are there in the end, and whether the model was asked."""
    llm: Llm | None = None if stuck is None else ScriptedLlm(stuck, name="stuck")
    texts = list(GeneratedTexts(1).texts(2 * count))
    took: list[float] = []
    with Mnemic(replace(build(Config(store=str(path))), llm=llm), has_worker=False) as mnemic:
        mnemic.capture(SCOPE, user="warm up", assistant="done")
        worker = mnemic.worker(poll_s=POLL_S)
        worker.start()
        for place in range(count):
            start = time.perf_counter()
            mnemic.capture(SCOPE, user=f"I said: {texts[2 * place]}", assistant=texts[2 * place + 1])
            took.append((time.perf_counter() - start) * 1e3)
        was_asked = stuck is not None and stuck.asked.wait(10)
        worker.stop()
        if stuck is not None:
            stuck.is_over.set()
        worker.join()
        said = sum('"type":"message"' in line for line in mnemic.export(SCOPE))
    return percentile(took, 95) or 0.0, said, was_asked


def drill(folder: Path, rounds: int, count: int) -> tuple[list[list[str]], list[str]]:
    """The p95 of every round, and what is wrong."""
    free: list[float] = []
    held: list[float] = []
    problems: list[str] = []
    for number in range(rounds):
        for is_stuck, kept in ((False, free), (True, held), (False, free)):
            stuck = StuckModel() if is_stuck else None
            p95, said, was_asked = captures(folder / f"{number}-{len(free)}-{len(held)}.db", count, stuck)
            kept.append(p95)
            if said != 2 * count + 2:
                problems.append(f"{said} messages are there, {2 * count + 2} were acknowledged")
            if is_stuck and not was_asked:
                problems.append("the model was never asked, so nothing is shown")
    if median(held) > max(free):
        problems.append(f"p95 is {median(held):.2f} ms with a stuck model, at most {max(free):.2f} ms without")
    rows = [
        [name, *(f"{q:.2f}" for q in (min(kept), median(kept), max(kept)))]
        for name, kept in (("without a model", free), ("with a stuck model", held))
    ]
    return rows, problems


def main() -> int:
    """The command."""
    told = options(__doc__, rounds=5, captures=300)
    with TemporaryDirectory(prefix="mnemic-drill-") as folder:
        rows, problems = drill(Path(folder), told.rounds, told.captures)
    head = ["p95 of a capture, ms", "lowest round", "median round", "highest round"]
    facts = {"captures a round": told.captures, "rounds with a stuck model": told.rounds}
    return Outcome(
        name="stuck_model", about=__doc__ or "", facts=facts, problems=problems, tables=[(head, rows)]
    ).told()


if __name__ == "__main__":
    sys.exit(main())
