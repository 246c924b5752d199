"""Turns a checked filter into a WHERE clause made of the fragments in `queries/filters.sql`."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.filters import FilterCompiler
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.filter import Scalar

_INDEXED = ("bookkeeping", ["slot"])
"""The field and its key that have an index of their own."""

_BOOL, _TEXT, _NUMBER = "'true', 'false'", "'text'", "'integer', 'real'"


class SqliteFilters(FilterCompiler):
    """Filters as SQLite takes them."""

    always, never, placeholder = "1", "0", ":{}"

    def __init__(self) -> None:
        super().__init__(statements("filters"))

    def _exists(self, field: str, keys: Sequence[str]) -> str:
        if keys:
            value = self._fragments["field_json"].format(field=field, path=self._path(keys))
            return self._fragments["exists"].format(field=value)
        if field == "categories":
            return f"({self._field(field)} != '[]')"
        return self._fragments["exists"].format(field=self._field(field))

    def _column(self, name: str, operator: str, value: Scalar) -> str:
        bound = self._bind(value)
        if operator != "contains":
            return self._fragments[operator].format(field=self._field(name), value=bound)
        if name == "categories":
            return self._fragments["contains_list"].format(column=name, value=bound, types=_TEXT)
        return self._fragments["contains_text"].format(field=self._field(name), value=bound)

    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        if operator == "eq" and (field, [*keys]) == _INDEXED and isinstance(value, str):
            return self._fragments["eq_slot"].format(value=self._bind(value))
        where, bound = self._path(keys), self._bind(value)
        types = _BOOL if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER
        if operator == "contains":
            is_text = int(isinstance(value, str))
            fragment = self._fragments["contains_json"]
            return fragment.format(field=field, path=where, value=bound, types=types, is_text=is_text)
        read = self._fragments["field_json"].format(field=field, path=where)
        test = self._fragments[operator].format(field=read, value=bound)
        found = self._fragments["type_json"].format(field=field, path=where)
        return self._fragments["typed"].format(type=found, types=types, test=test)

    def _path(self, keys: Sequence[str]) -> str:
        return self._bind("$" + "".join(f'."{key}"' for key in keys))
