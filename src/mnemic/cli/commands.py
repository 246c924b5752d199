"""How a function becomes a command.

`command` registers a function written by hand. Its parameters are options by `Annotated`. A dataclass stands for its
fields, and `Arguments` for the options of a verb. `verb_command` registers a verb of `Mnemic`. Its function only shows
the answer in a terminal. Everything else is derived from the verb's signature in signatures.json, because help must not
import the engine. examples.txt has the examples of each command's help.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from mnemic.cli.input import parse_json_object
from mnemic.cli.menu import GROUPS, Entry, Menu
from mnemic.cli.options import FLAGS, ScopeOptions, StatedUser, find_row, number_or_word, read_level_limits
from mnemic.cli.output import show_json
from mnemic.model.scope import check_unicode
from mnemic.verbs import BY_NAME, Access

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.model.scope import Scope

Function = Callable[..., None]
KEYWORD = inspect.Parameter.KEYWORD_ONLY


class Arguments(dict[str, Any]):
    """The arguments of a verb that were given, by name. For the others, the verb's default counts."""


Find = Callable[["Mnemic", "Scope", str], str]
"""Finds what an operand of a person means, such as the id of a document by the path of its file."""


@dataclass(frozen=True)
class Command:
    """A command by its whole name, as `memory list`. `like`: the command of signatures.json whose verb it has, itself
    unless named. `shows`: the function takes the verb's answer. `fixed`: arguments that are no options here. `find`:
    what to do with an operand before the call. `is_stated`: a configured user is not meant.
    """

    name: str
    function: Function
    like: str = ""
    shows: bool = False
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    find: Mapping[str, Find] = field(default_factory=dict[str, Find])
    is_stated: bool = False

    @property
    def signature(self) -> Mapping[str, Any]:
        """The name of its verb, and the verb's arguments but for the scope."""
        return _signatures()[self.like or self.name]

    @cached_property
    def options(self) -> dict[str, Option]:
        """The verb's arguments that are options of the command, by name."""
        verb, arguments = self.signature["verb"], self.signature["arguments"]
        rows = {each["name"]: build_option(verb, each) for each in arguments if each["name"] not in self.fixed}
        return {name: option for name, option in rows.items() if option is not None}


COMMANDS: dict[str, Command] = {}
"""Every command whose module is imported."""


def command(name: str, *, like: str = "", is_stated: bool = False) -> Callable[[Function], Function]:
    """Registers a function as a command. `Arguments` are those of the verb of this command, or of the one `like` it."""

    def register(function: Function) -> Function:
        COMMANDS[name] = Command(name, function, like, is_stated=is_stated)
        return function

    return register


def verb_command(name: str, **settings: Any) -> Callable[[Function], Function]:
    """Registers a verb as a command whose answer the function shows. The function's first parameter is the answer; it
    may take `ScopeOptions`, `Arguments`, and options of its own. With `--json` the answer is printed instead.
    `settings` are further fields of `Command`.
    """

    def register(function: Function) -> Function:
        COMMANDS[name] = Command(name, function, shows=True, **settings)
        return function

    return register


VALUES: Mapping[type, str] = {str: "TEXT", int: "N", float: "NUMBER"}
"""Names of options' values in the help, by their type."""


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
            groups[first].callback(invoke_without_command=True)(build_callback(known))
        else:
            epilog = f"\b\nExamples:\n{_examples()[known.name]}"
            groups.get(first, app).command(rest or first, cls=Entry, epilog=epilog)(build_callback(known))


def build_callback(known: Command) -> Function:
    """The function that Typer calls: it takes every option by its name."""
    own = list(inspect.signature(known.function).parameters.values())[known.shows :]
    hints = _resolve_types(known.function, [parameter.name for parameter in own])
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    arguments = next((name for name, hint in hints.items() if hint is Arguments), None)
    scope = next((name for name, hint in groups.items() if hint is ScopeOptions), None)
    parameters: list[inspect.Parameter] = []
    if known.shows and scope is None:
        parameters += _list_fields(ScopeOptions)
    if known.shows and arguments is None:
        parameters += _list_parameters(known)
    for parameter in own:
        if parameter.name in groups:
            parameters += _list_fields(groups[parameter.name])
        elif parameter.name == arguments:
            parameters += _list_parameters(known)
        else:
            parameters.append(parameter.replace(annotation=hints[parameter.name], kind=parameter.KEYWORD_ONLY))
    stated = {"user": StatedUser} if known.is_stated else {}
    parameters = [each.replace(annotation=stated.get(each.name, each.annotation)) for each in parameters]
    _name_values(parameters)

    def run(**given: Any) -> None:
        built = {name: _build(group, given) for name, group in groups.items()}
        options = (built[scope] if scope else _build(ScopeOptions, given)) if known.shows else None
        read = read_arguments(known, given) if known.shows or arguments else Arguments()
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


def _name_values(parameters: Sequence[inspect.Parameter]) -> None:
    """Give options' values names for people in the help, such as TIME, unless they have one."""
    for parameter in parameters:
        _name_value(parameter)


def _name_value(parameter: inspect.Parameter) -> None:
    kind, info = (*get_args(parameter.annotation), None, None)[:2]
    if not isinstance(info, OptionInfo) or info.metavar:
        return
    kinds = [each for part in (kind, *get_args(kind)) for each in (part, *get_args(part)) if isinstance(each, type)]
    choices = next((each for each in kinds if issubclass(each, Enum)), None)
    words = info.help or ""
    if "ISO 8601" in words or "JSON" in words:
        info.metavar = "TIME" if "ISO 8601" in words else "JSON"
    elif choices is not None:
        info.metavar = "|".join(str(each.value) for each in choices)
    else:
        info.metavar = next((VALUES[each] for each in kinds if each in VALUES), None)


