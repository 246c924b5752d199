"""Applies what a message of the user takes back. A corrected value is changed in what was made of earlier messages. A
standing order, plan or tie that was taken back ends. The history records it, and `undo` reverts it. Doing it twice
changes nothing more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from mnemic.engine.assimilate import Place, near_text
from mnemic.engine.edit import Editor, gives_way
from mnemic.engine.engine import SessionRun
from mnemic.engine.fields import ended, filled_of, slot_notes, with_text
from mnemic.engine.indexing import Layers, document_vectors, indexed_text, put_vectors
from mnemic.engine.lasting_facts import remove_derived
from mnemic.model.item import Memory, Message, Provenance, Role, State, Trust
from mnemic.model.records import Action
from mnemic.model.scope import Visibility
from mnemic.text.facts.corrections import (
    Correction,
    Withdrawal,
    correct,
    cut_half,
    ends_topic,
    find_corrections,
    find_endings,
    find_over,
    hide_topic,
    make_withdrawal,
    read_withdrawal,
)
from mnemic.text.facts.find import EXTRACTOR, SPAN_SUPPORT, VERSION, label_time
from mnemic.text.facts.when import cut_label, find_time
from mnemic.text.languages import detect

MOST_ENDED = 2  # memories that one sentence ends: a fact, and a detail of it
LOOK_BACK = 12  # messages before a correction that may have the wrong value: six turns, as far as people point back


class Correcting(SessionRun):
    """Applies what messages of one conversation take back."""

    def run(self, message: Message, reply: str) -> list[tuple[int, int]]:
        """Apply one message of the user; `reply`: what the assistant said right before it. Returns the spans of the
        sentences that corrected a value. Raises `ConflictError` on a concurrent change; run it again then.
        """
        visible = Place(self._partition, message.agent).visibility
        changes, spans = self._correct(message, reply)
        self._write(visible, changes, f"corrected: message {message.id}")
        withdrawal = None if changes else read_withdrawal(message.text)
        over = [*_end(self._find_over(visible, message, withdrawal), withdrawal, message)] if withdrawal else []
        if not changes:
            over = over or self._find_ended(visible, message)
            self._write(visible, over, f"taken back: message {message.id}")
        if withdrawal is not None and withdrawal.ends in ("name", "employer", "partner"):
            with self._engine.store.write() as work:  # the profile may have it without a memory
                key = "name" if withdrawal.ends == "name" else "employer"
                remove_derived(work, self._partition, key, withdrawal.text)
        return spans

    def _write(self, visible: Visibility, changes: Sequence[tuple[Memory, Memory]], reason: str) -> None:
        """Put the changes, without the message's words, which an erasure would leave in the reasons."""
        if not changes:
            return
        texts = {indexed_text(new) for old, new in changes if indexed_text(new) != indexed_text(old)}
        made = document_vectors(self._engine, [*texts]) if texts else ()
        vectors = dict(zip(texts, made, strict=True)) if made else {}
        with self._engine.store.write() as work:
            editor = Editor(self._engine, work, visible, self._actor)
            for old, new in changes:
                holder = work.memories.holder(new.partition, new.private_agent, new.dedup_key)
                if holder is not None and holder.id != old.id and not gives_way(work, editor, new):
                    editor.supersede(old, holder.id, Action.MERGED, reason)
                elif indexed_text(old) == indexed_text(new):
                    editor.put(old, new, Action.FEEDBACK, reason)
                else:
                    kept = editor.put(old, new, Action.UPDATED, reason)
                    ready = [vectors[indexed_text(new)]] if vectors else made
                    put_vectors(self._engine, work, [(kept.partition, kept.id)], ready, kept.updated_at)
        self._engine.observer.count("mnemic.extract.taken_back", len(changes))

    def _correct(self, message: Message, reply: str) -> tuple[list[tuple[Memory, Memory]], list[tuple[int, int]]]:
        """The memories with a wrong value, and as they are with the right one: those of the latest message that has it.
        And the spans of the sentences that say it.
        """
        earlier, made = self._list_earlier(message)
        for place, said in enumerate(earlier):
            found = find_corrections(message.text, said.text, reply, [each.text for each in earlier[:place]])
            own = [memory for memory in made if said.id in memory.source_ids and _is_own(memory, message)]
            changes = [(memory, new) for memory in own if (new := _corrected(memory, found, message)) is not None]
            if changes:
                return changes, [(each.start, each.end) for each in found]
        return [], []

    def _list_earlier(self, message: Message) -> tuple[list[Message], Sequence[Memory]]:
        """The user's messages before this one, the latest first, and what was made of them."""
        start = max(0, message.position - 1 - LOOK_BACK)
        with self._engine.store.read() as work:
            known = work.conversations.messages(self._partition, self._session, start, LOOK_BACK)
            told = [each for each in reversed(known) if each.role is Role.USER and each.state is State.ACTIVE]
            earlier = [each for each in told if each.position < message.position]
            return earlier, work.dependants.of(self._partition, [each.id for each in earlier]) if earlier else ()

    def _find_over(self, visible: Visibility, message: Message, withdrawal: Withdrawal) -> list[Memory]:
        """The orders, plans or ties that a message takes back."""
        live = self._list_live(visible, message, withdrawal.text)
        return find_over(withdrawal, [(memory, filled_of(memory)) for memory in live])

    def _find_ended(self, visible: Visibility, message: Message) -> list[tuple[Memory, Memory]]:
        """The memories that the classifier takes to be over, as they were and with an end. A sentence that seems to end
        more than `MOST_ENDED` is about something common, and ends none.
        """
        found: dict[str, tuple[Memory, Memory]] = {}
        for sentence in find_endings(message.text):
            near = self._list_live(visible, message, sentence, by_words=True)
            hidden = [(memory, hide_topic(sentence, memory.text)) for memory in near]
            layers: Layers = {}
            document_vectors(self._engine, [*{text for _, text in hidden if text}], layers)
            over = [memory for memory, text in hidden if text in layers and ends_topic(layers[text])]
            if len(over) <= MOST_ENDED:
                found |= {old.id: (old, new) for old, new in _end(over, make_withdrawal(sentence), message)}
        return [*found.values()]

    def _list_live(self, visible: Visibility, message: Message, text: str, *, by_words: bool = False) -> list[Memory]:
        """The user's own memories near a text that hold when the message is said."""
        now, near = message.observed_at, near_text(self._engine, visible, text, by_words=by_words)
        own = [memory for memory in near if _is_own(memory, message) and memory.observed_at <= now]
        return [memory for memory in own if memory.valid_to is None or memory.valid_to > now]


