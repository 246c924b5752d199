"""The options of commands: those that every command about memories has, and how the arguments of verbs become options.

An argument of a verb is an option by its name and type; `OPTIONS` has its help, and what differs. A new argument needs
no row: its help is then the sentence of the docstring that names it.
"""

from __future__ import annotations

import getpass
import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
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
def run_worker(mnemic: Mnemic, *, is_on: bool) -> Generator[None]:
    """A worker that runs jobs in the meantime and stops after the job at hand."""
    if not is_on:
        yield
        return
    worker = mnemic.worker(poll_s=WORKER_POLL_S)
    worker.start()
    try:
        yield
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


def _row(help: str, *names: str, kind: Any = None, read: Callable[[Any], object] | None = None, **settings: Any) -> Row:
    return Row(help, names, kind, read, settings)


_ISO = "ISO 8601, in UTC unless it names a zone."
_LIMIT = ("--limit", "-n")
_TEXT = "The text. - reads the standard input."
_OWN_LEVELS = _row("Only this level. Repeatable. Default: all but org.")
_END_TIME = f"{_ISO} none removes it."
_DOCUMENT = _row("The id of a document, its source, or the path of its file.", metavar="ID")
_FOLDED_HOPS = _row("Follow relations of the graph this far, 1 to 4.", min=0, max=4)
_KIND = _row("Only this kind, or message. Repeatable.", kind=list[str])

