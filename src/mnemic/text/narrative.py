"""Renders a day's conversations as one story for a model: numbered turns with times and speakers. Measures it in tokens
and divides a long day into parts. No I/O.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mnemic.model.item import Message
from mnemic.text.normalise import late_pattern
from mnemic.text.prompts import CUT_MARK, counted
from mnemic.text.sanitise import one_line, sanitise

BEGIN, END = "---BEGIN DAY---", "---END DAY---"
_FORGED = late_pattern(
    r"(?<![-=_*#<\[])[-=_*#<\[]++\s*+(?:begin|end)[\s_-]++(?:day|before|kept)\s*+[-=_*#>\]]*+", re.IGNORECASE
)
"""Matches a run of marks from its first one only: trying each of them would be quadratic in a long run."""

_LINE_TOKENS = 16  # for the line with a turn's number and time, or with a conversation's


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldTurn:
    """One turn, or the part of one said at once. `number` counts the story's turns, `turn` the conversation's.
    `said_at`: its first moment, in the time zone of the days. `until`: the position after which the conversation
    continues.
    """

    conversation_id: str
    turn: int
    said_at: datetime
    until: int
    messages: tuple[Message, ...]
    number: int = 0

    @property
    def first_position(self) -> int:
        """The position of its first message."""
        return self.messages[0].position

    @property
    def says_anything(self) -> bool:
        """False if none of it is shown; it is then released unread."""
        return any(counted(message).strip() for message in self.messages)


def numbered(turns: Iterable[ToldTurn]) -> list[ToldTurn]:
    """The turns of one part in order, with numbers from 1."""
    return [replace(turn, number=number) for number, turn in enumerate(turns, start=1)]


def told(turns: Sequence[ToldTurn], most_chars: int) -> str:
    """The story of one part, between its markers: at most `most_chars` per message, on one line each."""
    lines: list[str] = [BEGIN]
    conversations: list[str] = []
    last = None
    for turn in turns:
        if turn.conversation_id != last:
            last = turn.conversation_id
            if last not in conversations:
                conversations.append(last)
            lines.append(f"Conversation {conversations.index(last) + 1}")
        lines.append(f"[turn {turn.number}] {turn.said_at:%Y-%m-%d %H:%M}")
        lines += [line for message in turn.messages if (line := shown(message, most_chars))]
    return "\n".join([*lines, END])


def shown(message: Message, most_chars: int) -> str:
    """One line "name: text", unable to end the story or give orders; "" for a blank one."""
    text = counted(message).strip()
    if not text:
        return ""
    cut = text[:most_chars] + (CUT_MARK if most_chars < len(text) or len(counted(message)) < len(message.text) else "")
    return f"{inline(message.author)}: {inline(cut)}"


def tokens(text: str) -> int:
    """An upper estimate of a model's tokens: 2.5 ASCII characters make one, as does any other character."""
    plain = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-2 * plain // 5) + 2 * (len(text) - plain)


def turn_tokens(turn: ToldTurn, most_chars: int) -> int:
    """Tokens of a turn in a story."""
    return _LINE_TOKENS + sum(tokens(shown(message, most_chars)) + 1 for message in turn.messages)


def divided(conversations: Sequence[Sequence[ToldTurn]], room: int, most_chars: int) -> list[list[ToldTurn]]:
    """Parts of at most `room` tokens, in order. Conversations stay whole if they fit, else are cut between turns, or
    within a turn that is larger than a part.
    """
    parts: list[list[ToldTurn]] = []
    free = 0
    for conversation in ([p for turn in each for p in _pieces(turn, room, most_chars)] for each in conversations):
        sizes = [turn_tokens(turn, most_chars) for turn in conversation]
        whole = sum(sizes) + _LINE_TOKENS
        if parts and whole <= free:
            parts[-1] += conversation
            free -= whole
            continue
        free = 0
        for turn, size in zip(conversation, sizes, strict=True):
            if size > free:
                parts.append([])
                free = room - _LINE_TOKENS
            parts[-1].append(turn)
            free -= size
    return parts


def _pieces(turn: ToldTurn, room: int, most_chars: int) -> list[ToldTurn]:
    """The turn, cut between its messages if it does not fit into one part."""
    if len(turn.messages) == 1 or turn_tokens(turn, most_chars) <= room - _LINE_TOKENS:
        return [turn]
    middle = len(turn.messages) // 2
    before, after = turn.messages[:middle], turn.messages[middle:]
    halves = (replace(turn, messages=before, until=before[-1].position), replace(turn, messages=after))
    return [piece for half in halves for piece in _pieces(half, room, most_chars)]


def inline(text: str) -> str:
    """On one line, without anything that could end a block or give orders."""
    return _FORGED.sub("[REDACTED]", one_line(sanitise(text)))