def _end(over: Sequence[Memory], withdrawal: Withdrawal, message: Message) -> Iterator[tuple[Memory, Memory]]:
    """Each memory as it was and with its end. Of two things in a memory, only one ends; a longer list stays."""
    for memory in over:
        rest = cut_half(memory.text, withdrawal) if withdrawal.ends in ("over", "job", "partner") else None
        language, filled = detect(memory.text), filled_of(memory)
        is_shared = withdrawal.ends == "partner" and dict(language.corrections.ties)["partner"].search(memory.text)
        if is_shared and filled is not None and filled.slot in language.slots.stated:
            rest = language.slots.stated[filled.slot].format(filled.value)  # they lived together
        elif is_shared and rest == "":
            rest = language.corrections.former.sub(r"ex-\g<0>", memory.text)
        if rest is None:
            yield memory, ended(memory, message.observed_at)
        elif rest:
            yield memory, with_text(memory, rest)


def _is_own(memory: Memory, message: Message) -> bool:
    """True for what the user said, where this message was said."""
    is_here = memory.private_agent in (None, message.private_agent) and memory.partition == message.partition
    return is_here and memory.state is State.ACTIVE and memory.trust in (Trust.USER, Trust.IMPORTED)


def _corrected(memory: Memory, corrections: Sequence[Correction], message: Message) -> Memory | None:
    """The memory with the right values in its text, its slot and its date, and the message as a further source. None if
    it has none of the wrong ones.
    """
    said, filled = cut_label(memory.text), filled_of(memory)
    slot, value = (filled.slot, filled.value) if filled is not None else ("", "")
    for each in corrections:
        said = correct(said, each.wrong, each.right) or said
        value = correct(value, each.wrong, each.right) or value
        slot = correct(slot, each.wrong, each.right) or slot  # "allergy to nuts"
    if said == cut_label(memory.text):
        return None
    language, start = detect(said), memory.valid_from
    if cut_label(memory.text) != memory.text:
        named = find_time(said, memory.observed_at, language.dates)
        said += "" if named is None else label_time(named, language)
        start = named.start if named is not None and named.start <= memory.observed_at else None
    sources = [Provenance(message.id, each.start, each.end, EXTRACTOR, VERSION, SPAN_SUPPORT) for each in corrections]
    provenance = tuple(dict.fromkeys((*memory.provenance, *sources)))
    new = with_text(replace(memory, valid_from=start, provenance=provenance), said)
    return new if filled is None else replace(new, bookkeeping={**new.bookkeeping, **slot_notes(said, slot, value)})
