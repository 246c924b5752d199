"""`mnemic remember`: keep one memory."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import typer

from mnemic.cli.input import json_mapping, text_or_stdin
from mnemic.cli.options import command
from mnemic.cli.output import note, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.model.item import Kind, Trust
from mnemic.model.scope import Level

IMPORTANCE_OF_A_PERSON = 1.0
"""What a person enters by hand matters most."""

Text = Annotated[str, typer.Argument(help="What to keep; - takes the standard input, without its last line end.")]
_TIME = "ISO 8601; UTC where no zone is given."


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """The arguments of `Mnemic.remember`, as options; None leaves the library's default."""

    kind: Annotated[Kind | None, typer.Option(help="What sort of memory it is; fact unless said.")] = None
    level: Annotated[Level | None, typer.Option(help="What it belongs to: user, else agent, else session.")] = None
    importance: Annotated[
        str | None, typer.Option(help="0 to 1, or low, medium, high; 1.0 unless said: a person entered it.")
    ] = None
    confidence: Annotated[float | None, typer.Option(help="How sure it is, 0 to 1.")] = None
    categories: Annotated[list[str] | None, typer.Option("--category", help="A tag; may be repeated.")] = None
    context: Annotated[str | None, typer.Option(help="Why it matters.")] = None
    snippet: Annotated[str | None, typer.Option(help="The words it came from.")] = None
    source: Annotated[str | None, typer.Option(help="Where it came from.")] = None
    observed_at: Annotated[str | None, typer.Option(help=f"When it was said. {_TIME}")] = None
    valid_from: Annotated[str | None, typer.Option(help=f"True from. {_TIME}")] = None
    valid_to: Annotated[str | None, typer.Option(help=f"True until before. {_TIME}")] = None
    expires_at: Annotated[str | None, typer.Option(help=f"Gone at. {_TIME}")] = None
    is_private: Annotated[bool, typer.Option("--private", help="Only this agent may see it.")] = False
    is_pinned: Annotated[bool, typer.Option("--pin", help="Never fades, is never evicted.")] = False
    trust: Annotated[Trust | None, typer.Option(help="Where the text came from; user unless said.")] = None
    metadata: Annotated[str | None, typer.Option(help="A JSON object of your own.")] = None

    def arguments(self) -> dict[str, object]:
        """The arguments of `Mnemic.remember` that were given."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        given["importance"] = _importance(self.importance)
        given["metadata"] = json_mapping(self.metadata, "metadata")
        return {name: value for name, value in given.items() if value is not None}


def keep(text: Text, who: ScopeOptions, memory: MemoryOptions) -> None:
    """Keep one memory. What already says the same in the same place is given back instead of stored twice."""
    scope, content, arguments = who.scope, text_or_stdin(text), memory.arguments()
    with who.open() as mnemic:
        (kept,) = mnemic.remember_many(scope, [{"text": content, **arguments}])
    if who.as_json:
        show_json(kept)
        return
    write(kept.id)
    note(f"kept as {kept.kind.value}, importance {kept.importance:.2f}, level {kept.level.value}")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    examples = """
        mnemic remember --user ana "Ana prefers dark mode" --kind preference
        mnemic remember --user ana "Ship the beta" --kind goal --importance high --category work
        pbpaste | mnemic remember --user ana -
        mnemic remember --user ana -- "-v is the verbose flag of her tool"
    """
    command(app, "remember", examples=examples)(keep)


def _importance(text: str | None) -> float | str:
    if text is None:
        return IMPORTANCE_OF_A_PERSON
    try:
        return float(text)
    except ValueError:
        return text
