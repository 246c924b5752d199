"""Edits other programs' JSON (with comments) and TOML files as text, which keeps comments, order and line endings.

A change is the difference between two mappings. The edited text is parsed again, and refused if the result differs.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, cast

BOM = "\ufeff"  # some editors on Windows start a file with it
_STRING = r'"(?:[^"\\]|\\.)*"'
_VALUE = re.compile(  # or a comment, or a key with what follows it
    rf"\"{{3}}.*?\"{{3}}|'{{3}}.*?'{{3}}|({_STRING})(\s*[:=])?|'[^'\n]*'(\s*[:=])?|(?://|#)[^\n]*|/\*.*?\*/", re.DOTALL
)
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_REST_OF_LINE = re.compile(r"[^\S\n]*+(,?)[^\S\n]*+(?=\n)")
_INDENT = re.compile(r"^[ \t]+(?=[\"\[{])", re.MULTILINE)
_END = re.compile(r"[\]}]|\"\"\"|'''")  # of a multi-line TOML statement
_DECODER = json.JSONDecoder()

Path = tuple[str | int, ...]
"""Keys of objects and positions in lists."""


class Member(NamedTuple):
    """A member of a JSON object or list: its key or position, the starts of key and value, and the value's end."""

    key: str | int
    start: int
    value: int
    end: int


def parse_text(text: str, suffix: str) -> object:
    """The parsed content of a file. Raises `ValueError` or `RecursionError`."""
    text = text.removeprefix(BOM)
    if suffix == ".toml":
        return tomllib.loads(text)
    return json.loads(_blank(text)) if text.strip() else {}


def edit_text(text: str, suffix: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Change a file's text so that its content is `after`, not `before`. Empty TOML tables may be missing. Raises
    `ValueError` if this is impossible.
    """
    mark, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    is_crlf = 0 < text.count("\r\n") == text.count("\n")
    plain = text.replace("\r\n", "\n") if is_crlf else text
    if suffix == ".toml":
        edited = _edit_toml(plain, before, after)
        is_right = (found := _parse_toml(edited)) is not None and drop_empty(found) == drop_empty(after)
    else:
        edited = _edit_members(plain if plain.strip() else "{}\n", before, after, ())
        is_right = parse_text(edited, suffix) == after
    if not is_right:
        raise ValueError("its layout is not supported")
    return mark + (edited.replace("\n", "\r\n") if is_crlf else edited)


def drop_empty(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without empty members."""
    return {key: each for key, each in whole.items() if each not in ({}, [])}


def mask_change(before: str, after: str) -> list[str]:
    """Both texts with `…` for each comment and string, except for keys and the strings that the change adds."""
    old, new = (Counter(found[1] for found in _VALUE.finditer(text) if found[1]) for text in (before, after))
    added = new - old

    def mask(found: re.Match[str]) -> str:
        return found[0] if found[2] or found[3] or found[1] in added else '"…"' + "\n" * found[0].count("\n")

    return [_VALUE.sub(mask, text) for text in (before, after)]


def _blank(text: str) -> str:
    """Replace comments and trailing commas in JSON with blanks, which keeps all positions."""
    return _TRAILING_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _without_comments(text))


def _without_comments(text: str) -> str:
    return _COMMENT.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)


def _edit_members(text: str, before: Mapping[Any, Any], after: Mapping[Any, Any], path: Path) -> str:
    for key in reversed([key for key in before if key not in after]):
        text = _remove(text, path, key)
    for key, new in after.items():
        old = before.get(key)
        if key in before and isinstance(old, dict) and isinstance(new, dict):
            text = _edit_members(text, cast("dict[str, Any]", old), cast("dict[str, Any]", new), (*path, key))
        elif key in before and isinstance(old, list) and isinstance(new, list):
            text = _edit_members(text, *_match(cast("list[Any]", old), cast("list[Any]", new)), (*path, key))
        elif key not in before or old != new:
            text = _put(text, path, key, new)
    return text


def _match(old: list[Any], new: list[Any]) -> tuple[dict[int, Any], dict[int, Any]]:
    """Two lists by position. Equal items have the same position. Other items of `new` come later."""
    kept: dict[int, Any] = {}
    for place, each in enumerate(old):
        if new[len(kept) : len(kept) + 1] == [each]:
            kept[place] = each
    if not kept and len(old) == len(new):
        return dict(enumerate(old)), dict(enumerate(new))
    return dict(enumerate(old)), {**kept, **dict(enumerate(new[len(kept) :], len(old)))}


def _put(text: str, path: Path, key: str | int, value: object) -> str:
    """Replace a member, or add it after the last one."""
    found = _INDENT.search(text)
    unit = found[0] if found else "  "
    indent = unit * (len(path) + 1)
    written = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")
    start, members = _find_members(text, path)
    if (old := next((each for each in members if each.key == key), None)) is not None:
        return text[: old.value] + written + text[old.end :]
    label = f"{json.dumps(key, ensure_ascii=False)}: " if isinstance(key, str) else ""
    line = f"\n{indent}{label}{written}"
    if not members:
        rest = text[start + 1 :].lstrip(" ")
        return text[: start + 1] + line + ("" if rest[0] == "\n" else f"\n{indent[len(unit) :]}") + rest
    end = members[-1].end
    rest = _REST_OF_LINE.match(_without_comments(text), end)
    if rest is None:
        return f"{text[:end]},{line}{text[end:]}"
    comma = rest[1] or ""  # an old trailing comma is followed by a new one
    return f"{text[:end]}{'' if comma else ','}{text[end : rest.end()]}{line}{comma}{text[rest.end() :]}"


