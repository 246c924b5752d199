"""What the SQL stores share of erasure: its tables in the order of wiping, and receipts as columns."""

from __future__ import annotations

import json

from mnemic.adapters.stores.rows import Row
from mnemic.model.records import Receipt
from mnemic.model.values import from_microseconds, to_microseconds

KEY_BYTES = 32

TABLES = (
    "research_steps",
    "supports",
    "relations",
    "mentions",
    "entity_vectors",
    "entities",
    "read_items",
    "vectors",
    "chunks",
    "document_texts",
    "documents",
    "cursors",
    "messages",
    "conversations",
    "memories",
    "jobs",
    "history",
    "profiles",
)
"""Every table of a partition's rows; what refers to others comes before them."""


def receipt_columns(receipt: Receipt) -> dict[str, object]:
    """A receipt as its row holds it."""
    return {
        "org": receipt.org,
        "id": receipt.id,
        "at": to_microseconds(receipt.at),
        "scope_hash": receipt.scope_hash,
        "counts": json.dumps(dict(receipt.counts)),
        "hashes": json.dumps(list(receipt.hashes)),
        "notes": json.dumps(list(receipt.notes)),
    }


def to_receipt(row: Row) -> Receipt:
    """The receipt of a row."""
    org, receipt_id, at, scope_hash, counts, hashes, notes = row
    return Receipt(
        at=from_microseconds(at),
        counts=json.loads(counts),
        id=receipt_id,
        org=org,
        scope_hash=scope_hash,
        hashes=tuple(json.loads(hashes)),
        notes=tuple(json.loads(notes)),
    )
