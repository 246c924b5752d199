"""Reads Markdown notes: MEMORY.md, CLAUDE.md, AGENTS.md, USER.md, SOUL.md, `memory/2026-01-02.md` and the like. Each
list item and paragraph is one entry, verbatim, with the titles above it and its line. An item below another has that as
a title too. Code belongs to the entry before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.text.memoryfiles.entry import MAX_TAG_CHARS, Entry, MemoryReading
from mnemic.text.outline import Block, BlockKind, blocks

_DATE = r"(?P<year>[12]\d{3})-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?!\d)"
_TIME = r"(?P<hour>[01]\d|2[0-3]):(?P<minute>[0-5]\d)(?!\d)"
_MARKS = r"[\[(*_`\s]*"
_BEFORE = re.compile(rf"{_MARKS}{_DATE}(?:(?:[T ]|, ?){_TIME})?")
_TIME_BEFORE = re.compile(rf"{_MARKS}{_TIME}")
_NAME = re.compile(rf"(?:^|.*[^\d]){_DATE}(?:-(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d))?(?:$|[^\d].*)")


def date_before(text: str) -> datetime | None:
    """The date, and time if any, at the start of a text; marks may precede it."""
    return _moment(_BEFORE.match(text))


def time_before(text: str, day: datetime) -> datetime:
    """`day` at the time of day at the start of a text; unchanged without one."""
    found = _TIME_BEFORE.match(text)
    return day if found is None else day.replace(hour=int(found["hour"]), minute=int(found["minute"]))


def date_of_name(stem: str) -> datetime | None:
    """The date in a file name, as in `2026-01-02`, `2026-01-02-1430` or `2026-01-02-standup`."""
    return _moment(_NAME.match(stem[:255]))  # the longest file name of most systems


def _moment(match: re.Match[str] | None) -> datetime | None:
    """A moment in UTC; None for an invalid day."""
    if match is None:
        return None
    year, month, day, hour, minute = (int(match[part] or 0) for part in ("year", "month", "day", "hour", "minute"))
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None


MAX_TAGS = 16  # half of the 32 categories that a memory may have
_FIELD = re.compile(r"(?P<key>[\w-]{1,40})[ \t]*:[ \t]*(?P<value>.*)")
_ELEMENT = re.compile(r"[ \t]*-[ \t]+(?P<value>.+)")
_TITLES = ("title", "name", "label", "description")
_DAYS = ("date", "updated", "created", "last_updated", "updated_at", "created_at")
_TAGS = ("tags", "categories", "keywords")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """`titles` apply to the whole file; `day`: its date; `lines`: length of the front matter."""

    titles: tuple[str, ...] = ()
    day: datetime | None = None
    categories: tuple[str, ...] = ()
    lines: int = 0


def front_matter(text: str) -> FrontMatter:
    """Reads `key: value`, and lists in brackets or with dashes. Anything else is ignored."""
    fields: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    key, lines = "", text.strip().splitlines()[1:-1]
    for line in lines:
        if (element := _ELEMENT.match(line)) and key:
            lists.setdefault(key, []).append(_bare(element["value"]))
        elif found := _FIELD.match(line):
            key = found["key"].lower().replace("-", "_")
            fields[key] = found["value"].strip()
    titles = tuple(dict.fromkeys(_bare(fields[name]) for name in _TITLES if _bare(fields.get(name, ""))))
    days = [day for name in _DAYS if (day := date_before(_bare(fields.get(name, "")))) is not None]
    tags = [tag for name in _TAGS for tag in (*_listed(fields.get(name, "")), *lists.get(name, ()))]
    fitting = [tag for tag in dict.fromkeys(tags) if 0 < len(tag) <= MAX_TAG_CHARS]
    return FrontMatter(titles, days[0] if days else None, tuple(fitting[:MAX_TAGS]), len(lines))


def _listed(value: str) -> list[str]:
    return [bare for part in value.strip().removeprefix("[").removesuffix("]").split(",") if (bare := _bare(part))]


def _bare(value: str) -> str:
    return value.strip().strip("\"'").strip()


TAB_COLUMNS = 4  # of the CommonMark specification
MAX_ABOVE = 8  # nearest parent items to note

_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+\u2022]|\d{1,9}[.)])(?P<gap>[ \t]+|$)")
_ITEM_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Item:
    """A list item: its text without mark and indentation, its line in the list, the parents' texts, outermost first,
    and whether it has children.
    """

    text: str
    start: int
    above: tuple[str, ...]
    has_children: bool


@dataclass(slots=True)
class _Open:
    """An item being read."""

    start: int
    column: int
    depth: int
    parent: _Open | None
    lines: list[str] = field(default_factory=list[str])
    has_children: bool = False

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip("\n")

    def above(self) -> Iterator[_Open]:
        at = self.parent
        for _ in range(MAX_ABOVE):
            if at is None:
                return
            yield at
            at = at.parent


def items(text: str) -> list[Item]:
    """All items of a list, in order, at any depth. Other lines belong to the item before, also list marks within fenced
    code. Numbers and marks of the list are removed.
    """
    found: list[_Open] = []
    open_: _Open | None = None
    fence, position = "", 0
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\n")
        match = None if fence else _ITEM.match(bare)
        if match is not None:
            open_ = _open_item(match, bare, position, open_)
            found.append(open_)
        elif open_ is not None:
            open_.lines.append(_dedented(bare, open_.column))
        content = bare[match.end() :] if match else bare
        if mark := _ITEM_FENCE.match(content):
            fence = mark[1] if not fence else "" if mark[1].startswith(fence) else fence
        position += len(line)
    return [
        Item(each.text, each.start, tuple(reversed([parent.text for parent in each.above()])), each.has_children)
        for each in found
    ]


def _open_item(match: re.Match[str], line: str, position: int, before: _Open | None) -> _Open:
    """A new item under the nearest one before it that is indented less."""
    depth = _columns(match["indent"])
    parent = before
    while parent is not None and parent.depth >= depth:
        parent = parent.parent
    if parent is not None:
        parent.has_children = True
    return _Open(position, _columns(line[: match.end()]), depth, parent, [line[match.end() :]])


def _columns(blanks: str) -> int:
    return len(blanks.expandtabs(TAB_COLUMNS))


def _dedented(line: str, column: int) -> str:
    """A line without the indentation of its item."""
    blanks = len(line) - len(line.lstrip(" \t"))
    indent = line[:blanks].expandtabs(TAB_COLUMNS)
    return indent[column:] + line[blanks:]


MAX_TITLE_CHARS = 120  # a longer title is cut in the trail
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r"(?m)^[ \t>]*(`{3,}|~{3,})")
_REFERENCE = re.compile(r"@[^\s@/.~]*[/.~][^\s@]*")
_PARTED = re.compile(r"[ \t]*\u00a7[ \t]*")
_TASK = re.compile(r"\[(?P<mark>[ xX])\][ \t]+")
_KIND_WORDS = (
    (Kind.PREFERENCE, r"\bpreferences?\b|\bprefers\b|\blikes\b|\bdislikes\b|偏好|喜好|喜欢"),
    (Kind.GOAL, r"\bgoals?\b|\bplans?\b|\bto[- ]?dos?\b|\btasks\b|\bnext steps\b|目标|计划|待办"),
    (Kind.PERSONA, r"\bpersona(?:lity)?\b|\bidentity\b|\bsoul\b|人格|身份|灵魂"),
    (Kind.LEARNING, r"\blessons?\b|\blearnings?\b|\blearned\b|教训|经验"),
    (Kind.FACT, r"\bfacts?\b|\babout (?:me|the user)\b|\bprofile\b|事实"),
)
_KINDS = tuple((kind, re.compile(words, re.IGNORECASE)) for kind, words in _KIND_WORDS)
_PERSONA_FILES = ("soul", "identity", "persona")


def read_markdown(text: str, name: str = "") -> MemoryReading:
    """The entries of a notes file. No text raises. `name` is the file's, for sources, days and kinds."""
    reading = MemoryReading("markdown", name)
    return _File(text, name, reading).read()


