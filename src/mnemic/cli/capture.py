"""`mnemic capture` and `mnemic complete`: keep what is said, verbatim."""

from __future__ import annotations

from typing import Annotated

import typer

from mnemic.cli.input import STDIN, messages_from_stdin
from mnemic.cli.options import command
from mnemic.cli.output import note, number_of, show_json, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import InvalidInputError
from mnemic.model.item import Turn
from mnemic.model.values import check_unicode

Source = Annotated[str | None, typer.Argument(help="- reads messages as JSON from the standard input.", metavar="[-]")]
UserText = Annotated[str | None, typer.Option("--user-text", help="What the user said.")]
AssistantText = Annotated[str | None, typer.Option("--assistant-text", help="What the assistant said.")]
AssistantTexts = Annotated[
    list[str], typer.Option("--assistant-text", help="What the assistant said; several are joined by line ends.")
]
ObservedAt = Annotated[str | None, typer.Option("--observed-at", help="When it was said, ISO 8601; now unless given.")]
Name = Annotated[str | None, typer.Option("--name", help="The name of the assistant.")]
TurnId = Annotated[str, typer.Argument(help="The id of the turn, as capture gave it.")]


def hear(
    asking: ScopeOptions,
    source: Source = None,
    user_text: UserText = None,
    assistant_text: AssistantText = None,
    observed_at: ObservedAt = None,
) -> None:
    """Keep one exchange. A message on the standard input is an object with role and content, and optionally name,
    observed_at, external_id, trust and metadata: one per line, or a list of them. Without --session a new
    conversation begins; its id is in the answer.
    """
    if source not in (None, STDIN):
        raise InvalidInputError("messages come from the standard input (-), or as --user-text and --assistant-text")
    messages = [_mapping(message) for message in messages_from_stdin()] if source == STDIN else None
    with asking.open() as mnemic:
        turn = mnemic.capture(asking.scope, messages, user=user_text, assistant=assistant_text, observed_at=observed_at)
    _show(turn, asking)


def finish(
    turn_id: TurnId,
    asking: ScopeOptions,
    assistant_text: AssistantTexts,
    name: Name = None,
    observed_at: ObservedAt = None,
) -> None:
    """Add the assistant's side to a turn that was captured before."""
    with asking.open() as mnemic:
        turn = mnemic.complete(
            asking.scope,
            check_unicode(turn_id, "turn_id"),
            assistant=assistant_text,
            name=name,
            observed_at=observed_at,
        )
    _show(turn, asking)


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    examples = """
        mnemic capture --user ana --session s1 --user-text "I moved to Lisbon" --assistant-text "How is it there?"
        mnemic capture --user ana --session s1 - < messages.jsonl
        echo '{"role": "user", "content": "I moved to Lisbon"}' | mnemic capture --user ana -
    """
    command(app, "capture", examples=examples)(hear)
    examples = """
        mnemic complete --user ana TURN_ID --assistant-text "How is it there?"
    """
    command(app, "complete", examples=examples)(finish)


def _mapping(message: object) -> dict[str, object]:
    if not isinstance(message, dict):
        raise InvalidInputError('a message must be an object such as {"role": "user", "content": "…"}')
    return message  # pyright: ignore[reportUnknownVariableType] -- keys of JSON objects are texts


def _show(turn: Turn, asking: ScopeOptions) -> None:
    if asking.as_json:
        show_json(turn)
        return
    write(turn.id)
    note(f"turn {turn.number} of session {turn.session}, {number_of(len(turn.messages), 'messages')}")
    if turn.left_out:
        note(f"{turn.left_out} messages hold what Mnemic itself had put into the prompt; that was left out")
