"""Read a document and cite the passage that answers a question."""

from mnemic import Mnemic

LEASE = (
    b"# Lease\n\nEither party may end the lease with three months' notice.\n\n# Garden\n\nThe tenant waters the garden."
)

with Mnemic("memory.db") as mnemic:
    ana = mnemic.for_user("ana")
    ana.ingest(LEASE, name="lease.md", source="lease.md")  # or a path of a file or folder
    context = ana.context("When can I leave the flat?", system="Answer from the documents.")
    for citation in context.citations:
        print(f"[{citation.number}] {citation.source}")
    print(ana.recall("When can I leave the flat?", kinds=["document"], limit=1)[0].text)
