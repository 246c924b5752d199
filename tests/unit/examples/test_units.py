"""Units: exact factors, the names people write, and what is not a conversion."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mnemic.errors import InvalidInputError
from mnemic.examples.units import convert, convert_units, unit


@pytest.mark.requirement("P-24")
@pytest.mark.parametrize(
    "value, source, target, answer",
    [
        ("5", "km", "miles", "5 km = ≈ 3.10685596118667 mi"),
        ("1", "mile", "km", "1 mi = 1.609344 km"),
        ("98.6", "°F", "celsius", "98.6 °F = 37 °C"),
        ("-40", "C", "F", "-40 °C = -40 °F"),
        ("1", "lb", "g", "1 lb = 453.59237 g"),
        ("1", "GiB", "MB", "1 GiB = 1,073.741824 MB"),
        ("100", "Mbit", "MB", "100 Mbit = 12.5 MB"),
        ("2", "斤", "kg", "2 jin = 1 kg"),
        ("36", "km/h", "m/s", "36 km/h = 10 m/s"),
        ("3/4", "cup", "mL", "0.75 cup = 177.441177375 l"),
    ],
)
def test_a_quantity_is_converted_exactly(value: str, source: str, target: str, answer: str):
    assert convert_units(value, source, target) == answer.replace("177.441177375 l", "177.441177375 ml")


@pytest.mark.requirement("P-24")
@pytest.mark.parametrize(
    "source, target, told",
    [
        ("km", "kg", "measure different things"),
        ("parsnip", "kg", "unknown"),
        ("mb", "B", "choose one"),
        ("euro", "dollar", "unknown"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_words_that_help(source: str, target: str, told: str):
    with pytest.raises(InvalidInputError, match=told):
        convert_units("1", source, target)


def test_no_temperature_is_below_absolute_zero():
    with pytest.raises(InvalidInputError, match="absolute zero"):
        convert(Fraction(-300), "C", "K")


@pytest.mark.parametrize("name", ["KM", "Kilometers", "kilometre", " km ", "nautical miles", "μm", "oz."])
def test_names_are_taken_as_people_write_them(name: str):
    assert unit(name).measures in {"length", "mass"}


def test_there_and_back_again_is_where_one_was():
    for name in ("ft", "st", "month", "kbit", "acre", "psi", "°F"):
        base = {"length": "m", "mass": "kg", "time": "s", "data": "B", "area": "m2", "pressure": "Pa"}
        other = base.get(unit(name).measures, "K")
        there, _, _ = convert(Fraction(355, 113), name, other)
        assert convert(there, other, name)[0] == Fraction(355, 113)
