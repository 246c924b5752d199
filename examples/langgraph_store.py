"""Give a LangGraph agent a long-term store: pass it as `graph.compile(store=store)`."""

from langgraph.store.base import BaseStore

from mnemic import Mnemic
from mnemic.integrations.langgraph import MnemicStore


def answer(store: BaseStore, user: str, message: str) -> str:
    """What a node of the graph does: search, then store."""
    place = ("memories", user)
    known = store.search(place, query=message, limit=1)
    store.put(place, message[:20], {"text": message})
    return str(known[0].value["text"]) if known else "I will remember that."


with Mnemic("memory.db") as mnemic:
    store = MnemicStore(mnemic, ("memories", "{user}"))
    print(answer(store, "ana", "My boat is called Heron."))
    print(answer(store, "ana", "What is my boat called?"))
    print(answer(store, "ben", "What is my boat called?"))
