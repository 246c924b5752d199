"""Takes in conversations of other programs: idempotent, resumable, with progress, and as a dry run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mnemic.engine.conversation.capture import capture
from mnemic.engine.conversation.echo import Heard
from mnemic.engine.inputs import check_text
from mnemic.engine.parts import Parts
from mnemic.errors import InvalidInputError
from mnemic.model.draft import MessageDraft
from mnemic.model.scope import MAX_ID_CHARS, Scope
from mnemic.text.chatlogs import LoggedConversation, LogReading

BATCH_MESSAGES = 64
OWN_BLOCKS = "blocks that Mnemic itself had put into a prompt"
Progress = Callable[[int, int | None], None]
"""Called with how many records are done, and how many there are where that is known."""


@dataclass(slots=True)
class ImportReport:
    """What came in (`added`), what was there already (`known`) and what was left out on purpose (`skipped`), by kind;
    what could not be read (`problems`), by line or place; and in how many exchanges of a log secrets of a kind were
    redacted (`redacted`).

    Of memories too: `quarantined`, how many of those that were added wait for a review, and `changed`, what another
    text stands in the place of now, or what is no longer in the file, by place.
    """

    format: str
    added: Counter[str] = field(default_factory=Counter[str])
    known: Counter[str] = field(default_factory=Counter[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    redacted: Counter[str] = field(default_factory=Counter[str])
    quarantined: int = 0
    changed: list[str] = field(default_factory=list[str])
    is_dry_run: bool = False


def import_logs(
    parts: Parts, scope: Scope, reading: LogReading, *, is_dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Capture every conversation into a session of its own name, in batches of one transaction each.

    A batch that was committed stays when the call is interrupted; called again, it goes on where it stopped, because a
    message that is known (by its external id) is not stored again. Times are those of the log; trust is "imported".
    """
    report = ImportReport(reading.format, skipped=reading.skipped, problems=reading.problems, is_dry_run=is_dry_run)
    total = sum(len(conversation.messages) for conversation in reading.conversations)
    done, seen = 0, set[tuple[str | None, str | None]]()
    for conversation in reading.conversations:
        place = replace(scope, session=_session_name(conversation, scope))
        end = done + len(conversation.messages)
        for batch in _batches(_usable(parts, conversation, report)):
            messages = [message for exchange in batch for message in exchange]
            known = _known(parts, place, messages)
            new = {(place.session, m.external_id) for m in messages if m.external_id not in known} - seen
            seen |= new
            if new and not is_dry_run:
                for turn in capture(parts, place, batch):
                    report.redacted.update(turn.redacted)
            report.added.update({"message": len(new)} if new else {})
            report.known.update({"message": len(messages) - len(new)} if len(new) < len(messages) else {})
            done += len(messages)
            _tell(progress, done, total)
        done = end
        _tell(progress, done, total)
    return report


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None:
        progress(done, total)


def _session_name(conversation: LoggedConversation, scope: Scope) -> str:
    """The log's own name, made fit for an id."""
    name = "".join(c if c.isprintable() else " " for c in conversation.session).strip()[:MAX_ID_CHARS].strip()
    return name or scope.session or "imported"


def _usable(parts: Parts, conversation: LoggedConversation, report: ImportReport) -> list[list[MessageDraft]]:
    """The exchanges without the messages that cannot be kept, which are reported."""
    exchanges: list[list[MessageDraft]] = []
    for exchange in conversation.exchanges():
        kept: list[MessageDraft] = []
        for message in exchange:
            try:
                check_text(message.text, "text", parts.settings)
                kept.append(message)
            except InvalidInputError as error:
                report.problems.append(f"{conversation.session}, message {message.external_id}: {error}")
        heard = Heard.of(kept)
        report.skipped.update({OWN_BLOCKS: heard.cut} if heard.cut else {})
        if heard.drafts:
            exchanges.append([*heard.drafts])
    return exchanges


def _batches(exchanges: Sequence[list[MessageDraft]]) -> Iterator[list[list[MessageDraft]]]:
    """Whole exchanges, about `BATCH_MESSAGES` messages at a time."""
    batch: list[list[MessageDraft]] = []
    for exchange in exchanges:
        batch.append(exchange)
        if sum(map(len, batch)) >= BATCH_MESSAGES:
            yield batch
            batch = []
    if batch:
        yield batch


def _known(parts: Parts, scope: Scope, messages: Sequence[MessageDraft]) -> set[str]:
    ids = [message.external_id for message in messages if message.external_id is not None]
    with parts.store.read() as work:
        return set(work.messages.by_external_id(scope.message_partition, scope.session or "", ids))
