"""Rows as earlier versions wrote them: for each table the version since when it has a row here, and its columns.

What a column added later holds by itself is left out, so that every version from then on takes the row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from mnemic.model.scope import Scope

ANNA = Scope(org="acme", user="anna", session="s1")
AT = 1_700_000_000_000_000
SAID, KNOWN, READ = "Where is the lighthouse of Anna?", "Anna keeps a lighthouse", "The lighthouse was built of oak."
MADE_OF = {"source_id": "said", "start": 0, "end": 5, "extractor": "rules", "version": "1", "support": 1.0}
ITEM = {"analyser": "sample-1", "terms": "lighthouse", "trust": "user", "state": "active", "changed": 1}
ROWS: tuple[tuple[str, int, Mapping[str, object]], ...] = (
    ("partitions", 1, {"pid": 1, "org": "acme", "level": "user", "owner": "anna", "version": 1}),
    ("conversations", 1, {"pid": 1, "session": "s1", "turns": 1, "messages": 1, "started_at": AT, "last_at": AT}),
    (
        "messages",
        1,
        ITEM
        | {"pid": 1, "id": "said", "session": "s1", "turn_id": "t1", "turn": 1, "position": 1, "role": "user"}
        | {"text": SAID, "observed_at": AT, "created_at": AT, "metadata": '{"mood": "curious"}'},
    ),
    (
        "memories",
        1,
        ITEM
        | {"pid": 1, "id": "known", "dedup_key": "lighthouse", "text": KNOWN, "kind": "fact", "importance": 0.5}
        | {"confidence": 1.0, "categories": '["home"]', "context": "", "snippet": "", "source": "", "observed_at": AT}
        | {"created_at": AT, "updated_at": AT, "metadata": '{"n": 1}'}
        | {"provenance": json.dumps([MADE_OF])},
    ),
    ("spaces", 1, {"space": "old-space", "dims": 2}),
    ("vectors", 1, {"pid": 1, "item_id": "known", "view": "item", "space": "old-space", "vector": (0.6, 0.8)}),
    (
        "jobs",
        1,
        {"pid": 1, "id": "j1", "kind": "embed", "key": "known", "payload": "{}", "state": "pending", "attempts": 0}
        | {"created_at": AT, "run_at": AT, "error": ""},
    ),
    (
        "history",
        1,
        {"pid": 1, "id": "h1", "item_id": "known", "action": "created", "actor": "cli", "reason": "", "at": AT}
        | {"before": "{}", "after": "{}"},
    ),
    ("profiles", 1, {"pid": 1, "key": "name", "value": "Anna", "source": "user", "created_at": AT, "updated_at": AT}),
    ("cursors", 2, {"pid": 1, "session": "s1", "name": "summarised", "position": 1}),
    ("schedules", 2, {"name": "evict", "at": AT}),
    (
        "documents",
        4,
        {"pid": 1, "id": "d1", "source": "oak.md", "title": "Oak", "media_type": "text/markdown", "status": "ready"}
        | {"reason": "", "sha256": "ab" * 32, "created_at": AT, "updated_at": AT, "pages": "[0, 4, 9, 60]"}
        | {"headings": "[]", "characters": len(READ), "chunks": 1, "metadata": "{}"},
    ),
    ("document_texts", 4, {"pid": 1, "document_id": "d1", "text": READ}),
    (
        "chunks",
        4,
        ITEM
        | {"pid": 1, "id": "read", "document_id": "d1", "span_start": 0, "span_end": len(READ), "headings": "[]"}
        | {"text": READ, "created_at": AT, "observed_at": AT, "page_number": 1},
    ),
    (
        "api_keys",
        5,
        {"org": "acme", "id": "k1", "secret_hash": "cd" * 32, "rights": "read", "name": "laptop", "created_at": AT},
    ),
    ("audit", 5, {"org": "acme", "at": AT, "actor": "k1", "verb": "recall", "target": "", "outcome": "ok"}),
    (
        "receipts",
        6,
        {"org": "acme", "id": "r1", "at": AT, "scope_hash": "ef" * 32, "counts": '{"messages": 3}', "hashes": "[]"}
        | {"notes": "[]"},
    ),
)
"""In an order in which what is referred to comes first. Versions are those of the embedded store."""
