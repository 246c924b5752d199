"""Makes a summary again of what is left of its messages, after the one there was told of nothing but erased ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mnemic.engine.indexing.embedding import document_vectors
from mnemic.engine.indexing.indexed import indexed_text
from mnemic.engine.parts import Parts
from mnemic.engine.summaries.derive import add_derived, derived_memory
from mnemic.engine.summaries.digest import covered
from mnemic.engine.summaries.summarise import Summarising
from mnemic.model.filter import Condition
from mnemic.model.item import Kind
from mnemic.model.query import MemoryQuery
from mnemic.model.scope import Partition, Visibility
from mnemic.ports.store import UnitOfWork
from mnemic.text import prompts


@dataclass(frozen=True, slots=True)
class SummarisingAgain:
    """The messages at the positions `first` to `last` of a session. Done twice, it makes one summary."""

    parts: Parts
    partition: Partition
    session: str
    first: int
    last: int
    actor: str
    may_fall_back: bool = False

    def run(self) -> bool:
        """Make the summary, where anything is left; False when a message was erased meanwhile. Raises the errors of
        the model unless it may fall back.
        """
        place = (self.parts, self.partition, self.session, self.actor)
        work = Summarising(*place, may_fall_back=self.may_fall_back)
        messages = [m for m in work.messages(self.first, self.last) if prompts.counted(m).strip()]
        made = work.digest(messages)
        if made is None:
            return True
        memory = derived_memory(made, messages, self.parts.clock.now())
        memory = replace(memory, metadata={**memory.metadata, "positions": [self.first, self.last]})
        vectors = document_vectors(self.parts, [indexed_text(memory)])
        with self.parts.store.write() as unit:
            unit.dependants.of(self.partition, ())  # takes the lock, so that nothing is erased after the look
            ids = [message.id for message in messages]
            if len(unit.messages.get(Visibility((self.partition,), None), ids)) < len(ids):
                return False
            if not self._is_there(unit):
                reason = f"summary of what is left of the messages {self.first} to {self.last} of {self.session}"
                add_derived(self.parts, unit, memory, vectors, actor=self.actor, reason=reason)
        return True

    def _is_there(self, unit: UnitOfWork) -> bool:
        query = MemoryQuery(
            now=self.parts.clock.now(),
            states=(),
            kinds=(Kind.SUMMARY,),
            filter=Condition(("metadata", "session"), "eq", self.session),
        )
        known = unit.memories.list(Visibility((self.partition,), None), query)
        return any(covered(each) == (self.first, self.last) for each in known)
