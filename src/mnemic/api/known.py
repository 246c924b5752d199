"""Optional arguments that a verb does not take are refused: one that is ignored is a condition that does not hold."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from mnemic.errors import InvalidInputError
from mnemic.model.scope import Scope

ELSEWHERE = {"top_k": "limit", "k": "limit", "n": "limit", "num_results": "limit", "token_budget": "budget_tokens"}
"""What other programs call some of them."""


def refuse_unknown(verb: str, fields: Mapping[str, object], known: type) -> None:
    """Raises `InvalidInputError` for a field that `known`, a TypedDict, does not name; with the nearest one."""
    names = known.__annotations__
    unknown = next((name for name in fields if name not in names), None)
    if unknown is None:
        return
    near = [ELSEWHERE.get(unknown, ""), *difflib.get_close_matches(unknown, names, n=1)]
    told = [f"did you mean {name!r}?" for name in near if name in names] or [f"it takes {', '.join(names)}"]
    raise InvalidInputError(f"{verb} takes no {unknown!r}; {told[0]}")


def check_scope(scope: object) -> None:
    """Raises `InvalidInputError` for what is no scope: other programs take the name of a user in its place."""
    if not isinstance(scope, Scope):
        told = f"Scope(user={scope!r})" if isinstance(scope, str) else "Scope(user='ana')"
        raise InvalidInputError(f"the first argument of a verb is a Scope, such as {told}, not {type(scope).__name__}")
