"""The options of commands: the common ones, and those made from the arguments of verbs.

An argument becomes an option by its name and type; options.json has its help and any differences. Without a row, the
help is the argument's sentence in the docstring.
"""

from __future__ import annotations

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

from mnemic.cli import forward
from mnemic.cli.input import STDIN, parse_json_object, read_stdin_messages, read_text
from mnemic.cli.output import SHORT_ID_CHARS, note, one_line
from mnemic.errors import InvalidInputError, MnemicError, NotFoundError
from mnemic.model.item import Trust
from mnemic.model.scope import Scope, find_login_name

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.config import Config
    from mnemic.engine.jobs import Worker

ACTOR = "cli"
WORKER_POLL_S = 2.0
"""Seconds between a chat worker's checks for work. Facts should be extracted before the next question."""

NONE = "none"
"""Removes a time."""

KEYWORD = inspect.Parameter.KEYWORD_ONLY
Candidates = list[tuple[str, str]]


def complete_from(read: Callable[[Mnemic, Scope], Candidates]) -> Callable[..., Candidates]:
    """Shell completion from a store: values with a remark. Empty without a store, for it prints and creates nothing."""

    def complete(ctx: typer.Context, incomplete: str) -> Candidates:
        from mnemic.config import load_config

        fields = ScopeOptions.__dataclass_fields__
        given = {name: ctx.params[name] for name in fields if ctx.params.get(name) is not None}
        options = replace(ScopeOptions(**given), as_json=True)
        try:
            path = load_config(options.store, file=options.config).sqlite_path
            if path is not None and not path.exists():
                return []
            with options.open() as mnemic:
                found = read(mnemic, options.scope)
        except MnemicError:
            return []
        return [(name, one_line(about)) for name, about in found if name.startswith(incomplete)]

    return complete


list_users = complete_from(lambda mnemic, _: [(u.user, f"{u.memories} memories") for u in mnemic.users()])
list_sessions = complete_from(lambda mnemic, scope: [(s.session, s.text) for s in mnemic.sessions(scope)])
list_ids = complete_from(lambda mnemic, scope: [(m.id[-SHORT_ID_CHARS:], m.text) for m in mnemic.list(scope)])


def _user_option(default: str) -> Any:
    return typer.Option(
        "--user", "-u", envvar="MNEMIC_USER", help=f"The user. {default}", metavar="ID", autocompletion=list_users
    )


