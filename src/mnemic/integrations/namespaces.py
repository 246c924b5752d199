"""Whose a namespace is: namespaces of LangGraph laid out by the developer, so that no label can name another's place.

A layout is a tuple of labels such as `("memories", "{user}")`. A label in braces stands for whose the namespace is; any
other must be there as it is written; what follows is free. Two layouts that could both take one namespace are refused,
so a user who is called like a label of another layout stays who they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mnemic.errors import InvalidInputError
from mnemic.model.scope import Level, Scope

Namespace = tuple[str, ...]
OWNERS = {"{user}": "user", "{agent}": "agent"}


@dataclass(frozen=True, slots=True)
class Place:
    """Where the items of a namespace lie."""

    scope: Scope
    level: Level


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of a store, and the scope that they fill.

    `scope` gives the org and what no label names: with a user or an agent in it, namespaces without an owner are
    theirs. Raises `InvalidInputError` for layouts that cannot be told apart, or that leave open whose something is.
    """

    layouts: tuple[Namespace, ...]
    scope: Scope

    def __post_init__(self) -> None:
        if not self.layouts or not all(self.layouts):
            raise InvalidInputError('name at least one layout with a label, such as ("memories", "{user}")')
        for place, layout in enumerate(self.layouts):
            self._check(layout)
            for other in self.layouts[:place]:
                if all(not _differ(one, two) for one, two in zip(layout, other, strict=False)):
                    raise InvalidInputError(
                        f"a namespace could be {_show(other)} and {_show(layout)}: tell them apart by a fixed label"
                    )

    def place(self, namespace: Namespace) -> Place:
        """Where the items of a namespace lie. Raises `InvalidInputError` for one that no layout takes."""
        for layout in self.layouts:
            if len(namespace) >= len(layout) and _agrees(layout, namespace):
                return self._fill(layout, namespace)
        known = ", ".join(_show(layout) for layout in self.layouts)
        raise InvalidInputError(f"the namespace {_show(namespace)} fits no layout of this store; there are {known}")

    def place_below(self, prefix: Namespace) -> Place:
        """Where all below a prefix lies. Raises `InvalidInputError` where that would be more than one owner's."""
        fitting = [layout for layout in self.layouts if _agrees(layout, prefix)]
        if not fitting:
            return self.place(prefix)
        if any(label in OWNERS for layout in fitting for label in layout[len(prefix) :]):
            raise InvalidInputError(
                f"below {_show(prefix)} lie namespaces of several owners; name the user (or agent) in the prefix"
            )
        places = {self._fill(layout, prefix) for layout in fitting}
        if len(places) > 1:
            raise InvalidInputError(f"below {_show(prefix)} lie namespaces of several owners; use a longer prefix")
        return places.pop()

    def _check(self, layout: Namespace) -> None:
        owners = [OWNERS[label] for label in layout if label in OWNERS]
        unknown = [label for label in layout if label not in OWNERS and label.startswith("{") and label.endswith("}")]
        if unknown:
            raise InvalidInputError(f"{unknown[0]} in {_show(layout)} is none of {', '.join(OWNERS)}")
        if len(set(owners)) < len(owners):
            raise InvalidInputError(f"{_show(layout)} names an owner twice")
        held = [owner for owner in owners if getattr(self.scope, owner) is not None]
        if held:
            raise InvalidInputError(f"{held[0]} is named by the scope and by {_show(layout)}; leave it out of one")
        if not owners and self.scope.user is None and self.scope.agent is None:
            raise InvalidInputError(
                f"{_show(layout)} names no owner: put {{user}} or {{agent}} in it, or give the store a scope with one"
            )

    def _fill(self, layout: Namespace, namespace: Namespace) -> Place:
        named = {OWNERS[label]: value for label, value in zip(layout, namespace, strict=False) if label in OWNERS}
        scope = replace(self.scope, session=None, **named)
        return Place(scope, scope.default_level)


def parse_layouts(layouts: Sequence[str] | Sequence[Sequence[str]], scope: Scope) -> Layouts:
    """Layouts as a developer writes them: one, as a sequence of labels, or several."""
    if all(isinstance(label, str) for label in layouts):
        return Layouts((tuple(str(label) for label in layouts),), scope)
    return Layouts(tuple(tuple(layout) for layout in layouts), scope)


def _agrees(layout: Namespace, namespace: Namespace) -> bool:
    """True when no label of one contradicts the other, as far as both go."""
    return all(label in OWNERS or label == given for label, given in zip(layout, namespace, strict=False))


def _differ(one: str, other: str) -> bool:
    return one not in OWNERS and other not in OWNERS and one != other


def _show(namespace: Namespace) -> str:
    return "(" + ", ".join(repr(label)[:80] for label in namespace) + ")"
