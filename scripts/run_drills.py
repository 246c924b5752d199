"""Runs the drills one after the other, whatever becomes of each, and ends with a table; `make drill` calls it.

    python scripts/run_drills.py [NAME …] [--long] [--most-minutes 40]

NAME is a file of drills/ without its ending; without names, all. `--long`: drills that have a long form run it, and
those that need minutes and gigabytes for an environment of their own run too. Exit code 0 when every drill held, 1 when
one did not, 2 when there is nothing to run or the data is missing, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import difflib
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
DRILLS = ROOT / "drills"
DATA, LONG = "MNEMIC_DATA", "--long"
TELL_EACH_S, TIDY_S = 30.0, 10.0
MOST_MINUTES = {False: 40.0, True: 240.0}
"""What a drill may take before it is ended, without and with `--long`; far more than any needs."""
HEAVY = frozenset({"backend_colbert", "embedder_sentence_transformers"})
"""These install what they need, gigabytes, into an environment of their own."""
_VIOLATIONS = re.compile(r"^\| violations \| (\d+) \|$")
_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Ended:
    """How a drill ended: its exit code (None: it was ended, or not run), seconds, and the violations that it told."""

    name: str
    code: int | None
    seconds: float = 0.0
    violations: int | None = None
    note: str = ""

    @property
    def outcome(self) -> str:
        """One or some words for the table."""
        if self.note:
            return self.note
        if self.code == 0:
            return "held"
        return "violated" if self.violations else f"failed with exit code {self.code}"

    @property
    def is_bad(self) -> bool:
        """True when the whole must not end well; one that is left out on purpose is not bad."""
        return self.code != 0 and self.note != _LEFT_OUT


_LEFT_OUT = "left out: makes an environment of gigabytes"


def main(arguments: Sequence[str] | None = None, folder: Path = DRILLS) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--long", action="store_true", help="long forms, and what needs an environment of its own")
    parser.add_argument("--most-minutes", type=float, help="for one drill; default 40, 240 with --long")
    told = parser.parse_args(arguments)
    scripts = {path.stem: path for path in sorted(folder.glob("*.py"))}
    if problem := _refusal(told.names, scripts):
        print(problem, file=sys.stderr)
        return 2
    most_s = (told.most_minutes or MOST_MINUTES[told.long]) * 60
    ended: list[Ended] = []
    names = list(dict.fromkeys(told.names)) or list(scripts)
    for number, name in enumerate(names, start=1):
        print(f"\n== {number}/{len(names)} {name}", flush=True)
        if name in HEAVY and not told.names and not told.long:
            ended.append(Ended(name, None, note=_LEFT_OUT))
            continue
        try:
            ended.append(run(scripts[name], is_long=told.long, most_s=most_s))
        except KeyboardInterrupt:
            print(_table([*ended, Ended(name, None, note="broken off")]), flush=True)
            return _INTERRUPTED
        print(f"== {name}: {ended[-1].outcome} after {_duration(ended[-1].seconds)}", flush=True)
    print(_table(ended), flush=True)
    return 1 if any(drill.is_bad for drill in ended) else 0


def run(script: Path, *, is_long: bool, most_s: float) -> Ended:
    """Run one drill, showing what it prints, and a line when it has printed nothing for a while."""
    command = [sys.executable, "-u", str(script)]
    command += [LONG] if is_long and LONG in script.read_text(encoding="utf-8") else []
    began, violations = time.monotonic(), None
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True
    )
    try:
        for line in _lines(process, script.stem, began + most_s):
            print(line, end="", flush=True)
            if found := _VIOLATIONS.match(line.strip()):
                violations = int(found[1])
    except TimeoutError:
        return Ended(script.stem, None, time.monotonic() - began, violations, "ended: took too long")
    finally:
        _end(process)
    return Ended(script.stem, process.returncode, time.monotonic() - began, violations)


def _lines(process: subprocess.Popen[str], name: str, deadline: float) -> Iterator[str]:
    """The lines that a process prints, until it has ended; `TimeoutError` when it is too late."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    began = time.monotonic()
    while True:
        if (left_s := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        try:
            line = lines.get(timeout=min(TELL_EACH_S, left_s))
        except queue.Empty:
            if process.poll() is not None:
                return  # something that it started holds its output open
            print(f"  … {name} goes on, {_duration(time.monotonic() - began)} so far", flush=True)
            continue
        if line is None:
            process.wait()
            return
        yield line


def _read(output: IO[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Put every line, then None. The output is closed here alone: nobody else knows when it was read."""
    with output:
        for line in output:
            lines.put(line)
    lines.put(None)


def _end(process: subprocess.Popen[str]) -> None:
    """End the process as Ctrl-C does, so that it can tidy up, and then whatever it started: they are one session."""
    for last in (signal.SIGINT, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, last)
        with suppress(subprocess.TimeoutExpired):
            process.wait(TIDY_S)


def _refusal(names: Sequence[str], scripts: dict[str, Path]) -> str:
    """Why nothing can be run; empty when it can."""
    for name in names:
        if name not in scripts:
            close = difflib.get_close_matches(name, scripts, n=1)
            return f"no drill {name!r}" + (
                f"; did you mean {close[0]}?" if close else f"; there are {', '.join(scripts)}"
            )
    data = os.environ.get(DATA)
    needing = [name for name in names or scripts if DATA in scripts[name].read_text(encoding="utf-8")]
    if needing and not (data and Path(data).is_dir()):
        return f"no folder {data or 'of data sets'}; set {DATA} to it: {', '.join(needing)}"
    return "" if scripts else "there are no drills"


def _table(ended: Sequence[Ended]) -> str:
    width = max(len(drill.name) for drill in ended)
    rows = [f"  {'drill':{width}}  {'minutes':>7}  {'violations':>10}  outcome"]
    for drill in ended:
        violations = "–" if drill.violations is None else str(drill.violations)
        rows.append(f"  {drill.name:{width}}  {drill.seconds / 60:7.1f}  {violations:>10}  {drill.outcome}")
    bad = sum(drill.is_bad for drill in ended)
    total = _duration(sum(drill.seconds for drill in ended))
    return "\n".join(["", *rows, "", f"{len(ended)} drills, {bad} that did not hold, {total} in all"])


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes" if seconds >= 60 else f"{seconds:.0f} s"  # noqa: PLR2004 -- a minute


if __name__ == "__main__":
    sys.exit(main())
