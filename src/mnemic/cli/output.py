"""Results on standard output: tables for a terminal, tab-separated lines for a pipe, JSON for programs.

Remarks, questions and progress go to standard error. Help needs this module, so it imports no nouns.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from mnemic.cli import forward
from mnemic.cli.failures import INTERRUPTED, PARTIAL, READER_GONE, UNEXPECTED, report
from mnemic.errors import InvalidInputError

if TYPE_CHECKING:
    from mnemic.model.graph import Edge
    from mnemic.model.item import Chunk, Item

MIN_ROOM = 20
"""Minimum width to wrap to, even on a narrower terminal."""

TEXT_LINES = 4
"""Lines that a text may take in a table on a terminal; `memory show` prints the whole of it."""

SHORT_ID_CHARS = 8
"""Of an id's end, which is random: two of 10,000 ids end alike in one store of a hundred."""

UNITS = (("days", 86_400), ("hours", 3_600), ("minutes", 60))
MOST_AGE_S = 30 * 86_400
"""Older times are shown as dates, which say more than `47 days ago`."""

Told = Callable[[str, int, int], None]
"""A progress callback: `(step, done, total)`."""

_Noun = TypeVar("_Noun")
_ID = re.compile(rf"\b[0-9a-f-]{{{36 - SHORT_ID_CHARS}}}([0-9a-f]{{{SHORT_ID_CHARS}}})\b")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: short cells, a text, details about it, and a reason. Control characters and line breaks are
    removed for display.
    """

    lead: tuple[str, ...]
    text: str
    about: tuple[str, ...]
    why: str = ""


def show_json(noun: object) -> None:
    """Print an object as one JSON document. ASCII only, unless the output is UTF-8."""
    from mnemic.wire import to_wire

    is_unicode = _encoding().replace("-", "").replace("_", "").lower() == "utf8"
    write(json.dumps(to_wire(noun), ensure_ascii=not is_unicode, indent=2 if is_terminal() else None))


def show_answer(noun: _Noun, show: Callable[[_Noun], object], *, as_json: bool) -> None:
    """Print a result as JSON, or with `show` for a person."""
    (show_json if as_json else show)(noun)


def show_rows(lead: Sequence[str], rows: Sequence[Row], nothing: str = "") -> None:
    """Print rows, with `lead` as the names of their first columns. Without rows, prints only the remark `nothing`.

    On a terminal the last column has the text, in at most `TEXT_LINES` lines, and below it details and reason, wrapped.
    What does not fit the screen goes to the pager.
    Elsewhere a row is one line of tab-separated cells, uncut and without a header, so that `cut`, `head` and `wc -l`
    work.
    """
    if not rows:
        if nothing:
            note(one_line(nothing))
        return
    rows = [
        Row(tuple(map(one_line, row.lead)), one_line(row.text), tuple(map(one_line, row.about)), one_line(row.why))
        for row in rows
    ]
    if not is_terminal():
        for row in rows:
            write("\t".join((*row.lead, row.text, *row.about, *([row.why] if row.why else ()))))
        return
    widths = [max(len(name), *(len(row.lead[place]) for row in rows)) for place, name in enumerate(lead)]
    margin = sum(widths) + 2 * len(widths)
    room = max(shutil.get_terminal_size().columns - margin, MIN_ROOM)
    shown = [_join_columns(lead, widths)]
    for row in rows:
        lines = wrap_text(row.text, room, TEXT_LINES)
        lines += [_dim(line) for part in (" · ".join(row.about), row.why) for line in wrap_text(part, room)]
        shown += [*(_join_columns(row.lead, widths) + f"\n{' ' * margin}".join(lines)).split("\n")]
    if len(shown) < shutil.get_terminal_size().lines or not sys.stdin.isatty():
        write("\n".join(shown))
        return
    forward.page("\n".join([*shown, ""]))


def wrap_text(text: str, room: int, most: int | None = None) -> list[str]:
    """Wrap `text` to `room` terminal columns, between words if possible. Wide characters count two. If it needs more
    than `most` lines, the last one ends in an ellipsis.
    """
    from rich.cells import cell_len, chop_cells

    lines: list[str] = []
    for word in text.split():
        if lines and cell_len(lines[-1]) + 1 + cell_len(word) <= room:
            lines[-1] += f" {word}"
        else:
            lines += chop_cells(word, room)
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], cut_line(f"{lines[most - 1]} {lines[most]}", room)]


def cut_line(line: str, room: int) -> str:
    """Shorten `line` to `room` terminal columns. Wide characters count two."""
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= room else set_cell_size(line, max(room - 1, 0)) + "…"


def write(text: str) -> None:
    """Print text. Characters outside the output's encoding become escapes. Ends the command quietly if the reader of a
    pipe has gone.
    """
    encoding = _encoding()
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), flush=True)
    except BrokenPipeError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the flush at exit has where to go
        raise typer.Exit(READER_GONE) from error


def note(text: str) -> None:
    """Print a remark on standard error, to keep the result clean."""
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding), file=sys.stderr)


def note_all(texts: Iterable[str], before: str = "") -> None:
    """Print a remark for each text."""
    for text in texts:
        note(before + one_line(text))


def confirm(question: Callable[[], str], *, verb: str, is_sure: bool) -> None:
    """Ask for confirmation before deleting, unless `--yes` was given. Ends the command for every answer but yes.
    `question` is called only if a person can answer. Call `require_answer` first.
    """
    if not is_sure and not typer.confirm(question(), err=True):
        note(f"Nothing was {verb}d.")
        raise typer.Exit(UNEXPECTED)


def require_answer(verb: str, *, is_sure: bool) -> None:
    """Raise `InvalidInputError` if confirmation is needed and the input is not a terminal."""
    if not is_sure and not sys.stdin.isatty():
        raise InvalidInputError(f"{verb[:-1]}ing is permanent and needs confirmation; re-run with --yes")


def end_partly(failed: str, *, as_json: bool) -> NoReturn:
    """End a command of which a part failed, with one line that counts them."""
    report("partial", failed, is_json=as_json)
    raise typer.Exit(PARTIAL)


def is_terminal() -> bool:
    """True if the output is a terminal."""
    return sys.stdout.isatty()


def escape_controls(text: str) -> str:
    """Escape control and direction characters, so that stored text cannot control the terminal."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Printable text without line breaks."""
    return escape_controls(" ".join(text.split()))


