"""The manifest of a backup as JSON, and back; what comes from a file is believed of nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.backup import Contents, Manifest, SealedPart, Sealing

FORMAT = "mnemic-backup"
PLAIN, SEALED = 1, 2
"""Versions of the format: a Mnemic that knows of no sealed backups refuses one as newer than itself."""

_MOST_COUNTS = 100_000
_KEY_ID = re.compile(r"[0-9a-f]{16}")


def to_text(manifest: Manifest) -> str:
    """The manifest as JSON for people and programs."""
    told = {"format": FORMAT, "version": PLAIN if manifest.sealed is None else SEALED, **asdict(manifest)}
    told["made_at"] = manifest.made_at.isoformat()
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def from_text(text: bytes, newest_schema: int) -> Manifest:
    """The inverse. Raises `InvalidInputError` when it is no manifest, `ConfigError` when it is of a newer Mnemic."""
    try:
        told: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError("its manifest cannot be read") from error
    return from_json(told, newest_schema)


def from_json(told: object, newest_schema: int) -> Manifest:
    """The same of what the text says."""
    try:
        return _manifest(cast("Mapping[str, Any]", told), newest_schema)
    except InvalidInputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError("its manifest cannot be read") from error


def _manifest(fields: Mapping[str, Any], newest_schema: int) -> Manifest:
    if fields["format"] != FORMAT:
        raise InvalidInputError("it is no backup of Mnemic")
    version, schema, made_by = int(fields["version"]), int(fields["schema"]), str(fields["made_by"])[:40]
    if version > SEALED or schema > newest_schema:
        raise ConfigError(
            f"it was made by Mnemic {made_by}, which is newer (schema {schema}, this one knows {newest_schema}): "
            "run `pip install --upgrade mnemic`"
        )
    return Manifest(
        contents=Contents(fields["contents"]),
        made_at=_aware(fields["made_at"]),
        made_by=made_by,
        schema=schema,
        store=str(fields["store"]),
        counts=_counts(fields["counts"]),
        spaces=_counts(fields["spaces"]),
        models={str(space): str(model) for space, model in dict(fields["models"]).items()},
        receipts=int(fields["receipts"]),
        size=int(fields["size"]),
        sha256=str(fields["sha256"]),
        sealed=_sealing(fields["sealed"]) if version == SEALED else None,
    )


def _sealing(told: Mapping[str, Any]) -> Sealing:
    parts = tuple(SealedPart(_key_id(part["key"]), int(part["size"]), str(part["sha256"])) for part in told["parts"])
    return Sealing(str(told["id"])[:64], str(told["keyring"])[:64], _key_id(told["shared"]), parts)


def _key_id(text: object) -> str:
    """The id of a key, which names a part of the file."""
    if not _KEY_ID.fullmatch(str(text)):
        raise ValueError(text)
    return str(text)


def _aware(text: object) -> datetime:
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError(text)
    return at


def _counts(told: Mapping[str, Any]) -> dict[str, int]:
    if len(told) > _MOST_COUNTS:
        raise ValueError(len(told))
    return {str(name): int(count) for name, count in told.items()}
