"""`mnemic memory …`: look at what is kept, add to it, and remove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mnemic.cli import remember
from mnemic.cli.input import json_mapping
from mnemic.cli.options import command
from mnemic.cli.output import Row, item_row, moment, note, one_line, printable, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.item import Kind, Memory, State
from mnemic.model.recall import Order
from mnemic.model.records import HistoryEntry
from mnemic.model.scope import Level
from mnemic.model.values import check_unicode
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.api import ListFields

UNSAID = frozenset({"dedup_key", "undone", "updated_at", "last_accessed_at", "access_count"})
"""Fields of a change that tell a person nothing."""

ItemId = Annotated[str, typer.Argument(help="The id of a memory or message.", metavar="ID")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the history.")]
Next = Annotated[str | None, typer.Option("--after", help="Go on after this id, the last of the page before.")]


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The arguments of `Mnemic.list`, as options."""

    levels: Annotated[list[Level] | None, typer.Option("--level", help="Only this level; may be repeated.")] = None
    kinds: Annotated[list[Kind] | None, typer.Option("--kind", help="Only this kind; may be repeated.")] = None
    states: Annotated[
        list[State] | None, typer.Option("--state", help="This state; may be repeated; active unless said.")
    ] = None
    filter: Annotated[str | None, typer.Option(help='Conditions in JSON, as {"importance": {"gte": 0.6}}.')] = None
    categories: Annotated[
        list[str] | None, typer.Option("--category", help="With this category; repeated, with all of them.")
    ] = None
    min_importance: Annotated[
        str | None, typer.Option(help="At least so important: low, medium, high, or 0 to 1.", metavar="IMPORTANCE")
    ] = None
    since: Annotated[str | None, typer.Option(help="Said at this time or later, ISO 8601.")] = None
    before: Annotated[str | None, typer.Option(help="Said before this time, ISO 8601.")] = None
    order: Annotated[Order, typer.Option(help="What comes first.")] = Order.NEWEST
    limit: Annotated[int, typer.Option("--limit", "-n", help="Memories per page, 1 to 1000.")] = 50
    after: Next = None
    as_of: Annotated[str | None, typer.Option(help="What was true in the world at this time, ISO 8601.")] = None
    known_at: Annotated[str | None, typer.Option(help="What was known at this time, ISO 8601.")] = None

    def arguments(self) -> ListFields:
        """The arguments of `Mnemic.list`."""
        return {
            "levels": self.levels or (),
            "kinds": self.kinds or (),
            "states": self.states or (State.ACTIVE,),
            "filter": self._filter(),
            "order": self.order,
            "limit": self.limit,
            "after": self.after if self.after is None else check_unicode(self.after, "after"),
            "as_of": self.as_of,
            "known_at": self.known_at,
        }

    def _filter(self) -> Mapping[str, object] | None:
        conditions: list[Mapping[str, object]] = [
            {"categories": {"contains": check_unicode(category, "category")}} for category in self.categories or ()
        ]
        if self.min_importance is not None:
            conditions.append({"importance": {"gte": _fraction(self.min_importance)}})
        for operator, time in (("gte", self.since), ("lt", self.before)):
            if time is not None:
                conditions.append({"observed_at": {operator: time}})
        given = json_mapping(self.filter, "filter")
        return {"and": [*([given] if given else []), *conditions]} if conditions else given


def _fraction(text: str) -> float:
    from mnemic.engine.inputs import check_fraction

    value: float | str = text
    with suppress(ValueError):
        value = float(text)
    return check_fraction(value, "importance")


def browse(asking: ScopeOptions, wanted: ListOptions) -> None:
    """List memories, the newest first."""
    scope, arguments = asking.scope, wanted.arguments()
    with asking.open() as mnemic:
        page = mnemic.list(scope, **arguments)
    if asking.as_json:
        show_json(page)
        return
    if page.memories:
        show_rows(("imp.",), [_row(memory) for memory in page.memories])
    elif not wanted.after:
        note("no memory in this scope; --user, --agent and --session say whose memory is asked")
    if page.next:
        note(f"there are more: --after {page.next}")