OPTIONS: Mapping[str, Row | None] = {
    # scope of a search
    "query": _row("The question. An empty one returns the most important memories."),
    "question": _row("The question."),
    "limit": _row("Maximum number of results.", *_LIMIT),
    "limits": _row("Limit a level, for example user=3. Repeatable.", "--level-limit"),
    "levels": _row("Only this level. Repeatable."),
    "kinds": _row("Only this kind. Repeatable."),
    "states": _row("Only this state. Repeatable. Default: active."),
    "filter": _row('Conditions on memories in JSON, for example {"categories": {"contains": "work"}}.'),
    "min_relevance": _row("Drop hits whose relevance to the question is lower, 0 to 1."),
    "min_similarity": _row("Rank by similarity alone and drop what is lower, 0 to 1."),
    "as_of": _row("What was true in the world at this time, ISO 8601."),
    "known_at": _row("What was known at this time, ISO 8601."),
    "since": _row("Said at this time or later, ISO 8601."),
    "before": _row("Said before this time, ISO 8601."),
    "deadline_ms": _row("Time limit in milliseconds."),
    "rerank": _row("Let the configured reranker judge the best hits."),
    "diversity": _row("0 ranks by score alone. Towards 1, hits differ more from each other. Default: 0."),
    "hops": _FOLDED_HOPS,
    "after": _row("Continue after this id, the last one of the previous page."),
    "order": _row("Sort order. Default: newest."),
    "recall.limit": _row("Maximum number of hits. Default: 5.", *_LIMIT),
    "recall.limits": _row("Limit hits per level, for example user=3. Repeatable.", "--level-limit"),
    "recall.kinds": _KIND,
    "why_not.limit": _row("Maximum number of hits. Default: 5.", *_LIMIT),
    "why_not.kinds": _KIND,
    "list.filter": _row('Conditions in JSON, for example {"importance": {"gte": 0.6}}.'),
    "list.limit": _row("Memories per page, 1 to 1000. Default: 50.", *_LIMIT),
    "review.limit": _row("Memories per page, 1 to 1000.", *_LIMIT),
    "messages.limit": _row("Messages per page, 1 to 1000. Default: 50.", *_LIMIT),
    "messages.after": _row("Continue after this id, which the previous page named."),
    "window.limit": _row("Maximum number of messages. Default: 20.", *_LIMIT),
    # context
    "context.query": _row("What the user says now. Memory is searched for it.", metavar="MESSAGE"),
    "system": _row("Your own system prompt. It stays in front."),
    "budget_tokens": _row("Tokens that memory may add. Default: 2048.", "--budget", "--budget-tokens"),
    "placement": _row("One leading system message, or a prefix that stays the same."),
    "history_messages": _row("Number of messages of the session to include."),
    "documents": _row("Maximum number of document excerpts. Default: 5; 0 leaves them out."),
    "role": _row("The user's role, for the model."),
    "model": _row("The model's name, for the model."),
    "language": _row("en or zh. Default: the question's language."),
    "context.limit": _row("Maximum number of facts.", *_LIMIT),
    "context.limits": _row("Limit facts per level, for example user=3. Repeatable.", "--level-limit"),
    # a memory
    "id": _row("The id of a memory or message.", metavar="ID"),
    "ids": _row("The ids of memories. The first one stays.", metavar="ID..."),
    "text": _row(f"{_TEXT} Its last line end is dropped.", read=read_text),
    "reason": _row("The reason. Kept in the history."),
    "kind": _row("The kind of memory. Default: fact."),
    "level": _row("The level it belongs to. Default: user, then agent, then session."),
    "importance": _row("0 to 1, or low, medium, high. Default: 1.0, because a person entered it."),
    "confidence": _row("How certain it is, 0 to 1."),
    "categories": _row("A tag. Repeatable."),
    "context": _row("Why it matters."),
    "snippet": _row("The words it came from."),
    "source": _row("Where it came from."),
    "observed_at": _row(f"When it was said. {_ISO} Default: now."),
    "valid_from": _row(f"True from this time. {_ISO}"),
    "valid_to": _row(f"True until before this time. {_ISO}"),
    "expires_at": _row(f"Expires at this time. {_ISO}"),
    "is_private": _row("Only this agent may see it."),
    "is_pinned": _row("Never fades and is never evicted.", "--pin"),
    "trust": _row("Who the text comes from. Default: user.", kind=Trust),
    "metadata": _row("Your own data, as a JSON object."),
    "verdict": _row("relevant refreshes it. outdated ends its validity now.", kind=Verdict, metavar="VERDICT"),
    "update.text": _row(_TEXT, read=read_text),
    "update.kind": _row("The kind of memory."),
    "update.importance": _row("0 to 1, or low, medium, high."),
    "update.observed_at": _row("When it was said, ISO 8601."),
    "update.valid_from": _row(f"True from this time. {_END_TIME}", read=read_time),
    "update.valid_to": _row(f"True until before this time. {_END_TIME}", read=read_time),
    "update.expires_at": _row(f"Expires at this time. {_END_TIME}", read=read_time),
    "update.trust": _row("Who stands for it now. It can only lower the memory's trust.", kind=Trust),
    "update.metadata": _row("Your own data, as a JSON object. Replaces the old one."),
    "merge.text": _row("The merged text. Default: the text of the first one.", read=read_text),
    # conversations
    "messages": _row("- reads messages as JSON from the standard input.", kind=str, read=read_messages, metavar="[-]"),
    "user": _row("What the user said.", "--user-text"),
    "assistant": _row("What the assistant said.", "--assistant-text"),
    "turn_id": _row("The id of the turn that capture printed."),
    "complete.assistant": _row("What the assistant said. Repeated ones are joined by line ends.", "--assistant-text"),
    "complete.name": _row("The assistant's name."),
    "in_session": _row("Only messages of this session."),
    "include_closed": _row("Include a session that is long over."),
    "is_flush": _row("Everything that has no summary yet, not only what is due."),
    "is_dry_run": _row("Show what would happen and change nothing."),
    "day": _row("The last day to read, for example 2026-05-01. Default: yesterday."),
    "decay.levels": _OWN_LEVELS,
    "evict.levels": _OWN_LEVELS,
    "chat.message": None,
    "tools": _row("A tool that may be called. Repeatable. Default: all.", "--tool"),
    "max_tool_calls": _row("Maximum number of tool calls in one turn.", min=0),
    "plan": _row("A planned step. Repeatable."),
    "rules": _row("A rule for keeping to the plan. Repeatable."),
    "captures": _row("Store the conversation. Default: on.", "--capture/--no-capture"),
    # documents
    "ingest.content": None,
    "ingest.level": _row("The level of the documents. Default: user, then agent."),
    "ingest.source": _row("The name of the path in the store. Default: the whole path."),
    "ingest.name": _row("The name of the file on the standard input, for example report.pdf."),
    "ingest.is_private": _row("Only the scope's agent may see it."),
    "ingest.is_dry_run": _row("Show what would be read and change nothing."),
    "ingest.is_pruning": _row("Remove the documents of files that are gone from the folder.", "--prune"),
    "is_again": _row("Read unchanged files too."),
    "chunking": _row("How files are cut into passages. Default: structure."),
    "secrets": _row("Refuse a file that holds a secret, or store it without the secret. Default: refuse."),
    "documents.get.id": _DOCUMENT,
    "documents.text.id": _DOCUMENT,
    "documents.passages.id": _DOCUMENT,
    "documents.delete.id": _DOCUMENT,
    "statuses": _row("Only this status. Repeatable."),
    "under": _row("Only sources that begin with this, for example handbook/."),
    "documents.list.limit": _row("Documents per page, 1 to 1000. Default: 50.", *_LIMIT),
    "first": _row("The index of the first passage.", min=0),
    "count": _row("Maximum number of passages.", "--count", "-n", min=1),
    "document": _row("The id of a document, or its source.", metavar="DOCUMENT"),
    "max_calls": _row("Maximum number of model calls. Default: 256.", min=1),
    "max_tokens": _row("Maximum number of tokens of prompts and replies. Default: 4,000,000.", min=1),
    "deadline_s": _row("Time limit in seconds. Default: 1800."),
    "parallel": _row("Calls at a time. Default: 4 for a server, else 1.", min=1),
    "piece_tokens": _row("Maximum number of tokens of one piece. Default: 16,000.", min=1),
    "research.language": _row("The prompts' language, en or zh. Default: the question's."),
    "research.is_dry_run": _row("Show the cost and ask nothing."),
    # graph
    "graph.entities.query": _row("Part of a name. Default: all names."),
    "graph.entities.types": _row("Only this type. Repeatable."),
    "graph.entities.limit": _row("Maximum number of things.", *_LIMIT, min=1, max=1000),
    "graph.entities.after": _row("Continue after this name."),
    "graph.neighbours.name": _row("Its name, or the id of its node."),
    "graph.neighbours.limit": _row("Maximum number of things.", *_LIMIT, min=1, max=1000),
    "depth": _row("Number of relations away, 1 to 4.", min=1, max=4),
    "types": _row("Only along relations of this type. Repeatable."),
    "graph.neighbours.as_of": _row("The graph at this time, for example 2026-05-01."),
    "graph.path.as_of": _row("The graph at this time, for example 2026-05-01."),
    "graph.path.source": _row("The name of the source."),
    "target": _row("The name of the target."),
    "max_hops": _row("Maximum number of relations, 1 to 8.", min=1, max=8),
    "graph.extract.levels": _OWN_LEVELS,
    "graph.extract.limit": _row("Maximum number of items.", *_LIMIT, min=1),
    # profile, tools, jobs, keys, health
    "facts": _row(
        "KEY=VALUE, or - for a JSON object on the standard input.",
        kind=list[str],
        read=read_facts,
        metavar="KEY=VALUE...",
    ),
    "profile.format.language": _row("The language of the heading.", kind=Language),
    "tools.call.name": _row("The tool."),
    "arguments": _row(
        "Its arguments, as a JSON object.",
        "--arguments",
        kind=str,
        read=lambda text: parse_json_object(text, "--arguments"),
        metavar="JSON",
    ),
    "jobs.list.states": _row("Only this state. Repeatable. Default: all but done."),
    "jobs.list.limit": _row("Maximum number of jobs.", *_LIMIT, min=1, max=1000),
    "keys.create.name": _row("What the key is for."),
    "rights": _row("What the key may do. Repeatable. Default: read and write."),
    "keys.create.expires_at": _row("When the key expires, ISO 8601. Default: never."),
    "keys.revoke.id": _row("The id of a key, as `mnemic keys list` shows it."),
    "keys.rotate.id": _row("The id of a key, as `mnemic keys list` shows it."),
    "overlap_s": _row("Seconds until the old key ends.", "--overlap", min=0),
    "keys.audit.before": None,
    "keys.audit.limit": _row("Maximum number of entries.", *_LIMIT, min=1),
    "only": _row("Look for this kind of finding. Repeatable. Default: every kind.", "--only"),
    "fix": _row("Fix what is safe to fix of this kind. Repeatable. `memory undo` reverts it.", "--fix"),
    "health.levels": _OWN_LEVELS,
    "health.limit": _row("Maximum number of findings of a kind. Default: 20.", *_LIMIT, min=1, max=1000),
    # looking after a store
    "until_idle": None,
    "is_quick": _row("Only check whether the store answers, for probes."),
    "reembed.is_dry_run": _row("Show how much there is to do and how long it takes."),
    "reembed.is_pruning": _row("Remove the vectors of all other embedders when everything is filled.", "--prune"),
    "erase.level": _row("What to erase: session, user, agent or org. Default: user."),
    "path": _row("The backup.", metavar="FILE"),
    "contents": None,
    "backup.is_replacing": _row("Replace an existing backup.", "--force"),
    "is_sealed": _row(
        "Encrypt each org's rows with a key of its own. Erasing the org destroys the key. "
        "Default: sealed if backup.keyring is set.",
        "--sealed/--plain",
        show_default=False,
    ),
    "receipts": _row("Another backup, or its receipts. What it lists as erased is erased again."),
    "restore.is_replacing": _row("Replace everything in the store.", "--replace"),
    "restore.is_dry_run": _row("Check the backup, show what would happen and change nothing."),
    "import_.text": None,
    "import_.format": None,
    "import_.name": _row("The name of the file on the standard input."),
    "include_tools": _row("Keep the results of tool calls too."),
    "export.levels": _row("Only this level. Repeatable. Default: all but org.", "--level", "--levels"),
    "worker.poll_s": _row("Seconds between two looks for work.", "--poll", min=0.1),
}
"""By `verb.argument`, else by the argument's name. None: not an option."""


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
    return OPTIONS.get(f"{verb}.{name}", OPTIONS.get(name, Row("")))