def format_count(count: int, nouns: str) -> str:
    """`1 memory`, `2,000 memories`. `nouns` is a regular plural."""
    one = f"{nouns[:-3]}y" if nouns.endswith("ies") else nouns[:-1]
    return f"{count:,} {one if count == 1 else nouns}"


def list_counts(counts: Mapping[str, int], nothing: str = "nothing") -> str:
    """`2 chunks, 1 profile fact`: the counts above zero."""
    shown = ((name.replace("_", " "), count) for name, count in counts.items() if count)
    return ", ".join(format_count(n, name) if name.endswith("s") else f"{n:,} {name}" for name, n in shown) or nothing


def note_timings(before: str, timings_ms: Mapping[str, float]) -> None:
    """Print the time per step."""
    note(before + ", ".join(f"{name} {ms:.1f} ms" for name, ms in timings_ms.items()))


def format_time(value: datetime) -> str:
    """A time in UTC, to the minute."""
    return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}Z"


def format_last(value: datetime | None) -> str:
    """How long ago a time was, on a terminal. Elsewhere, and after a month, the time."""
    if value is None:
        return "-"
    age_s = (datetime.now(UTC) - value).total_seconds()
    if not is_terminal() or not 0 <= age_s < MOST_AGE_S:
        return format_time(value)
    unit, seconds = next(((unit, seconds) for unit, seconds in UNITS if age_s >= seconds), ("", 0))
    return f"{format_count(int(age_s // seconds), unit)} ago" if seconds else "just now"


