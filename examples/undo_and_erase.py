"""Correct a memory, undo the correction, and erase a user with a receipt."""

from mnemic import Mnemic

with Mnemic("memory.db") as mnemic:
    ana = mnemic.for_user("ana")
    tea = ana.remember("Ana likes green tea", categories=["drinks"])
    print(ana.update(tea.id, text="Ana likes black tea", reason="she said so").text)
    print(ana.undo(tea.id).text)
    print(len(ana.list(filter={"categories": "drinks"})), "memory")
    receipt = ana.erase()
    print(sum(receipt.counts.values()) > 0, len(ana.list()), "memories")
