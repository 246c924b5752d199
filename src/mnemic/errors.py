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
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


class MnemicError(Exception):
    """Base class of all errors that Mnemic raises on purpose."""

    is_retryable: bool = False


class InvalidInputError(MnemicError, ValueError):
    """An argument is invalid. The message names it, the reason and the accepted values. Nothing was stored."""


class NotFoundError(MnemicError, LookupError):
    """Nothing with this id exists in the scope. Things of other users give the same error."""


class ConflictError(MnemicError):
    """It already exists, or someone else changed it meanwhile."""


class UnsupportedError(MnemicError):
    """The component in use cannot do this. `capability` names the missing capability."""

    def __init__(self, message: str, *, capability: str) -> None:
        super().__init__(message)
        self.capability = capability


class UnauthorisedError(MnemicError):
    """The API key is missing, unknown, expired or revoked. The message does not say which."""


class ForbiddenError(MnemicError):
    """The API key lacks the right, or is restricted to another org, user or agent."""


class ConfigError(MnemicError):
    """The configuration is wrong or incomplete. The message has the command to run or the setting to change."""


class BackendError(MnemicError):
    """Something outside this process failed: a database, file system or model server."""


class UnavailableError(BackendError):
    """A backend does not answer, is locked, or is full."""

    is_retryable = True


class RateLimitedError(BackendError):
    """A backend asks to slow down. `retry_after_s` is the wait in seconds, if given."""

    is_retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class TimedOutError(BackendError):
    """A backend did not answer in time."""

    is_retryable = True


class BadReplyError(BackendError):
    """A backend sent an unusable answer, such as broken JSON."""


class DamagedError(BackendError):
    """Stored data is lost, replaced or damaged. The message has the cause and the remedy. Reading may go on."""


def error_kind(error: type[BaseException]) -> str:
    """The name of an error class on the wire: `NotFoundError` is "not_found"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", error.__name__.removesuffix("Error")).lower()


def places(error: BaseException, most: int = 6) -> list[str]:
    """File and line of an error's frames, innermost last, for a log. Never the message, which may hold memories."""
    return [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)][-most:]


def attempt(work: Callable[[], _Result], log_error: Callable[..., object], where: str) -> _Result | Exception:
    """The result of `work`, or its error, for callers that outlive whatever goes wrong in foreign code. An error that
    Mnemic did not raise on purpose is logged with `where` and its places.
    """
    try:
        return work()
    except MnemicError as error:
        return error
    except Exception as error:  # noqa: BLE001 -- see tests/architecture/test_sizes.py
        log_error("unexpected %s %s", type(error).__name__, where, extra={"where": places(error)})
        return error
