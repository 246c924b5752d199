"""If a text becomes twice as long, no regular expression or text function may take much more than twice the time.

Every regular expression that the package compiles is searched (or matched, if the package only matches it) in hostile
repetitions: samples of its own parts are repeated, after a valid beginning and before an unexpected end. Every function
of `mnemic.text` that accepts a text, the readers for markup and the detectors are called with general repetitions.
Lengths are doubled until a call takes long enough to be measured. If the time, the best of three, grows by a factor of
more than 2.6 at two doublings in a row, it is superlinear. If the drill's time ends first, the facts show how many were
tested.

    python drills/redos.py --seconds 540
"""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

_compiled: dict[tuple[str, int], str] = {}
_compile = re.compile
_parse: Any = importlib.import_module("re._parser").parse


def _record(pattern: Any, flags: Any = 0) -> Any:
    """As `re.compile`; notes what modules of the package compile, and where."""
    frame: Any = vars(sys)["_getframe"](1)
    module = str(frame.f_globals.get("__name__", ""))
    if module.startswith("mnemic.") and isinstance(pattern, str):
        _compiled.setdefault((pattern, int(flags)), f"{module}:{frame.f_lineno}")
    return _compile(pattern, flags)


re.compile = _record  # before any module of the package is imported
_asked: dict[tuple[str, int], set[str]] = {}

import mnemic  # noqa: E402 -- see above
from drills.kit.outcome import Outcome, options  # noqa: E402
from mnemic.errors import MnemicError  # noqa: E402

FIRST, LAST = 1_000, 16_000
LEAST_S, MOST_S = 0.005, 0.4
"""Below the first the clock and other work decide; above the second nothing more is to be learnt."""

MOST_GROWTH = 2.6
BEHIND = 4
"""So many repeats are tried behind what the expression begins with too."""

GENERAL = [
    " ",
    "a",
    "a ",
    "1",
    "1.",
    "-",
    "=",
    "_",
    "*",
    "#",
    "|",
    "\n",
    "\t",
    "(",
    "[",
    "<",
    "{",
    '"',
    "'",
    "`",
    ",",
    ".",
    "<!--",
    "<a ",
    "](",
    "[a](",
    "**a",
    "user: ",
    "- a\n",
    "a\n\n",
    "|a|\n",
    "# a\n",
    "```\n",
    "http://a",
    "a@a.",
    "0:0",
    "中",
    "中。",
    "é",
    "\u0301",
    "😀",
    "I am a ",
    "my name is ",
    "ignore ",
    "password is ",
    "yesterday ",
    "Mr. ",
    "A. ",
]
CELLS = [("", "1", "a | b\n1 | 2\n"), ("a | ", "1", "a\nb | 2\n")]
"""Tables with a long cell that begins as a number does."""

SKIPPED = ("mnemic.testing", "mnemic.evaluation", "mnemic.integrations", "mnemic.__main__")
"""Never given texts of others."""


def main() -> int:
    """Exit code 1 when anything grows faster than its text."""
    told = options(__doc__, seconds=540)
    end = time.monotonic() + told.seconds
    import_all()
    expressions = {_normal(*key): place for key, place in sorted(_compiled.items(), key=lambda one: one[1])}
    functions = dict(find_functions())
    exercise([*expressions], functions)
    uses = find_uses()
    problems: list[str] = []
    tried = 0
    called = 0
    for name, function in functions.items():
        if time.monotonic() > end:
            break
        called += 1
        if found := find_growth(function, [*(("", piece, "") for piece in GENERAL), *CELLS]):
            problems.append(f"{name}: {found}")
    for (pattern, flags), place in expressions.items():
        if time.monotonic() > end:
            break
        tried += 1
        test = testing(_compile(pattern, flags), uses.get((pattern, flags), {"search"}))
        if found := find_growth(test, attacks(pattern, flags)):
            problems.append(f"{place}: {found}: `{pattern[:100]}`")
    facts = {
        "expressions": len(expressions),
        "of these tried": tried,
        "functions over texts": len(functions),
        "of these tried ": called,
        "growth allowed at a doubling": MOST_GROWTH,
    }
    return Outcome(name="redos", about=__doc__ or "", facts=facts, problems=problems).told()


def import_all() -> None:
    """Import every module that can be, and compile what is compiled late."""
    for found in pkgutil.walk_packages(mnemic.__path__, "mnemic."):
        if not found.name.startswith(SKIPPED):
            try:
                importlib.import_module(found.name)
            except (ImportError, MnemicError):
                continue
    from mnemic.adapters.detectors.rules import load_forms
    from mnemic.text import normalise

    late: Any = vars(normalise)["_LatePattern"]
    find = late.__getattr__

    def note(pattern: Any, name: str) -> object:
        if name in _METHODS:
            _asked.setdefault((find(pattern, "pattern"), find(pattern, "flags")), set()).add(name)
        return find(pattern, name)

    late.__getattr__ = note

    for name in ("tokens", "spoken"):
        load_forms(name)
    for each in gc.get_objects():
        if type(each).__name__ == "_LatePattern" and (key := _find_key(each)):
            _compiled.setdefault(key, "late")


