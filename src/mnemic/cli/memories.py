"""`mnemic remember`, `mnemic memory …` and `mnemic profile …`: single memories, and the facts of a user by key."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.options import IsSure, ScopeOptions, number_or_word
from mnemic.errors import NotFoundError
from mnemic.model.item import Item, Memory, Profile, ProfileEntry, State
from mnemic.model.recall import Counts, Page
from mnemic.model.records import HistoryEntry, Receipt
from mnemic.model.scope import Level, check_unicode
from mnemic.wire import to_wire

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.engine.why_not import WhyNot
    from mnemic.model.item import Review
    from mnemic.model.scope import Scope

OF_A_PERSON = {"importance": 1.0}
"""A memory that a person enters by hand matters most."""

MOST_COUNTED = 1000
"""Memories counted before clearing: one page."""

REVIEW_LIMIT = 50
"""Default number of memories listed for review."""

ID_CHARS = 36

SHOWN_CHARS = 200
"""Characters of a memory's text in a remark."""

TECHNICAL = frozenset(
    {
        "keys",
        "types",
        "target",
        "relation",
        "is_removed",
        "dedup_key",
        "undone",
        "updated_at",
        "last_accessed_at",
        "access_count",
    }
)
"""Fields of a change that mean nothing to a person."""

_REDACTED = re.compile(r"\[REDACTED: ([^\]\n]{1,40})\]")

_SET_ONCE = ("metadata", "is_pinned", "expires_at", "valid_from", "valid_to", "source", "kind")
"""Arguments that have no effect when the same text is stored again."""

_NOTHING = "use --user, --agent or --session to choose whose memory to search"


def find_item(mnemic: Mnemic, scope: Scope, reference: str) -> str:
    """The id of a memory or message by the end of it. An unknown one stays: history has deleted memories too."""
    try:
        return reference if len(reference) == ID_CHARS else mnemic.get(scope, reference).id
    except NotFoundError:
        return reference


FIND = {"id": find_item}


@dataclass(frozen=True, slots=True)
class Conditions:
    """Conditions on memories that the filter of `Mnemic.list` expresses in JSON."""

    categories: Annotated[
        list[str] | None, typer.Option("--category", help="Require this category. Repeatable. All must match.")
    ] = None
    min_importance: Annotated[
        str | None, typer.Option(help="Minimum importance: low, medium, high, or 0 to 1.", metavar="IMPORTANCE")
    ] = None
    since: Annotated[str | None, typer.Option(help="List only memories from this time or later (ISO 8601).")] = None
    before: Annotated[str | None, typer.Option(help="List only memories from before this time (ISO 8601).")] = None

    def join_to(self, arguments: Arguments) -> None:
        """Add the conditions to the filter. Raises `InvalidInputError` for an invalid importance."""
        from mnemic.engine.inputs import check_fraction

        conditions: list[dict[str, object]] = [
            {"categories": {"contains": check_unicode(category, "category")}} for category in self.categories or ()
        ]
        if self.min_importance is not None:
            least = check_fraction(number_or_word(self.min_importance), "importance")
            conditions.append({"importance": {"gte": least}})
        for operator, time in (("gte", self.since), ("lt", self.before)):
            if time is not None:
                conditions.append({"observed_at": {operator: time}})
        if conditions:
            given = arguments.get("filter")
            arguments["filter"] = {"and": [*([given] if given else []), *conditions]}


@command("remember")
@command("memory add", like="remember")
def remember(options: ScopeOptions, arguments: Arguments) -> None:
    """Store one memory. If a memory with the same text already exists at this level, returns that memory."""
    with options.open() as mnemic:
        memory = mnemic.remember(options.scope, **Arguments({**OF_A_PERSON, **arguments}))
        if options.as_json:
            output.show_json(memory)
            return
        is_known = len(mnemic.history(options.scope, memory.id)) > 1
        since = {"updated_at": {"gte": memory.updated_at.isoformat()}}
        gone = mnemic.list(options.scope, states=[State.SUPERSEDED], filter=since).memories
    output.write(output.shorten_ids(memory.id))
    owner = output.one_line(memory.partition.owner) if memory.partition.owner else ""
    done = "already stored" if is_known else "stored"
    output.note(f"{done} as {memory.kind.value} of {memory.level.value} {owner}".rstrip())
    if ignored := [name.removeprefix("is_") for name in _SET_ONCE if name in arguments and is_known]:
        output.note(f"not changed: {', '.join(ignored)}; use `mnemic memory edit` or `mnemic memory pin`")
    ends = [memory.expires_at, None if memory.valid_from else memory.valid_to]
    if any(end is not None and end <= memory.updated_at for end in ends):
        output.note("it has already ended, so no search finds it; check the date, or add --valid-from")
    if hidden := sorted(set(_REDACTED.findall(memory.text))):
        output.note(f"redacted before storage: {', '.join(hidden)}")
    for each in gone:
        if each.other_id == memory.id:
            output.note(f"replaces: {output.one_line(each.text)[:SHOWN_CHARS]}")
    if memory.state is State.QUARANTINED:
        output.note("the memory looks like an instruction to a model and needs your review: `mnemic memory review`")


