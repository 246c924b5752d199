"""Memory as files below `/memories`: what Anthropic's memory tool sees, and a folder that people edit.

`profile.md` and one file for each kind of memory are pages. Each item of a page is one memory and ends with its short
id in a comment. Any other file is one memory, which has its path in the metadata. `MemoryTree.take` stores what
changed in files. Recall, history and the guard apply to both.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import unicodedata
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, cast, get_args

from mnemic.engine.secrets import orders
from mnemic.errors import ConflictError, InvalidInputError, MnemicError, NotFoundError
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.scope import Scope
from mnemic.model.settings import Quarantine
from mnemic.text.sanitise import one_line, sanitise

ROOT, PATH = "/memories", "path"
PROFILE = f"{ROOT}/profile.md"
FACT = "profile:"
"""Begins the key of a profile's fact. The key of another item is its memory's id, that of a file its path."""

_PLURAL = (Kind.FACT, Kind.GOAL, Kind.PREFERENCE, Kind.EVENT, Kind.REFLECTION, Kind.GEM, Kind.LEARNING, Kind.ATTEMPT)
PAGES: Mapping[str, Kind] = {f"{ROOT}/{kind.value}{'s' if kind in _PLURAL else ''}.md": kind for kind in Kind}
"""The pages and the kind of their memories. The profile's page has none."""

FileCommand = Literal["view", "create", "str_replace", "insert", "delete", "rename"]
COMMANDS: Sequence[str] = get_args(FileCommand)
"""The commands of the memory tool."""

EMPTY = "an empty file"
"""The text of a file without content, which a memory cannot have."""

MAX_ITEMS, PAGE = 500, 500  # newest items of a page that a model sees: about 10,000 tokens; memories per request
MAX_DEPTH = 2  # levels that a view of a folder shows
SHORT_ID_CHARS = 8  # of an id's random end; ids that share them are written in full
SNIPPET_LINES = 2  # before and after a change that a model is shown
TOLD_CHARS = 80  # of an item in a remark

_BULLET = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+")
_NO_ITEM = re.compile(r"#{1,6}(?:\s|$)|<!--.*-->\s*$|(?![-*] [-*]{3})([-*_=])\s*(?:\1\s*){2,}$")
_REF = re.compile(r"(?<![ \t])[ \t]*<!-- ([0-9a-f]{8}[0-9a-f-]{,28}) -->[ \t]*$", re.MULTILINE)


@dataclass(slots=True)
class Block:
    """A part of a page, or a whole file. `text` is "" if it is no item, such as a heading. `ref` is the id in its
    comment. `is_held`: it could not be stored and stays in its file as it is.
    """

    source: str
    text: str = ""
    ref: str = ""
    key: str = ""
    page: str = ""
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """A text in memory and its page or path. A fact of the profile has a name in place of a memory. `hidden` are older
    memories with the same path.
    """

    text: str
    page: str
    memory: Memory | None = None
    fact: str = ""
    hidden: tuple[Memory, ...] = ()


Known = Mapping[str, Item]
"""Everything of a scope by key, oldest first."""


def read_page(content: str, page: str) -> list[Block]:
    """The parts of a page. An item is a bullet or a paragraph, with the indented lines below it. In the profile, each
    line is one.
    """
    groups, gap, is_ended = list[tuple[bool, list[str]]](), list[str](), False
    for line in content.split("\n"):
        if not line.strip():
            gap.append(line)
            continue
        is_item, last = _NO_ITEM.match(line) is None, groups[-1] if groups else (False, list[str]())
        is_further = not (gap or page == PROFILE or _BULLET.match(line) or is_ended)
        if is_item and last[0] and (line.startswith(("  ", "\t")) or is_further):
            last[1].extend([*gap, line])
        else:
            groups += [(False, gap)] if gap else []
            groups.append((is_item, [line]))
            is_ended = False
        gap, is_ended = [], is_ended or _REF.search(line) is not None
    groups += [(False, gap)] if gap else []
    return [_read_block("\n".join(lines), page if is_item else "") for is_item, lines in groups]


