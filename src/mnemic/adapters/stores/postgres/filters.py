"""Turns a checked filter into a WHERE clause made of the fragments in `queries/filters.sql`.

An equality on metadata or bookkeeping becomes a containment, which a GIN index answers; the other comparisons look at
the JSON type first, so that texts, numbers and truth values never mix.
"""

from __future__ import annotations

from collections.abc import Sequence

from mnemic.adapters.stores.filters import FilterCompiler
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.postgres.texts import to_json
from mnemic.model.filter import Scalar

_COLUMNS = {"metadata": "filterable", "bookkeeping": "filterable_bookkeeping"}
"""Where a field is kept in the form that conditions look at."""

_SIGNS = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class PostgresFilters(FilterCompiler):
    """Filters as PostgreSQL takes them."""

    always, never, placeholder = "true", "false", "%({})s"

    def __init__(self) -> None:
        super().__init__(statements("filters"))

    def _exists(self, field: str, keys: Sequence[str]) -> str:
        if keys:
            return self._fragments["exists_json"].format(field=self._path(field, keys))
        kind = "exists_list" if field == "categories" else "exists"
        return self._fragments[kind].format(field=self._field(field))

    def _column(self, name: str, operator: str, value: Scalar) -> str:
        fragment = operator
        if operator == "contains":
            fragment = "contains_list" if name == "categories" else "contains_text"
        return self._fragments[fragment].format(field=self._field(name), value=self._bind(value))

    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        column = _COLUMNS[field]
        if operator == "eq":
            return self._fragments["eq_json"].format(column=column, value=self._document(keys, value))
        if operator == "contains":
            document = self._document(keys, [value])
            if not isinstance(value, str):
                return self._fragments["eq_json"].format(column=column, value=document)
            return self._fragments["contains_json_text"].format(
                column=column, document=document, field=self._path(field, keys), value=self._bind(value)
            )
        kind, bound = "number", to_json(value)
        if isinstance(value, str | bool):
            kind, bound = ("text" if isinstance(value, str) else "boolean"), value
        return self._fragments[f"order_{kind}"].format(
            field=self._path(field, keys), sign=_SIGNS[operator], value=self._bind(bound)
        )

    def _document(self, keys: Sequence[str], value: object) -> str:
        """The smallest mapping with this value at these keys, as a parameter."""
        for key in reversed(keys):
            value = {key: value}
        return self._bind(to_json(value))

    def _path(self, field: str, keys: Sequence[str]) -> str:
        steps = "".join(self._fragments["step"].format(key=self._bind(key)) for key in keys)
        column = self._fragments["field_json"].format(column=_COLUMNS[field])
        return f"({column} {steps})"
