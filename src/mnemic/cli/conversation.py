"""Conversations: store messages, list them, and run a worker's steps for a session by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mnemic.cli.commands import Arguments, verb_command
from mnemic.cli.output import Row, format_count, format_item, note, show_rows, write

if TYPE_CHECKING:
    from mnemic.engine.conversation import EndReport
    from mnemic.engine.extract import ExtractReport
    from mnemic.engine.reflect import ReflectReport
    from mnemic.engine.summaries import SummariseReport
    from mnemic.model.item import Message, Turn
    from mnemic.model.recall import MessagePage

_SCOPE = "--user ana --session today"


@verb_command(
    "capture",
    examples="""
        mnemic capture --user ana --session s1 --user-text "I moved to Lisbon" --assistant-text "How is it there?"
        mnemic capture --user ana --session s1 - < messages.jsonl
        echo '{"role": "user", "content": "I moved to Lisbon"}' | mnemic capture --user ana -
    """,
)
def capture(turn: Turn) -> None:
    """Store one exchange. A message on the standard input is a JSON object with role and content, and optionally name,
    observed_at, external_id, trust and metadata: one per line, or a list of them. Without --session a new conversation
    begins. Its id is in the answer.
    """
    write(turn.id)
    note(f"turn {turn.number} of session {turn.session}, {format_count(len(turn.messages), 'messages')}")
    if turn.left_out:
        note(f"left out text that Mnemic itself had put into {format_count(turn.left_out, 'messages')}")


@verb_command("complete", examples='mnemic complete --user ana TURN_ID --assistant-text "How is it there?"')
def complete(turn: Turn) -> None:
    """Add the assistant's answer to a captured turn."""
    capture(turn)


@verb_command("messages", examples="mnemic messages --user ana\nmnemic messages --user ana --since 2026-04-01 --json")
def messages(page: MessagePage, arguments: Arguments) -> None:
    """List messages, newest first."""
    if page.messages:
        _show_messages(page.messages)
    elif "after" not in arguments:
        note("no messages in this scope")
    if page.next:
        note(f"there are more: --after {page.next}")


@verb_command("window", examples=f"mnemic window {_SCOPE}\nmnemic window {_SCOPE} --limit 5")
def window(found: Sequence[Message]) -> None:
    """Show the last messages of a session, oldest first. Shows none if the session was silent for two hours."""
    if found:
        _show_messages(found)
    note(format_count(len(found), "messages"))


@verb_command("extract", examples=f"mnemic extract {_SCOPE} --dry-run\nmnemic extract {_SCOPE}")
def extract(report: ExtractReport, arguments: Arguments) -> None:
    """Extract facts from a session's unprocessed messages. The worker does this after every message."""
    if report.entries:
        rows = [
            Row((each.verdict or "found", each.kind.value), each.text, (each.reason,) if each.reason else ())
            for each in report.entries
        ]
        show_rows(("done", "kind"), rows)
    done = "would be stored from" if arguments.get("is_dry_run") else "found in"
    note(f"{format_count(len(report.entries), 'facts')} {done} {format_count(report.messages, 'messages')}")


@verb_command("summarise", examples=f"mnemic summarise {_SCOPE} --dry-run\nmnemic summarise {_SCOPE} --flush")
def summarise(report: SummariseReport, arguments: Arguments) -> None:
    """Summarise messages that have left a session's window. The worker does this automatically."""
    rows = [Row((f"{each.first}-{each.last}",), each.memory_id or "no new summary", ()) for each in report.entries]
    if rows:
        show_rows(("messages",), rows)
    count = sum(each.last - each.first + 1 for each in report.entries)
    note(f"{format_count(count, 'messages')} {'would be ' if arguments.get('is_dry_run') else ''}summarised")


@verb_command("end", examples=f"mnemic end {_SCOPE}")
def end(report: EndReport) -> None:
    """End a session. Its session-level memories expire, and a job summarises it."""
    expired, pending = format_count(len(report.expired), "memories"), format_count(report.pending, "messages")
    note(f"{expired} expired, {pending} waiting for a summary")


@verb_command("reflect", examples=f"mnemic reflect {_SCOPE} --dry-run\nmnemic reflect {_SCOPE}")
def reflect(report: ReflectReport) -> None:
    """Write a reflection on a user's newest summaries. The worker does this after every ten summaries."""
    if report.memory_id is not None:
        show_rows(("summaries",), [Row((str(report.summaries),), report.memory_id, ())])
    facts = ", ".join(sorted(report.facts or {}))
    note(report.skipped or f"{format_count(report.summaries, 'summaries')}; new in the profile: {facts or 'nothing'}")


def _show_messages(found: Sequence[Message]) -> None:
    show_rows(("said by",), [format_item(message, message.role.value) for message in found])
