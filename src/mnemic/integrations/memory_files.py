"""Memory as files below `/memories`, with the six commands of Anthropic's memory tool. A file that a model writes is
one memory, so recall finds it, and its history and the guard apply. `KNOWN` has a line for each other memory.
"""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from mnemic.errors import InvalidInputError, MnemicError
from mnemic.integrations.memory import AnyMnemic
from mnemic.model.item import Kind, Memory, State, Trust
from mnemic.model.scope import Scope
from mnemic.text.sanitise import one_line, sanitise

ROOT, KNOWN = "/memories", "/memories/known.md"
PATH = "path"
EMPTY = "an empty file"
"""The text of a file without content, which a memory cannot have."""

MAX_KNOWN, PAGE = 500, 500  # lines of `KNOWN`, newest first: about 10,000 tokens; memories per request
MAX_DEPTH = 2  # levels that a view of a folder shows
REASON = "through the memory tool"


@dataclass(frozen=True, slots=True)
class MemoryFiles:
    """The files of a scope. `run` takes a command of the tool as the model sends it. Methods raise `InvalidInputError`
    in words that help the model, and return text for it.
    """

    mnemic: AnyMnemic
    scope: Scope

    def run(self, command: Mapping[str, Any]) -> str:
        """The result of a command, or its error, as text for the model."""
        given = dict(command)
        name = str(given.pop("command", ""))
        try:
            if name not in COMMANDS:
                raise InvalidInputError(f"unknown command {name[:64]!r}; use one of {', '.join(COMMANDS)}")
            needed, optional = COMMANDS[name]
            missing = [each for each in needed if each not in given]
            if missing:
                raise InvalidInputError(f"the command {name} needs {missing[0]}")
            taken = {each: given[each] for each in (*needed, *optional) if given.get(each) is not None}
            wrong = [each for each, value in taken.items() if not _fits(each, value)]
            if wrong:
                raise InvalidInputError(f"{wrong[0]} has a wrong type")
            return getattr(self, name)(**taken)
        except MnemicError as error:
            return f"Error: {error}"

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A folder's files with their sizes, or a file's lines with their numbers."""
        path = _check_path(path)
        files = {KNOWN: "\n".join(_line(each) for each in self._known())} | {
            name: _content(each) for name, each in self._files().items()
        }
        if path in files:
            lines = list(enumerate(sanitise(files[path]).split("\n"), 1))
            first, last = view_range or (1, -1)
            shown = lines[max(first, 1) - 1 : None if last == -1 else last]
            return "\n".join([f"The lines of {path}:", *(f"{number:6}\t{line}" for number, line in shown)])
        below = {name: text for name, text in files.items() if name.startswith(f"{path}/")}
        if not below and path != ROOT:
            raise InvalidInputError(f"the path {path} does not exist")
        sizes: dict[str, int] = {}
        for name, text in below.items():
            parts = name.removeprefix(path).split("/")[1:]
            for depth in range(1, min(len(parts), MAX_DEPTH) + 1):
                place = "/".join((path, *parts[:depth])) + ("/" if depth < len(parts) else "")
                sizes[place] = sizes.get(place, 0) + len(text.encode())
        return "\n".join([f"The files below {path}:", *(f"{sizes[each]}\t{each}" for each in sorted(sizes))])

    def create(self, path: str, file_text: str) -> str:
        """Create a file."""
        path = _check_path(path, is_file=True)
        self._check_free(path)
        kept = self.mnemic.remember(
            self.scope,
            file_text if file_text.strip() else EMPTY,
            kind=Kind.CONTEXT,
            is_pinned=True,
            trust=Trust.ASSISTANT,
            metadata={PATH: path},
            key=uuid.uuid4().hex,
        )
        return _tell(kept, f"created {path}")

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that occurs once. In `KNOWN` it changes one memory; a line without text deletes it."""
        path = _check_path(path)
        several = self._known() if path == KNOWN else [self._file(path)]
        places = [each for each in several for _ in range(_content(each).count(old_str) if old_str else 0)]
        if len(places) != 1:
            raise InvalidInputError(f"old_str occurs {len(places)} times in {path}; it must occur once")
        memory = places[0]
        text = _content(memory).replace(old_str, new_str)
        if path == KNOWN and not text.strip(" -"):
            self.mnemic.delete(self.scope, memory.id, reason=REASON)
            return f"edited {path}"
        return self._write(memory, text, f"edited {path}")

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text after a line, 0 for the start. In `KNOWN` each line becomes a memory."""
        path = _check_path(path)
        if path == KNOWN:
            texts = [line.strip().removeprefix("- ").strip() for line in insert_text.split("\n")]
            drafts = [{"text": text, "trust": Trust.ASSISTANT} for text in texts if text]
            kept = self.mnemic.remember_many(self.scope, drafts)
            return "\n".join(_tell(each, f"edited {path}") for each in kept) or f"edited {path}"
        memory = self._file(path)
        lines = _content(memory).split("\n")
        if not 0 <= insert_line <= len(lines):
            raise InvalidInputError(f"insert_line must be 0 to {len(lines)}, not {insert_line}")
        text = "\n".join([*lines[:insert_line], insert_text.removesuffix("\n"), *lines[insert_line:]])
        return self._write(memory, text, f"edited {path}")

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all its files."""
        path = _check_path(path, is_file=True)
        for each in self._need(path).values():
            self.mnemic.delete(self.scope, each.id, reason=REASON)
        return f"deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder."""
        old, new = _check_path(old_path, is_file=True), _check_path(new_path, is_file=True)
        moved = self._need(old)
        self._check_free(new)
        if new.startswith(f"{old}/"):
            raise InvalidInputError(f"the path {new} is in {old}")
        for name, each in moved.items():
            metadata = {**each.metadata, PATH: new + name.removeprefix(old)}
            self.mnemic.update(self.scope, each.id, metadata=metadata, reason=REASON)
        return f"renamed {old} to {new}"

    def _write(self, memory: Memory, text: str, told: str) -> str:
        changed = text if text.strip() else EMPTY
        kept = self.mnemic.update(self.scope, memory.id, text=changed, trust=Trust.ASSISTANT, reason=REASON)
        return _tell(kept, told)

    def _files(self) -> dict[str, Memory]:
        """The files by path, the newest of each."""
        found = self._list({"kinds": [Kind.CONTEXT], "filter": {f"metadata.{PATH}": {"contains": f"{ROOT}/"}}})
        return {str(each.metadata[PATH]): each for each in reversed(list(found))}

    def _known(self) -> list[Memory]:
        return list(islice((each for each in self._list({}) if PATH not in each.metadata), MAX_KNOWN))

    def _list(self, conditions: Mapping[str, Any]) -> Iterator[Memory]:
        given: dict[str, Any] = {"levels": [self.scope.default_level], "limit": PAGE, **conditions}
        while True:
            page = self.mnemic.list(self.scope, **given)
            yield from page.memories
            if page.next is None:
                return
            given["after"] = page.next

    def _below(self, path: str) -> dict[str, Memory]:
        return {name: each for name, each in self._files().items() if name == path or name.startswith(f"{path}/")}

    def _check_free(self, path: str) -> None:
        files = [KNOWN, *self._files()]
        if any(path == name or name.startswith(f"{path}/") or path.startswith(f"{name}/") for name in files):
            raise InvalidInputError(f"the path {path} exists already, or is below a file")

    def _need(self, path: str) -> dict[str, Memory]:
        if path == KNOWN:
            raise InvalidInputError(f"{KNOWN} stays; edit its lines")
        found = self._below(path)
        if not found:
            raise InvalidInputError(f"the path {path} does not exist")
        return found

    def _file(self, path: str) -> Memory:
        found = self._files().get(path)
        if found is None:
            raise InvalidInputError(f"the file {path} does not exist")
        return found


COMMANDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "view": (("path",), ("view_range",)),
    "create": (("path", "file_text"), ()),
    "str_replace": (("path", "old_str"), ("new_str",)),
    "insert": (("path", "insert_line", "insert_text"), ()),
    "delete": (("path",), ()),
    "rename": (("old_path", "new_path"), ()),
}
"""The commands, with what each needs and what it may have."""


def _check_path(path: object, *, is_file: bool = False) -> str:
    """The path without a slash at the end. Raises `InvalidInputError` for one that is not below `ROOT`."""
    given = path.rstrip("/") if isinstance(path, str) else ""
    parts = given.split("/")
    if (given != ROOT and not given.startswith(f"{ROOT}/")) or not {".", "..", ""}.isdisjoint(parts[1:]):
        raise InvalidInputError(f"paths must begin with {ROOT}/ and have no empty, '.' or '..' part")
    if is_file and given == ROOT:
        raise InvalidInputError(f"{ROOT} itself cannot be created, moved or deleted")
    return given


def _fits(name: str, value: object) -> bool:
    if name == "view_range":
        return isinstance(value, list) and [type(each) for each in cast("list[object]", value)] == [int, int]
    return type(value) is (int if name == "insert_line" else str)


def _content(memory: Memory) -> str:
    return "" if memory.text == EMPTY else memory.text


def _line(memory: Memory) -> str:
    return f"- {one_line(memory.text)}"


def _tell(memory: Memory, told: str) -> str:
    if memory.state is State.QUARANTINED:
        return f"{told}, but it is held for review: it reads like an instruction to a model; a person must review it"
    return told
