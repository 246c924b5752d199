"""What went wrong, as an exit code and one line on the standard error."""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import TracebackType

from mnemic.errors import (
    BackendError,
    BadReplyError,
    ConfigError,
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    MnemicError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
    UnsupportedError,
)

UNEXPECTED = 1
PARTIAL = 14
"""Of a command over many things: some of them failed, and the rest is done."""

INTERRUPTED = 130
READER_GONE = 141

EXIT_CODES: Mapping[type[MnemicError], int] = {
    MnemicError: UNEXPECTED,
    InvalidInputError: 2,
    NotFoundError: 3,
    ConflictError: 4,
    UnsupportedError: 5,
    ConfigError: 6,
    BackendError: 7,
    UnavailableError: 8,
    RateLimitedError: 9,
    TimedOutError: 10,
    BadReplyError: 11,
    UnauthorisedError: 12,
    ForbiddenError: 13,
}


def exit_code(error: MnemicError) -> int:
    """The code of the nearest class in the table."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def error_kind(error: type[BaseException]) -> str:
    """The name of an error class as scripts see it: `NotFoundError` is "not_found"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", error.__name__.removesuffix("Error")).lower()


def wants_json(arguments: Sequence[str]) -> bool:
    """True when `--json` is among the options; it counts even where the rest of the line is wrong."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def report(kind: str, message: str, *, is_json: bool) -> None:
    """One line on the standard error, as JSON `{"error": {"kind", "message"}}` where it was asked for."""
    line = " ".join(message.split())
    text = json.dumps({"error": {"kind": kind, "message": line}}) if is_json else f"mnemic: {line}"
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def debugged() -> bool:
    """True when `MNEMIC_DEBUG` asks for tracebacks."""
    return bool(os.environ.get("MNEMIC_DEBUG"))


def show_traceback() -> None:
    """The traceback of the exception under way, where `MNEMIC_DEBUG` asks for it."""
    if debugged():
        traceback.print_exc()


def last_resort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """For `sys.excepthook`: what nobody foresaw is a defect of Mnemic; Python exits with 1 after it."""
    if debugged() or not issubclass(kind, Exception):
        sys.__excepthook__(kind, error, trace)
        return
    message = f"unexpected {kind.__name__}: {error}; this is a defect, MNEMIC_DEBUG=1 shows where"
    report("unexpected", message, is_json=wants_json(sys.argv[1:]))
