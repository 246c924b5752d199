"""Move memories from mem0: import the result of its `get_all`."""

import json

from mnemic import Mnemic

EXPORT = {
    "results": [
        {"id": "1", "memory": "Keeps bees", "user_id": "ana", "created_at": "2026-01-05T10:00:00Z"},
        {"id": "2", "memory": "Rows on Sundays", "user_id": "ana", "created_at": "2026-02-01T10:00:00Z"},
    ]
}

with Mnemic("memory.db") as mnemic:
    ana = mnemic.for_user("ana")
    print(ana.import_(json.dumps(EXPORT)).added["memory"], "imported")
    print(ana.recall("What does she do at the weekend?", limit=1)[0].text)
