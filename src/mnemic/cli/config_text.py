"""Edits other programs' JSON (with comments) and TOML files as text, which keeps comments and order.

A change is the difference between two mappings. The edited text is parsed again, and refused if the result differs.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_REST_OF_LINE = re.compile(r"[^\S\n]*(,?)[^\S\n]*(?=\n)")
_DEEPEST = 2  # levels of keys that are edited alone; deeper values are replaced as a whole
_DECODER = json.JSONDecoder()


class Member(NamedTuple):
    """A member of a JSON object: its key, the start of the key and of the value, and the value's end."""

    key: str
    start: int
    value: int
    end: int


def parse_text(text: str, suffix: str) -> object:
    """The parsed content of a file. Raises `ValueError` or `RecursionError`."""
    if suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(_blank(text)) if text.strip() else {}


def edit_text(text: str, suffix: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Change a file's text so that its content is `after`, not `before`. Raises `ValueError` if this is impossible."""
    edited = _edit_toml(text, before, after) if suffix == ".toml" else _edit_object(text or "{}\n", before, after, ())
    if parse_text(edited, suffix) != after:
        raise ValueError("its layout is not supported")
    return edited


def _blank(text: str) -> str:
    """Replace comments and trailing commas in JSON with blanks, which keeps all positions."""
    return _TRAILING_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)


def _edit_object(text: str, before: Mapping[str, Any], after: Mapping[str, Any], path: tuple[str, ...]) -> str:
    for key in (*before, *(key for key in after if key not in before)):
        pair = (before.get(key), after.get(key))
        if key not in after:
            text = _remove(text, path, key)
        elif len(path) < _DEEPEST - 1 and all(isinstance(each, dict) for each in pair):
            text = _edit_object(text, *cast("tuple[dict[str, Any], dict[str, Any]]", pair), (*path, key))
        elif key not in before or pair[0] != pair[1]:
            text = _put(text, path, key, after[key])
    return text


def _put(text: str, path: tuple[str, ...], key: str, value: object) -> str:
    """Replace a member, or add it after the last one."""
    indent = "  " * (len(path) + 1)
    written = json.dumps(value, indent=2, ensure_ascii=False).replace("\n", f"\n{indent}")
    start, members = _find_members(text, path)
    if (old := next((each for each in members if each.key == key), None)) is not None:
        return text[: old.value] + written + text[old.end :]
    line = f"\n{indent}{json.dumps(key, ensure_ascii=False)}: {written}"
    if not members:
        return f"{text[: start + 1]}{line}\n{indent[2:]}{text[start + 1 :].lstrip(' ')}"
    end = members[-1].end
    rest = _REST_OF_LINE.match(_without_comments(text), end)
    if rest is None:
        return f"{text[:end]},{line}{text[end:]}"
    comma = rest[1] or ""  # an old trailing comma is followed by a new one
    return f"{text[:end]}{'' if comma else ','}{text[end : rest.end()]}{line}{comma}{text[rest.end() :]}"


def _remove(text: str, path: tuple[str, ...], key: str) -> str:
    """Remove a member with its comma, and its line if nothing else is on it."""
    _, members = _find_members(text, path)
    place = next(place for place, each in enumerate(members) if each.key == key)
    gone, bare = members[place], _without_comments(text)
    begin = len(text[: gone.start].rstrip(" \t"))
    begin -= text[begin - 1] == "\n"
    if after := re.compile(r"\s*,").match(bare, gone.end):
        return text[:begin] + text[after.end() :]
    comma = bare.index(",", members[place - 1].end) if place else begin
    return text[:comma] + text[comma + 1 : begin] + text[gone.end :]


def _find_members(text: str, path: tuple[str, ...]) -> tuple[int, list[Member]]:
    """Where the object at `path` begins, and its members."""
    bare = _blank(text)
    start = bare.index("{")
    for key in path:
        start = next(each.value for each in _list_members(bare, start) if each.key == key)
    return start, [*_list_members(bare, start)]


def _list_members(bare: str, start: int) -> Iterator[Member]:
    place = _skip(bare, start + 1)
    while bare[place] != "}":
        key, end = _DECODER.raw_decode(bare, place)
        value = _skip(bare, _skip(bare, end) + 1)
        _, end = _DECODER.raw_decode(bare, value)
        yield Member(key, place, value, end)
        place = _skip(bare, end)
        place = _skip(bare, place + 1) if bare[place] == "," else place


def _skip(bare: str, place: int) -> int:
    while bare[place].isspace():
        place += 1
    return place


def _edit_toml(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Replace tables two levels deep, such as `[mcp_servers.mnemic]`."""
    for outer in {**before, **after}:
        old, new = _read_table(before.get(outer)), _read_table(after.get(outer))
        for name in [name for name in {**old, **new} if old.get(name) != new.get(name)]:
            head = re.escape(f"{outer}.{name}")
            text = re.sub(rf"(?ms)\n*^\[{head}(?:\.[^\]\n]*)?\].*?(?=^\[|\Z)", "\n\n", text).rstrip("\n") + "\n"
            if name in new:
                rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in new[name].items()]
                text = "\n".join((text.rstrip("\n"), "", f"[{outer}.{name}]", *rows, "")).lstrip("\n")
    return text


def _read_table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
