"""Results that iterate, index, have a length, and fit a screen when printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from inspect import signature
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

_Entry = TypeVar("_Entry")
_Key = TypeVar("_Key")
_P = ParamSpec("_P")

SHOWN = 20
"""Entries that `repr` shows. With the heading and the number of other entries, they fit a small terminal."""

WIDTH = 116


def shorten(value: object, width: int = WIDTH) -> str:
    """A value in one line of at most `width` characters."""
    line = " ".join((value if isinstance(value, str) else repr(value)).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


class OneLine:
    """An item whose `repr` is one line: its text, its end and its id."""

    __slots__ = ()
    text: str
    id: str

    def __repr__(self) -> str:
        until = f", valid_to='{end:%Y-%m-%d}'" if (end := getattr(self, "valid_to", None)) is not None else ""
        return f"{type(self).__name__}({shorten(self.text, 60 - len(until))!r}{until}, id={self.id!r})"


class Listing(Generic[_Entry]):
    """A result that lists the entries of its first tuple field."""

    __slots__ = ()

    @property
    def _named(self) -> tuple[str, tuple[_Entry, ...]]:
        values: list[Any] = [(each.name, getattr(self, each.name)) for each in fields(cast("Any", self))]
        return values[[type(value) is tuple for _, value in values].index(True)]

    def __iter__(self) -> Iterator[_Entry]:
        return iter(self._named[1])

    def __len__(self) -> int:
        return len(self._named[1])

    @overload
    def __getitem__(self, place: int) -> _Entry: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[_Entry, ...]: ...
    def __getitem__(self, place: int | slice) -> _Entry | tuple[_Entry, ...]:
        return self._named[1][place]

    def __repr__(self) -> str:
        rows = [f"  {shorten(each)}" for each in self[:SHOWN]]
        rows += [f"  … {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        return "\n".join([f"{type(self).__name__}({self._named[0]}={len(self)})", *rows])


def group_pairs(pairs: Iterable[tuple[_Key, _Entry]]) -> dict[_Key, list[_Entry]]:
    """The values of each key. Keys and values keep their order."""
    grouped: dict[_Key, list[_Entry]] = {}
    for key, value in pairs:
        grouped.setdefault(key, []).append(value)
    return grouped


def batched(rows: Sequence[_Entry], size: int) -> Iterator[Sequence[_Entry]]:
    """The rows in order, at most `size` at a time."""
    return (rows[start : start + size] for start in range(0, len(rows), size))


def follow_pages(verb: Callable[_P, Listing[_Entry]], *arguments: _P.args, **named: _P.kwargs) -> Iterator[_Entry]:
    """Yield the entries of every page of a verb that lists one page at a time.

    Example:
        >>> goals = [memory.text for memory in follow_pages(ana.list, kinds=["goal"])]
    """
    given: dict[str, Any] = dict(named)
    cursor = "after" if "after" in signature(verb).parameters else "before"
    while True:
        page: Any = cast("Any", verb)(*arguments, **given)
        yield from page
        given[cursor] = getattr(page, "next", None) or getattr(page, "after", None)
        if given[cursor] is None:
            return