@dataclass(slots=True)
class _Stand:
    """Reading state: the titles and label above, and whether code may still belong to the entry before."""

    titles: tuple[str, ...] = ()
    label: str = ""
    follows: bool = False


class _File:
    """A notes file being read."""

    def __init__(self, text: str, name: str, reading: MemoryReading) -> None:
        self._reading, self._name = reading, name
        self._text = self._without_comments(text.replace("\r\n", "\n").replace("\r", "\n"))
        self._breaks = [match.start() for match in re.finditer("\n", self._text)]
        stem = PurePosixPath(PureWindowsPath(name).as_posix()).stem if name else ""
        self._day = date_of_name(stem)
        self._is_daily = self._day is not None
        self._is_persona = any(word in stem.lower() for word in _PERSONA_FILES)
        self._front = FrontMatter()
        self._stand = _Stand()

    def read(self) -> MemoryReading:
        found = blocks(self._text)
        for number, block in enumerate(found):
            following = found[number + 1] if number + 1 < len(found) else None
            self._block(block, following, is_first=number == 0)
        return self._reading

    def _block(self, block: Block, following: Block | None, *, is_first: bool) -> None:
        text, stand = self._text[block.start : block.end], self._stand
        if block.headings != stand.titles:
            stand.titles, stand.label = block.headings, ""
        if block.kind is BlockKind.HEADING:
            stand.follows, stand.label = False, ""
        elif block.kind is BlockKind.CODE:
            self._code(block, text, is_first=is_first)
        elif block.kind is BlockKind.LIST:
            self._list(block, text)
        else:
            is_label = following is not None and following.kind is BlockKind.LIST and text.rstrip().endswith(":")
            if is_label and "\n" not in text.strip():
                stand.label = _title(text)
                return
            stand.label = ""
            self._paragraphs(block, text)

    def _code(self, block: Block, text: str, *, is_first: bool) -> None:
        if is_first and text.lstrip().startswith("---"):
            self._front = front_matter(text)
            self._reading.skipped.update({"lines of front matter": self._front.lines})
            if self._front.day is not None and self._day is None:
                self._day = self._front.day
            return
        opening = text.lstrip()[:3]
        lines = text.strip().splitlines()
        if len(lines) < 2 or not lines[-1].strip().startswith(opening):  # noqa: PLR2004 -- a fence has two ends
            self._reading.problems.append(
                f"{self._place(block.start)}: the code that begins here has no end; it was taken up to the file's"
            )
        entries = self._reading.entries
        if self._stand.follows and entries:
            entries[-1] = replace(entries[-1], text=f"{entries[-1].text}\n\n{text.strip(chr(10))}")
        elif any(character.isalnum() for character in text):
            self._add(text.strip("\n"), block.start, ())

    def _paragraphs(self, block: Block, text: str) -> None:
        """Add each paragraph as an entry. Lines with only a section sign separate entries (Hermes)."""
        begin = position = 0
        for line in [*text.splitlines(keepends=True), "\u00a7"]:
            if _PARTED.fullmatch(line.rstrip("\n")):
                self._add(_unquoted(text[begin:position]), block.start + begin, ())
                begin = position + len(line)
            position += len(line)

    def _list(self, block: Block, text: str) -> None:
        label = (self._stand.label,) if self._stand.label else ()
        for item in items(text):
            self._item(item, block.start + item.start, label)
        self._stand.label = ""

    def _item(self, item: Item, start: int, label: tuple[str, ...]) -> None:
        text, notes = item.text, dict[str, object]()
        if task := _TASK.match(text):
            notes["is_done"] = task["mark"] != " "
            text = text[task.end() :]
        if text.rstrip(" *_").endswith(":") and "\n" not in text:
            if not item.has_children:
                self._skip("labels without a text")
            return
        above = tuple(_title(each) for each in item.above)
        self._add(text, start, (*label, *above), notes)

    def _add(self, text: str, start: int, below: Sequence[str], notes: Mapping[str, object] | None = None) -> None:
        text = text.strip("\n").strip()
        self._stand.follows = False
        if not any(character.isalnum() for character in text):
            if text:
                self._skip("lines without a word")
            return
        if all(_REFERENCE.fullmatch(word) for word in text.split()):
            self._skip("lines that only name another file")
            return
        trail = tuple(title for title in (*self._front.titles, *self._stand.titles, *below) if title)
        day, is_dated = self._day_of(text, below)
        self._reading.entries.append(
            Entry(
                text=text,
                place=self._place(start),
                line=self._line(start),
                trail=trail,
                kind=self._kind(trail, notes or {}, is_dated=is_dated),
                level=Level.AGENT if self._is_persona else None,
                observed_at=day,
                is_dated=is_dated,
                categories=self._front.categories,
                notes=notes or {},
            )
        )
        self._stand.follows = True

    def _day_of(self, text: str, below: Sequence[str]) -> tuple[datetime | None, bool]:
        """The entry's day: by the date before its text, else before its parents, else the file's."""
        own = date_before(text)
        if own is not None:
            return own, True
        for title in reversed((*self._stand.titles, *below)):
            if (day := date_before(title)) is not None:
                return time_before(text, day), True
        if self._is_daily and self._day is not None:
            day = self._day
            for title in (*self._stand.titles, *below, text):
                day = time_before(title, day)
            return day, True
        return self._day, False

    def _kind(self, trail: Sequence[str], notes: Mapping[str, object], *, is_dated: bool) -> Kind:
        if "is_done" in notes:
            done = Kind.EVENT if is_dated else Kind.FACT
            return done if notes["is_done"] else Kind.GOAL
        if self._is_persona:
            return Kind.PERSONA
        for title in reversed(trail):
            for kind, pattern in _KINDS:
                if pattern.search(title):
                    return kind
        return Kind.EVENT if is_dated else Kind.FACT

    def _without_comments(self, text: str) -> str:
        """The text with comments outside of code blanked, so that every line keeps its number."""
        if "<!--" not in text:
            return text
        pieces: list[str] = []
        position, fence = 0, ""
        for match in [*_FENCE.finditer(text), None]:
            end = len(text) if match is None else match.start()
            piece = text[position:end]
            pieces.append(piece if fence else self._blanked(piece))
            if match is not None:
                pieces.append(match[0])
                position = match.end()
                fence = match[1] if not fence else "" if match[1].startswith(fence) else fence
        return "".join(pieces)

    def _blanked(self, text: str) -> str:
        def blank(match: re.Match[str]) -> str:
            self._skip("comments")
            return "\n" * match[0].count("\n")

        return _COMMENT.sub(blank, text)

    def _skip(self, what: str) -> None:
        self._reading.skipped[what] += 1

    def _line(self, start: int) -> int:
        return bisect_right(self._breaks, start - 1) + 1

    def _place(self, start: int) -> str:
        return f"{self._name or 'line '}{':' if self._name else ''}{self._line(start)}"


def _title(text: str) -> str:
    """The first line without marks, cut if long."""
    line = text.strip().split("\n", 1)[0].strip().strip("*_ ").removesuffix(":").strip("*_ ")
    return line if len(line) <= MAX_TITLE_CHARS else line[: MAX_TITLE_CHARS - 1].rstrip() + "\u2026"


def _unquoted(text: str) -> str:
    """The text without quotation marks if every line has one."""
    lines = text.split("\n")
    if any(line.strip() and not line.lstrip().startswith(">") for line in lines):
        return text
    return "\n".join(line.lstrip().removeprefix(">").removeprefix(" ") for line in lines)
