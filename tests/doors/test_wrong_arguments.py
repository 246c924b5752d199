"""Every verb of the library, called with wrong things: a typed error or a result, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from mnemic import Config, Mnemic, Scope
from mnemic.api.signatures import parameters_of
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.verbs import VERBS

ANNA = Scope(user="anna", session="s1")
WRONG: list[Any] = [
    None,
    True,
    -1,
    10**30,
    float("nan"),
    "",
    "xyz",
    "\ud800",
    "a\0b",
    "x" * 5000,
    b"bytes",
    [None],
    [["x"]],
    {1: 2},
    {"text": None},
    [{"role": 1}],
    object(),
    date(2026, 1, 1),
    datetime(2026, 1, 1),  # noqa: DTZ001 -- a time without a zone is one of the wrong things
    Path("/nonexistent/x"),
    1j,
]
GIVEN = {"messages": [{"role": "user", "content": "x"}], "facts": {"city": "Oslo"}, "memories": ["x"], "exchanges": []}
RAW = (ArithmeticError, AssertionError, AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError)
"""Errors of Python, which no verb should raise."""

ELSEWHERE = frozenset({"chat_stream"})
"""Its errors come when it is read, which needs a model."""


@pytest.fixture(scope="module")
def mnemic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mnemic]:
    folder = tmp_path_factory.mktemp("wrong")
    former = Path.cwd()
    os.chdir(folder)
    with Mnemic.open(Config(store=str(folder / "memory.db"), embedder="none")) as mnemic:
        yield mnemic
    os.chdir(former)


def call(mnemic: Mnemic, verb: str, wrong_name: str, wrong: object) -> None:
    function: Any = mnemic
    for part in verb.split("."):
        function = getattr(function, part)
    given: dict[str, Any] = {"scope": ANNA}
    for name, parameter in parameters_of(verb).items():
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_POSITIONAL:
            given.setdefault(name, GIVEN.get(name, "x"))
    named = {name: value for name, value in given.items() if name in parameters_of(verb)} | {wrong_name: wrong}
    answer: Any = function(**named)
    if hasattr(answer, "__next__"):
        for _ in range(5):
            next(answer, None)


@pytest.mark.requirement("P-48")
@pytest.mark.parametrize("verb", [verb.name for verb in VERBS if verb.name not in ELSEWHERE])
def test_a_wrong_argument_is_a_typed_error_or_taken(mnemic: Mnemic, verb: str):
    raw: list[str] = []
    for name, parameter in parameters_of(verb).items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        for wrong in WRONG:
            try:
                call(mnemic, verb, name, wrong)
            except MnemicError:
                continue
            except RAW as error:
                raw.append(f"{name}={wrong!r:.30}: {type(error).__name__}: {error}")
    assert raw == []


def test_a_name_in_place_of_a_scope_is_told_with_the_scope_to_write(mnemic: Mnemic):
    for get in (lambda: mnemic.get("anna", "x"), lambda: mnemic.get(scope="anna", id="x")):  # pyright: ignore[reportArgumentType]
        with pytest.raises(InvalidInputError, match=r"Scope\(user='anna'\)"):
            get()


def test_a_text_is_no_list_of_memories(mnemic: Mnemic):
    with pytest.raises(InvalidInputError, match="memories must be a list of text"):
        mnemic.remember_many(ANNA, "xyz")
    assert mnemic.remember_many(ANNA, iter(["one", "two"]))[1].text == "two"
