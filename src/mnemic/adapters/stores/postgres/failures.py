"""Turns errors of psycopg into Mnemic's: what was being done, at which server, and what may help. Never a password."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import errors

from mnemic.errors import BackendError, ConfigError, ConflictError, MnemicError, TimedOutError, UnavailableError

_IN_THE_WAY = "another transaction was in the way and this one was undone; try again"
# The first that fits counts: the special ones stand before the general ones.
_MEANINGS: Mapping[type[psycopg.Error], tuple[type[MnemicError], str]] = {
    errors.UniqueViolation: (ConflictError, "somebody else stored the same thing first"),
    errors.SerializationFailure: (UnavailableError, _IN_THE_WAY),
    errors.DeadlockDetected: (UnavailableError, _IN_THE_WAY),
    errors.LockNotAvailable: (UnavailableError, "locked by another transaction; try again when it is done writing"),
    errors.QueryCanceled: (TimedOutError, "the statement took longer than allowed and was undone"),
    errors.DiskFull: (UnavailableError, "no room left on the server's disk; nothing was changed"),
    errors.InsufficientPrivilege: (ConfigError, "this role lacks a right; grant it, or connect as another role"),
    psycopg.OperationalError: (UnavailableError, "the server does not answer"),
    psycopg.InterfaceError: (UnavailableError, "the connection is lost"),
}
_ROW_SECURITY = "ExecWithCheckOptions"
_SET_UP_IS_WRONG = ("authentication failed", "no password supplied", "pg_hba.conf", "does not exist")


@contextmanager
def translated_errors(doing: str, place: str) -> Generator[None]:
    """Translates what its block raises; `place` names the server and the database."""
    try:
        yield
    except psycopg.Error as error:
        raise _translate_error(error, doing, place) from error


def _translate_error(error: psycopg.Error, doing: str, place: str) -> MnemicError:
    said = f"{place} ({doing}): {error.diag.message_primary or _one_line(error)}"
    if error.diag.source_function == _ROW_SECURITY:  # the same SQLSTATE as a right that lacks
        return BackendError(f"a row of an org that this unit of work does not name was refused: {said}")
    for cause, (kind, meaning) in _MEANINGS.items():
        if isinstance(error, cause):
            return kind(f"{meaning}: {said}")
    return BackendError(f"the store failed: {said}")


def refused(error: psycopg.Error, place: str) -> MnemicError:
    """What it means that no connection could be made."""
    said = _one_line(error)
    if any(sign in said for sign in _SET_UP_IS_WRONG):
        return ConfigError(f"{place} refuses the connection; check user, password and database: {said}")
    return UnavailableError(f"{place} cannot be reached: {said}")


def _one_line(error: psycopg.Error) -> str:
    return " ".join(str(error).split())
