"""Failures: exit codes, and one line on standard error that names options instead of arguments."""

import json
import os
import re
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import TracebackType

from mnemic import errors
from mnemic.errors import MnemicError, error_kind

UNEXPECTED = 1  # the shell's code for any failure
PARTIAL = 14
"""A part failed; the rest is done."""

INTERRUPTED = 130  # 128 + SIGINT (2), as shells report it
READER_GONE = 141  # 128 + SIGPIPE (13), as shells report it

EXIT_CODES: Mapping[type[MnemicError], int] = {
    MnemicError: UNEXPECTED,
    errors.InvalidInputError: 2,
    errors.NotFoundError: 3,
    errors.ConflictError: 4,
    errors.UnsupportedError: 5,
    errors.ConfigError: 6,
    errors.BackendError: 7,
    errors.UnavailableError: 8,
    errors.RateLimitedError: 9,
    errors.TimedOutError: 10,
    errors.BadReplyError: 11,
    errors.UnauthorisedError: 12,
    errors.ForbiddenError: 13,
    errors.DamagedError: 15,
}

_TIME = re.compile(r"\b(as_of|known_at|observed_at|valid_from|valid_to|expires_at|after|before)=(?=')")


def exit_code(error: MnemicError) -> int:
    """The exit code of an error's nearest class."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)


def use_option_names(message: str) -> str:
    """Replace arguments in a message by options, such as `level='org'` by `--level org`."""
    from mnemic.text.normalise import stored_texts

    for ours, theirs in stored_texts(__name__).items():
        message = message.replace(ours, theirs)
    return _TIME.sub(lambda found: f"--{found[1].replace('_', '-')} ", message)


def wants_json(arguments: Sequence[str]) -> bool:
    """True if `--json` is among the options, even if the rest of the line is wrong."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return "--json" in options


def report(kind: str, message: str, *, is_json: bool) -> None:
    """Print one line on standard error, with --json as `{"error": {"kind", "message"}}`."""
    line = " ".join(message.split())
    text = json.dumps({"error": {"kind": kind, "message": line}}) if is_json else f"mnemic: {line}"
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def report_error(error: MnemicError, *, is_json: bool) -> int:
    """Report an error and return its exit code."""
    show_traceback()
    report(error_kind(type(error)), use_option_names(str(error)), is_json=is_json)
    return exit_code(error)


def is_debugging() -> bool:
    """True if `MNEMIC_DEBUG` asks for tracebacks."""
    return bool(os.environ.get("MNEMIC_DEBUG"))


def show_traceback() -> None:
    """Print the current exception's traceback if `MNEMIC_DEBUG` asks for it."""
    if is_debugging():
        traceback.print_exc()


def last_resort(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Handle unexpected exceptions as `sys.excepthook`. Python then exits with 1."""
    if is_debugging() or not issubclass(kind, Exception):
        sys.__excepthook__(kind, error, trace)
        return
    message = f"unexpected {kind.__name__}: {error}; this is a bug in Mnemic, MNEMIC_DEBUG=1 shows where"
    report("unexpected", message, is_json=wants_json(sys.argv[1:]))
