"""An example of a tool: converts between units by a table of exact factors.

Factors are those of the SI brochure and of the international yard and pound (exact since 1959); gallons and their
parts are US ones unless `imperial` is said; a month is a twelfth, a year 365.2425 days.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from mnemic.engine.tools import tool
from mnemic.errors import InvalidInputError
from mnemic.examples.calculator import evaluate, format_number

_TABLE: Mapping[str, Mapping[str, str]] = {
    "length": {
        "m metre metres meter meters 米": "1",
        "km kilometre kilometres kilometer kilometers 公里 千米": "1000",
        "dm decimetre decimeter": "1/10",
        "cm centimetre centimetres centimeter centimeters 厘米": "1/100",
        "mm millimetre millimetres millimeter millimeters 毫米": "1/1000",
        "µm um micrometre micrometer micron microns": "1/1000000",
        "nm nanometre nanometer": "1/1000000000",
        "in inch inches 英寸": "0.0254",
        "ft foot feet 英尺": "0.3048",
        "yd yard yards": "0.9144",
        "mi mile miles 英里": "1609.344",
        "nmi nautical_mile nautical_miles": "1852",
        "ly light_year light_years": "9460730472580800",
        "au astronomical_unit": "149597870700",
    },
    "mass": {
        "kg kilogram kilograms kilo kilos 千克 公斤": "1",
        "g gram grams 克": "1/1000",
        "mg milligram milligrams": "1/1000000",
        "µg ug microgram micrograms": "1/1000000000",
        "t tonne tonnes metric_ton metric_tons 吨": "1000",
        "lb lbs pound pounds 磅": "0.45359237",
        "oz ounce ounces": "0.028349523125",
        "st stone stones": "6.35029318",
        "ton tons short_ton us_ton": "907.18474",
        "long_ton imperial_ton": "1016.0469088",
        "jin 斤": "1/2",
    },
    "time": {
        "s sec second seconds 秒": "1",
        "ms millisecond milliseconds": "1/1000",
        "µs us microsecond microseconds": "1/1000000",
        "ns nanosecond nanoseconds": "1/1000000000",
        "min minute minutes 分钟": "60",
        "h hr hour hours 小时": "3600",
        "d day days 天": "86400",
        "wk week weeks 周": "604800",
        "month months": "2629746",
        "yr year years 年": "31556952",
    },
    "data": {
        "B byte bytes": "1",
        "bit bits": "1/8",
        "kB KB kilobyte kilobytes": "1000",
        "MB megabyte megabytes": "1000000",
        "GB gigabyte gigabytes": "1000000000",
        "TB terabyte terabytes": "1000000000000",
        "PB petabyte petabytes": "1000000000000000",
        "KiB kibibyte kibibytes": "1024",
        "MiB mebibyte mebibytes": "1048576",
        "GiB gibibyte gibibytes": "1073741824",
        "TiB tebibyte tebibytes": "1099511627776",
        "kbit Kbit kb kilobit kilobits": "125",
        "Mbit Mb megabit megabits": "125000",
        "Gbit Gb gigabit gigabits": "125000000",
    },
    "area": {
        "m2 m² square_metre square_metres square_meter square_meters sqm 平方米": "1",
        "km2 km² square_kilometre square_kilometer": "1000000",
        "cm2 cm² square_centimetre square_centimeter": "1/10000",
        "ha hectare hectares 公顷": "10000",
        "ac acre acres": "4046.8564224",
        "ft2 ft² square_foot square_feet sqft": "0.09290304",
        "in2 in² square_inch square_inches": "0.00064516",
        "mi2 mi² square_mile square_miles": "2589988.110336",
        "mu 亩": "2000/3",
    },
    "volume": {
        "l L litre litres liter liters 升": "1",
        "ml mL millilitre millilitres milliliter milliliters 毫升": "1/1000",
        "cl cL centilitre centiliter": "1/100",
        "dl dL decilitre deciliter": "1/10",
        "m3 m³ cubic_metre cubic_metres cubic_meter cubic_meters": "1000",
        "cm3 cm³ cc cubic_centimetre cubic_centimeter": "1/1000",
        "gal gallon gallons": "3.785411784",
        "qt quart quarts": "0.946352946",
        "pt pint pints": "0.473176473",
        "cup cups": "0.2365882365",
        "fl_oz floz fluid_ounce fluid_ounces": "0.0295735295625",
        "tbsp tablespoon tablespoons": "0.01478676478125",
        "tsp teaspoon teaspoons": "0.00492892159375",
        "imperial_gallon imperial_gallons": "4.54609",
        "imperial_pint imperial_pints": "0.56826125",
        "ft3 ft³ cubic_foot cubic_feet": "28.316846592",
    },
    "speed": {
        "m/s mps": "1",
        "km/h kmh kph": "5/18",
        "mph mi/h": "0.44704",
        "kn knot knots": "463/900",
        "ft/s fps": "0.3048",
    },
    "energy": {
        "J joule joules": "1",
        "kJ kilojoule kilojoules": "1000",
        "MJ megajoule megajoules": "1000000",
        "cal calorie calories": "4.184",
        "kcal kilocalorie kilocalories 千卡": "4184",
        "Wh watt_hour watt_hours": "3600",
        "kWh kilowatt_hour kilowatt_hours 度电": "3600000",
        "BTU btu": "1055.05585262",
    },
    "power": {
        "W watt watts": "1",
        "kW kilowatt kilowatts": "1000",
        "MW megawatt megawatts": "1000000",
        "hp horsepower": "745.69987158227022",
        "PS metric_horsepower": "735.49875",
    },
    "pressure": {
        "Pa pascal pascals": "1",
        "hPa hectopascal mbar millibar": "100",
        "kPa kilopascal": "1000",
        "bar bars": "100000",
        "atm atmosphere atmospheres": "101325",
        "psi": "6894.757293168361",
        "mmHg torr": "101325/760",
    },
    "angle": {"turn turns": "1", "deg degree degrees °": "1/360", "arcmin": "1/21600", "arcsec": "1/1296000"},
}
_TEMPERATURES: Mapping[str, tuple[Fraction, Fraction]] = {
    "K kelvin kelvins": (Fraction(1), Fraction(0)),
    "°C C celsius degC centigrade 摄氏度": (Fraction(1), Fraction("273.15")),
    "°F F fahrenheit degF 华氏度": (Fraction(5, 9), Fraction("459.67") * Fraction(5, 9)),
    "°R R rankine degR": (Fraction(5, 9), Fraction(0)),
}
"""Kelvins = value x first + second."""

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
        raise InvalidInputError(f"there is no temperature below absolute zero, and {source} {value} would be")
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
        raise InvalidInputError(f"{name!r} may be {' or '.join(sorted(close))}; say which")
    known = "; ".join(f"{what}: {', '.join(names)}" for what, names in _first_names().items())
    raise InvalidInputError(f"the unit {name[:40]!r} is not known; there are {known}")


def _units() -> Iterator[tuple[str, Unit]]:
    for measures, rows in _TABLE.items():
        for names, factor in rows.items():
            several = names.split()
            for name in several:
                yield name, Unit(several[0], measures, Fraction(factor))
    for names, (factor, offset) in _TEMPERATURES.items():
        several = names.split()
        for name in several:
            yield name, Unit(several[0], "temperature", factor, offset)


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
