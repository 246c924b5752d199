"""Ask what is true now, and what was true before."""

from mnemic import Mnemic

with Mnemic("memory.db") as mnemic:
    ana = mnemic.for_user("ana")
    ana.remember("Ana lives in Berlin", observed_at="2025-03-01")
    home = ana.remember("Ana lives in Lisbon", observed_at="2026-05-01")
    print("now:", ana.recall("Where does she live?", limit=1)[0].text)
    print("then:", ana.recall("Where does she live?", limit=1, as_of="2025-06-01")[0].text)
    for entry in ana.history(home.id):
        print(entry.action.value)
