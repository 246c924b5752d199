"""The options of commands: those that every command about memories has, and how the arguments of verbs become options.

An argument of a verb is an option by its name and type; options.json has its help, and what differs. A new argument
needs no row: its help is then the sentence of the docstring that names it.
"""

from __future__ import annotations

import getpass
import inspect
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mnemic.cli.input import STDIN, parse_json_object, read_stdin_messages, read_text
from mnemic.cli.output import note, one_line
from mnemic.errors import InvalidInputError
from mnemic.model.item import Trust
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.engine.jobs import Worker

ACTOR = "cli"
WORKER_POLL_S = 2.0
"""How often a worker beside a conversation looks for work: facts should be found before the next question."""

NONE = "none"
"""What ends a time that was set."""

KEYWORD = inspect.Parameter.KEYWORD_ONLY
User = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="MNEMIC_USER", help="The user. Default: the configured one.", metavar="ID"),
]
Agent = Annotated[str | None, typer.Option("--agent", envvar="MNEMIC_AGENT", help="The assistant.", metavar="ID")]
Session = Annotated[
    str | None, typer.Option("--session", envvar="MNEMIC_SESSION", help="The conversation.", metavar="ID")
]
Org = Annotated[str, typer.Option("--org", envvar="MNEMIC_ORG", help="The tenant.", metavar="ID")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="A path, sqlite:///path, postgresql://… or memory://. Default: MNEMIC_STORE, then the configured one.",
        metavar="STORE",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", help="A configuration file. Default: MNEMIC_CONFIG, then your own file.", metavar="FILE"),
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
IsSure = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
IsDryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen and change nothing.")]
Works = Annotated[
    bool, typer.Option("--worker/--no-worker", help="Run jobs such as the extraction of facts in the meantime.")
]


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """The scope, the store and the form of the answer. A part that is not named hides its level and never widens it.
    Without a user, the configured one is meant.
    """

    user: User = None
    agent: Agent = None
    session: Session = None
    org: Org = "default"
    store: Store = None
    config: ConfigFile = None
    as_json: AsJson = False

    @property
    def scope(self) -> Scope:
        """Who is asking. Raises `InvalidInputError` for an id that cannot be one."""
        from mnemic.config import load_config

        stated = self.stated_scope
        if stated.user is not None:
            return stated
        return replace(stated, user=load_config(self.store, file=self.config).user)

    @property
    def stated_scope(self) -> Scope:
        """The scope of the options and the environment alone, for what must not be done by default: what erases for
        good, and the keys of a server.
        """
        return Scope(org=self.org, agent=self.agent, user=self.user, session=self.session)

    @property
    def personal_scope(self) -> Scope:
        """The scope, which is that of the person at this machine if it names neither a user nor an agent."""
        scope = self.scope
        return scope if scope.user or scope.agent else replace(scope, user=find_login_name())

    def open(self) -> Mnemic:
        """The open store. Its history names the command line as the actor."""
        from mnemic.api import Mnemic
        from mnemic.config import load_config

        config = load_config(self.store, file=self.config)
        is_new = self.store is not None and "://" not in self.store and not Path(self.store).expanduser().exists()
        opened = Mnemic.open(config, actor=ACTOR)
        if is_new and not self.as_json:
            note(f"{one_line(str(self.store))} was not there: it is a new store, with nothing in it")
        return opened


def find_login_name() -> str:
    """The login name of the person at this machine."""
    try:
        return getpass.getuser().strip() or "me"
    except (OSError, KeyError):
        return "me"


@contextmanager
def run_worker(mnemic: Mnemic, *, is_on: bool, poll_s: float = WORKER_POLL_S) -> Generator[Worker | None]:
    """A worker that runs jobs in the meantime and stops after the job at hand; None where it is not on."""
    if not is_on:
        yield None
        return
    worker = mnemic.worker(poll_s=poll_s)
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()
        worker.join()


class Language(StrEnum):
    """Languages of a block for a system prompt."""

    EN = "en"
    ZH = "zh"


class Verdict(StrEnum):
    """What a person thinks of a memory."""

    RELEVANT = "relevant"
    OUTDATED = "outdated"


def number_or_word(text: str) -> float | str:
    """An importance as it was typed: a number, or a word that the library knows."""
    try:
        return float(text)
    except ValueError:
        return text


def read_level_limits(texts: Sequence[str]) -> dict[str, int]:
    """Levels and their caps, from `user=3` and the like. Raises `InvalidInputError`."""
    limits: dict[str, int] = {}
    for text in texts:
        level, _, count = text.partition("=")
        if not count.isdecimal():
            raise InvalidInputError(f"--level-limit {text!r} must look like user=3")
        limits[level] = int(count)
    return limits


def read_facts(facts: Sequence[str]) -> Mapping[str, object]:
    """Facts from `KEY=VALUE`, or from a JSON object on the standard input, in which null removes a key."""
    if list(facts) == [STDIN]:
        return parse_json_object(read_text(STDIN), "the standard input") or {}
    pairs: dict[str, object] = {}
    for fact in facts:
        key, separator, value = fact.partition("=")
        if not separator:
            raise InvalidInputError(f"{fact!r} is no KEY=VALUE; `mnemic profile remove` removes a key")
        pairs[key] = value
    return pairs


def read_messages(source: str) -> list[dict[str, Any]]:
    """The messages on the standard input. Raises `InvalidInputError` for what is no message."""
    if source != STDIN:
        raise InvalidInputError("messages come from the standard input (-), or as --user-text and --assistant-text")
    messages = read_stdin_messages()
    if not all(isinstance(message, dict) for message in messages):
        raise InvalidInputError('a message must be an object such as {"role": "user", "content": "…"}')
    return messages  # pyright: ignore[reportReturnType] -- keys of JSON objects are texts


def read_time(text: str) -> str | None:
    """A time, or None for the word `none`."""
    return None if text.lower() == NONE else text


KINDS: Mapping[str, Any] = {
    "str": str,
    "list[str]": list[str],
    "trust": Trust,
    "verdict": Verdict,
    "language": Language,
}
READERS: Mapping[str, Callable[[Any], object]] = {
    "text": read_text,
    "time": read_time,
    "messages": read_messages,
    "facts": read_facts,
    "json_arguments": lambda text: parse_json_object(text, "--arguments"),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What is written of an option: its help, its names unless they follow from the argument's, its type and how it is
    read unless the signature says so, and settings for Typer.
    """

    help: str
    names: tuple[str, ...] = ()
    kind: Any = None
    read: Callable[[Any], object] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that gives an argument a value which no text says."""

    name: str
    argument: str
    value: object
    help: str

    @property
    def key(self) -> str:
        """Its name as a parameter."""
        return f"flag{self.name.replace('-', '_')}"

    @property
    def parameter(self) -> inspect.Parameter:
        """As Typer takes it."""
        annotation = Annotated[bool, typer.Option(self.name, help=self.help)]
        return inspect.Parameter(self.key, KEYWORD, default=False, annotation=annotation)


_ALL_HITS = (Flag("--all", "limit", None, "Return all hits."),)
_ALL_LEVELS = (Flag("--all", "limits", None, "Lift the limits per level. The budget stays."),)
FLAGS: Mapping[str, Sequence[Flag]] = {
    "recall": (Flag("--all", "limit", None, "Return all hits, also the weak ones."),),
    "why_not": _ALL_HITS,
    "context": _ALL_LEVELS,
    "ask": _ALL_LEVELS,
    "chat": (*_ALL_LEVELS, Flag("--no-tools", "tools", False, "Call no tools.")),
    "update": (Flag("--no-categories", "categories", (), "Remove all its tags."),),
    "work": (Flag("--one", "until_idle", False, "Run one job instead of all."),),
    "backup": (Flag("--receipts-only", "contents", "receipts", "Only the receipts of erasures, to keep elsewhere."),),
}


def find_row(verb: str, name: str) -> Row | None:
    """What is written of an argument; of one without a row, an empty row. None: it is not an option."""
    rows = _load_rows()
    row = rows.get(f"{verb}.{name}", rows.get(name, ""))
    if row is False:
        return None
    if isinstance(row, str):
        return Row(row)
    settings = dict(row)
    about, names = settings.pop("help"), tuple(settings.pop("names", ()))
    kind, read = KINDS.get(settings.pop("kind", "")), READERS.get(settings.pop("read", ""))
    return Row(about, names, kind, read, settings)


@cache
def _load_rows() -> Mapping[str, Any]:
    """Rows by `verb.argument`, else by the argument: its help, or a table of its help, names, kind, reader and settings
    for Typer. False: it is not an option.
    """
    return json.loads(Path(__file__).with_name("options.json").read_text(encoding="utf-8"))