def _read_block(source: str, page: str) -> Block:
    if not page:
        return Block(source)
    refs = list(_REF.finditer(source))
    bare = source[: refs[-1].start()] + source[refs[-1].end() :] if refs else source
    bullet = _BULLET.match(bare)
    first, *others = bare[bullet.end() if bullet else 0 :].split("\n")
    text = "\n".join([first, *(re.sub(r"^(?:\t| {1,2})", "", line) for line in others)]).strip()
    return Block(source, text, refs[-1].group(1) if refs else "", page=page)


def write_item(text: str, ref: str, like: str = "") -> str:
    """An item in a page, with the bullet of `like` unless that makes its first line a rule."""
    bullet = _BULLET.match(like)
    lines = _lay_lines(text).replace("\n", "\n  ")
    item = f"{bullet.group() if bullet else '- '}{lines}"
    item = f"+ {lines}" if _NO_ITEM.match(item.partition("\n")[0]) else item
    return item + (f" <!-- {ref} -->" if ref else "")


def _lay_lines(text: str) -> str:
    """A text as the item of a page holds it."""
    return re.sub("\r+\n", "\n", text.strip())


def short_ids(known: Known) -> dict[str, str]:
    """The id that a page shows, by key. Facts of the profile show none."""
    ids = [key for key, item in known.items() if item.memory is not None]
    ends = Counter(each[-SHORT_ID_CHARS:] for each in ids)
    return {each: each if ends[each[-SHORT_ID_CHARS:]] > 1 else each[-SHORT_ID_CHARS:] for each in ids}


def lay_out(known: Known, page: str, most: int | None = None) -> list[Block]:
    """A page as it is written first, with its newest items."""
    refs, own = short_ids(known), [(key, item) for key, item in known.items() if item.page == page]
    blocks = [Block(f"# {PurePosixPath(page).stem.capitalize()}"), Block("")]
    for key, item in own[-most:] if most else own:
        ref = refs.get(key, "")
        blocks.append(Block(write_item(item.text, ref), item.text, ref, key, page))
    return [*blocks, Block("")]


def digest(text: str) -> str:
    """The same for texts that differ only in what editors change by themselves: line ends, spaces at the ends of lines
    and the form of Unicode.
    """
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").split("\n")
    plain = "\n".join(line.rstrip() for line in lines).rstrip()
    return hashlib.sha256(plain.encode(errors="replace")).hexdigest()[:16]


