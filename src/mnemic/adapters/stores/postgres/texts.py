"""Texts and JSON for PostgreSQL, which refuses the character NUL in both, while we keep every text unchanged.

U+0000 to U+0003 are written as U+0001 and two of U+0002 and U+0003. The code is reversible, keeps the order by code
point and finds parts within a whole, so comparison, order and search in SQL mean the same as on the texts. It applies
to every text of a connection, and within JSON. `jsonb` is for conditions only; JSON is read back as text. There, floats
from 2**53 on are written digit by digit, so that SQL compares them as Python does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.types.string import StrDumperUnknown, TextLoader

_LEAD = "\x01"
_CODES = {"\x00": "\x01\x02\x02", "\x01": "\x01\x02\x03", "\x02": "\x01\x03\x02", "\x03": "\x01\x03\x03"}
_CHARACTERS = {code: character for character, code in _CODES.items()}
_RARE, _CODE = re.compile("[\x00-\x03]"), re.compile("\x01[\x02\x03]{2}")
_EXACT_INTEGERS = 2.0**53


def encode_text(text: str) -> str:
    """The form in which a text is kept."""
    if any(character in text for character in _CODES):
        return _RARE.sub(lambda found: _CODES[found[0]], text)
    return text


def decode_text(text: str) -> str:
    """The inverse of `encode_text`."""
    return _CODE.sub(lambda found: _CHARACTERS[found[0]], text) if _LEAD in text else text


def to_json(value: object) -> str:
    """A JSON value as the text of a `jsonb` column or parameter. The keys of mappings must be texts."""
    if isinstance(value, str):
        return json.dumps(encode_text(value), ensure_ascii=False)
    if isinstance(value, float) and abs(value) >= _EXACT_INTEGERS:
        return f"{value:.1f}"
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return "{" + ",".join(f"{to_json(key)}:{to_json(inner)}" for key, inner in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(to_json(inner) for inner in cast("Sequence[object]", value)) + "]"
    return json.dumps(value)


class _TextDumper(StrDumperUnknown):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(encode_text(obj))


class _TextLoader(TextLoader):
    def load(self, data: Buffer) -> bytes | str:
        text = super().load(data)
        return decode_text(text) if isinstance(text, str) else text


def register(connection: Connection[Any]) -> None:
    """Make a connection encode and decode every text."""
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_loader("text", _TextLoader)
