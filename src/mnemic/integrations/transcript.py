"""Items of a framework's conversation as messages of a session, returned unchanged. An item's text becomes the text of
a message, so that recall finds it. The rest, such as a tool call, is in the message's metadata. If that is too small,
the text is the whole item as JSON.
"""

import copy
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.integrations.memory import AnyMnemic
from mnemic.model.item import Message, Role
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import without_own_blocks

KEY = "transcript"
MOST_BYTES = 48_000
"""Larger items, as JSON, are stored in the text. Metadata is limited to 65,536 bytes, and redaction can add some."""

MOST_DEPTH = 24  # levels of JSON; metadata may have 32, and the item is nested some levels deep in it
MOST_ITEMS = 1_000_000  # no limit in practice; the whole session is held in memory
MOST_REMOTE_ITEMS = 1_000  # as many as a server returns in one answer
_PLACEHOLDER = "a conversation item"
_log = logging.getLogger("mnemic.integrations")

Item = Mapping[str, Any]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """An item and its spoken part: the speaker, the text, and the path of exactly this text in the item."""

    item: Item
    role: Role
    text: str
    text_at: Path | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The items of one session from one framework (`source`). The scope must name the session. Items are JSON. They
    come back equal, except for redacted secrets, and NUL characters and lone surrogates, which become the replacement
    character.
    """

    mnemic: AnyMnemic
    scope: Scope
    source: str

    def __post_init__(self) -> None:
        if self.scope.session is None:
            raise InvalidInputError("only a session has a transcript; pass session=…")

    def add(self, items: Sequence[Said]) -> None:
        """Append items as one turn. Raises `InvalidInputError` if one is not JSON."""
        if items:
            self.mnemic.capture(self.scope, [self._message(each) for each in items])

    def messages(self, limit: int | None = None) -> list[Message]:
        """The last `limit` messages of the session, oldest first. None: all; a server returns the last 1,000."""
        most = MOST_ITEMS if isinstance(self.mnemic, Mnemic) else MOST_REMOTE_ITEMS
        if limit is not None and limit < 1:
            return []
        wanted = most if limit is None else min(limit, most)
        return self.mnemic.window(self.scope, limit=wanted, include_closed=True)

    def item(self, message: Message) -> dict[str, Any] | None:
        """The item of a message. None if another program captured it or it is unreadable."""
        held = message.metadata.get(KEY)
        if not isinstance(held, dict):
            return None
        kept = cast("dict[str, Any]", held)
        if kept.get("source") != self.source:
            return None
        try:
            item: object = json.loads(message.text) if kept.get("is_json") else copy.deepcopy(kept.get("item"))
            path = kept.get("text_at")
            if isinstance(path, list):
                _put(item, cast("list[str | int]", path), message.text)
        except (ValueError, LookupError, TypeError):
            _log.warning("skipping an unreadable conversation item")
            return None
        return cast("dict[str, Any]", item) if isinstance(item, dict) else None

    def drop(self, message: Message) -> bool:
        """Delete a message. False if it was already deleted."""
        try:
            self.mnemic.delete(self.scope, message.id, reason="taken back")
        except NotFoundError:
            return False
        return True

    def clear(self) -> None:
        """Erase the session: its messages, and what was derived from them alone."""
        self.mnemic.erase(self.scope, level=Level.SESSION)

    def _message(self, said: Said) -> dict[str, object]:
        item = _plain(said.item)
        text = without_own_blocks(_clean(said.text), is_system=said.role is Role.SYSTEM)
        kept: dict[str, object] = {"source": self.source, "item": item}
        if said.text_at is not None and text.strip() and text == _at(item, said.text_at):
            bare = copy.deepcopy(item)
            _put(bare, said.text_at, "")
            kept |= {"item": bare, "text_at": list(said.text_at)}
        if len(json.dumps(kept, ensure_ascii=False).encode()) > MOST_BYTES or _depth(item) > MOST_DEPTH:
            text = json.dumps(item, ensure_ascii=False)
            kept = dict[str, object](source=self.source, is_json=True)
        message: dict[str, object] = {"role": said.role, "content": text if text.strip() else _PLACEHOLDER}
        return {**message, "name": said.name, "metadata": {KEY: kept}}


def _plain(item: Item) -> dict[str, Any]:
    try:
        return cast("dict[str, Any]", _cleaned(json.loads(json.dumps(item, allow_nan=False))))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"a conversation item must be JSON: {error}") from error


def _cleaned(value: object) -> object:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, dict):
        return {_clean(key): _cleaned(inner) for key, inner in cast("dict[str, object]", value).items()}
    return [_cleaned(inner) for inner in cast("list[object]", value)] if isinstance(value, list) else value


def _clean(text: str) -> str:
    """The text without characters that a store cannot keep."""
    return text.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _at(item: object, path: Sequence[str | int]) -> object:
    """The value at a path, None if there is none."""
    try:
        for step in path:
            item = cast("Any", item)[step]
    except (LookupError, TypeError):
        return None
    return item


def _put(item: object, path: Sequence[str | int], text: str) -> None:
    *way, last = path
    for step in way:
        item = cast("Any", item)[step]
    cast("Any", item)[last] = text


def _depth(value: object) -> int:
    if not isinstance(value, dict | list):
        return 0
    inner = cast("dict[str, object]", value).values() if isinstance(value, dict) else cast("list[object]", value)
    return 1 + max(map(_depth, inner), default=0)