@command("memory list")
def list_memories(options: ScopeOptions, arguments: Arguments, conditions: Conditions) -> None:
    """List memories, newest first."""
    scope = options.scope
    conditions.join_to(arguments)
    with options.open(is_reading=True) as mnemic:
        page: Page = mnemic.list(scope, **arguments)
    if options.as_json:
        output.show_json(page)
        return
    nothing = "" if "after" in arguments else f"no memories in this scope; {_NOTHING}"
    output.show_rows(("imp.",), [_format_memory(memory) for memory in page.memories], nothing)
    if page.next:
        output.note(f"more results are available; continue with --after {page.next}")


@verb_command("memory count")
def count(counts: Counts) -> None:
    """Count memories by state, active memories also by kind, and documents by status."""
    groups = (("memories", counts.states), ("active", counts.kinds), ("documents", counts.documents))
    rows = [output.Row((str(number), what), name, ()) for what, names in groups for name, number in names.items()]
    output.show_rows(("number", "of"), rows, f"nothing is stored in this scope; {_NOTHING}")


@verb_command("memory show", find=FIND)
def show_memory(item: Item) -> None:
    """Show everything about one memory or message."""
    output.write(output.escape_controls(item.text))
    output.write("")
    for name, value in to_wire(item).items():
        if name != "text" and value not in (None, "", [], {}):
            output.write(f"{name}: {output.one_line(str(value))}")


@verb_command("memory delete", find=FIND)
def delete(receipt: Receipt) -> None:
    """Delete the text, vectors and history of one memory or message, and everything derived only from that item."""
    output.write(f"removed {output.list_counts(receipt.counts)}")
    output.note_all(receipt.notes)


@verb_command("memory history", find=FIND)
def history(entries: Sequence[HistoryEntry]) -> None:
    """Show all changes to a memory, including its deletion, with old and new values, oldest first."""
    rows = [
        output.Row((output.format_time(e.at), e.action.value), _describe_changes(e), (e.actor,), e.reason)
        for e in entries
    ]
    output.show_rows(("when", "done"), rows)


@verb_command("memory edit", find=FIND)
def edit(memory: Memory) -> None:
    """Correct a memory. Its history keeps the old values. `memory undo` reverts the change."""
    _show_changed(memory, "changed")


@verb_command("memory pin", find=FIND, fixed={"is_pinned": True})
def pin(memory: Memory) -> None:
    """Protect a memory from fading and eviction."""
    _show_changed(memory, "pinned")


@verb_command("memory unpin", like="memory pin", find=FIND, fixed={"is_pinned": False})
def unpin(memory: Memory) -> None:
    """Stop protecting a memory from fading and eviction."""
    _show_changed(memory, "unpinned")


@verb_command("memory undo", find=FIND)
def undo(memory: Memory) -> None:
    """Revert the last change to a memory, including a merge. Run the command again to revert earlier changes."""
    _show_changed(memory, "reverted")


@verb_command("memory merge", find={"ids": find_item})
def merge(memory: Memory) -> None:
    """Merge several memories into the first one, which supersedes the others."""
    _show_changed(memory, "merged")


@verb_command("memory feedback", find=FIND)
def feedback(memory: Memory, arguments: Arguments) -> None:
    """Mark a memory as relevant or outdated."""
    _show_changed(memory, f"judged {arguments['verdict']}")


@verb_command("memory why-not", find=FIND)
def why_not(found: WhyNot) -> None:
    """Explain why a memory or message is missing from the hits for a question, or show its rank among them."""
    output.write(f"{found.stage}: {output.one_line(found.reason)}")
    if found.rank is not None:
        output.note(f"rank {found.rank} of {output.format_count(found.candidates, 'candidates')}")
    if found.score is not None:
        parts = " + ".join(f"{part.feature} {part.points:.2f}" for part in found.contributions)
        output.note(f"score {found.score:.2f} = {parts}")


@command("memory clear", is_stated=True)
def clear(options: ScopeOptions, arguments: Arguments, is_sure: IsSure = False) -> None:
    """Permanently delete all memories at the given levels of the scope. Messages are kept. Choose the user with --user
    or MNEMIC_USER.
    """
    scope = options.stated_scope
    levels: list[Level] = arguments.setdefault("levels", [scope.default_level])
    output.require_answer("delete", is_sure=is_sure)
    with options.open() as mnemic:
        output.confirm(lambda: _ask_to_clear(mnemic, options, levels), verb="delete", is_sure=is_sure)
        receipt = mnemic.clear(scope, **arguments)
    if options.as_json:
        output.show_json(receipt)
        return
    output.write(f"removed {output.format_count(receipt.counts['memories'], 'memories')}")
    output.note_all(receipt.notes)


