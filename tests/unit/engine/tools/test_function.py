"""Functions as tools: what a model is told, what it may write, and what cannot be a tool."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest

from mnemic import Scope, tool
from mnemic.errors import InvalidInputError
from mnemic.model.chat import ToolContext

CONTEXT = ToolContext(Scope(user="anna"), datetime(2026, 5, 1, tzinfo=UTC), "test")


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Stop:
    place: Annotated[str, "where"]
    nights: int = 1


@tool
def plan(
    stops: list[Stop],
    budget: float | None = None,
    colour: Colour = Colour.RED,
    pace: Literal["slow", "fast"] = "slow",
    tags: dict[str, int] | None = None,
    day: date = date(2026, 1, 1),
) -> Any:
    """Plans a journey.

    Call it when somebody wants
    to travel.

    Args:
        stops: Where to go, in order,
            with the nights at each.
        budget (float): Euros in all.
        colour: Of the car.
        pace: How fast.
        tags: Numbers by name.
        day: When it begins.

    Returns:
        Something else: not a parameter.
    """
    return {"stops": stops, "tags": tags, "budget": budget, "colour": colour, "pace": pace, "day": day}


@pytest.mark.requirement("J-56", "J-62", "P-24")
def test_a_model_is_told_what_signature_and_docstring_say():
    assert plan.spec.name == "plan"
    assert plan.spec.description == "Plans a journey.\n\nCall it when somebody wants to travel."
    told: Any = plan.spec.parameters
    assert told["required"] == ["stops"]
    assert told["additionalProperties"] is False
    properties = told["properties"]
    assert {name: each["description"] for name, each in properties.items()} == {
        "stops": "Where to go, in order, with the nights at each.",
        "budget": "Euros in all.",
        "colour": "Of the car.",
        "pace": "How fast.",
        "tags": "Numbers by name.",
        "day": "When it begins.",
    }
    assert properties["stops"]["items"]["properties"]["place"] == {"type": "string", "description": "where"}
    assert properties["stops"]["items"]["required"] == ["place"]
    assert properties["budget"]["type"] == "number"
    assert properties["colour"] == {
        "enum": ["red", "blue"],
        "type": "string",
        "description": "Of the car.",
        "default": "red",
    }
    assert properties["pace"]["enum"] == ["slow", "fast"]
    assert properties["tags"]["additionalProperties"] == {"type": "integer"}
    json.dumps(told)


@pytest.mark.requirement("P-24")
def test_what_a_model_writes_becomes_values_of_the_types_and_the_answer_json():
    said = plan.call(
        CONTEXT,
        {
            "stops": [{"place": "Lyon", "nights": "2"}, {"place": 7}],
            "budget": "99.5",
            "colour": "BLUE",
            "pace": "Fast",
            "day": "2026-05-02",
        },
    )
    assert json.loads(said) == {
        "stops": [{"place": "Lyon", "nights": 2}, {"place": "7", "nights": 1}],
        "tags": None,
        "budget": 99.5,
        "colour": "blue",
        "pace": "fast",
        "day": "2026-05-02",
    }


@pytest.mark.requirement("P-24")
def test_everything_that_is_wrong_is_told_at_once_so_that_a_model_can_correct_it():
    with pytest.raises(InvalidInputError) as raised:
        plan.call(CONTEXT, {"budget": "much", "colour": "green", "speed": 3})
    told = str(raised.value)
    assert "unknown argument 'speed'; use stops, budget, colour, pace, tags, day" in told
    assert "'stops' is missing (array: Where to go, in order, with the nights at each.)" in told
    assert "'budget' must be a number, not 'much'" in told
    assert "'colour' must be one of 'red', 'blue', not 'green'" in told


MISFITS: list[tuple[dict[str, Any], str]] = [
    ({"stops": "Lyon"}, "'stops' must be a list"),
    ({"stops": [{"nights": 1}]}, "in 'stops[0]': 'place' is missing"),
    ({"stops": [{"place": "Lyon", "nights": 1.5}]}, "'nights' must be a whole number, not 1.5"),
    ({"stops": [{"place": "Lyon", "nights": True}]}, "'nights' must be a whole number, not True"),
    ({"stops": [], "tags": {"a": "b"}}, "'tags.a' must be a whole number"),
    ({"stops": [], "budget": float("nan")}, "'budget' must be a number"),
    ({"stops": [], "day": "soon"}, "'day' must be a date such as"),
    ({"stops": [7]}, "must be an object"),
]


@pytest.mark.parametrize("given, told", MISFITS)
def test_a_value_that_does_not_fit_is_named_with_its_place(given: Any, told: str):
    with pytest.raises(InvalidInputError) as raised:
        plan.call(CONTEXT, given)
    assert told in str(raised.value)


def test_a_tool_is_still_the_function_it_was():
    @tool(name="shout", timeout_s=3, is_read_only=True)
    def loud(text: str) -> str:
        """Says it loudly.

        Args:
            text: What to say.
        """
        return text.upper()

    assert loud("a") == "A"
    assert (loud.spec.name, loud.timeout_s, loud.is_read_only) == ("shout", 3, True)


def test_a_parameter_for_the_context_is_filled_and_never_shown():
    @tool
    def whose(context: ToolContext) -> str:
        """Says whose it is."""
        return str(context.scope.user)

    assert whose.spec.parameters["properties"] == {}
    assert whose.call(CONTEXT, {}) == "anna"
    with pytest.raises(InvalidInputError, match="unknown argument 'context'"):
        whose.call(CONTEXT, {"context": {"user": "bert"}})


def test_a_coroutine_function_is_a_tool_too():
    @tool
    async def later() -> str:
        """Says it later."""
        return "now"

    assert later.call(CONTEXT, {}) == "now"


def nameless(text: str) -> str:
    return text


def undescribed(text: str) -> str:
    """Does it."""
    return text


def untyped(text):  # pyright: ignore[reportUnknownParameterType, reportMissingParameterType] # noqa: ANN001 -- what is tested
    """Does it.

    Args:
        text: What.
    """
    return text  # pyright: ignore[reportUnknownVariableType] -- what is tested


def anything(text: Any) -> Any:
    """Does it.

    Args:
        text: What.
    """
    return text


def calls(text: Callable[[], str]) -> str:
    """Does it.

    Args:
        text: What.
    """
    return text()


def bare(text: list) -> str:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType] -- what is tested
    """Does it.

    Args:
        text: What.
    """
    return str(text)  # pyright: ignore[reportUnknownArgumentType] -- follows from it


def pair(text: tuple[str, int]) -> str:
    """Does it.

    Args:
        text: What.
    """
    return str(text)


def many(*text: str) -> str:
    """Does it.

    Args:
        text: What.
    """
    return str(text)


def stale(text: str) -> str:
    """Does it.

    Args:
        text: What.
        gone: No longer there.
    """
    return text


@dataclass
class Tree:
    branches: list[Tree]


def endless(tree: Tree) -> str:
    """Does it.

    Args:
        tree: What.
    """
    return str(tree)


REFUSED: list[Any] = [nameless, undescribed, untyped, anything, calls, bare, pair, many, stale, endless, lambda: "x"]


@pytest.mark.requirement("J-62", "P-24")
@pytest.mark.parametrize("function", REFUSED)
def test_what_cannot_be_described_to_a_model_is_an_error_where_it_is_made_a_tool(function: Callable[..., object]):
    with pytest.raises(InvalidInputError):
        tool(function)