def _remove(text: str, path: Path, key: str | int) -> str:
    """Remove a member with its comma, and its line if nothing else is on it."""
    start, members = _find_members(text, path)
    place = next(place for place, each in enumerate(members) if each.key == key)
    gone, bare = members[place], _without_comments(text)
    rest = text[gone.end :]
    if after := re.compile(r"\s*,").match(bare, gone.end):
        comments = text[gone.end : after.end() - 1]
        rest = (comments if comments.strip() else "") + text[after.end() :]
    begin = len(text[: gone.start].rstrip(" \t"))
    above = text.rfind("\n", 0, begin - 1) + 1
    has_comment_above = text[above:begin] != bare[above:begin]  # the rest would become part of it
    if text[begin - 1] == "\n" and (not has_comment_above or not rest.partition("\n")[0].strip()):
        begin -= 1
    head = text[:begin]
    if place and not after:
        comma = bare.index(",", members[place - 1].end)
        head = text[:comma] + text[comma + 1 : begin]
    is_empty = len(members) == 1 and begin == start + 1 and rest.lstrip()[0] in "}]"
    return head + (rest.lstrip() if is_empty else rest)


def _find_members(text: str, path: Path) -> tuple[int, list[Member]]:
    """Where the object or list at `path` begins, and its members."""
    bare = _blank(text)
    start = bare.index("{")
    for key in path:
        start = next(each.value for each in _list_members(bare, start) if each.key == key)
    return start, [*_list_members(bare, start)]


def _list_members(bare: str, start: int) -> Iterator[Member]:
    is_list = bare[start] == "["
    place, number = _skip(bare, start + 1), 0
    while bare[place] not in "}]":
        key, value = number, place
        if not is_list:
            key, end = _DECODER.raw_decode(bare, place)
            value = _skip(bare, _skip(bare, end) + 1)
        _, end = _DECODER.raw_decode(bare, value)
        yield Member(key, place, value, end)
        place, number = _skip(bare, end), number + 1
        place = _skip(bare, place + 1) if bare[place] == "," else place


def _skip(bare: str, place: int) -> int:
    while bare[place].isspace():
        place += 1
    return place


def _edit_toml(text: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Change tables two levels deep, such as `[mcp_servers.mnemic]`."""
    for outer in {**before, **after}:
        old, new = _read_table(before.get(outer)), _read_table(after.get(outer))
        for name in [name for name in {**old, **new} if old.get(name) != new.get(name)]:
            was, now = _read_table(old.get(name)), _read_table(new.get(name))
            rows = {key: f"{key} = {json.dumps(each, ensure_ascii=False)}" for key, each in now.items()}
            changed = {key: row for key, row in rows.items() if now[key] != was.get(key)}
            if was.keys() == now.keys() and (edited := _edit_table(text, (outer, name), changed)) != text:
                text = edited
                continue
            text = _edit_table(text, (outer, name), None) if name in old else text
            if name in new:  # before the last line feed, so a file without one stays so
                body, end = text.removesuffix("\n"), "\n" if text.endswith("\n") or not text else ""
                head = f"\n\n[{outer}.{name}]" if text else f"[{outer}.{name}]"
                text = body + "\n".join((head, *rows.values())) + end
    return text


def _edit_table(text: str, path: tuple[str, str], rows: Mapping[str, str] | None) -> str:
    """Replace rows of a table, or remove its rows, its sub-tables and the blank line above each. Keeps comments that
    have their own line.
    """
    kept: list[str] = []
    table: tuple[str, ...] = ()
    for statement, place in _list_statements(text):
        is_header = bool(place) and statement.lstrip().startswith("[")
        table = place if is_header else table
        whole = place if is_header else (*table, *place)
        if not place or whole[:2] != path:
            kept.append(statement)
        elif rows is None:
            if is_header and kept and not kept[-1].strip():
                kept.pop()
        else:
            is_changed = table == path and len(place) == 1 and place[0] in rows
            kept.append(_replace_value(statement, rows[place[0]]) if is_changed else statement)
    edited = "".join(kept)
    return edited if text.endswith("\n") else edited.removesuffix("\n")


def _list_statements(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The headers, key-value pairs and other lines of a TOML file, each with its keys."""
    statement = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        can_end = not statement or _END.search(line)
        statement += line
        if can_end and (whole := _parse_toml(statement)) is not None:
            keys: list[str] = []
            while len(whole) == 1:
                keys += whole
                whole = _read_table(whole[keys[-1]])
            yield statement, tuple(keys)
            statement = ""


def _replace_value(statement: str, row: str) -> str:
    """Replace a statement's value. Keeps its comment."""
    marks = [found.start() for found in re.finditer(r"[^\S\n]*(#|\n?\Z)", statement)]
    return row + next(statement[mark:] for mark in marks if _parse_toml(statement[:mark]))


def _parse_toml(text: str) -> dict[str, Any] | None:
    """The content. None if it is incomplete or invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _read_table(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
