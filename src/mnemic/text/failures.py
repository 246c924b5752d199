"""The line that names the error in a program's output, and whether another text is about the same error."""

import re

MAX_ERROR_CHARS = 240
_QUOTED = re.compile(r".*['\"`’](?=\W|$)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_EXCEPTION = re.compile(r"(?<![\w.])(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b: ?\S.*")
_ERROR = re.compile(
    r"(?i)(?:^|(?<=[\s:)]))(?:(?:fatal )?error(?:\[\w+\]| \w+\d+)?|fatal|panic): ?\S.*|npm (?:ERR!|error) (?!code )\w.*"
    r"|^.*\b(?:command not found|no such file or directory|permission denied|undefined reference)\b.*"
)
"""The line of an uncaught exception, and those of compilers, tools and shells."""


def find_error(output: str) -> str:
    """The line of a command's output that names the error, "" if none does: the last exception, which ended the
    program, or the first error of a tool, which caused the others.
    """
    lines = [_COLOUR.sub("", line).strip() for line in output.splitlines()]
    lines = [line for line in lines if len(line) <= MAX_ERROR_CHARS]
    for pattern, ordered in ((_EXCEPTION, lines[::-1]), (_ERROR, lines)):
        found = next((match.group() for line in ordered if (match := pattern.search(line))), "")
        if found:
            return " ".join(found.split()).rstrip(".")
    return ""


def has_same_error(output: str, text: str) -> bool:
    """True if the text contains the error that the output names, up to its last quoted name."""
    error = find_error(output)
    quoted = _QUOTED.match(error)
    named = quoted.group() if quoted else error.rstrip("?!")
    return bool(named) and named.casefold() in text.casefold()
