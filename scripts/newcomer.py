"""Writes down a newcomer's first ten minutes: the commands of the README, in a fresh clone, with times and output.

    python scripts/newcomer.py           print the transcript
    python scripts/newcomer.py --write   keep it in benchmarks/results/newcomer.md

The clone, the home folder and the store are temporary. Commands run on a terminal of 100 columns, and only those that
the README or the program itself names. `make test` is left out: it is for people who change the code. Exits with 1 if
a command fails, or if the first success takes longer than two minutes after the installation.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.doc_outputs import COLUMNS, ESCAPE, run_on_terminal

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "benchmarks" / "results" / "newcomer.md"
PRINTED = "http://127.0.0.1:7700"
LEFT_OUT = ("make test",)
FIRST_SUCCESS_S = 120
"""The most that may pass between the end of `make run` and the answer to the newcomer's own question."""

SETTLES_S = 1.0
"""Until a server that listens has printed its addresses."""

INHERITED = ("PATH", "LANG", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
BLOCK = re.compile(r"^```(console|python|bash|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = """# A newcomer's first ten minutes

Written by `python scripts/newcomer.py --write`: a fresh clone, an empty home folder, and the commands that the README
and the program itself name, in their order, on a terminal of 100 columns. The processor may be shared with other work.

"""


class Newcomer:
    """A terminal in a fresh clone. `steps` is the transcript."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir()
        self.place = folder
        kept = {
            name: os.environ[name]
            for name in (*INHERITED, *(n for n in os.environ if n.startswith("PIP_")))
            if name in os.environ
        }
        self.environment = kept | {"HOME": str(self.home), "TERM": "xterm", "COLUMNS": str(COLUMNS), "LINES": "40"}
        self.environment["MNEMIC_RESIDENT_IDLE_S"] = "0"  # leaves no process behind
        self.steps: list[str] = []
        self.failed: list[str] = []

    def run(self, command: str, *, shown: str = "", on_terminal: bool = True) -> str:
        """Run a command, note it with its time and output, and return the output."""
        started = time.monotonic()
        shell = ["bash", "-c", command]
        if on_terminal:
            code, output = run_on_terminal(shell, self.place, self.environment, may_read=True)
        else:
            code, output = self._run_in_pipe(shell)
        took = time.monotonic() - started
        plain = ESCAPE.sub("", output).replace(str(self.folder), "~")
        output = "\n".join(line.rstrip() for line in plain.strip("\n").splitlines())
        body = f"{shown or command}\n{output}".rstrip()
        self.steps.append(f"`{took:.1f} s`\n\n```console\n$ {body}\n```\n")
        if code:
            self.failed.append(f"{shown or command}: exit code {code}")
        return output

    def say(self, text: str) -> None:
        """Note a sentence between the commands."""
        self.steps.append(f"{text}\n")

    def _run_in_pipe(self, command: Sequence[str]) -> tuple[int, str]:
        run = subprocess.run(
            command,
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return run.returncode, run.stdout


def read_commands(text: str, section: str) -> Iterator[tuple[str, str]]:
    """The blocks of a section of the README, each with its language."""
    body = re.split(r"^## ", text, flags=re.MULTILINE)
    (found,) = [each for each in body if each.startswith(f"{section}\n")]
    yield from BLOCK.findall(found)


def live_through(newcomer: Newcomer, source: Path) -> float:
    """Do what the README says. Returns the seconds from the end of `make run` to the first success."""
    newcomer.run(f"git clone --quiet {source} mnemic", shown="git clone … mnemic")
    newcomer.place = newcomer.folder / "mnemic"
    readme = (newcomer.place / "README.md").read_text(encoding="utf-8")
    printed, ended = "", 0.0
    for _, body in read_commands(readme, "Start"):
        for line in filter(lambda each: each.startswith("$ "), body.splitlines()):
            command = line.removeprefix("$ ").partition("  #")[0].strip()
            if command.startswith("source"):
                newcomer.environment["PATH"] = f"{newcomer.place / '.venv/bin'}:{newcomer.environment['PATH']}"
                newcomer.steps.append(f"```console\n$ {command}\n```\n")
            elif command not in LEFT_OUT:
                printed, ended = newcomer.run(command, on_terminal=False), time.monotonic()
    newcomer.say("The program prints what to do next, and the newcomer does it.")
    for command in re.findall(r"^  (mnemic .+?)(?:  #.*)?$", printed.partition("Next:")[2], re.MULTILINE):
        if command != "mnemic serve":
            newcomer.run(command)
    took = time.monotonic() - ended
    newcomer.say("The program of the README, saved as `first.py`:")
    ((_, program),) = [block for block in read_commands(readme, "In Python") if block[0] == "python"]
    (newcomer.place / "first.py").write_text(program)
    newcomer.run("python first.py")
    for _, body in read_commands(readme, "On the command line"):
        for line in body.splitlines():
            if line.startswith("$ "):
                newcomer.run(line.removeprefix("$ "))
    _use_server(newcomer, readme)
    return took


def _use_server(newcomer: Newcomer, readme: str) -> None:
    """Start the server, send it the README's requests, and stop it."""
    with socket.socket() as free:
        taken = free.connect_ex(("127.0.0.1", 7700)) == 0
    port = "0" if taken else "7700"
    newcomer.say("In a second terminal:")
    started = time.monotonic()
    server = subprocess.Popen(
        ["bash", "-c", f"exec mnemic serve --port {port}"],
        cwd=newcomer.place,
        env=newcomer.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(line.rstrip() for line in server.stdout or ()), daemon=True)
    reader.start()
    while server.poll() is None and not any("http://" in line for line in lines):
        time.sleep(0.1)
    time.sleep(SETTLES_S)
    url = next((found.group() for line in lines if (found := re.search(r"http://[\d.]+:\d+", line))), PRINTED)
    shown = "\n".join(lines).replace(url, PRINTED).replace(str(newcomer.folder), "~")
    newcomer.steps.append(f"`{time.monotonic() - started:.1f} s`\n\n```console\n$ mnemic serve\n{shown}\n```\n")
    newcomer.say("And in the first one:")
    for language, body in read_commands(readme, "As a server"):
        if language == "bash":
            for command in re.split(r"\n(?=curl)", body.strip()):
                newcomer.run(command.replace(PRINTED, url), shown=command)
        elif language == "py":
            (newcomer.place / "second.py").write_text(body.replace(PRINTED, url))
            newcomer.run("python second.py")
    server.send_signal(signal.SIGINT)
    server.wait(timeout=30)
    if server.returncode:
        newcomer.failed.append(f"mnemic serve: exit code {server.returncode}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the transcript, or keep it with `--write`."""
    parser = argparse.ArgumentParser(description="A newcomer's first ten minutes, written down.")
    parser.add_argument("--write", action="store_true", help=f"keep it in {KEPT.relative_to(ROOT)}")
    parser.add_argument("--source", type=Path, default=ROOT, help="the repository to clone. Default: this one")
    chosen = parser.parse_args(arguments)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        newcomer = Newcomer(Path(folder).resolve())
        took = live_through(newcomer, chosen.source)
    whole = time.monotonic() - started
    summary = (
        f"The whole took {whole:.0f} s; the newcomer's own first memories and answers {took:.0f} s after `make run`.\n"
    )
    text = HEAD + "\n".join([summary, *newcomer.steps])
    if chosen.write:
        KEPT.write_text(text, encoding="utf-8")
    else:
        print(text)
    if took > FIRST_SUCCESS_S:
        newcomer.failed.append(f"the first success took {took:.0f} s")
    print("\n".join(newcomer.failed) or summary.strip(), file=sys.stderr)
    return 1 if newcomer.failed else 0


if __name__ == "__main__":
    sys.exit(main())
