"""An argument that a verb does not take is refused, never ignored: who says `dry_run=True` must not change anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from mnemic import Config, Mnemic, Scope
from mnemic.errors import InvalidInputError

ANA = Scope(user="ana")


@pytest.fixture
def memory() -> Iterator[Any]:
    """Untyped, as most programs that hold it."""
    with Mnemic.open(Config(store="memory://", embedder="none")) as opened:
        yield opened


@pytest.mark.parametrize(
    "verb, given, meant",
    [
        ("recall", {"top_k": 3}, "'limit'"),
        ("recall", {"kind": "fact"}, "'kinds'"),
        ("recall", {"user_id": "ana"}, "use mnemic.for_user"),
        ("recall", {"nonsense": "ana"}, "use limit, limits"),
        ("context", {"budget": 100}, "'budget_tokens'"),
        ("why_not", {"level": "user"}, "'levels'"),
        ("ask", {"kind": "fact"}, "use system"),
    ],
)
def test_a_question_with_an_unknown_condition_is_refused(memory: Any, verb: str, given: Any, meant: str):
    made = memory.remember(ANA, "Ana sails")
    words = (made.id, "boats") if verb == "why_not" else ("boats",)
    with pytest.raises(InvalidInputError, match=f"does not accept '{next(iter(given))}'.*{meant}"):
        getattr(memory, verb)(ANA, *words, **given)


def test_lists_with_an_unknown_condition_are_refused(memory: Any):
    with pytest.raises(InvalidInputError, match="did you mean 'kinds'"):
        memory.list(ANA, kind="fact")
    with pytest.raises(InvalidInputError, match=r"documents\.list does not accept 'status'; did you mean 'statuses'"):
        memory.documents.list(ANA, status="failed")


def test_a_dry_run_by_another_name_changes_nothing(memory: Any):
    memory.remember(ANA, "Thank you so much!")
    with pytest.raises(InvalidInputError, match="did you mean 'is_dry_run'"):
        memory.health(ANA, fix=["junk"], dry_run=True)
    assert len(memory.list(ANA).memories) == 1


@pytest.mark.parametrize("scope", ["ana", {"user": "ana"}, None])
def test_what_is_no_scope_is_told_so(memory: Any, scope: Any):
    for ask in (
        lambda: memory.remember(scope, "Ana sails"),
        lambda: memory.capture(scope, user="I sail"),
        lambda: memory.recall(scope, "boats"),
        lambda: memory.context(scope, "boats"),
        lambda: memory.list(scope),
    ):
        with pytest.raises(InvalidInputError, match=r"must be a Scope, such as Scope\(user='ana'\)"):
            ask()


def test_the_parts_of_a_scope_are_named():
    with pytest.raises(TypeError):
        cast("Any", Scope)("ana")
