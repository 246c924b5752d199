"""Tools that need nothing but themselves: the clock, the calculator, and units."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from fractions import Fraction

from mnemic.engine.jobs import zone_of
from mnemic.engine.tools.arithmetic import evaluate, shown
from mnemic.engine.tools.function import tool
from mnemic.engine.tools.units import convert
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.chat import ToolContext
from mnemic.ports.models import Tool

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def everyday_tools(time_zone: str) -> Sequence[Tool]:
    """The tools; the clock shows `time_zone` unless it is asked for another."""

    @tool(is_read_only=True)
    def clock(context: ToolContext, zone: str = time_zone) -> str:
        """Tells the date, the day of the week and the time of now. Call it when the answer depends on what day or time
        it is, and for the time in another place.

        Args:
            context: For whom and when; filled by Mnemic.
            zone: The time zone as the tz database names it, such as Europe/Paris.
        """
        now = context.now.astimezone(_zone(zone))
        return f"{DAYS[now.weekday()]}, {now:%Y-%m-%d %H:%M:%S} {now.tzname()} (UTC{now:%z}, {zone})"

    return clock, calculator, convert_units


@tool(is_read_only=True)
def calculator(expression: str) -> str:
    """Works out an arithmetic expression exactly. Call it for every calculation instead of working it out yourself.

    Args:
        expression: What to work out, such as (2847 * 391) / 12 or sqrt(2) ** 3; + - * / // % ** and functions.
    """
    return f"{' '.join(expression.split()).rstrip('= ?')} = {shown(evaluate(expression))}"


@tool(is_read_only=True)
def convert_units(value: str, source: str, target: str) -> str:
    """Converts a quantity from one unit to another: lengths, masses, times, data, temperatures, areas, volumes, speeds,
    energies, powers, pressures, angles. Call it instead of converting yourself. Currencies are not known.

    Args:
        value: The number, such as 5 or 98.6; an expression works too.
        source: The unit it is in, such as km, lb, °F or GiB.
        target: The unit it is wanted in.
    """
    exact, one, other = convert(Fraction(evaluate(value)), source, target)
    return f"{shown(Fraction(evaluate(value)))} {one.name} = {shown(exact)} {other.name}"


def _zone(name: str) -> tzinfo:
    try:
        return zone_of(name)
    except ConfigError as error:
        raise InvalidInputError(str(error)) from error
