"""`mnemic files`: memory as files, with the commands of the memory tool and as a folder that people and git edit.

The folder has the layout that the memory tool shows. `STATE` keeps a digest of each text as both sides last had it, so
that a sync knows which side changed. Links are not followed, and nothing outside the folder is read or written.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import platform
import re
import stat
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import command, verb_command
from mnemic.cli.input import open_replacement
from mnemic.cli.options import IsDryRun, IsSure, ScopeOptions
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.document import MEBIBYTE
from mnemic.model.item import Trust

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.api.files import Block, Known

STATE, ROOT = ".mnemic.json", "/memories"
MAX_BYTES = MEBIBYTE  # of a file that people add: a memory's text has at most a million characters
MAX_FILES, MAX_DEPTH = 10_000, 20  # of a folder: more is not a memory
SUFFIXES = (".md", ".txt")  # of the files that people add
MOST_DELETED, MOST_SHARE = 4, 0.5
"""A sync that deletes more memories than this, and more than this share of them, needs `--yes`, because the files may
be missing for another reason, such as another branch.
"""
_MARKS = ("<<<<<<< ", ">>>>>>> ")  # lines of an unresolved merge conflict
_UNSAFE = re.compile(r'(?i)/(?:\.|(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$))|[\\:*?"<>|~\0-\x1f\x7f]|[. ](?:/|$)')
"""Paths of a model that hide a file, or that cannot be names on every system."""

_State = dict[str, dict[str, str]]
Folder = Annotated[Path, typer.Argument(help="The folder.", metavar="FOLDER")]


@verb_command("files run", fixed={"trust": Trust.USER})
def run(told: str) -> None:
    """Run a command of the memory tool: view, create, str_replace, insert, delete or rename. The command works on the
    files that a model sees under /memories. `mnemic files export` writes these files to a folder.
    """
    output.write(told)


@command("files export")
def export(options: ScopeOptions, folder: Folder) -> None:
    """Write memory to a new folder of Markdown files, such as profile.md and facts.md, with one memory per line. Edit,
    add and delete lines in any editor, then run `mnemic files sync FOLDER`.
    """
    place = folder.expanduser()
    if place.exists() and not place.is_dir():
        raise InvalidInputError(f"{folder} is not a folder")
    if place.is_dir() and any(not each.name.startswith(".") or each.name == STATE for each in place.iterdir()):
        raise ConflictError(f"{folder} is not empty; use a new folder, or run `mnemic files sync {folder}`")
    with options.open(is_reading=True) as mnemic:
        place.mkdir(parents=True, exist_ok=True)
        _sync(options, place, mnemic)


@command("files sync")
def sync(options: ScopeOptions, folder: Folder, is_dry_run: IsDryRun = False, is_sure: IsSure = False) -> None:
    """Apply the changes in an exported folder to memory, and the changes in memory to the folder. If a text changed in
    both places, both versions are kept. A second sync changes nothing.
    """
    place = folder.expanduser()
    if not (place / STATE).is_file() or (place / STATE).is_symlink():
        raise NotFoundError(f"{folder} is not an exported folder; create one with `mnemic files export FOLDER`")
    with options.open() as mnemic:
        _sync(options, place, mnemic, is_dry_run=is_dry_run, is_sure=is_sure)


def _sync(
    options: ScopeOptions, folder: Path, mnemic: Mnemic, *, is_dry_run: bool = False, is_sure: bool = False
) -> None:
    from mnemic.api.files import MemoryTree, digest
    from mnemic.config import load_config

    kept = mnemic.settings.quarantine
    reason, trust = "in a folder of files", Trust.IMPORTED
    tree = MemoryTree(mnemic, options.scope, kept, trust, reason, is_reviewed=False, mark=digest)
    owner = f"{platform.node()} {load_config(options.store, file=options.config).store} {tree.scope}"
    known = tree.known()
    copy = _Copy(folder.resolve(), hashlib.sha256(owner.encode()).hexdigest()[:16])
    copy.read(known)
    most = len(known) if is_sure or is_dry_run else max(MOST_DELETED, int(MOST_SHARE * len(known)))
    taken = tree.take(known, copy.base, copy.blocks, is_dry_run=is_dry_run, most_deleted=most)
    if not is_dry_run:
        copy.write(tree.known())
    told = [*taken.told, *copy.told]
    if options.as_json:
        output.show_json({**taken.counts, "written": copy.written, "told": told})
        return
    would = "would be " if is_dry_run else ""
    counts = ", ".join(f"{count} {would}{what}" for what, count in sorted(taken.counts.items()))
    output.write(f"memory: {counts or 'nothing to change'}")
    if not is_dry_run:
        output.write(f"folder: {', '.join(copy.written) or 'nothing to change'}")
    output.note_all(told, "  ")


@dataclass(slots=True)
class _File:
    """A file of the folder, and its text without a byte order mark and with plain line ends."""

    path: Path
    data: bytes | None = None
    text: str = ""

    def encode(self, text: str) -> bytes:
        """A text in the form of this file."""
        data = self.data or b""
        mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
        return mark + (text.replace("\n", "\r\n") if b"\r\n" in data else text).encode()


@dataclass(slots=True)
class _Copy:
    """The folder as it was read, and what a sync writes into it. `recorded` are the digests of the last sync, `base`
    those of files that can be read, and `left` the files and folders that cannot: their memories stay as they are.
    """

    root: Path
    owner: str
    recorded: _State = field(default_factory=_State)
    base: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, _File] = field(default_factory=dict[str, _File])
    pages: dict[str, list[Block]] = field(default_factory=dict[str, "list[Block]"])
    left: dict[str, str] = field(default_factory=dict[str, str])
    told: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])

    @property
    def blocks(self) -> list[Block]:
        """All of them, of pages and files."""
        return [block for blocks in self.pages.values() for block in blocks]

    def read(self, known: Known) -> None:
        """Read the folder and its state."""
        from mnemic.api.files import PAGES, PROFILE, SHORT_ID_CHARS, Block, read_page

        self.recorded = self._read_state()
        self._find(os.fspath(self.root), ROOT, {*self.recorded, *known, PROFILE, *PAGES})
        self.told += [f"{_shorten(name)} is unchanged: {why}" for name, why in self.left.items()]
        for page, keys in self.recorded.items():
            self.base |= {} if self._is_left(page) else keys
        ends = {key[-SHORT_ID_CHARS:] for key in (*known, *self.base)}
        for page, file in self.files.items():
            blocks = read_page(file.text, page)
            has_items = page not in known and page not in self.base and any(each.ref in ends for each in blocks)
            is_page = page in (PROFILE, *PAGES) or has_items
            self.pages[page] = blocks if is_page else [Block(file.text, file.text, "", page, page)]

    def _read_state(self) -> _State:
        """The digests of the last sync. Without them nothing is deleted, and both forms of a changed text stay."""
        if not (self.root / STATE).exists():
            return {}
        try:
            state = json.loads(_read(self.root / STATE))
            files: _State = {page: {**keys} for page, keys in state["files"].items()}
            owner = state["owner"]
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError, InvalidInputError):
            files, owner = {}, None
        if owner == self.owner:
            return files
        why = f"{STATE} cannot be read" if owner is None else "the folder was last synced with another store"
        self.told.append(f"{why}, so nothing is deleted")
        return {}

    def _is_left(self, page: str) -> bool:
        return any(page == each or page.startswith(f"{each}/") for each in self.left)

    def _find(self, folder: str, path: str, wanted: Collection[str]) -> None:
        """Read the files of a folder and of those in it. Hidden ones are passed over."""
        try:
            entries = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError as error:
            self.left[path] = f"it cannot be read: {error.strerror}"
            return
        for entry in [each for each in entries if not each.name.startswith(".")]:
            name = f"{path}/{unicodedata.normalize('NFC', entry.name)}"
            if not entry.is_dir(follow_symlinks=False):
                if name in wanted or name.lower().endswith(SUFFIXES) or entry.is_symlink():
                    self._read_file(Path(entry.path), name, None if name in wanted else MAX_BYTES)
            elif path.count("/") > MAX_DEPTH:
                self.left[name] = f"it is more than {MAX_DEPTH} folders deep"
            else:
                self._find(entry.path, name, wanted)

    def _read_file(self, path: Path, name: str, most: int | None) -> None:
        if len(self.files) >= MAX_FILES:
            raise InvalidInputError(f"the folder has more than {MAX_FILES:,} files")
        try:
            data = _read(path, most)
            text = data.decode("utf-8-sig").replace("\r\n", "\n")
        except InvalidInputError as error:
            self.left[name] = str(error)
        except UnicodeDecodeError:
            self.left[name] = "it is not UTF-8 text"
        else:
            if "\0" in text or not name.isprintable():
                self.left[name] = "its text or name has characters that cannot be displayed"
            elif any(line.startswith(_MARKS) for line in text.split("\n")):
                self.left[name] = "it has an unresolved merge conflict"
            elif name in self.files:
                self.left[name] = "another file has the same name in another form of Unicode"
            else:
                self.files[name] = _File(path, data, text)

    def write(self, known: Known) -> None:
        """Write what differs from memory, and the state."""
        state: _State = {page: keys for page, keys in self.recorded.items() if self._is_left(page)}
        seen = {key for keys in state.values() for key in keys}
        texts: dict[str, str | None] = {}
        for page, blocks in self.pages.items():
            path = blocks[0].key if blocks[0].key.startswith(ROOT) else page
            text = self._join(blocks, known, state.setdefault(path, {}), seen)
            texts[page if text is None else path] = text
        self._append(known, texts, state, seen)
        names: dict[str, str] = {}
        for page, text in texts.items():
            is_other = names.setdefault(page.casefold(), page) != page
            is_unsafe = page not in self.files and _UNSAFE.search(page.removeprefix(ROOT))
            told = "its name is not safe on every system" if is_unsafe else ""
            told = "another file has this name in a different case" if is_other else told
            if told := told or self._write(page, text):
                state[page] = self.recorded.get(page, {})
                self.told.append(f"{_shorten(page)} is not written: {told}")
        files = {page: keys for page, keys in state.items() if keys}
        content = json.dumps({"owner": self.owner, "files": files}, indent=1, sort_keys=True).encode() + b"\n"
        file = self.root / STATE
        if not file.is_file() or _read(file) != content:
            _replace(file, content)

    def _join(self, blocks: Sequence[Block], known: Known, own: dict[str, str], seen: set[str]) -> str | None:
        """The text of a page or file as it is now in memory, None for a file that was deleted there."""
        from mnemic.api.files import digest, short_ids, write_item

        refs, lines = short_ids(known), list[str]()
        for block in blocks:
            item, is_file = known.get(block.key), block.key.startswith(ROOT)
            if block.is_held or not block.page or not (block.text or block.ref or is_file):
                seen.add(block.key)
                own |= {block.key: self.base[block.key]} if block.key in self.base else {}
                lines.append(block.source)
            elif item is not None and block.key not in seen:
                seen.add(block.key)
                own[block.key] = digest(item.text)
                ref = "" if is_file else refs.get(block.key, "")
                is_same = digest(block.text) == digest(item.text) and block.ref == ref
                changed = item.text if is_file else write_item(item.text, ref, block.source)
                lines.append(block.source if is_same else changed)
            elif is_file:
                return None
        return "\n".join(lines)

    def _append(self, known: Known, texts: dict[str, str | None], state: _State, seen: Collection[str]) -> None:
        """Add what is new in memory at the end of its page."""
        from mnemic.api.files import digest, lay_out, short_ids, write_item

        refs = short_ids(known)
        for key, item in known.items():
            if key in seen or self._is_left(item.page):
                continue
            state.setdefault(item.page, {})[key] = digest(item.text)
            if key == item.page:
                texts[key] = item.text
                continue
            before = texts.get(item.page) or "\n".join(block.source for block in lay_out({}, item.page))
            is_list = before.rstrip("\n").rpartition("\n")[2].startswith(("- ", "  ", "* "))
            gap = "\n" if is_list else "\n\n"
            texts[item.page] = before.rstrip("\n") + gap + write_item(item.text, refs.get(key, "")) + "\n"

    def _write(self, page: str, text: str | None) -> str:
        """Write or delete a file unless it is the same. Returns why that is not possible, or ""."""
        file = self.files.get(page) or _File(self.root / page.removeprefix(f"{ROOT}/"))
        data = None if text is None else file.encode(text if page in self.files else text.rstrip("\n") + "\n")
        if data == file.data:
            return ""
        try:
            _make_folders(self.root, file.path.parent)
            if (_read(file.path) if os.path.lexists(file.path) else None) != file.data:
                return "it changed during the sync; sync again"
            if data is None:
                file.path.unlink()
            else:
                _replace(file.path, data)
        except OSError as error:
            return error.strerror or str(error)
        except InvalidInputError as error:
            return str(error)
        self.written.append(_shorten(page))
        return ""


def _read(path: Path, most: int | None = None) -> bytes:
    """The bytes of a regular file. Follows no link and waits for no pipe. `most`: of its bytes."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        if path.is_symlink():
            raise InvalidInputError("it is a link")
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise InvalidInputError("it is not a regular file")
            data = file.read(-1 if most is None else most + 1)
    except OSError as error:
        raise InvalidInputError(f"it cannot be read: {error.strerror}") from error
    if most is not None and len(data) > most:
        raise InvalidInputError(f"it is larger than {most:,} bytes")
    return data


def _replace(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    with open_replacement(path, keeps_mode=True) as file:
        file.buffer.write(data)


def _make_folders(root: Path, folder: Path) -> None:
    """Make the folders of a file. Raises `InvalidInputError` if one is a link, which may lead out of the root."""
    place = root
    for part in folder.relative_to(root).parts:
        place /= part
        if place.is_symlink():
            raise InvalidInputError(f"{place.name} is a link")
        place.mkdir(exist_ok=True)


def _shorten(page: str) -> str:
    return output.one_line(page.removeprefix(f"{ROOT}/"))
