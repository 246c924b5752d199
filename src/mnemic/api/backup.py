"""A copy of a whole store without a store: its check, and its way from a server to a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from mnemic.build import archive, open_keyring
from mnemic.config import Config
from mnemic.engine.backup import check, receive
from mnemic.model.backup import BackupReport

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


def check_backup(
    path: str | Path,
    *,
    room: str | Path | None = None,
    progress: Progress | None = None,
    config: Config | None = None,
) -> BackupReport:
    """Read a backup from end to end, unpack it in the folder `room` (that of temporary files unless told), open its
    rows and count them; no store is asked. Raises InvalidInputError when it is damaged or no backup, ConfigError when
    it is of a newer Mnemic, UnavailableError when there is no room.

    A sealed one is opened with the keyring of `config`, and nothing of it written down; without, its parts are compared
    with their checksums alone.
    """
    keyring = None if config is None else open_keyring(config)
    told = progress or ignore_backup_progress
    return check(archive(keyring), path, room=None if room is None else Path(room), told=told)


def receive_backup(
    path: str | Path, pieces: Iterable[bytes], *, is_replacing: bool = False, progress: Progress | None = None
) -> BackupReport:
    """Keep the bytes of a backup that a server sends, checked, whole or not at all; errors are those of `backup`."""
    told = progress or ignore_backup_progress
    return receive(archive(), path, pieces, is_replacing=is_replacing, told=told)


def ignore_backup_progress(_what: str, _done: int, _total: int) -> None:
    """For callers who need not know."""
