"""What the filters of both SQL stores have in common: how conditions combine. How one is said is the dialect's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from mnemic.model.filter import All, AnyOf, Condition, Filter, Not, Scalar


class FilterCompiler(ABC):
    """Compiles one filter out of SQL `fragments`; `parameters` then holds the values that its clause names."""

    always: ClassVar[str]
    never: ClassVar[str]
    placeholder: ClassVar[str]
    """How the dialect writes a parameter, with `{}` for its name."""

    def __init__(self, fragments: Mapping[str, str]) -> None:
        self.parameters: dict[str, object] = {}
        self._fragments = fragments

    def clause(self, filter_: Filter) -> str:
        """A boolean SQL expression, never null."""
        match filter_:
            case All(parts):
                return "(" + " AND ".join(self.clause(part) for part in parts) + ")" if parts else self.always
            case AnyOf(parts):
                return "(" + " OR ".join(self.clause(part) for part in parts) + ")" if parts else self.never
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
        field, *keys = condition.path
        if operator == "exists":
            test = self._exists(field, keys)
            return test if value else f"(NOT {test})"
        return self._json(field, keys, operator, value) if keys else self._column(field, operator, value)

    @abstractmethod
    def _exists(self, field: str, keys: Sequence[str]) -> str:
        """True where the field, or what stands at these keys of it, is there."""

    @abstractmethod
    def _column(self, name: str, operator: str, value: Scalar) -> str:
        """A comparison with a column."""

    @abstractmethod
    def _json(self, field: str, keys: Sequence[str], operator: str, value: Scalar) -> str:
        """Compare the value at these metadata or bookkeeping keys. False when its type differs."""

    def _field(self, name: str) -> str:
        if name == "level":
            return self._fragments["field_level"]
        return self._fragments["field_column"].format(column=name)

    def _bind(self, value: object) -> str:
        name = f"f{len(self.parameters)}"
        self.parameters[name] = value
        return self.placeholder.format(name)