def call_verb(known: Command, options: ScopeOptions, arguments: Arguments) -> object:
    """The answer of the verb. Arguments are checked, and the scope found, before the store is opened."""
    scope = options.stated_scope if known.is_stated else options.scope
    with options.open(is_reading=BY_NAME[known.signature["verb"]].right is Access.READ) as mnemic:
        for name, find in known.find.items():
            given: str | list[str] = arguments[name]
            is_one = isinstance(given, str)
            arguments[name] = find(mnemic, scope, given) if is_one else [find(mnemic, scope, each) for each in given]
        verb = attrgetter(known.signature["verb"])(mnemic)
        scoped = {"scope": scope} if "scope" in inspect.signature(verb).parameters else {}
        return verb(**scoped, **known.fixed, **arguments)


def read_arguments(known: Command, given: dict[str, Any]) -> Arguments:
    """Takes the options of the verb out of what Typer gave, in the form that the verb takes. Raises
    `InvalidInputError` for what cannot be read.
    """
    found = Arguments()
    for name, option in known.options.items():
        value = given.pop(option.key)
        if value is None or (value is False and not option.has_opposite):
            continue
        for text in cast("list[object]", value if isinstance(value, list) else [value]):
            if isinstance(text, str):
                check_unicode(text, name)
        found[name] = value if option.read is None else option.read(value)
    for flag in FLAGS.get(known.signature["verb"], ()):
        if given.pop(flag.key):
            found[flag.argument] = flag.value
    return found


def _resolve_types(function: Function, names: Sequence[str]) -> dict[str, Any]:
    """The types of some parameters, resolved. That of an answer is not: it may name a class of the engine."""
    chosen = SimpleNamespace(__annotations__={name: function.__annotations__[name] for name in names})
    return get_type_hints(chosen, getattr(function, "__globals__", {}), include_extras=True)


def _list_parameters(known: Command) -> list[inspect.Parameter]:
    options = [option.parameter for option in known.options.values()]
    return [*options, *(flag.parameter for flag in FLAGS.get(known.signature["verb"], ()))]


def _list_fields(group: Any) -> list[inspect.Parameter]:
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


@dataclass(frozen=True, slots=True)
class Option:
    """An argument of a verb as an option: the parameter that Typer takes, and how its value is read."""

    parameter: inspect.Parameter
    read: Callable[[Any], object] | None
    has_opposite: bool

    @property
    def key(self) -> str:
        """Its name among what Typer gives."""
        return self.parameter.name


@cache
def _examples() -> Mapping[str, str]:
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    return dict(block.split("\n", 1) for block in text.strip().split("\n\n"))


@cache
def _signatures() -> Mapping[str, Mapping[str, Any]]:
    return json.loads(Path(__file__).with_name("signatures.json").read_text(encoding="utf-8"))


def build_option(verb: str, argument: Mapping[str, Any]) -> Option | None:
    """An argument of a verb as an option. One that is not given is left to the verb, whose default is only shown."""
    name: str = argument["name"]
    row = find_row(verb, name)
    if row is None:
        return None
    is_required, is_many = argument.get("is_required", False), argument.get("is_many", False)
    has_opposite = argument.get("has_opposite") or argument.get("default") is True or "/" in "".join(row.names)
    kind, read = _resolve_type(argument["type"], name)
    kind = row.kind or (list[kind] if is_many else kind)
    default = argument.get("default")
    about = row.help or argument.get("about") or name.replace("_", " ")
    if default is not None and default is not True and "efault" not in about:
        about += f" Default: {default:g}." if isinstance(default, float) else f" Default: {default}."
    if argument.get("is_operand") and not row.names:
        metavar: Any = {"metavar": name.upper() + ("..." if is_many else ""), **row.settings}
        info = typer.Argument(help=about, **metavar)
    else:
        names = row.names or (_option_name(name, is_many=is_many, has_opposite=has_opposite),)
        info = typer.Option(*names, help=about, **row.settings)
    key = f"{name}_" if name in ScopeOptions.__dataclass_fields__ else name
    annotation = Annotated[kind if is_required else kind | None, info]
    absent = inspect.Parameter.empty if is_required else False if kind is bool and not has_opposite else None
    parameter = inspect.Parameter(key, KEYWORD, default=absent, annotation=annotation)
    return Option(parameter, row.read or read, has_opposite)


def _resolve_type(name: str, argument: str) -> tuple[Any, Callable[[Any], object] | None]:
    """The type that Typer is told, and how its value is read."""
    if ":" in name:
        module, _, kind = name.partition(":")
        return getattr(import_module(module), kind), None
    if name == "json":
        return str, lambda text: parse_json_object(text, argument)
    if name == "limits":
        return list[str], read_level_limits
    if name == "number_or_word":
        return str, number_or_word
    return {"bool": bool, "int": int, "float": float, "str": str}[name], None


def _option_name(argument: str, *, is_many: bool, has_opposite: bool) -> str:
    """`--dry-run` of `is_dry_run`, `--category` of `categories`, `--rerank/--no-rerank`."""
    name = argument.removeprefix("is_")
    if is_many:
        endings = {"ies": "y", "sses": "ss", "uses": "us", "s": ""}
        ending = next((each for each in endings if name.endswith(each)), "")
        name = name.removesuffix(ending) + endings.get(ending, "")
    option = name.replace("_", "-")
    return f"--{option}/--no-{option}" if has_opposite else f"--{option}"