@dataclass(slots=True)
class Taken:
    """How many texts were added, changed, moved and deleted, and what a person should know."""

    counts: Counter[str] = field(default_factory=Counter[str])
    told: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class MemoryTree:
    """The files of a scope. The methods named after commands of the memory tool return text for a model.
    `is_reviewed`: a text that reads like an instruction to a model is stored for review. Otherwise it is refused.
    `mark`: texts with the same mark are taken as unchanged.
    """

    mnemic: Any  # an open memory, whose module imports this one
    scope: Scope
    quarantine: Quarantine
    trust: Trust = Trust.ASSISTANT
    reason: str = "through the memory tool"
    is_reviewed: bool = True
    mark: Callable[[str], str] = str

    def known(self) -> dict[str, Item]:
        """Everything of the scope's default level."""
        facts = sorted(self.mnemic.profile.get(self.scope).items())
        known = {FACT + key: Item(_lay_lines(f"{key}: {value}"), PROFILE, fact=key) for key, value in facts}
        names = {kind: page for page, kind in PAGES.items()}
        for memory in reversed(list(self._list())):
            if path := _read_path(memory):
                text = "" if memory.text == EMPTY else memory.text
                older = known.pop(path, None)
                hidden = (*older.hidden, cast("Memory", older.memory)) if older else ()
                known[path] = Item(text, path, memory, hidden=hidden)
            else:
                known[memory.id] = Item(_lay_lines(memory.text), names[memory.kind], memory)
        return known

    def _list(self) -> Iterator[Memory]:
        after = None
        while True:
            page = self.mnemic.list(self.scope, levels=[self.scope.default_level], limit=PAGE, after=after)
            yield from page.memories
            if (after := page.next) is None:
                return

    def take(
        self,
        known: Known,
        base: Mapping[str, str],
        blocks: Sequence[Block],
        *,
        is_dry_run: bool = False,
        most_deleted: int | None = None,
    ) -> Taken:
        """Store what changed in files since `base`, the marks by key when they were written. What also changed in
        memory stays there, and the text of the file is added. Sets the keys of the blocks. Raises `ConflictError` if
        more than `most_deleted` texts are gone, and stores nothing.
        """
        taken, found = Taken(), _find_keys(blocks, known, base)
        moved = _find_moved(found, known, base)
        gone = [key for key in base if key in known and key not in found and key not in moved]
        if most_deleted is not None and len(gone) > most_deleted:
            told = f"this would delete {len(gone)} of {len(known)} memories; check with --dry-run, then add --yes"
            raise ConflictError(told)
        for old, block in moved.items():
            del found[block.key]
            found[old] = block
            self._store(taken, "moved", block, known[old], is_dry_run=is_dry_run)
        for key in dict.fromkeys((*found, *base)):
            block, item, before = found.get(key), known.get(key), base.get(key)
            here = None if block is None else self.mark(block.text)
            there = None if item is None else self.mark(item.text)
            if here in (there, before):
                continue
            if there != before:
                text = (block or cast("Item", item)).text
                why = "changed in memory and deleted here" if block is None else "changed here and deleted in memory"
                why = "changed here and in memory, both stay" if block is not None and item is not None else why
                taken.told.append(f"{why}: {_quote(text)}")
            if block is None and item is not None:
                if there == before:
                    self._store(taken, "deleted", None, item, is_dry_run=is_dry_run)
            elif block is not None:
                what = "changed" if item is not None and there == before else "added"
                if item is not None and what == "added":
                    block.key = _find_free_path(key, known) if key.startswith(ROOT) else ""
                self._store(taken, what, block, item, is_dry_run=is_dry_run)
        return taken

    def _store(self, taken: Taken, what: str, block: Block | None, item: Item | None, *, is_dry_run: bool) -> None:
        """Store one text and count it. A refused text stays in its file, with a remark."""
        memory = None
        try:
            if block is not None and not self.is_reviewed:
                self._check_orders([block.text])
            if is_dry_run:
                pass
            elif block is None:
                self._delete(cast("Item", item))
            elif what == "added":
                memory = self._add(block)
            elif what == "moved":
                self.move(cast("Item", item), block.key)
            else:
                memory = self.change(cast("Item", item), block.text)
        except MnemicError as error:
            text = (block or cast("Item", item)).text
            taken.told.append(f"not {what}: {_quote(text)}: {error}")
            if block is not None:
                block.is_held = True
            return
        taken.counts[what] += 1
        if block is not None and memory is not None:
            block.key = block.key if block.key.startswith(ROOT) else memory.id
            if memory.state is State.QUARANTINED:
                taken.told.append(f"{HELD}: {_quote(block.text)}")

    def _add(self, block: Block) -> Memory | None:
        if block.key.startswith(ROOT):
            named = {PATH: block.key}
            text, key = _fill(block.text), uuid.uuid4().hex
            settings: dict[str, Any] = {"kind": Kind.CONTEXT, "is_pinned": True, "metadata": named, "key": key}
            return self.mnemic.remember(self.scope, text, trust=self.trust, **settings)
        if block.key.startswith(FACT):
            return self._set_fact(block.key.removeprefix(FACT), block.text)
        return self.mnemic.remember(self.scope, block.text, kind=PAGES.get(block.page, Kind.FACT), trust=self.trust)

    def change(self, item: Item, text: str) -> Memory | None:
        """Change an item or a file. Returns its memory, if it has one."""
        if item.memory is None:
            return self._set_fact(item.fact, text)
        changed = _fill(text) if _read_path(item.memory) else text
        return self.mnemic.update(self.scope, item.memory.id, text=changed, trust=self.trust, reason=self.reason)

    def move(self, item: Item, path: str) -> None:
        """Give a file another path."""
        for memory in _read_memories(item):
            metadata = {**memory.metadata, PATH: path}
            self.mnemic.update(self.scope, memory.id, metadata=metadata, reason=self.reason)

    def _delete(self, item: Item) -> None:
        if item.memory is None:
            self.mnemic.profile.set(self.scope, {item.fact: None})
        for memory in _read_memories(item):
            self.mnemic.delete(self.scope, memory.id, reason=self.reason)

    def _set_fact(self, key: str, text: str) -> None:
        value = text.removeprefix(key).strip().removeprefix(":").strip()
        self._check_orders([key, value])
        self.mnemic.profile.set(self.scope, {key: value or None})

    def _check_orders(self, texts: Sequence[str]) -> None:
        if suspect := orders(self.quarantine, self.trust, texts):
            raise InvalidInputError(suspect)

    def run(self, command: str, given: Mapping[str, Any]) -> str:
        """Run a command of the memory tool. Raises `InvalidInputError` for a missing argument."""
        if command not in COMMANDS:
            raise InvalidInputError(f"unknown command {command[:64]!r}; use one of {', '.join(COMMANDS)}")
        method = getattr(self, command)
        known = inspect.signature(method).parameters
        if missing := [name for name, each in known.items() if each.default is each.empty and name not in given]:
            raise InvalidInputError(f"the command {command} needs {missing[0]}")
        return method(**{name: given[name] for name in known if name in given})

    def view(self, path: str = ROOT, view_range: Sequence[int] | None = None) -> str:
        """A folder's files with their sizes, or a file's lines with their numbers."""
        path, known = _check_path(path), self.known()
        texts = _read_texts(known)
        if path in (*texts, PROFILE, *PAGES):
            lines = _read_lines(_read_file(known, path))
            first, last = _check_range(view_range or (1, -1))
            shown = lines[max(first, 1) - 1 : None if last == -1 else last]
            return "\n".join([f"Here's the content of {path} with line numbers:", *map(_number, shown)])
        below = {name: text for name, text in texts.items() if name.startswith(f"{path}/")}
        if not below and path != ROOT:
            raise NotFoundError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {path: sum(len(text.encode()) for text in below.values())}
        for name, text in below.items():
            parts = name.removeprefix(path).split("/")[1:]
            for depth in range(1, min(len(parts), MAX_DEPTH) + 1):
                place = "/".join((path, *parts[:depth])) + ("/" if depth < len(parts) else "")
                sizes[place] = sizes.get(place, 0) + len(text.encode())
        head = f"Here're the files and directories up to {MAX_DEPTH} levels deep in {path}:"
        return "\n".join([head, *(f"{_format_size(sizes[each])}\t{each}" for each in sorted(sizes))])

    def create(self, path: str, file_text: str) -> str:
        """Create a file."""
        path, known = _check_path(path, is_file=True), self.known()
        if _is_taken(path, known):
            raise ConflictError(f"File {path} already exists")
        block = Block(file_text, file_text, "", path, path)
        return self._write(known, {}, [block], f"File created successfully at: {path}")

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs once."""
        path, known = _check_path(path), self.known()
        text = _read_file(known, path)
        lines = [text.count("\n", 0, each.start()) + 1 for each in re.finditer(re.escape(old_str), text)]
        if not lines or not old_str:
            raise InvalidInputError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}."
            )
        if len(lines) > 1:
            raise InvalidInputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
                f"{', '.join(map(str, lines))}. Please ensure it is unique"
            )
        changed = text.replace(old_str, new_str)
        near = _read_lines(changed)
        last = lines[0] + new_str.count("\n") + SNIPPET_LINES
        snippet = map(_number, near[max(lines[0] - 1 - SNIPPET_LINES, 0) : last])
        done = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return self._rewrite(known, path, changed, "\n".join([done, *snippet]))

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text after a line, 0 for the start."""
        path, known = _check_path(path), self.known()
        lines = _read_file(known, path).split("\n")
        lines = lines[:-1] if lines[-1] == "" else lines
        if not 0 <= insert_line <= len(lines):
            raise InvalidInputError(
                f"Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        text = "\n".join([*lines[:insert_line], insert_text.removesuffix("\n"), *lines[insert_line:]])
        return self._rewrite(known, path, text, f"The file {path} has been edited.")

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all its files."""
        path, known = _check_path(path, is_file=True), self.known()
        for item in _find_below(known, path).values():
            self._delete(item)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder."""
        old, new, known = _check_path(old_path, is_file=True), _check_path(new_path, is_file=True), self.known()
        moved = _find_below(known, old)
        if _is_taken(new, known):
            raise ConflictError(f"The destination {new} already exists")
        for name, item in moved.items():
            self.move(item, new + name.removeprefix(old))
        return f"Successfully renamed {old} to {new}"

    def _rewrite(self, known: Known, path: str, text: str, done: str) -> str:
        if path not in (PROFILE, *PAGES):
            base, blocks = {path: self.mark(known[path].text)}, [Block(text, text, "", path, path)]
        else:
            base = {block.key: self.mark(block.text) for block in lay_out(known, path, MAX_ITEMS) if block.key}
            blocks = read_page(text, path)
        return self._write(known, base, blocks, done)

    def _write(self, known: Known, base: Mapping[str, str], blocks: Sequence[Block], done: str) -> str:
        taken = self.take(known, base, blocks)
        if any(block.is_held for block in blocks):
            raise InvalidInputError("; ".join(taken.told))
        return "\n".join([done, *taken.told])


HELD = "held for review, because it reads like an instruction to a model; a person must review it"


def _find_keys(blocks: Sequence[Block], known: Known, base: Mapping[str, str]) -> dict[str, Block]:
    """The items of pages and the files, by key. Sets their keys. A new item has a key of its own until it is stored."""
    found: dict[str, Block] = {}
    ends: dict[str, str] = {}
    for key in (*base, *known):
        ends[key], ends[key[-SHORT_ID_CHARS:]] = key, key
    facts = sorted((key for key in known if key.startswith(FACT)), key=len, reverse=True)
    for block in blocks:
        if block.is_held or not block.page or (block.page != block.key and not block.text):
            continue
        key = block.key or ends.get(block.ref, "")
        if not key and block.page == PROFILE:
            own = (each for each in facts if block.text.startswith(f"{each.removeprefix(FACT)}:"))
            name, colon, _ = block.text.partition(":")
            key = next(own, f"{FACT}{name.strip()}" if colon else "")
        block.key = "" if key in found else key
        found[block.key or f"new:{len(found)}"] = block
    return found


def _find_moved(found: Mapping[str, Block], known: Known, base: Mapping[str, str]) -> dict[str, Block]:
    """The files with a new path, by their former one: the same text is gone there and new here."""
    gone = {base[key]: key for key, item in known.items() if key in base and key == item.page and key not in found}
    new = [block for key, block in found.items() if key == block.page and key not in (*known, *base)]
    named = {gone.get(digest(block.text)): block for block in new if block.text.strip()}
    return {old: block for old, block in named.items() if old is not None}


def _find_free_path(path: str, known: Known) -> str:
    """A path beside one that is taken."""
    place, number = PurePosixPath(path), 2
    while _is_taken(found := f"{place.with_suffix('')} ({number}){place.suffix}", known):
        number += 1
    return found


def _read_texts(known: Known) -> dict[str, str]:
    """The texts of all files by path. An empty page is not listed, but can be viewed and edited."""
    files = {key: item.text for key, item in known.items() if key == item.page}
    pages = {item.page for key, item in known.items() if key != item.page}
    laid = {page: "\n".join(block.source for block in lay_out(known, page, MAX_ITEMS)) for page in sorted(pages)}
    return laid | files


def _read_lines(text: str) -> list[tuple[int, str]]:
    """The lines that a model sees, with the numbers that `insert` takes."""
    outer = text[: len(text) - len(text.lstrip())]
    return list(enumerate((outer + sanitise(text)).split("\n"), 1))


def _read_file(known: Known, path: str) -> str:
    if path in (PROFILE, *PAGES):
        return "\n".join(block.source for block in lay_out(known, path, MAX_ITEMS))
    if path not in known:
        raise NotFoundError(f"The path {path} does not exist. Please provide a valid path.")
    return known[path].text


def _is_taken(path: str, known: Known) -> bool:
    """True if a file is here, above or below."""
    names = (PROFILE, *PAGES, *(key for key, item in known.items() if key == item.page))
    return any(path == name or name.startswith(f"{path}/") or path.startswith(f"{name}/") for name in names)


def _find_below(known: Known, path: str) -> dict[str, Item]:
    """The file of a path, or the files below it. Raises `MnemicError` for a page or if there is none."""
    if path in (PROFILE, *PAGES):
        raise InvalidInputError(f"{path} cannot be deleted or renamed; delete its lines instead")
    files = {key: item for key, item in known.items() if key == item.page}
    found = {key: item for key, item in files.items() if key == path or key.startswith(f"{path}/")}
    if not found:
        raise NotFoundError(f"The path {path} does not exist")
    return found


def _check_path(path: str, *, is_file: bool = False) -> str:
    """The path without a slash at the end. Raises `InvalidInputError` for one that is not below `ROOT`."""
    given = unicodedata.normalize("NFC", path).rstrip("/")
    parts = given.split("/")
    if (given != ROOT and not given.startswith(f"{ROOT}/")) or not {".", "..", ""}.isdisjoint(parts[1:]):
        told = f"Path must start with {ROOT} and have no empty, '.' or '..' part, got: {one_line(path)}"
        raise InvalidInputError(told)
    if is_file and given == ROOT:
        raise InvalidInputError(f"Cannot create, delete or rename the {ROOT} directory itself")
    return given


def _check_range(given: Sequence[int]) -> tuple[int, int]:
    if len(given) != 2:  # noqa: PLR2004 -- the first and the last
        told = f"`view_range` needs two numbers, the first and the last line, such as [1, 20], got: {list(given)}"
        raise InvalidInputError(told)
    return given[0], given[1]


def _read_path(memory: Memory) -> str:
    """The path of a memory that is a file, or "". Empty parts are left out."""
    path = memory.metadata.get(PATH)
    try:
        path = _check_path(re.sub("/+", "/", path), is_file=True) if isinstance(path, str) else ""
    except InvalidInputError:
        return ""
    return "" if path in (PROFILE, *PAGES) else path


def _read_memories(item: Item) -> list[Memory]:
    """The memories of an item, hidden ones first."""
    return [] if item.memory is None else [*item.hidden, item.memory]


def _fill(text: str) -> str:
    """The text of a file as a memory holds it."""
    return (f"{text}\n" if text == EMPTY else text) if text.strip() else EMPTY


def _format_size(size: int) -> str:
    return f"{size}B" if size < 1024 else f"{size / 1024:.1f}K"  # noqa: PLR2004 -- bytes of a kibibyte


def _number(line: tuple[int, str]) -> str:
    return f"{line[0]:6}\t{line[1]}"


def _quote(text: str) -> str:
    short = one_line(text)
    return repr(short if len(short) <= TOLD_CHARS else f"{short[:TOLD_CHARS]}\u2026")
