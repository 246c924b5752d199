"""Sealed backups that an earlier version made: their rows are brought up to date as those of plain ones are."""

from __future__ import annotations

import sqlite3
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from mnemic import Mnemic
from mnemic.adapters.archives import parts as manifests
from mnemic.adapters.archives.keyring import FileKeyring
from mnemic.adapters.archives.sealed import write_parts
from mnemic.adapters.archives.zipped import MANIFEST
from mnemic.adapters.stores.sqlite.copying import SqliteRows
from mnemic.config import Config
from mnemic.model.backup import Contents, Manifest
from tests.upgrade.test_versions import VERSIONS, assert_answers, make_old

THEN = datetime(2026, 1, 1, tzinfo=UTC)


def seal(rows: Path, backup: Path, ring: FileKeyring, version: int) -> None:
    """Seal the rows of a store of an earlier version, as that version would have."""
    counted = ("messages", "memories", "vectors", *(("documents", "chunks") if version >= 4 else ()))
    with closing(sqlite3.connect(rows)) as connection, zipfile.ZipFile(backup, "w") as packed:
        source = SqliteRows(connection, cast("Any", None), (), ())
        manifest = Manifest(
            contents=Contents.WHOLE,
            made_at=THEN,
            made_by="0.0.1",
            schema=version,
            store="sqlite",
            counts={"documents": 0, "chunks": 0, **dict.fromkeys(counted, 1)},
            spaces={},
            models={},
            receipts=0,
            size=0,
            sha256="",
        )
        keys = ring.issue([None, *source.orgs()], THEN)
        sealed = write_parts(packed, source, ring.id, keys, manifest, _unheard)
        packed.writestr(MANIFEST, manifests.to_text(sealed))


def _unheard(_what: str, _done: int, _total: int) -> None:
    return


@pytest.mark.requirement("P-37", "P-30")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_sealed_backup_of_each_version_is_restored_and_answers(tmp_path: Path, version: int):
    old, backup, ring = tmp_path / "old.db", tmp_path / "b.zip", tmp_path / "keyring.json"
    make_old(old, version)
    seal(old, backup, FileKeyring(ring), version)
    with Mnemic.open(Config(store=str(tmp_path / "new.db"), embedder="none", backup_keyring=ring)) as memory:
        memory.restore(backup)
        assert_answers(memory, version)