def tell_counts(asking: ScopeOptions) -> None:
    """Count memories by state, active ones by kind, and documents by status."""
    with asking.open() as mnemic:
        counts = mnemic.count(asking.scope)
    if asking.as_json:
        show_json(counts)
        return
    groups = (("memories", counts.states), ("active", counts.kinds), ("documents", counts.documents))
    rows = [Row((str(count), what), name, ()) for what, names in groups for name, count in names.items()]
    if rows:
        show_rows(("number", "of"), rows)
    else:
        note("nothing is kept in this scope; --user, --agent and --session say whose memory is asked")


def show(id: ItemId, asking: ScopeOptions) -> None:
    """Show everything about one memory or message."""
    with asking.open() as mnemic:
        item = mnemic.get(asking.scope, check_unicode(id, "id"))
    if asking.as_json:
        show_json(item)
        return
    write(printable(item.text))
    write("")
    for name, value in to_wire(item).items():
        if name != "text" and value not in (None, "", [], {}):
            write(f"{name}: {one_line(str(value))}")


def remove(id: ItemId, asking: ScopeOptions, reason: Reason = "") -> None:
    """Remove the text, the vectors and the recorded history of one memory or message, and what was made of it alone."""
    with asking.open() as mnemic:
        receipt = mnemic.delete(asking.scope, check_unicode(id, "id"), reason=check_unicode(reason, "reason"))
    if asking.as_json:
        show_json(receipt)
        return
    removed = ", ".join(f"{count} {table}" for table, count in receipt.counts.items() if count)
    write(f"removed {removed}")
    for each in receipt.notes:
        note(one_line(each))


def past(id: ItemId, asking: ScopeOptions) -> None:
    """Show what happened to a memory, oldest first, with what was changed before and after; its deletion too."""
    with asking.open() as mnemic:
        entries = mnemic.history(asking.scope, check_unicode(id, "id"))
    if asking.as_json:
        show_json(list(entries))
        return
    rows = [Row((moment(e.at), e.action.value), _changes(e), (one_line(e.actor),), one_line(e.reason)) for e in entries]
    show_rows(("when", "done"), rows)


def _changes(entry: HistoryEntry) -> str:
    """What was changed, before and after, as far as it tells a person anything; `--json` tells all."""
    names = [name for name in {**entry.before, **entry.after} if name not in UNSAID]
    told = ((name, entry.before.get(name), entry.after.get(name)) for name in names)
    return "; ".join(
        f"{name}: {one_line(_said(was))} → {one_line(_said(now))}" for name, was, now in told if was != now
    )


def _said(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in cast("Sequence[object]", value)) or "none"
    return "none" if value in (None, "", {}) else str(value)


def _row(memory: Memory) -> Row:
    """With its present importance, the stored one where it has faded, and what it is contradicted by."""
    shown, stored = f"{memory.present_importance:.2f}", f"{memory.importance:.2f}"
    remarks = [f"stored with {stored}"] if shown != stored else []
    if memory.state is not State.ACTIVE:
        remarks.append(memory.state.value)
    if memory.flags:
        remarks.append("flagged")
    if memory.other_id is not None:
        remarks.append(f"see {memory.other_id}")
    return item_row(memory, shown, remark=" · ".join(remarks))


def register(memories: typer.Typer) -> None:
    """Adds the commands to the group."""
    command(
        memories,
        "list",
        examples="""
        mnemic memory list --user ana
        mnemic memory list --user ana --kind gem --category architecture --since 2026-04-01 --before 2026-05-01
        mnemic memory list --user ana --kind goal --order importance
        mnemic memory list --user ana --filter '{"categories": {"contains": "work"}}' --json
        """,
    )(browse)
    command(memories, "count", examples="mnemic memory count --user ana")(tell_counts)
    command(memories, "add", examples='mnemic memory add --user ana "Ana prefers dark mode"')(remember.keep)
    command(memories, "show", examples="mnemic memory show --user ana ID")(show)
    command(memories, "delete", examples='mnemic memory delete --user ana ID --reason "no longer true"')(remove)
    command(memories, "history", examples="mnemic memory history --user ana ID")(past)
