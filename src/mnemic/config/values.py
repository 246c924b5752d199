"""Config, which is all that opening a Mnemic needs, and functions that check and convert the values of keys."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, unquote, urlsplit

from mnemic.engine.jobs import FIELDS, Cron, zone_of
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.candidates import Scale
from mnemic.model.item import Kind
from mnemic.model.scope import Scope
from mnemic.model.settings import Caps, Quarantine, Settings
from mnemic.text.chunking import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE

MEMORY_URL = "memory://"
SQLITE_MEMORY = ":memory:"  # what SQLite calls it
MIN_COSINE = 0.1
"""Minimum score for context from a memory backend whose scores are cosines."""

LEAST_BUDGET_MIB = 1024  # about 450,000 memories, also on a small machine
BUDGET_SHARE = 8  # an eighth of the memory: leaves room for the model and for other programs
LIMIT_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""A container's memory limit as it sees it, in control groups version 2 and 1."""


def default_store() -> str:
    """`$MNEMIC_STORE`, else the PostgreSQL at `$PGVECTOR_URL` (with `$PGVECTOR_USER` and `$PGVECTOR_PASSWORD` if it
    names no user), else `mnemic/memory.db` in the user's data folder.
    """
    named, pgvector = os.environ.get("MNEMIC_STORE"), os.environ.get("PGVECTOR_URL")
    if named or pgvector:
        return named or with_login(pgvector or "", os.environ.get("PGVECTOR_USER"), os.environ.get("PGVECTOR_PASSWORD"))
    return own_store(os.environ)