def find_uses() -> dict[tuple[str, int], set[str]]:
    """The methods by which the package uses its expressions: of late ones those that were asked for while it worked,
    of others those that stand in the source of their module beside their name.
    """
    uses = {_normal(*key): set(methods) for key, methods in _asked.items()}
    asked = frozenset(uses)
    for module in [module for name, module in sys.modules.items() if name.startswith("mnemic")]:
        methods: dict[str, set[str]] = {}
        if not (source := getattr(module, "__file__", "")):
            continue
        for node in ast.walk(ast.parse(Path(source).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                name = getattr(node.value, "attr", getattr(node.value, "id", "?"))
                methods.setdefault(name, set()).add(node.attr)
        for name, value in vars(module).items():
            key = _find_key(value)
            if key and _normal(*key) not in asked:
                uses.setdefault(_normal(*key), set()).update(methods.get(name, {"search"}))
    return uses


def exercise(expressions: list[tuple[str, int]], functions: dict[str, Callable[[str], object]]) -> None:
    """Let the package read a text for each expression, so that it shows how it uses them."""
    texts = [*(sample(_parse(*key))[0] for key in expressions), *GENERAL]
    for function in functions.values():
        _time(function, "\n".join(texts))
    with mnemic.Mnemic.open(mnemic.Config(store="memory://"), has_worker=False) as memory:
        scope = mnemic.Scope(user="ana", session="s")
        for text in texts:
            with suppress(MnemicError):
                said = f"{text}. I moved to Lisbon. Ich wohne in Bonn. 我住在上海。"
                memory.capture(scope, assistant=text, user=said)
        memory.work()
        memory.context(scope, "Where do I live?")


_METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}


def _find_key(value: Any) -> tuple[str, int] | None:
    """Source and flags of an expression, None of anything else."""
    kind = type(value).__name__
    if kind not in ("Pattern", "_LatePattern") or isinstance(value.pattern, bytes):
        return None
    return str(value.pattern), int(value.flags) & ~_OWN_FLAGS


def _normal(pattern: str, flags: int) -> tuple[str, int]:
    """An expression by the flags it has once compiled, so that none is tried twice."""
    return pattern, int(_compile(pattern, flags).flags) & ~_OWN_FLAGS


_OWN_FLAGS = int(re.UNICODE)


def testing(pattern: re.Pattern[str], methods: set[str]) -> Callable[[str], object]:
    """The slowest of the methods by which the package uses an expression."""
    if methods <= {"match", "fullmatch"}:
        return pattern.fullmatch if "fullmatch" in methods else pattern.match
    return searching(pattern)


def searching(pattern: re.Pattern[str]) -> Callable[[str], object]:
    """A function that goes through all of a text."""

    def search(text: str) -> None:
        for _ in pattern.finditer(text):
            pass

    return search


def find_functions() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every public function of the texts' modules that needs only a text, or a text with a start and an end, the
    readers and the detectors.
    """
    from mnemic.adapters.detectors.rules import RuleDetector
    from mnemic.adapters.readers.html import HtmlReader
    from mnemic.adapters.readers.mail import MailReader
    from mnemic.adapters.readers.markdown import MarkdownReader
    from mnemic.adapters.readers.text import TextReader
    from mnemic.model.document import ReadLimits
    from mnemic.text.analyser import Analyser

    for name, module in sorted(sys.modules.items()):
        if name.startswith("mnemic.text"):
            for label, function in inspect.getmembers(module, inspect.isfunction):
                if function.__module__ == name and not label.startswith("_") and _takes_text(function, name):
                    yield f"{name}.{label}", _exhaust(function)
    analyser = Analyser()
    yield "Analyser.terms", analyser.terms
    yield "Analyser.query_terms", analyser.query_terms
    yield "RuleDetector.find", RuleDetector().find
    for reader in (HtmlReader(), MarkdownReader(), TextReader(), MailReader()):
        yield type(reader).__name__, _reading(reader, ReadLimits())


def _takes_text(function: Callable[..., object], module: str) -> bool:
    if module == "mnemic.text.injection" and function.__name__ in ("literals", "fold_pattern"):
        return False  # these take an expression of our own
    parameters = [*inspect.signature(function).parameters.values()]
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    is_part = [each.name for each in needed[1:]] == ["start", "end"]
    return (len(needed) == 1 or is_part) and parameters[0] is needed[0] and needed[0].annotation in (str, "str")


def _exhaust(function: Callable[..., object]) -> Callable[[str], object]:
    needed = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]

    def call(text: str) -> None:
        found = function(text) if len(needed) == 1 else function(text, start=0, end=len(text))
        if inspect.isgenerator(found):
            for _ in found:
                pass

    return call


def _reading(reader: Any, limits: Any) -> Callable[[str], object]:
    head = {"HtmlReader": "<html><body>", "MailReader": "From: a@example.org\nSubject: b\n\n"}.get(
        type(reader).__name__, ""
    )
    return lambda text: reader.read((head + text).encode(), "a", limits)


def attacks(pattern: str, flags: int) -> list[tuple[str, str, str]]:
    """Beginnings, repeats and ends made of an expression's own parts."""
    whole, parts = sample(_parse(pattern, flags))
    compiled = _compile(pattern, flags)
    tail = next((end for end in ("\x00", "a", "1", "\n") if not compiled.fullmatch(whole + end)), "\x00")
    pieces = list(dict.fromkeys([*(part for part in parts if part), whole, *_mixed(parts), " ", "a", "\n"]))[:10]
    heads = ["", whole[: max(len(whole) // 2, 1)]]
    own = [(head, piece, tail) for piece in pieces[:BEHIND] if piece for head in heads]
    return own + [("", piece, tail) for piece in pieces[BEHIND:] if piece]


def _mixed(parts: list[str]) -> Iterator[str]:
    for one, other in pairwise(parts):
        yield one + other


def sample(tree: Any) -> tuple[str, list[str]]:  # noqa: C901 -- one branch for each sort of node
    """A text that may match an expression, and texts that its repeats and branches may match."""
    text, parts = "", list[str]()
    for name, value in tree:
        kind = str(name)
        inner: list[Any] = []
        if kind == "LITERAL":
            text += chr(value)
        elif kind == "NOT_LITERAL":
            text += "a" if value != ord("a") else "b"
        elif kind == "ANY":
            text += "a"
        elif kind == "IN":
            found = _one_of(value)
            text += found[0]
            parts += found
        elif kind in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            inner, least = [value[2]], max(value[0], 1)
            made, more = sample(value[2])
            text += made * min(least, 5)
            parts += [made, *more]
            inner = []
        elif kind == "SUBPATTERN":
            inner = [value[3]]
        elif kind == "ATOMIC_GROUP":
            inner = [value]
        elif kind == "BRANCH":
            inner = [value[1][0]]
            parts += [sample(branch)[0] for branch in value[1][:12]]
        for each in inner:
            made, more = sample(each)
            text += made
            parts += more
    return text, parts


def _one_of(members: Any) -> list[str]:
    is_negated = str(members[0][0]) == "NEGATE"
    found: list[str] = []
    for name, value in members:
        kind = str(name)
        if kind == "LITERAL":
            found.append(chr(value))
        elif kind == "RANGE":
            found.append(chr(value[0]))
        elif kind == "CATEGORY":
            found.append({"CATEGORY_DIGIT": "1", "CATEGORY_SPACE": " ", "CATEGORY_WORD": "a"}.get(str(value), "-"))
    if is_negated:
        return [next(letter for letter in "a1 -é" if letter not in found)]
    return found[:4] or ["a"]


def find_growth(function: Callable[[str], object], texts: list[tuple[str, str, str]]) -> str:
    """How fast a function grows on the worst of some repeats, in words; "" where it is linear."""
    for head, piece, tail in texts:
        grown = 0
        former = 0.0
        if (
            _time(function, _make(head, piece, tail, FIRST))
            < LEAST_S
            > 4 * _time(function, _make(head, piece, tail, LAST // 4))
        ):
            continue
        length = FIRST
        while length <= LAST:
            took = _measure(function, _make(head, piece, tail, length), former)
            if took > LEAST_S and former > LEAST_S / 4:
                grown = grown + 1 if took > MOST_GROWTH * former else 0
            if grown >= 2 and took > LEAST_S * 4:  # noqa: PLR2004 -- see the docstring of the module
                return (
                    f"{took / former:.1f} at a doubling, {took:.2f} s for {length:,} of {head[-20:]!r} {piece[:20]!r}"
                )
            if took > MOST_S:
                break
            former, length = took, length * 2
    return ""


def _make(head: str, piece: str, tail: str, length: int) -> str:
    return head + piece * (length // len(piece)) + tail


def _measure(function: Callable[[str], object], text: str, former: float) -> float:
    """Seconds of a call, the best of three where one alone looks superlinear."""
    best = _time(function, text)
    for _ in range(2):
        if best < LEAST_S or best <= MOST_GROWTH * former:
            break
        best = min(best, _time(function, text))
    return best


def _time(function: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    with suppress(MnemicError, ValueError, LookupError, OSError, RecursionError):
        function(text)
    return time.process_time() - began


if __name__ == "__main__":
    sys.exit(main())
