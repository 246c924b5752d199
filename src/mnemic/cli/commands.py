"""How a function becomes a command.

`command` registers one written by hand. Its parameters are options by `Annotated`; one that is a dataclass stands for
its fields, and one of the type `Arguments` for the options of a verb. `verb_command` registers a verb of `Mnemic` whose
function only shows the answer in a terminal: options, store, call and JSON are derived from the verb's signature, which
stands in signatures.json, because help must not import the engine.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast, get_type_hints

import typer

from mnemic.cli.menu import GROUPS, Menu
from mnemic.cli.options import FLAGS, ScopeOptions, option_of, signature_of
from mnemic.cli.output import show_json
from mnemic.model.values import check_unicode

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.model.scope import Scope

Function = Callable[..., None]


class Arguments(dict[str, Any]):
    """The arguments of a verb that were given, by name. One that was not given is not in it: the verb's default
    counts.
    """


Find = Callable[["Mnemic", "Scope", str], str]
"""Finds what an operand of a person means, such as the id of a document by the path of its file."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command by its whole name, as `memory list`. `verb`: that of `Mnemic` whose options it has; `shows`: the
    function takes its answer. `fixed`: arguments that are no options here. `find`: what to do with an operand before
    the call. `is_stated`: a configured user is not meant.
    """

    name: str
    function: Function
    examples: str
    verb: str = ""
    shows: bool = False
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    find: Mapping[str, Find] = field(default_factory=dict[str, Find])
    is_stated: bool = False


COMMANDS: dict[str, Command] = {}
"""Every command whose module is imported."""


def command(name: str, *, examples: str, verb: str = "") -> Callable[[Function], Function]:
    """Registers a function as a command; `verb` is needed where it takes `Arguments`."""

    def register(function: Function) -> Function:
        COMMANDS[name] = Command(name, function, examples, verb)
        return function

    return register


def verb_command(
    name: str,
    verb: str,
    *,
    examples: str,
    fixed: Mapping[str, object] | None = None,
    find: Mapping[str, Find] | None = None,
    is_stated: bool = False,
) -> Callable[[Function], Function]:
    """Registers a verb as a command whose answer the function shows. The function's first parameter is the answer; it
    may take `ScopeOptions`, `Arguments`, and options of its own. With `--json` the answer is printed instead.
    """

    def register(function: Function) -> Function:
        COMMANDS[name] = Command(name, function, examples, verb, True, fixed or {}, find or {}, is_stated)
        return function

    return register


def add_commands(app: typer.Typer, asked: str | None = None) -> None:
    """Adds the registered commands to the application, those of one name or group alone if that is asked for."""
    groups: dict[str, typer.Typer] = {}
    for known in COMMANDS.values():
        first, _, rest = known.name.partition(" ")
        if asked not in (None, first):
            continue
        if first in GROUPS and first not in groups:
            is_alone = first in COMMANDS
            groups[first] = typer.Typer(
                cls=Menu, help=GROUPS[first], no_args_is_help=not is_alone, rich_markup_mode=None
            )
            app.add_typer(groups[first], name=first)
        if first in groups and not rest:
            groups[first].callback(invoke_without_command=True)(callback_of(known))
        else:
            epilog = f"\b\nExamples:\n{inspect.cleandoc(known.examples)}"
            groups.get(first, app).command(rest or first, epilog=epilog)(callback_of(known))


def callback_of(known: Command) -> Function:
    """The function that Typer calls: it takes every option by its name."""
    own = list(inspect.signature(known.function).parameters.values())[known.shows :]
    hints = _types_of(known.function, [parameter.name for parameter in own])
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    arguments = next((name for name, hint in hints.items() if hint is Arguments), None)
    scope = next((name for name, hint in groups.items() if hint is ScopeOptions), None)
    parameters: list[inspect.Parameter] = []
    if known.shows and scope is None:
        parameters += _fields_of(ScopeOptions)
    if known.shows and arguments is None:
        parameters += _options_of(known)
    for parameter in own:
        if parameter.name in groups:
            parameters += _fields_of(groups[parameter.name])
        elif parameter.name == arguments:
            parameters += _options_of(known)
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY))

    def run(**given: Any) -> None:
        built = {name: _build(group, given) for name, group in groups.items()}
        options = (built[scope] if scope else _build(ScopeOptions, given)) if known.shows else None
        read = read_arguments(known, given) if known.verb else Arguments()
        if arguments is not None:
            built[arguments] = read
        if options is None:
            known.function(**given, **built)
            return
        answer = call_verb(known, options, read)
        if options.as_json:
            show_json(answer)
        else:
            known.function(answer, **given, **built)

    run.__name__, run.__doc__ = known.function.__name__, known.function.__doc__
    run.__signature__ = inspect.Signature(parameters)
    return run


def call_verb(known: Command, options: ScopeOptions, arguments: Arguments) -> object:
    """The answer of the verb. Arguments are checked, and the scope found, before the store is opened."""
    scope = options.stated_scope if known.is_stated else options.scope
    with options.open() as mnemic:
        for name, find in known.find.items():
            arguments[name] = find(mnemic, scope, arguments[name])
        verb = attrgetter(known.verb)(mnemic)
        scoped = {"scope": scope} if "scope" in inspect.signature(verb).parameters else {}
        return verb(**scoped, **known.fixed, **arguments)


def read_arguments(known: Command, given: dict[str, Any]) -> Arguments:
    """Takes the options of the verb out of what Typer gave, in the form that the verb takes. Raises
    `InvalidInputError` for what cannot be read.
    """
    found = Arguments()
    for name, option in _offered(known).items():
        value = given.pop(option.key)
        if value is None or (value is False and not option.has_opposite):
            continue
        for text in cast("list[object]", value if isinstance(value, list) else [value]):
            if isinstance(text, str):
                check_unicode(text, name)
        found[name] = value if option.read is None else option.read(value)
    for flag in FLAGS.get(known.verb, ()):
        if given.pop(flag.key):
            found[flag.argument] = flag.value
    return found


def _types_of(function: Function, names: Sequence[str]) -> dict[str, Any]:
    """The types of some parameters, resolved. That of an answer is not: it may name a class of the engine."""
    chosen = SimpleNamespace(__annotations__={name: function.__annotations__[name] for name in names})
    return get_type_hints(chosen, getattr(function, "__globals__", {}), include_extras=True)


def _offered(known: Command) -> dict[str, Any]:
    names = [row for row in signature_of(known.verb) if row["name"] not in known.fixed]
    rows = {row["name"]: option_of(known.verb, row) for row in names}
    return {name: option for name, option in rows.items() if option is not None}


def _options_of(known: Command) -> list[inspect.Parameter]:
    options = [option.parameter for option in _offered(known).values()]
    return [*options, *(flag.parameter for flag in FLAGS.get(known.verb, ()))]


def _fields_of(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


def _build(group: Any, given: dict[str, Any]) -> Any:
    return group(**{each.name: given.pop(each.name) for each in fields(group)})
