"""`mnemic memory review|trust|reject`: what waits for a person's judgement."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.edit import act
from mnemic.cli.memory import ItemId, Next, Reason
from mnemic.cli.options import command
from mnemic.cli.output import moment, note, one_line, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.item import State
from mnemic.model.values import check_unicode

Limit = Annotated[int, typer.Option("--limit", "-n", help="Memories per page, 1 to 1000.")]


def review(asking: ScopeOptions, limit: Limit = 50, after: Next = None) -> None:
    """List the memories that wait for a judgement: quarantined, disputed or flagged, newest first, with the reason."""
    last = after if after is None else check_unicode(after, "after")
    with asking.open() as mnemic:
        found = mnemic.review(asking.scope, limit=limit, after=last)
    if asking.as_json:
        show_json(found)
        return
    for each in found:
        how = "flagged" if each.memory.state is State.ACTIVE else each.memory.state.value
        write(f"{each.memory.id}  {how} since {moment(each.since)}: {one_line(each.reason)}")
        write(f"  {one_line(each.memory.text)[:200]}")
    if not found:
        note("nothing waits for a judgement in this scope")
    elif len(found) == limit:
        note(f"there may be more: --after {found[-1].memory.id}")


def trust(id: ItemId, asking: ScopeOptions, reason: Reason = "") -> None:
    """Let a memory that waits for a judgement be recalled; a flagged one loses its flags."""
    wanted, why = check_unicode(id, "id"), check_unicode(reason, "reason")
    act(asking, lambda mnemic: mnemic.trust(asking.scope, wanted, reason=why), "trusted")


def reject(id: ItemId, asking: ScopeOptions, reason: Reason = "") -> None:
    """Archive a memory that waits for a judgement; `memory undo` takes that back."""
    wanted, why = check_unicode(id, "id"), check_unicode(reason, "reason")
    act(asking, lambda mnemic: mnemic.reject(asking.scope, wanted, reason=why), "rejected")


def register(memories: typer.Typer) -> None:
    """Adds the commands to the group."""
    command(memories, "review", examples="mnemic memory review --user ana")(review)
    command(memories, "trust", examples='mnemic memory trust --user ana ID --reason "I wrote that file"')(trust)
    command(memories, "reject", examples="mnemic memory reject --user ana ID")(reject)
