"""The manifest of a backup as JSON, and back; what comes from a file is believed of nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.backup import Contents, Manifest

FORMAT = "mnemic-backup"
VERSION = 1
_MOST_COUNTS = 100_000


def to_text(manifest: Manifest) -> str:
    """The manifest as JSON for people and programs."""
    told = {"format": FORMAT, "version": VERSION, **asdict(manifest), "made_at": manifest.made_at.isoformat()}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def from_text(text: bytes, newest_schema: int) -> Manifest:
    """The inverse. Raises `InvalidInputError` when it is no manifest, `ConfigError` when it is of a newer Mnemic."""
    try:
        told: Any = json.loads(text)
        return _manifest(told, newest_schema)
    except InvalidInputError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError("its manifest cannot be read") from error


def _manifest(fields: Mapping[str, Any], newest_schema: int) -> Manifest:
    if fields["format"] != FORMAT:
        raise InvalidInputError("it is no backup of Mnemic")
    version, schema, made_by = int(fields["version"]), int(fields["schema"]), str(fields["made_by"])[:40]
    if version > VERSION or schema > newest_schema:
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
    )


def _aware(text: object) -> datetime:
    at = datetime.fromisoformat(str(text))
    if at.tzinfo is None:
        raise ValueError(text)
    return at


def _counts(told: Mapping[str, Any]) -> dict[str, int]:
    if len(told) > _MOST_COUNTS:
        raise ValueError(len(told))
    return {str(name): int(count) for name, count in told.items()}
