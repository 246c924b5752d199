"""Draws strings that people read, at random, for an independent reader to judge.

    python scripts/draw_strings.py SEED FILE…

Writes 60 numbered strings to each file, none to two of them: ten each of help, errors, docstrings of verbs, remarks and
log messages, sentences of the README, and sentences of the documents. Another seed draws others. In errors and remarks,
{…} stands for a value.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import random
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import typer

from mnemic.api.signatures import documentation_of
from mnemic.cli.app import application
from mnemic.verbs import VERBS

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "mnemic"
EACH = 10
LEAST_WORDS = 4
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
WORD = re.compile(r"(?<![%\w])[A-Za-z]{2,}")
SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`])")
TOLD_BY = {"note", "warning", "info", "error", "exception", "debug", "critical"}


def read_help() -> Iterator[str]:
    """Descriptions of commands and options, sentence by sentence."""
    pending = [typer.main.get_command(application())]
    while pending:
        command = pending.pop()
        for text in (command.help, *(getattr(each, "help", None) for each in command.params)):
            yield from split_sentences(inspect.cleandoc(text or ""))
        pending += getattr(command, "commands", {}).values()


def read_errors() -> Iterator[str]:
    """The messages of errors that are raised."""
    for node in walk_code():
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from (join_words(each) for each in node.exc.args[:1])


def read_docstrings() -> Iterator[str]:
    """Descriptions of verbs and their arguments."""
    for verb in VERBS:
        about, arguments = documentation_of(verb.name)
        for text in (about, *arguments.values()):
            yield from split_sentences(text)


def read_remarks() -> Iterator[str]:
    """Remarks of commands and messages of the log."""
    for node in walk_code():
        if isinstance(node, ast.Call) and node.args:
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in TOLD_BY:
                yield join_words(node.args[0])


def read_pages(paths: Sequence[Path]) -> Iterator[str]:
    """The sentences of documents, without code, tables and headings."""
    for path in paths:
        text = FENCE.sub("\n\n", path.read_text(encoding="utf-8"))
        for paragraph in re.split(r"\n\s*\n|\n(?=[-*] |\d\. )", text):
            if not paragraph.lstrip().startswith(("#", "|", "!")):
                yield from split_sentences(re.sub(r"^\s*(?:[-*]|\d\.) ", "", paragraph))


def split_sentences(text: str) -> Iterator[str]:
    """The sentences of a text, each on one line."""
    yield from (" ".join(each.split()) for each in SENTENCE.split(text))


def walk_code() -> Iterator[ast.AST]:
    """Every node of the package, the suite for backends left out."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] != "testing":
            yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def join_words(node: ast.expr) -> str:
    """A string as it is written, with {…} for its values. Empty for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(join_words(each) if isinstance(each, ast.Constant) else "{…}" for each in node.values)
    return ""


def draw_strings(seed: int, readers: int) -> list[list[str]]:
    """Ten different strings of each kind for each reader, each with its kind."""
    documents = [path for path in sorted((ROOT / "docs").rglob("*.md")) if path.name not in {"cli.md", "verbs.md"}]
    kinds = {
        "help": read_help(),
        "error": read_errors(),
        "docstring": read_docstrings(),
        "remark": read_remarks(),
        "README": read_pages([ROOT / "README.md"]),
        "docs": read_pages(documents),
    }
    chance = random.Random(seed)  # noqa: S311 # a draw that can be repeated
    drawn: list[list[str]] = [[] for _ in range(readers)]
    for kind, texts in kinds.items():
        plain = {LINK.sub(r"\1", text) for text in texts}
        different = sorted(text for text in plain if len(WORD.findall(text)) >= LEAST_WORDS)
        chosen = chance.sample(different, EACH * readers)
        for place, strings in enumerate(drawn):
            strings += [f"[{kind}] {text}" for text in chosen[place::readers]]
    return drawn


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the strings down."""
    parser = argparse.ArgumentParser(description="Draw strings for a reader to judge.")
    parser.add_argument("seed", type=int)
    parser.add_argument("files", type=Path, nargs="+")
    chosen = parser.parse_args(arguments)
    for file, strings in zip(chosen.files, draw_strings(chosen.seed, len(chosen.files)), strict=True):
        lines = [f"{number}. {text}\n" for number, text in enumerate(strings, start=1)]
        file.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