@verb_command("memory review")
def review(found: Sequence[Review], arguments: Arguments) -> None:
    """List the memories that need review (quarantined, disputed or flagged), newest first, with the reason for each."""
    for each in found:
        how = "flagged" if each.memory.state is State.ACTIVE else each.memory.state.value
        since = output.format_time(each.since)
        output.write(f"{output.shorten_ids(each.memory.id)}  {how} since {since}: {output.one_line(each.reason)}")
        output.write(f"  {output.one_line(each.memory.text)[:SHOWN_CHARS]}")
    if not found:
        output.note("no memory needs review in this scope")
    elif len(found) == arguments.get("limit", REVIEW_LIMIT):
        output.note(f"there may be more results; continue with --after {found[-1].memory.id}")


@verb_command("memory trust", find=FIND)
def trust(memory: Memory) -> None:
    """Accept a memory that needs review: clear its flags and make it available for recall."""
    _show_changed(memory, "trusted")


@verb_command("memory reject", find=FIND)
def reject(memory: Memory) -> None:
    """Archive a memory that needs review. `memory undo` restores the memory."""
    _show_changed(memory, "rejected")


@verb_command("profile show")
def show_profile(profile: Profile) -> None:
    """Show the profile's facts by key, and the user's most important and newest memories."""
    facts = [
        output.Row((f.key,), f.value, (f"set by {f.source}", output.format_time(f.updated_at))) for f in profile.static
    ]
    output.show_rows(("key",), facts)
    if profile.dynamic:
        output.note("most important and newest memories:")
        output.show_rows(
            ("imp.",), [output.format_item(memory, f"{memory.importance:.2f}") for memory in profile.dynamic]
        )
    if not facts and not profile.dynamic:
        output.note("the profile is empty; choose the user with --user")


@verb_command("profile set")
def set_profile(entries: Sequence[ProfileEntry]) -> None:
    """Set facts in the profile by key. In a JSON object, a null value removes the key."""
    output.note(f"{output.format_count(len(entries), 'facts')} in the profile")


@command("profile remove")
def remove(
    keys: Annotated[list[str], typer.Argument(help="The keys to remove.", metavar="KEY...")], options: ScopeOptions
) -> None:
    """Remove facts from the profile by key. Unknown keys are ignored."""
    with options.open() as mnemic:
        entries = mnemic.profile.set(options.scope, dict.fromkeys(keys))
    output.show_answer(entries, set_profile, as_json=options.as_json)


@verb_command("profile format")
def format_profile(text: str) -> None:
    """Print the profile for a system prompt as a heading and "key: value" lines. An empty profile prints nothing."""
    if text:
        output.write(output.escape_controls(text.strip("\n")))


def _show_changed(memory: Memory, done: str) -> None:
    output.write(output.shorten_ids(memory.id))
    output.note(f"{done}: {output.one_line(memory.text)[:SHOWN_CHARS]}")


def _format_memory(memory: Memory) -> output.Row:
    """The row of a memory with its present importance, the stored one if it has faded, and what contradicts it."""
    shown, stored = f"{memory.present_importance:.2f}", f"{memory.importance:.2f}"
    remarks = [f"stored with {stored}"] if shown != stored else []
    if memory.state is not State.ACTIVE:
        remarks.append(memory.state.value)
    if memory.flags:
        remarks.append("flagged")
    if memory.other_id is not None:
        remarks.append(f"see {memory.other_id}")
    return output.format_item(memory, shown, remark=" · ".join(remarks))


def _describe_changes(entry: HistoryEntry) -> str:
    """The changed fields before and after, without those that mean nothing to a person; `--json` has all."""
    names = [name for name in {**entry.before, **entry.after} if name not in TECHNICAL]
    values = ((name, entry.before.get(name), entry.after.get(name)) for name in names)
    return "; ".join(f"{name}: {_format_value(was)} → {_format_value(now)}" for name, was, now in values if was != now)


def _format_value(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(str(each) for each in cast("Sequence[object]", value)) or "none"
    return "none" if value in (None, "", {}) else str(value)


def _ask_to_clear(mnemic: Mnemic, options: ScopeOptions, levels: Sequence[Level]) -> str:
    scope = options.stated_scope
    states = [state for state in State if state is not State.ERASED]
    page = mnemic.list(scope, levels=levels, states=states, limit=MOST_COUNTED)
    number = len(page.memories)
    count = f"{number} or more memories" if page.next else output.format_count(number, "memories")
    owners = {Level.SESSION: scope.session, Level.USER: scope.user, Level.AGENT: scope.agent, Level.ORG: scope.org}
    places = ", ".join(f"{level.value} {output.one_line(owners[level] or '')}".strip() for level in levels)
    return f"Permanently delete {count} of {places}?"
