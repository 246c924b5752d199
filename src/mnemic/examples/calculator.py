"""An example of a tool: works out an expression, exactly where that can be, and within bounds whatever is asked.

Nothing is executed: the expression is read as a syntax tree, and only numbers, operators and the functions named here
are known. Whole numbers and fractions stay exact (0.1 + 0.2 is 0.3); roots, logarithms and angles are floating point.
"""

import ast
import decimal
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, cast

from mnemic.engine.tools import tool
from mnemic.errors import InvalidInputError

MAX_CHARS = 500  # of an expression: bounds the time to parse it
MAX_NODES = 300  # of its tree: bounds depth, and so the recursion
MAX_BITS = 12_000
"""Of a numerator or denominator: about 3,600 digits."""

MAX_FACTORIAL = 1000  # its result has about 2,600 digits
DIGITS = 15
"""Significant digits of what is not exact, or has no end."""

Number = Fraction | float

_TIMES = re.compile(r"(?<=[\d)])\s*[xX]\s*(?=[\d(])")
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w,])")
_PERCENT = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s*+%(?=\s*(?:$|[+*/)]))")
_SIGNS = str.maketrans({"×": "*", "⋅": "*", "·": "*", "∙": "*", "÷": "/", "−": "-", "–": "-", "^": "^"})


@tool(is_read_only=True)
def calculator(expression: str) -> str:
    """Works out an arithmetic expression exactly. Call it for every calculation instead of working it out yourself.

    Args:
        expression: What to work out, such as (2847 * 391) / 12 or sqrt(2) ** 3; + - * / // % ** and functions.
    """
    return f"{' '.join(expression.split()).rstrip('= ?')} = {format_number(evaluate(expression))}"


def evaluate(expression: str) -> Number:
    """The value of an expression. Raises `InvalidInputError` if it cannot be read, has no value or takes too long."""
    if len(expression) > MAX_CHARS:
        raise InvalidInputError(f"the expression is longer than {MAX_CHARS} characters")
    try:
        tree = ast.parse(_to_python(expression), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise InvalidInputError(f"{expression[:80]!r} is not a valid expression; write it like (2 + 3) * 4") from error
    if sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        raise InvalidInputError("the expression has too many parts; calculate it in steps")
    try:
        return _evaluate_node(tree.body)
    except ZeroDivisionError as error:
        raise InvalidInputError("cannot divide by zero") from error
    except OverflowError as error:
        raise InvalidInputError("the result is too large") from error
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"cannot calculate the expression: {error}") from error


def format_number(number: Number) -> str:
    """A number as people write it: groups of three digits, no needless zeros, exact where it has an end.

    What is not exact is rounded to 15 significant digits and led by `≈ `.
    """
    if isinstance(number, Fraction):
        if number.denominator == 1:
            return f"{number.numerator:,}"
        exact = _write_decimals(number)
        if exact is not None:
            return exact
        return f"≈ {_round_digits(decimal.Context(DIGITS).divide(number.numerator, number.denominator))}"
    is_whole = number == int(number) and abs(number) < 10**DIGITS
    return f"{int(number):,}" if is_whole else f"≈ {_round_digits(number)}"


def _round_digits(number: float | decimal.Decimal) -> str:
    return f"{number:,.{DIGITS}g}"


def _write_decimals(number: Fraction) -> str | None:
    """The decimal number that a fraction is; None when it has no end, or a far one."""
    context = decimal.Context(MAX_BITS, traps=[decimal.Inexact])  # more digits than a number within the bounds has
    try:
        value = context.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator))
    except decimal.Inexact:
        return None
    return None if -cast("int", value.as_tuple().exponent) > 2 * DIGITS else f"{value:,f}"