User = Annotated[str | None, _user_option("Default: the configured user, or your login name.")]
StatedUser = Annotated[str | None, _user_option("The configured user is ignored.")]
Agent = Annotated[str | None, typer.Option("--agent", envvar="MNEMIC_AGENT", help="The assistant.", metavar="ID")]
Session = Annotated[
    str | None,
    typer.Option(
        "--session", envvar="MNEMIC_SESSION", help="The conversation.", metavar="ID", autocompletion=list_sessions
    ),
]
Org = Annotated[str, typer.Option("--org", envvar="MNEMIC_ORG", help="The tenant.", metavar="ID")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        help="A path, sqlite:///path, postgresql://… or memory://. Default: MNEMIC_STORE or the configured store.",
        metavar="STORE",
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="The configuration file. Default: MNEMIC_CONFIG, or your user configuration file.",
        metavar="FILE",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
IsSure = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
IsDryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would happen without changing anything.")]
Works = Annotated[bool, typer.Option("--worker/--no-worker", help="Run background jobs, such as extracting facts.")]


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """The store, the configuration file and the output format."""

    store: Store = None
    config: ConfigFile = None
    as_json: AsJson = False


@dataclass(frozen=True, slots=True)
class ScopeOptions:
    """The scope, the store and the output format. Leaving out a part of the scope hides its level; it never shows more.
    --user defaults to the configured user, then to the login name.
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
        """The scope. The user defaults to the configured one, then, if no agent or org is named, to the login name.
        Raises `InvalidInputError` for an invalid id.
        """
        from mnemic.config import load_config

        stated = self.stated_scope
        if stated.user is not None:
            return stated
        user = load_config(self.store, file=self.config).user
        is_bare = stated == Scope(session=stated.session)
        return replace(stated, user=find_login_name() if user is None and is_bare else user)

    @property
    def stated_scope(self) -> Scope:
        """The scope from options and environment only, for erasures and API keys, which must not use a default."""
        return Scope(org=self.org, agent=self.agent, user=self.user, session=self.session)

    @property
    def personal_scope(self) -> Scope:
        """The scope. Without user and agent, the user is this machine's login name."""
        scope = self.scope
        return scope if scope.user or scope.agent else replace(scope, user=find_login_name())

    def open(self, *, is_reading: bool = False) -> Mnemic:
        """Open the store. Its history names the command line as the actor. Raises `NotFoundError` for reading from a
        file that does not exist and was named: it may be a slip.
        """
        from mnemic.config import load_config

        config = load_config(self.store, file=self.config)
        is_new = self.store is not None and "://" not in self.store and not Path(self.store).expanduser().exists()
        if is_new and is_reading:
            raise NotFoundError(f"there is no store at {self.store}; `mnemic remember --store …` creates one")
        opened = open_memory(config)
        if is_new and not self.as_json:
            note(f"created a new, empty store at {one_line(str(self.store))}")
        return opened


def open_memory(config: Config) -> Mnemic:
    """Open a memory for a command. In the resident process, this name has another function."""
    from mnemic.api import Mnemic

    if config.sqlite_path is not None:
        forward.wanted_idle_s = config.resident_idle_s
    return Mnemic.open(config, actor=ACTOR, has_worker=False)


@contextmanager
def run_worker(mnemic: Mnemic, *, is_on: bool, poll_s: float = WORKER_POLL_S) -> Generator[Worker | None]:
    """Run a worker in the background, and stop it after its current job. None if it is off."""
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
    """A person's judgement of a memory."""

    RELEVANT = "relevant"
    OUTDATED = "outdated"


def number_or_word(text: str) -> float | str:
    """Parse an importance: a number, or a word that the library knows."""
    try:
        return float(text)
    except ValueError:
        return text


def read_level_limits(texts: Sequence[str]) -> dict[str, int]:
    """Parse limits such as `user=3`. Raises `InvalidInputError`."""
    limits: dict[str, int] = {}
    for text in texts:
        level, _, count = text.partition("=")
        if not count.isdecimal():
            raise InvalidInputError(f"--level-limit must look like user=3, not {text!r}")
        limits[level] = int(count)
    return limits


def read_facts(facts: Sequence[str]) -> Mapping[str, object]:
    """Read facts from `KEY=VALUE`, or from a JSON object on standard input, where null removes a key."""
    if list(facts) == [STDIN]:
        return parse_json_object(read_text(STDIN), "standard input") or {}
    pairs: dict[str, object] = {}
    for fact in facts:
        key, separator, value = fact.partition("=")
        if not separator:
            raise InvalidInputError(f"use KEY=VALUE, not {fact!r}; to remove a key, use `mnemic profile remove`")
        pairs[key] = value
    return pairs


def read_messages(source: str) -> list[dict[str, Any]]:
    """Read messages from standard input. Raises `InvalidInputError` for anything else."""
    if source != STDIN:
        raise InvalidInputError("pass messages on standard input (-), or with --user-text and --assistant-text")
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
    """The description of an option: its help, and where they differ from the argument, its names, type, reader and
    settings for Typer.
    """

    help: str
    names: tuple[str, ...] = ()
    kind: Any = None
    read: Callable[[Any], object] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that sets an argument to a fixed value."""

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
_ALL_LEVELS = (Flag("--all", "limits", None, "Remove the per-level limits but not the token budget."),)
FLAGS: Mapping[str, Sequence[Flag]] = {
    "recall": (Flag("--all", "limit", None, "Return all hits, even weak ones."),),
    "why_not": _ALL_HITS,
    "context": _ALL_LEVELS,
    "ask": _ALL_LEVELS,
    "chat": (*_ALL_LEVELS, Flag("--no-tools", "tools", False, "Call no tools.")),
    "update": (Flag("--no-categories", "categories", (), "Remove all of the memory's tags."),),
    "work": (Flag("--one", "until_idle", False, "Run one job instead of all due jobs."),),
    "backup": (Flag("--receipts-only", "contents", "receipts", "Write only the receipts of erasures."),),
}


def find_row(verb: str, name: str) -> Row | None:
    """The row of an argument, or an empty one. None if it is not an option."""
    rows = _load_rows()
    row = rows.get(f"{verb}.{name}", rows.get(name, ""))
    if row is False:
        return None
    if isinstance(row, str):
        return Row(row)
    settings = dict(row)
    about, names = settings.pop("help"), tuple(settings.pop("names", ()))
    if name in ("id", "ids"):
        settings["autocompletion"] = list_ids
    kind, read = KINDS.get(settings.pop("kind", "")), READERS.get(settings.pop("read", ""))
    return Row(about, names, kind, read, settings)


@cache
def _load_rows() -> Mapping[str, Any]:
    """Rows by `verb.argument` or by argument: its help, or a table with help, names, kind, reader and settings for
    Typer. False: it is not an option.
    """
    return json.loads(Path(__file__).with_name("options.json").read_text(encoding="utf-8"))
