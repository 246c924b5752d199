"""Turns a checked filter into a WHERE clause made of the fragments in `queries/filters.sql`."""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.filter import All, AnyOf, Condition, Filter, Not, Scalar

_INDEXED = ["slot"]
"""The key of metadata that has an index of its own."""

_BOOL, _TEXT, _NUMBER = "'true', 'false'", "'text'", "'integer', 'real'"


class FilterCompiler:
    """Compiles one filter; `parameters` then holds the values that its clause names."""

    def __init__(self) -> None:
        self.parameters: dict[str, object] = {}
        self._fragments = statements("filters")

    def clause(self, filter_: Filter) -> str:
        """A boolean SQL expression, never null."""
        match filter_:
            case All(parts):
                return "(" + " AND ".join(self.clause(part) for part in parts) + ")" if parts else "1"
            case AnyOf(parts):
                return "(" + " OR ".join(self.clause(part) for part in parts) + ")" if parts else "0"
            case Not(part):
                return f"(NOT {self.clause(part)})"
            case Condition():
                return self._condition(filter_)

    def _condition(self, condition: Condition) -> str:
        operator, value = condition.operator, condition.value
        if isinstance(value, tuple):
            return self.clause(AnyOf(tuple(Condition(condition.path, "eq", part) for part in value)))
        if operator == "ne":
            return f"(NOT {self._condition(Condition(condition.path, 'eq', value))})"
        if operator == "exists":
            test = self._exists(condition.path)
            return test if value else f"(NOT {test})"
        field, *keys = condition.path
        return self._metadata(keys, operator, value) if keys else self._column(field, operator, value)

    def _exists(self, path: tuple[str, ...]) -> str:
        field, *keys = path
        if keys:
            value = self._fragments["field_metadata"].format(path=self._path(keys))
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

    def _metadata(self, path: Sequence[str], operator: str, value: Scalar) -> str:
        if operator == "eq" and [*path] == _INDEXED and isinstance(value, str):
            return self._fragments["eq_slot"].format(value=self._bind(value))
        where, bound = self._path(path), self._bind(value)
        types = _BOOL if isinstance(value, bool) else _TEXT if isinstance(value, str) else _NUMBER
        if operator == "contains":
            is_text = int(isinstance(value, str))
            return self._fragments["contains_metadata"].format(path=where, value=bound, types=types, is_text=is_text)
        test = self._fragments[operator].format(field=self._fragments["field_metadata"].format(path=where), value=bound)
        found = self._fragments["type_metadata"].format(path=where)
        return self._fragments["typed"].format(type=found, types=types, test=test)

    def _field(self, name: str) -> str:
        return (
            self._fragments["field_level"] if name == "level" else self._fragments["field_column"].format(column=name)
        )

    def _path(self, keys: Sequence[str]) -> str:
        return self._bind("$" + "".join(f'."{key}"' for key in keys))

    def _bind(self, value: Scalar) -> str:
        name = f"f{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"
