"""A backup as an earlier version would have written it: the same manifest around rows of then."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

DOCUMENTS_SINCE = 4


def pack(rows: Path, backup: Path, version: int) -> None:
    """Pack a file of rows."""
    content = rows.read_bytes()
    has_documents = int(version >= DOCUMENTS_SINCE)
    manifest = {
        "format": "mnemic-backup",
        "version": 1,
        "contents": "whole",
        "made_at": "2026-01-01T00:00:00+00:00",
        "made_by": "0.0.1",
        "schema": version,
        "store": "sqlite",
        "counts": {"messages": 1, "memories": 1, "documents": has_documents, "chunks": has_documents, "vectors": 1},
        "spaces": {"old-space": 1},
        "models": {},
        "receipts": 0,
        "size": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    with zipfile.ZipFile(backup, "w") as packed:
        packed.writestr("rows.db", content)
        packed.writestr("manifest.json", json.dumps(manifest))