def _to_python(expression: str) -> str:
    text = unicodedata.normalize("NFKC", expression.translate(_SIGNS)).translate(_SIGNS).strip()
    text = text.rstrip("=?. ").replace("^", "**").replace("√", "sqrt")
    if not re.search(r"0[xX]", text):
        text = _TIMES.sub(" * ", text)
    if not re.search(r"[A-Za-z]\s*\(", text):  # there commas part arguments
        text = _GROUPED.sub(lambda found: found[0].replace(",", ""), text)
    text = re.sub(r"\s+of\s+", " * ", _PERCENT.sub(r"(\1/100)", re.sub(r"%\s+of\b", "/100 of", text)))
    return " ".join(text.split())


def _evaluate_node(node: ast.AST) -> Number:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _check_bounds(Fraction(repr(value)) if isinstance(value, float) and math.isfinite(value) else value)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate_node(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _evaluate_node(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _OPERATORS:
            return _check_bounds(_OPERATORS[type(sign)](_evaluate_node(left), _evaluate_node(right)))
        case ast.Name(id=name) if name.lower() in _CONSTANTS:
            return _CONSTANTS[name.lower()]
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name.lower() in _FUNCTIONS:
            return _check_bounds(_FUNCTIONS[name.lower()](*[_evaluate_node(each) for each in given]))
        case _:
            known = ", ".join(sorted({*_FUNCTIONS, *_CONSTANTS}))
            part = ast.unparse(node)[:40]
            raise InvalidInputError(f"{part!r} is not supported; use + - * / // % ** ( ) and {known}")


def _check_bounds(value: object) -> Number:
    if isinstance(value, int):
        value = Fraction(value)
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise OverflowError
        return value
    if not isinstance(value, float):
        raise TypeError("the result is not a real number")
    if math.isinf(value):
        raise OverflowError
    if math.isnan(value):
        raise ValueError("the result is not a number")
    return value


def _power(base: Number, exponent: Number) -> object:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if base not in (-1, 0, 1) and abs(exponent) * max(bits - 1, 1) > MAX_BITS:
            raise OverflowError
        if base in (-1, 0, 1) and abs(exponent) > MAX_BITS:
            exponent = Fraction(int(exponent) % 2 + 2) if exponent > 0 else Fraction(-(int(-exponent) % 2) - 2)
        return cast("object", base ** int(exponent))
    if exponent == Fraction(1, 2):
        return _root(base)
    return cast("object", float(base) ** float(exponent))


def _root(number: Number) -> Number:
    if isinstance(number, Fraction) and number >= 0:
        above, below = math.isqrt(number.numerator), math.isqrt(number.denominator)
        if above**2 == number.numerator and below**2 == number.denominator:
            return Fraction(above, below)
    return math.sqrt(number)


def _to_whole(number: Number, most: float = math.inf) -> int:
    if number != int(number):
        raise ValueError("whole numbers are required")
    if abs(number) > most:
        raise OverflowError
    return int(number)


def _round_to(number: Number, places: Number = Fraction(0)) -> object:
    return round(Fraction(number), _to_whole(places, 50))


def _logarithm(number: Number, base: Number | None = None) -> float:
    return math.log(number) if base is None else math.log(number) / math.log(base)


def _factorial(number: Number) -> int:
    return math.factorial(_to_whole(number, MAX_FACTORIAL))


def _count_ways(count: Callable[[int, int], int]) -> Callable[[Number, Number], int]:
    return lambda one, other: count(_to_whole(one, MAX_FACTORIAL), _to_whole(other, MAX_FACTORIAL))


_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda one, other: one / other,
    ast.FloorDiv: lambda one, other: one // other,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e, "tau": math.tau, "π": math.pi}
_PLAIN = "floor ceil exp log2 log10 sin cos tan asin acos atan degrees radians"
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _PLAIN.split()},
    "abs": abs,
    "min": lambda *given: min(given),
    "max": lambda *given: max(given),
    "sum": lambda *given: sum(given),
    "round": _round_to,
    "sqrt": _root,
    "ln": math.log,
    "log": _logarithm,
    "factorial": _factorial,
    "gcd": lambda *given: math.gcd(*map(_to_whole, given)),
    "lcm": lambda *given: math.lcm(*map(_to_whole, given)),
    "comb": _count_ways(math.comb),
    "perm": _count_ways(math.perm),
}
