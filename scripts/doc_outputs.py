"""Runs the examples of the documents and shows their output below them.

    python scripts/doc_outputs.py            list the documents whose shown output differs
    python scripts/doc_outputs.py --write    show the output of now; name documents to do only these

Lines `$ mnemic …` of a `console` block run as commands, `python` blocks as programs: those of one document in order, in
one folder, with one store. A command's output stands below it, as on a terminal of 100 columns, at most `MOST_LINES`
lines. A program's output stands in a `text` block after it. Ids, times, scores and sizes may differ.
`tests/docs/test_examples.py` compares.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_LINES = 16
"""Of a command's output that a document shows. A line with an ellipsis stands for the rest."""

REST = "…"
COLUMNS = 100
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$(?:\n+```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PROGRAMS = Path(sys.executable).parent
BAR = re.compile(r"^.*[━╸╺]{5,}.*\n\n?", re.MULTILINE)
"""A bar of progress, which is gone when the work is done."""

ESCAPE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\r")
VARIABLE = (
    (r"\b\d[\d.,]*(?: / \d[\d.,]*)+|(?:(?<=rows/s)|(?<=MB)) +[\d.,]+|\b\d+ MiB of index, and \d+", "N"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"\b[0-9a-f]{8}\b", "ID"),  # it may have digits alone
    (r"\bjust now\b|\b\d+ (?:minute|hour|day)s? ago\b", "AGE"),
    (r"\b[0-9a-f]{16,64}\b", "HASH"),
    (r"\bmn_\w+", "TOKEN"),
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?", "TIME"),
    (r"\b20\d\d-\d\d-\d\d\b|\b20\d{6}T\d{6}\b", "DATE"),
    (r"\b\d[\d.,]* (ms|s|bytes|KiB|MiB|kB|MB|GB)\b", r"N \1"),
    (r"\b\d+%|\b\d+\.\d+\b|\b\d+e-\d+\b", "N"),
    (r"datetime\.datetime\([^)]*\)", "TIME"),
)
"""What differs between two runs, and what stands for it in a comparison."""


@dataclass
class Example:
    """A command line or a program of a document, with the output that is shown and the one it has now."""

    language: str
    code: str
    shown: str
    printed: str = ""
    code_of_exit: int = 0

    @property
    def is_as_shown(self) -> bool:
        """True if the output is the shown one, but for ids, times, scores and sizes."""
        shown, printed = make_plain(self.shown), make_plain(self.printed)
        return printed.startswith(shown.removesuffix(REST)) if shown.endswith(f" {REST}") else shown == printed


def make_plain(text: str) -> str:
    """The text without what differs between two runs."""
    for pattern, word in VARIABLE:
        text = re.sub(pattern, word, text)
    return " ".join(text.split())


def read_examples(text: str) -> list[Example]:
    """The examples of a document, in order."""
    found: list[Example] = []
    for language, body, shown in BLOCK.findall(text):
        if language == "python":
            found.append(Example(language, body, shown))
            continue
        for line in body.splitlines():
            if line.startswith("$ "):
                found.append(Example(language, line, ""))
            elif found:
                found[-1].shown += f"{line}\n"
    return [each for each in found if each.language == "python" or each.code.startswith("$ mnemic ")]


def run_examples(text: str, folder: Path) -> list[Example]:
    """The examples of a document with their output. Ends at the first that fails."""
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"), str(folder))
    environment = {name: text for name, text in os.environ.items() if not name.startswith("MNEMIC_")}
    environment |= folders | {"LOGNAME": "ana", "COLUMNS": str(COLUMNS), "TERM": "dumb", "PYDANTIC_AI_NO_BANNER": "1"}
    environment["XDG_RUNTIME_DIR"] = (
        os.devnull
    )  # leaves no resident process behind, and shows the default configuration
    examples = read_examples(text)
    for example in examples:
        command = [str(PROGRAMS / "python"), "-c", example.code]
        if example.language == "console":
            words = shlex.split(example.code, comments=True)[2:]
            command = [str(PROGRAMS / "mnemic"), *words]
        example.code_of_exit, example.printed = _run(command, folder, environment)
        if example.code_of_exit:
            break
    return examples


def _run(command: Sequence[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The exit code and what a terminal shows, with short paths."""
    status, output = run_on_terminal(command, folder, environment)
    text = BAR.sub("", output)
    for path, shown in ((folder, "~"), (PROGRAMS, "~/.venv/bin"), (PROGRAMS.resolve(), "~/.venv/bin")):
        text = text.replace(str(path), shown)
    return status, "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def run_on_terminal(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, may_read: bool = False
) -> tuple[int, str]:
    """The exit code and what a terminal of `COLUMNS` shows, without its control sequences. `may_read`: the terminal is
    the input too.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    given = theirs if may_read else subprocess.DEVNULL
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=given, stdout=theirs, stderr=theirs)
    os.close(theirs)
    parts: list[bytes] = []
    try:
        while part := _read(ours):
            parts.append(part)
        status = process.wait()
    finally:
        process.kill()  # nothing, if it has ended
        process.wait()
        os.close(ours)
    return status, ESCAPE.sub("", b"".join(parts).decode(errors="replace"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the program has closed its side
        return b""


def show_outputs(text: str, examples: Sequence[Example]) -> str:
    """The document with the outputs of its examples. One that is right is left as it stands."""
    waiting = list(examples)

    def fill(found: re.Match[str]) -> str:
        language, body, _ = found.groups()
        if language == "python":
            example = waiting.pop(0)
            if example.is_as_shown:
                return found[0]
            shown = f"\n\n```text\n{_cut(example.printed)}```" if example.printed.strip() else ""
            return f"```python\n{body}```{shown}"
        lines: list[str] = []
        is_ours = False
        for line in body.splitlines():
            if line.startswith("$ "):
                is_ours = line.startswith("$ mnemic ")
                lines.append(f"{line}\n")
                if is_ours:
                    example = waiting.pop(0)
                    lines.append(example.shown if example.is_as_shown else _cut(example.printed))
            elif not is_ours:
                lines.append(f"{line}\n")
        return f"```console\n{''.join(lines)}```"

    return BLOCK.sub(fill, text)


def _cut(output: str) -> str:
    lines = output.strip("\n").splitlines()
    lines = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], REST]
    return "".join(f"{line}\n" for line in lines)


def list_documents() -> list[Path]:
    """The documents that have examples."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in every if read_examples(path.read_text(encoding="utf-8"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """List what differs, or write it down."""
    parser = argparse.ArgumentParser(description="Show the output of the documents' examples.")
    parser.add_argument("--write", action="store_true", help="write the outputs into the documents")
    parser.add_argument("documents", nargs="*", type=Path, help="default: all with examples")
    chosen = parser.parse_args(arguments)
    status = 0
    for path in [each.resolve() for each in chosen.documents] or list_documents():
        text = path.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            examples = run_examples(text, Path(folder).resolve())
        failed = [each for each in examples if each.code_of_exit]
        wrong = [each for each in examples if not each.is_as_shown]
        for each in failed or wrong:
            print(f"{path.relative_to(ROOT)}: {each.code.splitlines()[0]}\n{each.printed if failed else ''}", end="")
        if chosen.write and wrong and not failed:
            path.write_text(show_outputs(text, examples), encoding="utf-8")
        status |= bool(failed or wrong)
    return status


if __name__ == "__main__":
    sys.exit(main())
