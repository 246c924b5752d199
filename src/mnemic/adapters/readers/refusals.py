"""The readers' error messages for users: the problem, and what helps."""

from mnemic.model.document import MEBIBYTE, ReadLimits
from mnemic.ports.files import Unreadable, UnreadableError

SHOWN = 80
"""Maximum characters of a file name in a message."""


def empty(name: str) -> UnreadableError:
    """The file has no words."""
    return _error(Unreadable.EMPTY, f"{_quote(name)} contains no text")


def scanned(name: str, pages: int) -> UnreadableError:
    """The pages are images."""
    return _error(
        Unreadable.SCANNED,
        f"{_quote(name)} contains no text on its pages ({pages}), which seem to be images: run it through text "
        "recognition (OCR) and try again with the result",
    )


def encrypted(name: str) -> UnreadableError:
    """The file needs a password or a key."""
    return _error(Unreadable.ENCRYPTED, f"{_quote(name)} is encrypted: save it without a password and try again")


def broken(name: str, kind: str, detail: object) -> UnreadableError:
    """The file is damaged, or not of its declared type."""
    return _error(Unreadable.BROKEN, f"{_quote(name)} cannot be read as {kind}; it may be damaged ({detail})")


def unknown(name: str, what: str) -> UnreadableError:
    """No reader accepts this file."""
    return _error(Unreadable.UNKNOWN, f"{_quote(name)} is {what}; no reader supports it")


def too_large(name: str, limits: ReadLimits) -> UnreadableError:
    """The file exceeds the size limit."""
    return _error(
        Unreadable.TOO_LARGE,
        f"{_quote(name)} is larger than the limit of {limits.max_bytes / MEBIBYTE:g} MiB: split it, or raise the limit",
    )


def too_long(name: str, limits: ReadLimits) -> UnreadableError:
    """The text exceeds the limit."""
    return _error(
        Unreadable.TOO_LARGE,
        f"{_quote(name)} contains more text than the limit of {limits.max_characters:,} characters: split it, or raise "
        "the limit",
    )


def too_many_pages(name: str, limits: ReadLimits) -> UnreadableError:
    """There are too many pages."""
    return _error(
        Unreadable.TOO_MANY_PAGES,
        f"{_quote(name)} has more pages than the limit of {limits.max_pages:,}: split it, or raise the limit",
    )


def bomb(name: str, what: str) -> UnreadableError:
    """Unpacking the file would take far more than its size suggests."""
    return _error(Unreadable.BOMB, f"{_quote(name)} was not opened because it may be an attack: {what}")


def timed_out(name: str, limits: ReadLimits) -> UnreadableError:
    """Reading took too long and was stopped."""
    return _error(
        Unreadable.TIMEOUT,
        f"{_quote(name)} could not be read within {limits.timeout_s:g} s and was skipped; raise the limit to allow "
        "more time",
    )


def out_of_memory(name: str, limits: ReadLimits) -> UnreadableError:
    """Reading took too much memory and was stopped."""
    return _error(
        Unreadable.MEMORY,
        f"{_quote(name)} needs more memory than the limit of {limits.memory_bytes / MEBIBYTE:g} MiB: split it, or "
        "raise the limit",
    )


def crashed(name: str, code: int | None) -> UnreadableError:
    """The process that read the file crashed."""
    return _error(Unreadable.CRASH, f"{_quote(name)} crashed the file reader (exit code {code}); it may be damaged")


def _quote(name: str) -> str:
    return repr(name if len(name) <= SHOWN else f"{name[: SHOWN - 1]}…")


def _error(reason: Unreadable, message: str) -> UnreadableError:
    return UnreadableError(message, reason=reason)
