"""The verbs that keep a copy of the whole store, and bring it back; and the check of a copy, which needs no store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypedDict, Unpack

from mnemic.build import archive, open_keyring
from mnemic.config import Config
from mnemic.engine.backup import Order, Wish, backup, check, receive, restore
from mnemic.engine.engine import Parts
from mnemic.engine.inputs import check_choice
from mnemic.model.backup import BackupReport, Contents, RestoreReport

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


class BackupFields(TypedDict, total=False):
    """What may be said of a backup. `contents`: "whole" unless told, or "receipts". `is_replacing`: a backup that is
    there already gives way to it, when it is complete. `is_sealed`: each org's rows are encrypted with a key of its
    own, which erasing the org destroys; None, and not told: where a keyring is configured.
    """

    contents: Contents | str
    is_replacing: bool
    is_sealed: bool | None
    progress: Progress | None


class RestoreFields(TypedDict, total=False):
    """What may be said of a restore. `receipts`: a further backup, or one of receipts alone, whose erasures are made
    again too. `is_replacing`: what the store holds gives way to it.
    """

    receipts: str | Path | None
    is_replacing: bool
    is_dry_run: bool
    progress: Progress | None


class BackupVerbs:
    """A part of `Mnemic`."""

    _parts: Parts

    def backup(self, path: str | Path, **fields: Unpack[BackupFields]) -> BackupReport:
        """Write every row of the whole store, of all orgs, to one file, as all were at one moment; the store is used
        meanwhile. The file is checked when it is written, readable by its owner alone, and whole or not there.

        With keys (their hashes), audit log, jobs, history and receipts, in a form that both SQLite and PostgreSQL take
        back. Raises ConflictError when there is a file that is not to be replaced, InvalidInputError when no file can
        be there, UnavailableError when the disk or the store fails, UnsupportedError for a store in memory, ConfigError
        when it is to be sealed and there is no keyring, or none that can be used.
        """
        order = Order(
            check_choice(Contents, fields.get("contents", Contents.WHOLE), "contents"),
            fields.get("is_replacing", False),
            fields.get("is_sealed"),
        )
        return backup(self._parts, archive(self._parts.keyring), path, order, fields.get("progress") or _unheard)

    def restore(self, path: str | Path, **fields: Unpack[RestoreFields]) -> RestoreReport:
        """Put the backup at `path` in the place of what the whole store holds, in one transaction; other processes that
        have it open go on with the new rows.

        Erasures that this store knows of, and the backup does not, are made again before. Keys and the audit log stay
        as they are where the store has any. A dry run checks the backup, and changes nothing. Raises ConflictError when
        the store holds something that is not to be replaced, InvalidInputError when the file is damaged or no backup,
        ConfigError when it is of a newer Mnemic or sealed with another keyring, BackendError when the disk or the store
        fails: all is then as it was. Orgs of a sealed backup that were erased are `lost`, and the others restored.
        """
        wish = Wish(fields.get("receipts"), fields.get("is_replacing", False), fields.get("is_dry_run", False))
        return restore(self._parts, archive(self._parts.keyring), path, wish, fields.get("progress") or _unheard)


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
    told = progress or _unheard
    return check(archive(keyring), path, room=None if room is None else Path(room), told=told)


def receive_backup(path: str | Path, pieces: Iterable[bytes], **fields: Unpack[BackupFields]) -> BackupReport:
    """Keep the bytes of a backup that a server sends, checked, whole or not at all; errors are those of `backup`."""
    is_replacing, told = fields.get("is_replacing", False), fields.get("progress") or _unheard
    return receive(archive(), path, pieces, is_replacing=is_replacing, told=told)


def _unheard(_what: str, _done: int, _total: int) -> None:
    return