def default_budget_mib(limits: Sequence[str | Path] = LIMIT_FILES) -> int:
    """The default memory budget of indexes in MiB: an eighth of the machine's memory or of the lowest of `limits`, at
    least 1 GiB (about 450,000 memories).
    """
    names = os.sysconf_names if hasattr(os, "sysconf_names") else {}
    if not {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(names):
        return LEAST_BUDGET_MIB
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    least = min([machine, *_read_limits(limits)])
    return max(least // BUDGET_SHARE >> 20, LEAST_BUDGET_MIB)


def _read_limits(limits: Sequence[str | Path]) -> list[int]:
    """The numeric limits in these files, if they exist. `max` is no limit."""
    told: list[int] = []
    for path in limits:
        with suppress(OSError, ValueError):
            told.append(int(Path(path).read_text(encoding="ascii")))
    return told


def own_store(environment: Mapping[str, str]) -> str:
    """`mnemic/memory.db` in the user's data folder (`$XDG_DATA_HOME`, else `~/.local/share`)."""
    data = environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return str(Path(data) / "mnemic" / "memory.db")


def token_file(port: int) -> Path:
    """Where a server on this port keeps its token, if this system does not show which account opens a connection."""
    return Path(own_store(os.environ)).with_name(f"serve-{port}.token")


def read_token(url: str) -> str | None:
    """The token of this account's server at a local address. None if it has none."""
    try:
        place = urlsplit(url)
        is_local = place.hostname in ("localhost", "127.0.0.1", "::1")
        return token_file(place.port or 80).read_text(encoding="ascii") if is_local else None
    except (OSError, ValueError):
        return None


def own_backend_file(environment: Mapping[str, str]) -> str:
    """`mnemic/backend.db` in the user's data folder: the file of the memory backend `sqlite`."""
    return str(Path(own_store(environment)).with_name("backend.db"))


def with_login(url: str, user: str | None, password: str | None) -> str:
    """A database URL without a leading `jdbc:`, and with the login if it has none."""
    url = url.removeprefix("jdbc:")
    scheme, separator, rest = url.partition("://")
    if not separator or not user or "@" in urlsplit(url).netloc:
        return url
    login = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return f"{scheme}://{login}@{rest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendSettings:
    """How to open and use the memory backend (`mnemic.backends.open_backend`). `name` is in its registry. `db_path`
    None: the backend's own place. `top_k`, `min_score` and `max_tokens` are fields of `ContextConfig` (`min_score`
    None: its default), `chunk_size` and `chunk_overlap` of `ChunkConfig`.
    """

    name: str = "sqlite"
    db_path: str | None = None
    top_k: int = 5
    min_score: float | None = None
    max_tokens: int = 2048
    chunk_size: int = DEFAULT_CHUNK_SIZE
    chunk_overlap: int = DEFAULT_CHUNK_OVERLAP


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How to open a Mnemic.

    - `store`: a path, `sqlite:///path`, `postgresql://user:password@host:5432/database` or `memory://`.
    - `embedder`: a name, "none", or several names (a sequence, or one text with commas). With several, every item has a
      vector of each, and queries search every space.
    - `embedder_options`: keyword arguments of the embedder's class, such as `base_url`, `api_key`, `dims` or `folder`;
      for several embedders, a mapping by name. `embedder_dims`: the required dims of every embedder.
    - `embedder_writings`: texts with which letters an embedder gets, by name: "latin", "other" or both. Default: all.
    - `embedder_previous`: the embedder that filled the store before, with `embedder_previous_options`. Its vectors are
      searched until `reembed` has filled the new space. The built-in minilm need not be named.
    - `embedder_scales`: the file in which `mnemic calibrate` keeps how an embedder's cosines are read. None: in the
      user's data folder.
    - `reranker`: a name, or "none". Reranks the best hits of every recall by default. `reranker_options` are its
      class's.
    - `llm`: a language model, or "none": then rules write summaries and the like. `llm_options` are its class's:
      `base_url`, `model`, `api_key`, ….
    - `tool_modules`: modules or `.py` files with tools for models, besides those of installed packages. `weather_url`:
      the service of the weather tool; None: no such tool.
    - `user`: the default user of the command line, MCP over stdio and hooks. Verbs have a scope and HTTP servers have
      keys, so they ignore it.
    - `window`: where session windows are read: in the store, or in a copy in the Redis at `window_url`, with the fields
      of `RedisOptions` in `window_options`.
    - `index`: where rows are searched: in this process and in files beside the store, or in the Qdrant at `qdrant_url`,
      which holds the vectors in `qdrant_collection`. `qdrant_options` are the fields of `QdrantOptions`. `base_files`:
      copy the search index of large partitions to files beside the store, so that new processes start faster.
      `database_rows`: PostgreSQL searches partitions with more rows, and the server does not load them; 0: all
      partitions; None: no partition.
    - `injects_context`: whether doors that talk to a model add memory to the prompt. `backend`: the memory primitive
      beside Mnemic, which Mnemic itself does not use.
    - `observer`: where metrics are kept: in this process, or for Prometheus. `traces`: "off", or the address of an
      OpenTelemetry collector, which gets spans without any text.
    - `processes`: of `mnemic serve`. `resident_idle_s`: how long the resident process of hooks and commands waits for
      the next one; 0: there is none. `backup_keyring`: the file with the keys of sealed backups; None: no keys.
      `backup_master_key`: at least 16 characters; encrypts that file.
    """

    store: str = field(default_factory=default_store, repr=False)  # may hold a password
    user: str | None = None
    embedder: str | Sequence[str] = "minilm"
    embedder_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    embedder_dims: int | None = None
    embedder_writings: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    embedder_previous: str | None = None
    embedder_previous_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    embedder_scales: str | Path | None = None
    reranker: str = "none"
    reranker_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    detector: str = "rules"
    llm: str = "none"
    prompts: str | None = None
    llm_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    tool_modules: Sequence[str] = ()
    weather_url: str | None = None
    index_budget_bytes: int = field(default_factory=lambda: default_budget_mib() << 20)
    index: Literal["local", "qdrant"] = "local"
    base_files: bool = True
    database_rows: int | None = None
    qdrant_url: str | None = None
    qdrant_collection: str = "true_recall"
    qdrant_api_key: str | None = field(default=None, repr=False)
    qdrant_options: Mapping[str, object] = field(default_factory=dict[str, object])
    lock_wait_s: float = 10.0
    window: Literal["store", "redis"] = "store"
    window_url: str | None = field(default=None, repr=False)  # may hold a password
    window_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    observer: Literal["counter", "prometheus"] = "counter"
    processes: int = 1
    resident_idle_s: int = 600
    traces: str = "off"
    settings: Settings = field(default_factory=Settings)
    injects_context: bool = True
    backup_keyring: str | Path | None = None
    backup_master_key: str | None = field(default=None, repr=False)
    backend: BackendSettings = field(default_factory=BackendSettings)

    @property
    def embedders(self) -> tuple[str, ...]:
        """The names of the embedders, the main one first. Empty for "none"."""
        names = self.embedder.split(",") if isinstance(self.embedder, str) else self.embedder
        return tuple(name.strip() for name in names if name.strip() not in ("", "none"))

    @property
    def scales_file(self) -> Path:
        """The file of `embedder_scales`."""
        return Path(self.embedder_scales or Path(own_store(os.environ)).with_name("relevance.json"))

    @property
    def scales(self) -> dict[str, Scale]:
        """The scales in that file, by the id of the embedder's space. Raises `ConfigError`."""
        path = self.scales_file
        try:
            rows: Mapping[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
            return {space: Scale(**row) for space, row in rows.items()}
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise ConfigError(f"{path} cannot be read ({error}); remove it and run `mnemic calibrate`") from error

    @property
    def postgres_url(self) -> str | None:
        """The URL of a PostgreSQL store, None for another kind."""
        return self.store if self.store.startswith(("postgresql://", "postgres://")) else None

    @property
    def sqlite_path(self) -> Path | None:
        """The file of an embedded store, None for another kind. Raises `ConfigError` for an unknown URL."""
        if self.store in (MEMORY_URL, SQLITE_MEMORY) or self.postgres_url is not None:
            return None
        if "://" not in self.store:
            return Path(self.store)
        parts = urlsplit(self.store)
        if parts.scheme != "sqlite" or parts.netloc or not parts.path.strip("/"):
            raise ConfigError(
                f"unknown store {parts.scheme}://…; use a path, sqlite:///relative.db, sqlite:////absolute.db, "
                "postgresql://user:password@host:5432/database or memory://"
            )
        return Path(unquote(parts.path[1:]))


Reader = Callable[[object], object]
"""Converts a value for the engine. Raises ValueError, saying what would be valid."""

HALF_LIVES_BY_KIND = {kind.value: days for kind, days in Settings().life.half_lives.items()}
"""Defaults in days, for kinds that a table does not name."""


def text(value: object) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text")
    return value


def one_id(value: object) -> str:
    """An id, as a scope takes it."""
    told = text(value)
    try:
        return Scope(user=told).user or told
    except InvalidInputError as error:
        raise ValueError("an id of at most 255 characters, without control characters or surrounding spaces") from error


def traces(value: object) -> str:
    """The address of a collector, or "off"."""
    told = value if isinstance(value, str) else "off" if value is False else ""
    if told != "off" and not told.startswith(("http://", "https://")):
        raise ValueError("off, or an address such as http://127.0.0.1:4318")
    return told


def free_text(value: object) -> str:
    """Any text, also empty."""
    if not isinstance(value, str):
        raise ValueError("text")  # noqa: TRY004 -- readers say what is acceptable by ValueError alone
    return value


def names(value: object) -> str:
    """A name, or several: a list becomes one comma-separated text."""
    several = cast("list[object]", value) if isinstance(value, list) else [value]
    try:
        return ",".join(text(each) for each in several) or text(None)
    except ValueError as error:
        raise ValueError("a name or a list of names") from error


def any_names(value: object) -> str:
    """Like `names`, also empty."""
    return "" if value in ("", []) else names(value)


def _make_whole(least: int, most: int | None = None) -> Reader:
    """A reader of whole numbers from `least` to `most`, if given."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= (most or value):
            raise ValueError(f"a whole number from {least}" + ("" if most is None else f" to {most}"))
        return value

    return read


def positive(value: object) -> float:
    """A number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError("a number above 0")
    return float(value)


def fraction(value: object) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return float(value)


def number(value: object) -> float:
    """Any number except NaN and infinities."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < float("inf"):
        raise ValueError("a number")
    return float(value)


def switch(value: object) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")  # noqa: TRY004 -- as in `free_text`
    return value


def table(value: object) -> Mapping[str, object]:
    """A table of keys and values."""
    if not isinstance(value, Mapping):
        raise ValueError("a table of keys and values")  # noqa: TRY004 -- as in `free_text`
    return cast("Mapping[str, object]", value)


def cron_line(value: object) -> str:
    """A cron line of five fields, or six with seconds first."""
    try:
        Cron(line := text(value), "UTC")
    except (ConfigError, ValueError) as error:
        raise ValueError(f"a cron expression with {FIELDS}") from error
    return line


def time_zone(value: object) -> str:
    """The name of a time zone in the tz database."""
    try:
        zone_of(name := text(value))
    except ConfigError as error:
        raise ValueError(f"the name of a time zone ({error})") from error
    return name


def days_by_kind(value: object) -> Mapping[str, float]:
    """Days by kind of memory. Missing kinds keep their default."""
    given = table(value)
    unknown = [name for name in given if name not in tuple(Kind)]
    if unknown:
        raise ValueError(f"a table whose keys are memory kinds ({', '.join(Kind)})")
    try:
        days = {name: positive(number) for name, number in given.items()}
    except ValueError as error:
        raise ValueError("a table that maps memory kinds to positive numbers of days") from error
    return {**HALF_LIVES_BY_KIND, **days}


def _make_choice(*choices: str) -> Reader:
    """A reader of one of the choices."""

    def read(value: object) -> str:
        found = next((each for each in choices if each == value), None)
        if found is None:
            raise ValueError(f"one of {', '.join(choices)}")
        return found

    return read


READERS: Mapping[str, Reader] = {
    "text": text,
    "one_id": one_id,
    "traces": traces,
    "free_text": free_text,
    "names": names,
    "any_names": any_names,
    "whole": _make_whole(0),
    "counting": _make_whole(1),
    "few": _make_whole(0, 4),
    "positive": positive,
    "fraction": fraction,
    "number": number,
    "switch": switch,
    "table": table,
    "cron_line": cron_line,
    "time_zone": time_zone,
    "days_by_kind": days_by_kind,
    "quarantine": _make_choice(*Quarantine),
    "caps": _make_choice(*Caps),
    "window_backend": _make_choice("store", "redis"),
    "index_backend": _make_choice("local", "qdrant"),
    "storage_type": _make_choice("sqlite", "postgresql", "memory"),
}
"""Readers by their name in `keys.json`."""
