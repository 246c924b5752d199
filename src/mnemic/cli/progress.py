"""Progress bars on the standard error, for work that takes longer than a breath."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

Told = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@contextmanager
def progress_bars() -> Generator[Told]:
    """A function to tell progress to; each thing that is done gets a bar. Nothing is drawn where nobody watches."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as drawn:

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = drawn.add_task(what, total=total)
            drawn.update(bars[what], completed=done)

        yield tell
