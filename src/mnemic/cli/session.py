"""A session by hand: its last messages, its summaries and reflections, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, item_row, note, one_line, show_json, show_rows
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.values import check_unicode

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and change nothing.")]
Limit = Annotated[int | None, typer.Option("--limit", "-n", help="Most messages; 20 unless said.")]
Closed = Annotated[bool, typer.Option("--include-closed", help="However long ago the session was.")]
Flush = Annotated[bool, typer.Option("--flush", help="Everything that is in no summary yet, not only what is due.")]


def last_messages(asking: ScopeOptions, limit: Limit = None, include_closed: Closed = False) -> None:
    """Show the last messages of a session, oldest first; none when nothing was written in it for two hours."""
    with asking.open() as mnemic:
        messages = mnemic.window(asking.scope, limit=limit, include_closed=include_closed)
    if asking.as_json:
        show_json(messages)
        return
    if messages:
        show_rows(("said by",), [item_row(message, message.role.value) for message in messages])
    note(f"{len(messages)} messages")


@dataclass(frozen=True, slots=True)
class MessageOptions:
    """Which messages are shown."""

    since: Annotated[str | None, typer.Option(help="Said at this time or later, ISO 8601.")] = None
    before: Annotated[str | None, typer.Option(help="Said before this time, ISO 8601.")] = None
    in_session: Annotated[bool, typer.Option("--in-session", help="Only what was said in this session.")] = False
    limit: Annotated[int, typer.Option("--limit", "-n", help="Messages per page, 1 to 1000.")] = 50
    after: Annotated[str | None, typer.Option(help="The id to go on behind, as the page before told it.")] = None


def all_messages(asking: ScopeOptions, wanted: MessageOptions) -> None:
    """List what was said, the newest first, page by page."""
    after = wanted.after if wanted.after is None else check_unicode(wanted.after, "after")
    with asking.open() as mnemic:
        page = mnemic.messages(
            asking.scope,
            since=wanted.since,
            before=wanted.before,
            in_session=wanted.in_session,
            limit=wanted.limit,
            after=after,
        )
    if asking.as_json:
        show_json(page)
        return
    if page.messages:
        show_rows(("said by",), [item_row(message, message.role.value) for message in page.messages])
    elif not wanted.after:
        note("nothing was said in this scope")
    if page.next:
        note(f"there are more: --after {page.next}")


def make_summaries(asking: ScopeOptions, is_flush: Flush = False, is_dry_run: DryRun = False) -> None:
    """Summarise what has fallen out of a session's window, as a worker does by itself."""
    with asking.open() as mnemic:
        report = mnemic.summarise(asking.scope, is_flush=is_flush, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    rows = [Row((f"{each.first}-{each.last}",), each.memory_id or "no new summary", ()) for each in report.entries]
    if rows:
        show_rows(("messages",), rows)
    count = sum(each.last - each.first + 1 for each in report.entries)
    note(f"{count} messages {'would be' if is_dry_run else 'were'} summarised")


def find_facts(asking: ScopeOptions, is_dry_run: DryRun = False) -> None:
    """Find the facts in what a user said in a session and was not read yet, as a worker does after every message."""
    with asking.open() as mnemic:
        report = mnemic.extract(asking.scope, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    if report.entries:
        rows = [
            Row((each.verdict or "found", each.kind.value), one_line(each.text), (each.reason,) if each.reason else ())
            for each in report.entries
        ]
        show_rows(("done", "kind"), rows)
    done = "would be kept of" if is_dry_run else "were found in"
    note(f"{len(report.entries)} facts {done} {report.messages} messages")


def finish(asking: ScopeOptions) -> None:
    """End a session: its memories of session level expire, and what was said in it will be summarised by a job."""
    with asking.open() as mnemic:
        report = mnemic.end(asking.scope)
    if asking.as_json:
        show_json(report)
        return
    note(f"{len(report.expired)} memories expired, {report.pending} messages wait for a summary")


def look_back(asking: ScopeOptions, is_dry_run: DryRun = False) -> None:
    """Make a reflection of a session's newest summaries, as a worker does by itself after every ten."""
    with asking.open() as mnemic:
        report = mnemic.reflect(asking.scope, is_dry_run=is_dry_run)
    if asking.as_json:
        show_json(report)
        return
    if report.memory_id is not None:
        show_rows(("summaries",), [Row((str(report.summaries),), report.memory_id, ())])
    facts = ", ".join(sorted(report.facts or {}))
    note(report.skipped or f"{report.summaries} summaries; new in the profile: {facts or 'nothing'}")


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    of = "--user ana --session today"
    command(app, "window", examples=f"mnemic window {of}\nmnemic window {of} --limit 5")(last_messages)
    command(
        app, "messages", examples="mnemic messages --user ana\nmnemic messages --user ana --since 2026-04-01 --json"
    )(all_messages)
    command(app, "summarise", examples=f"mnemic summarise {of} --dry-run\nmnemic summarise {of} --flush")(
        make_summaries
    )
    command(app, "extract", examples=f"mnemic extract {of} --dry-run\nmnemic extract {of}")(find_facts)
    command(app, "reflect", examples=f"mnemic reflect {of} --dry-run\nmnemic reflect {of}")(look_back)
    command(app, "end", examples=f"mnemic end {of}")(finish)