def shorten_ids(text: str) -> str:
    """Shorten ids of memories and messages to their ends on a terminal. Commands accept these."""
    return _ID.sub(r"\1", text) if is_terminal() else text


def format_item(item: Item, *lead: str, why: str = "", remark: str = "") -> Row:
    """The row of an item: its text, id, kind, owner and time, a passage's place, and the end of what is over."""
    from mnemic.model.item import Chunk, kind_of

    until = f"until {format_time(end)}" if (end := getattr(item, "valid_to", None)) is not None else ""
    remarks = tuple(filter(None, (until, remark)))
    place = (_describe_place(item),) if isinstance(item, Chunk) else ()
    about = (
        item.id if place else shorten_ids(item.id),
        kind_of(item),
        _describe_owner(item),
        format_last(item.observed_at),
        *place,
        *remarks,
    )
    return Row(lead, item.text, about, why)


def format_edge(edge: Edge, names: Mapping[str, str]) -> Row:
    """The row of a relation between two nodes, with its latest citation."""
    said = edge.citations[0] if edge.citations else None
    dates = [f"{word} {format_time(at)}" for word, at in (("from", edge.valid_from), ("until", edge.valid_to)) if at]
    about = ((said.item_id, *dates) if said else tuple(dates)) or ("-",)
    lead = (names[edge.source_id], edge.type, names[edge.target_id])
    return Row(lead, said.text if said else "", about)


@contextmanager
def progress_bars() -> Generator[Told]:
    """A progress callback. Each step gets a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars: dict[str, TaskID] = {}
    with Progress(*columns, console=Console(stderr=True)) as drawn:

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = drawn.add_task(what, total=total)
            drawn.update(bars[what], completed=done)

        yield tell


@contextmanager
def show_progress(describe: Callable[[], str]) -> Generator[Told]:
    """Progress bars for work that Ctrl-C can end, with a remark on what is left."""
    try:
        with progress_bars() as tell:
            yield tell
    except KeyboardInterrupt as error:
        note(f"interrupted{describe()}")
        raise typer.Exit(INTERRUPTED) from error


@dataclass(slots=True)
class Position:
    """The progress of long work, for its bar and for the remark after an interruption. `form` has the fields `name`,
    `done`, `total` and `item`.
    """

    form: str
    before: str = "before anything was processed"
    name: str = ""
    done: int = 0
    total: int = 0
    item: str = ""
    tell: Told | None = None

    def begin(self, name: str, tell: Told, total: int = 0) -> None:
        """Begin another file or step."""
        self.name, self.tell, self.done, self.total, self.item = one_line(name), tell, 0, total, ""

    def reach(self, done: int, total: int | None, item: str = "") -> None:
        """Report progress: done, total and the current item."""
        self.done, self.total, self.item = done, total or self.total, one_line(item) and f", at {one_line(item)}"
        if self.tell is not None:
            self.tell(self.name, done, self.total)

    def __str__(self) -> str:
        return (
            self.form.format(name=self.name, done=self.done, total=self.total, item=self.item)
            if self.total
            else self.before
        )


def _dim(line: str) -> str:
    is_plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
    return line if is_plain else f"\x1b[2m{line}\x1b[0m"


def _join_columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(f"{cell:<{width}}  " for cell, width in zip(cells, widths, strict=True))


def _describe_place(chunk: Chunk) -> str:
    from mnemic.text.outline import pages_told

    pages = pages_told(chunk.page, chunk.last_page)
    return f"{chunk.source or chunk.title}{pages and f', {pages}'}"


def _describe_owner(item: Item) -> str:
    """The author of a message, or the owner of a memory."""
    from mnemic.model.item import Message
    from mnemic.model.scope import Level
    from mnemic.wire import to_wire

    if isinstance(item, Message):
        return item.author
    return item.level.value if item.level is Level.ORG else f"{item.level.value} {to_wire(item)['owner']}"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"
