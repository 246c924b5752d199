"""An example of a tool: converts between units by a table of exact factors.

Factors are those of the SI brochure and of the international yard and pound (exact since 1959); gallons and their
parts are US ones unless `imperial` is said; a month is a twelfth, a year 365.2425 days.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from mnemic.engine.tools import tool
from mnemic.errors import InvalidInputError
from mnemic.examples.calculator import evaluate, format_number

_TABLE: Mapping[str, Mapping[str, str | list[str]]] = tomllib.loads(
    Path(__file__).with_name("units.toml").read_text(encoding="utf-8")
)
_SPREAD = "{} and {} measure different things ({} and {})"


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: its name, what it measures, and the value in the base unit: value x factor + offset."""

    name: str
    measures: str
    factor: Fraction
    offset: Fraction = Fraction(0)


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
    return f"{format_number(Fraction(evaluate(value)))} {one.name} = {format_number(exact)} {other.name}"


def convert(value: Fraction, source: str, target: str) -> tuple[Fraction, Unit, Unit]:
    """`value` of one unit in another, exactly, with the units that were meant. Raises `InvalidInputError` for a unit
    that is not known, two that measure different things, and a temperature below absolute zero.
    """
    one, other = unit(source), unit(target)
    if one.measures != other.measures:
        raise InvalidInputError(_SPREAD.format(source, target, one.measures, other.measures))
    if one.measures == "temperature" and value * one.factor + one.offset < 0:
        raise InvalidInputError(f"{value} {source} is below absolute zero")
    return (value * one.factor + one.offset - other.offset) / other.factor, one, other


def unit(name: str) -> Unit:
    """The unit of a name; upper and lower case matter only where two units differ by it (Mb and MB)."""
    wanted = "_".join(name.replace("μ", "µ").strip().rstrip(".").split())
    if wanted in _EXACT:
        return _EXACT[wanted]
    close = _LOOSE.get(wanted.casefold(), {})
    if len(close) == 1:
        return next(iter(close.values()))
    if close:
        raise InvalidInputError(f"{name!r} could mean {' or '.join(sorted(close))}; choose one")
    known = "; ".join(f"{what}: {', '.join(names)}" for what, names in _first_names().items())
    raise InvalidInputError(f"the unit {name[:40]!r} is unknown; use {known}")


def _units() -> Iterator[tuple[str, Unit]]:
    for measures, rows in _TABLE.items():
        for names, numbers in rows.items():
            several = names.split()
            made = Unit(several[0], measures, *map(Fraction, [numbers] if isinstance(numbers, str) else numbers))
            yield from ((name, made) for name in several)


def _loose() -> dict[str, dict[str, Unit]]:
    found: dict[str, dict[str, Unit]] = {}
    for name, each in _EXACT.items():
        found.setdefault(name.casefold(), {})[each.name] = each
    return found


def _first_names() -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for each in dict.fromkeys(_EXACT.values()):
        names.setdefault(each.measures, []).append(each.name)
    return names


_EXACT = dict(_units())
_LOOSE = _loose()
