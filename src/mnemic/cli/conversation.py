"""Conversations: store messages, list them, and run a worker's steps for a session by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.options import ScopeOptions, list_sessions
from mnemic.errors import NotFoundError
from mnemic.model.listing import follow_pages

if TYPE_CHECKING:
    from mnemic.engine.conversation import EndReport
    from mnemic.engine.extract import ExtractReport
    from mnemic.engine.reflect import ReflectReport
    from mnemic.engine.summaries import SummariseReport
    from mnemic.model.item import Message, Turn
    from mnemic.model.recall import ContextPage, MessagePage
    from mnemic.model.records import AgentSummary, SessionSummary, UserSummary

MAX_PAGE = 1000  # messages of one answer; more are asked for page by page
SESSIONS = 50
"""Default number of sessions listed."""


@verb_command("capture")
def capture(turn: Turn) -> None:
    """Store one exchange. Messages on standard input are JSON objects, one per line or in a list. Their fields are
    role, content and, optionally, name, observed_at, external_id, trust and metadata. Without --session, the command
    starts a new conversation and prints its id.
    """
    output.write(turn.id)
    output.note(f"turn {turn.number} of session {turn.session}, {output.format_count(len(turn.messages), 'messages')}")
    if turn.left_out:
        output.note(f"removed Mnemic's own text from {output.format_count(turn.left_out, 'messages')}")


@verb_command("complete")
def complete(turn: Turn) -> None:
    """Add the assistant's answer to a captured turn."""
    capture(turn)


@verb_command("messages")
def messages(page: MessagePage, arguments: Arguments) -> None:
    """List messages, newest first."""
    _show_messages(page.messages, "" if "after" in arguments else "no messages in this scope")
    if page.next:
        output.note(f"more results are available; continue with --after {page.next}")


@verb_command("contexts")
def contexts(page: ContextPage) -> None:
    """List the contexts shown to models, newest first, with the interface, the size and the query of each."""
    rows = [
        output.Row((output.format_time(each.at), each.door, f"{len(each.items)}", f"{each.tokens:,}"), each.query, ())
        for each in page.contexts
    ]
    nothing = "no context was built for this scope, or `context.keep-days` is 0"
    output.show_rows(("at", "through", "items", "tokens"), rows, nothing)
    if page.next:
        output.note(f"more results are available; continue with --after {page.next}")


@verb_command("users")
def users(found: Sequence[UserSummary]) -> None:
    """List the store's users, most recently active first."""
    rows = [
        output.Row((u.user, str(u.memories), str(u.messages), str(u.documents)), output.format_last(u.last_at), ())
        for u in found
    ]
    output.show_rows(("user", "memories", "messages", "documents"), rows, "the store has no users yet")


@verb_command("agents")
def agents(found: Sequence[AgentSummary]) -> None:
    """List the store's agents with shared memories, most recently active first."""
    rows = [output.Row((a.agent, str(a.memories), str(a.documents)), output.format_last(a.last_at), ()) for a in found]
    nothing = "no agent has shared memories; store one with `mnemic remember TEXT --agent NAME --level agent`"
    output.show_rows(("agent", "memories", "documents"), rows, nothing)


@verb_command("sessions")
def sessions(found: Sequence[SessionSummary], arguments: Arguments) -> None:
    """List a user's sessions with their first message, most recently active first. `mnemic show` prints a session."""
    rows = [output.Row((s.session, f"{s.messages:,}"), s.text, (output.format_last(s.last_at),)) for s in found]
    output.show_rows(("session", "messages"), rows, "this user has no sessions; choose another user with --user")
    if len(found) == arguments.get("limit", SESSIONS):
        output.note("there may be more sessions; raise --limit to list them")


@command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(
            help="The session's id or its first characters.", metavar="SESSION", autocompletion=list_sessions
        ),
    ],
    options: ScopeOptions,
) -> None:
    """Print a session word for word, oldest message first."""
    with options.open(is_reading=True) as mnemic:
        names = [each.session for each in mnemic.sessions(options.scope, limit=MAX_PAGE)]
        chosen = [name] if name in names else [each for each in names if each.startswith(name)]
        if len(chosen) != 1:
            several = f": {', '.join(chosen)}" if chosen else ""
            problem = f"{len(chosen)} sessions start with" if chosen else "this user has no session"
            raise NotFoundError(f"{problem} {name!r}{several}; `mnemic sessions` lists them")
        scope = replace(options.scope, session=chosen[0])
        talk = [*follow_pages(mnemic.messages, scope, in_session=True, limit=MAX_PAGE)][::-1]
    if options.as_json:
        output.show_json(talk)
        return
    for message in talk:
        output.write(f"{output.format_time(message.observed_at)}  {output.one_line(message.author)}")
        output.write("".join(f"  {line}\n" for line in output.escape_controls(message.text).splitlines()))


@verb_command("window")
def window(found: Sequence[Message]) -> None:
    """Show the last messages of a session, oldest first. Nothing is shown after two hours of inactivity."""
    _show_messages(found)
    output.note(output.format_count(len(found), "messages"))


@verb_command("extract")
def extract(report: ExtractReport, arguments: Arguments) -> None:
    """Extract facts from a session's unprocessed messages. The worker does this after every message."""
    rows = [
        output.Row((each.verdict or "found", each.kind.value), each.text, (each.reason,) if each.reason else ())
        for each in report.entries
    ]
    output.show_rows(("done", "kind"), rows)
    done = "would be stored from" if arguments.get("is_dry_run") else "found in"
    output.note(
        f"{output.format_count(len(report.entries), 'facts')} {done} {output.format_count(report.messages, 'messages')}"
    )


@verb_command("summarise")
def summarise(report: SummariseReport, arguments: Arguments) -> None:
    """Summarise messages that have left a session's window. The worker does this automatically."""
    rows = [
        output.Row((f"{each.first}-{each.last}",), output.shorten_ids(each.memory_id or "no new summary"), ())
        for each in report.entries
    ]
    output.show_rows(("messages",), rows)
    count = sum(each.last - each.first + 1 for each in report.entries)
    output.note(
        f"{output.format_count(count, 'messages')} {'would be ' if arguments.get('is_dry_run') else ''}summarised"
    )


@verb_command("end")
def end(report: EndReport) -> None:
    """End a session. The session's own memories expire, and a job summarises its messages."""
    expired, pending = (
        output.format_count(len(report.expired), "memories"),
        output.format_count(report.pending, "messages"),
    )
    output.note(f"{expired} expired, {pending} waiting to be summarised")


@verb_command("reflect")
def reflect(report: ReflectReport) -> None:
    """Write a reflection on a user's newest summaries. The worker does this after every ten summaries."""
    if report.memory_id is not None:
        output.show_rows(
            ("summaries",), [output.Row((str(report.summaries),), output.shorten_ids(report.memory_id), ())]
        )
    facts = ", ".join(sorted(report.facts or {}))
    output.note(
        report.skipped
        or f"{output.format_count(report.summaries, 'summaries')}; new in the profile: {facts or 'nothing'}"
    )


def _show_messages(found: Sequence[Message], nothing: str = "") -> None:
    output.show_rows(("said by",), [output.format_item(message, message.role.value) for message in found], nothing)
