"""The exception tree: every error Mnemic raises on purpose, named by what the caller should do.

    MnemicError
    ├── InvalidInputError      change the argument; nothing was stored
    ├── NotFoundError          no such thing in this scope (also when it belongs to somebody else)
    ├── ConflictError          it exists already, or somebody changed it first: read again, then decide
    ├── UnsupportedError       this part cannot do that; `capability` names what is missing
    ├── UnauthorisedError      show a key that is known and has not ended
    ├── ForbiddenError         use a key that has the right, or that may speak for this user or agent
    ├── ConfigError            fix the set-up; the message holds the line to run or to change
    └── BackendError           a part outside this process failed; `is_retryable` says if trying again may help
        ├── UnavailableError   it does not answer, is locked, or is full
        ├── RateLimitedError   it asks to slow down; `retry_after_s` may say for how long
        ├── TimedOutError      it did not answer within the time given
        ├── BadReplyError      it answered something that cannot be used
        └── DamagedError       stored data is lost or damaged: stop writing, restore a backup or rescue what is left

Adapters translate the errors of their technology into these at the port, with `raise … from`. Each door owns one
table from these classes to its exit code, HTTP status or protocol code.
"""

import re
import traceback


class MnemicError(Exception):
    """Anything Mnemic raises on purpose."""


class InvalidInputError(MnemicError, ValueError):
    """An argument is not acceptable; the message says which, why, and what would be. Nothing was stored."""


class NotFoundError(MnemicError, LookupError):
    """There is no such thing in this scope; what belongs to somebody else is answered the same way."""


class ConflictError(MnemicError):
    """The thing exists already or was changed by somebody else in the meantime."""


class UnsupportedError(MnemicError):
    """The part in use does not offer this; `capability` names the missing capability."""

    def __init__(self, message: str, *, capability: str) -> None:
        super().__init__(message)
        self.capability = capability


class UnauthorisedError(MnemicError):
    """No key was shown where one is needed, or it is unknown, expired or revoked; which of these is not told."""


class ForbiddenError(MnemicError):
    """The key that was shown lacks the right for this, or is bound to another org, user or agent."""


class ConfigError(MnemicError):
    """The set-up is wrong or incomplete; the message holds what to run or to change."""


class BackendError(MnemicError):
    """A part outside this process (database, file system, model server) failed."""

    is_retryable: bool = False


class UnavailableError(BackendError):
    """The part does not answer, is locked by somebody else, or has no room left."""

    is_retryable = True


class RateLimitedError(BackendError):
    """The part asks to slow down; `retry_after_s` is its wish in seconds, where it gave one."""

    is_retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TimedOutError(BackendError):
    """The part did not answer within the time given."""

    is_retryable = True


class BadReplyError(BackendError):
    """The part answered something that cannot be used (broken JSON, a wrong shape)."""


class DamagedError(BackendError):
    """Stored data is lost, replaced or damaged. The message says what happened and what to do; reading may go on."""


def error_kind(error: type[BaseException]) -> str:
    """The name of an error class on the wire: `NotFoundError` is "not_found"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", error.__name__.removesuffix("Error")).lower()


def places(error: BaseException, most: int = 6) -> list[str]:
    """Where an error that nobody foresaw came from, for a log: file and line, the innermost last. Never its text, which
    may hold memories.
    """
    return [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)][-most:]
