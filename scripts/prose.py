"""Lints the sentences that people read: documents, help, errors, public docstrings and the console.

    python scripts/prose.py          list every match; exit code 1 if there is one
    python scripts/prose.py FILE …   only these files

A pattern has the words to write instead. Code, quotations in backticks and the sentences of examples are left out.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "mnemic"

PATTERNS: dict[str, str] = {
    r"anew": "again",
    r"unless (?:it was |was )?(?:said|told|asked)": "Default: …",
    r"who(?:m|so)?ever": "name the person: a user, a caller",
    r"nobody": "name the thing that is missing",
    r"by night": "every night",
    r"so many": "the number",
    r"where (?:wanted|asked|it is wanted)": "Optional.",
    r"(?:what|who) is asked (?!for)": "name it: the query, the question",
    r"(?:says|tells) (?:what|which|who|how|why|where)": "shows",
    r"is (?:told|said) (?:by|in|of)": "active: the configuration sets …",
    r"thereby|therein|thereof|whereby|wherein|hitherto|henceforth": "split the sentence",
    r"beyond (?:that|which|this)": "above, after",
    r"at leisure|at one sitting": "leave it out",
    r"if (?:it|that) is meant": "Re-run with --yes.",
    r"lets? go of": "close",
    r"has to do with": "is about, answers",
}
"""Each pattern and what to write instead. Matched as whole words, in any case."""

MAX_WORDS = 30
"""The longest sentence of the README and of help, so that it is understood at the first reading."""

SHORT = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/tutorial/first-steps.md", "docs/reference/cli.md")
SHORT_CODE = ("api", "cli", "aio.py", "errors.py")
"""Documents and docstrings whose sentences have a limit."""

READ_CODE = ("api", "cli", "model", "remote", "config", "aio.py", "errors.py", "verbs.py", "examples", "integrations")
"""Modules whose docstrings people read; of the others, only errors and help."""

HELP = {"help", "epilog", "short_help", "metavar"}
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"``.+?``|`[^`\n]*`|<[^>\n]+>|\]\([^)\n]*\)|\"[^\"\n]*\"|“[^”\n]*”")
_BAD = re.compile("|".join(rf"(?P<p{number}>\b(?:{each})\b)" for number, each in enumerate(PATTERNS)), re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|^\s*[-|#*]|[|│├└]", re.MULTILINE)


class Text(NamedTuple):
    """A text that people read, and where."""

    path: Path
    line: int
    text: str
    is_short: bool = False


def main(arguments: Sequence[str] | None = None) -> int:
    """Print every match. Exit code 1 if there is one."""
    parser = argparse.ArgumentParser(description="Lint the sentences that people read.")
    parser.add_argument("files", nargs="*", type=Path, help="Default: all.")
    chosen = {path.resolve() for path in parser.parse_args(arguments).files}
    found = [match for text in read_texts() if not chosen or text.path in chosen for match in find_matches(text)]
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} sentences to rewrite" if found else "prose: all well")
    return int(bool(found))


def read_texts() -> Iterator[Text]:
    """Every text that people read."""
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))):
        text = _FENCE.sub(lambda found: "\n" * found.group().count("\n"), path.read_text(encoding="utf-8"))
        yield Text(path, 1, text, is_short=str(path.relative_to(ROOT)) in SHORT)
    for path in sorted(PACKAGE.rglob("*.py")):
        top = path.relative_to(PACKAGE).parts[0]
        if top != "testing":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            yield from texts_of_code(path, tree, has_readers=top in READ_CODE, is_short=top in SHORT_CODE)
    for path in sorted((*PACKAGE.rglob("*.js"), *PACKAGE.rglob("*.html"))):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for words in re.findall(r"\"([^\"]{12,})\"|`([^`]{12,})`|>([^<>{}]{12,})<", line):
                yield Text(path, number, "".join(words))


def find_matches(text: Text) -> Iterator[str]:
    """The patterns and the long sentences of a text, as lines to print."""
    plain = _CODE.sub(lambda found: "x" + "\n" * found.group().count("\n"), text.text)
    where = text.path.relative_to(ROOT)
    for found in _BAD.finditer(plain):
        line = text.line + plain.count("\n", 0, found.start())
        instead = [*PATTERNS.values()][int(str(found.lastgroup)[1:])]
        yield f"{where}:{line}: {found.group()!r} → {instead}"
    for sentence in _SENTENCE.split(plain) if text.is_short else ():
        if len(sentence.split()) > MAX_WORDS:
            line = text.line + plain.count("\n", 0, plain.find(sentence))
            start = " ".join(sentence.split()[:8])
            yield f"{where}:{line}: {len(sentence.split())} words → at most {MAX_WORDS}: {start} …"


def texts_of_code(path: Path, tree: ast.AST, *, has_readers: bool, is_short: bool) -> Iterator[Text]:
    """The errors, help and public docstrings of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield Text(path, node.lineno, " ".join(_words_of(each) for each in node.exc.args))
        elif isinstance(node, ast.Call):
            named = [each.value for each in node.keywords if each.arg in HELP]
            yield from (Text(path, each.lineno, _words_of(each), is_short=True) for each in named)
        elif has_readers and isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef | ast.Module):
            is_public = not getattr(node, "name", "").startswith("_")
            body = node.body[0] if node.body else None
            if is_public and isinstance(body, ast.Expr) and isinstance(body.value, ast.Constant):
                yield Text(path, body.lineno, str(body.value.value), is_short=is_short)


def _words_of(node: ast.AST) -> str:
    """The constant words of an expression, in order."""
    return " ".join(
        each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)
    )


if __name__ == "__main__":
    sys.exit(main())
