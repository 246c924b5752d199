"""Import many conversations, each in one durable write, and recall from them."""

from mnemic import Mnemic

TALKS = {
    "monday": [("I moved to Lisbon.", "How do you like it?"), ("I adopted a cat, Miso.", "Congratulations!")],
    "tuesday": [("Miso is ill.", "I hope she recovers soon.")],
}

with Mnemic("memory.db") as mnemic:
    for session, exchanges in TALKS.items():
        ana = mnemic.for_user("ana", session=session)
        ana.capture_many(
            [{"role": "user", "content": said}, {"role": "assistant", "content": answer}] for said, answer in exchanges
        )
    mnemic.work()  # extracts facts now; a thread does it in the background otherwise
    for hit in mnemic.for_user("ana").recall("How is the cat?", limit=2):
        print(f"{hit.kind}: {hit.text}")
