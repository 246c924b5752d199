"""Resolves arguments, environment, configuration file and defaults into a Config, with the origin of each value. Also
finds, reads and writes the file.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from mnemic.config import keys
from mnemic.config.values import (
    MEMORY_URL,
    SQLITE_MEMORY,
    BackendSettings,
    Config,
    one_id,
    own_backend_file,
    own_store,
    table,
    text,
    with_login,
)
from mnemic.engine.ingest_plan import chunk_config
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.model.chat import AssistantSettings
from mnemic.model.document import MEBIBYTE
from mnemic.model.item import Kind
from mnemic.model.scope import Level
from mnemic.model.settings import LifeSettings, OAuthSettings, ProxySettings, Settings

CONFIG_VARIABLE = "MNEMIC_CONFIG"
_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_SETTING = re.compile(r"\s*([\w.-]+)\s*=")
_SECTIONS = frozenset(path[:end] for path in (*keys.KEY_OF, *keys.SPELLINGS) for end, c in enumerate(path) if c == ".")


def own_file(environment: Mapping[str, str]) -> Path:
    """`mnemic/config.toml` in the user's configuration folder (`$XDG_CONFIG_HOME`, else `~/.config`)."""
    folder = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "mnemic" / "config.toml"


def find_file(named: str | Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file to read: the named one, else `$MNEMIC_CONFIG`, else the user's own if it exists. Raises `ConfigError` if
    a named file does not exist.
    """
    told = named or environment.get(CONFIG_VARIABLE)
    path = Path(told).expanduser() if told else own_file(environment)
    if path.is_file():
        return path
    if not told:
        return None
    by = "" if named else f" (named by {CONFIG_VARIABLE})"
    raise ConfigError(f"no configuration file at {path}{by}; `mnemic init` creates one")


class Told(NamedTuple):
    """A key's value in a file, and the name that the file uses for the key."""

    value: object
    spelling: str


def read_file(path: Path) -> dict[str, Told]:
    """The unchecked values of a file by key. Keys in other places (`SPELLINGS`) are moved to their own. Raises
    `ConfigError`, with the line if known, for invalid TOML, bytes that are not UTF-8, a key set in two places, or an
    unknown key (with the nearest one).
    """
    try:
        content = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}") from error
    return _parse(content, path)


def _parse(content: str, path: Path) -> dict[str, Told]:
    try:
        tables = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    told: dict[str, Told] = {}
    for place, value in _flatten(_merge_app_table(tables, path), "", path):
        key = keys.SPELLINGS.get(place, place)
        if key in told:
            raise ConfigError(f"{path}: {told[key].spelling} and {place} are the same setting; keep only one of them")
        told[key] = Told(value, place)
    return told


def _merge_app_table(content: Mapping[str, object], path: Path) -> Mapping[str, object]:
    """Move the content of the table `app` to the top level; keys may be written as `app.memory.…` too."""
    app = content.get("app")
    if not isinstance(app, Mapping):
        return content
    inner = cast("Mapping[str, object]", app)
    return _merge_tables({key: value for key, value in content.items() if key != "app"}, inner, "", path)


def _merge_tables(one: Mapping[str, object], other: Mapping[str, object], place: str, path: Path) -> dict[str, object]:
    """Merge tables recursively. Raises `ConfigError` for a key in both."""
    merged = dict(one)
    for key, value in other.items():
        mine = merged.get(key)
        if key not in merged:
            merged[key] = value
        elif isinstance(mine, Mapping) and isinstance(value, Mapping):
            inner = cast("Mapping[str, object]", mine), cast("Mapping[str, object]", value)
            merged[key] = _merge_tables(*inner, f"{place}{key}.", path)
        else:
            raise ConfigError(f"{path}: {place}{key} and app.{place}{key} are the same setting; keep only one of them")
    return merged


def first_file() -> str:
    """The text of a first configuration file: every key with meaning and default, as comments."""
    lines = [
        "# Mnemic's configuration. Commented-out lines show defaults. `mnemic config show` shows the settings in use."
    ]
    section = ""
    for key in keys.KEYS:
        here, _, name = key.path.rpartition(".")
        if here != section:
            section = here
            lines += ["", f"# [{section}]"]
        example = as_toml(key.default) if key.default is not None else key.example
        lines.append(f"# {name} = {example}  # {key.about}")
    return "\n".join(lines) + "\n"


def with_setting(content: str, name: str, given: str, path: Path) -> str:
    """The text of the file at `path` with one key set, and every other line as it was. Raises `ConfigError` for an
    unknown key, an invalid value or file, or a file in which the key cannot be set without changing something else.
    """
    if (key := keys.KEY_OF.get(name)) is None:
        raise ConfigError(f"{name} is not a known key{_nearest(name)}")
    value = _from_text(key, given)
    _check_value(key, value, "argument", Rank.ARGUMENT)
    wanted = {key: told.value for key, told in _parse(content, path).items()} | {name: value}
    section, _, own = name.rpartition(".")
    lines, here, first, place = content.splitlines(), "", None, None
    for number, line in enumerate(lines):
        if header := _HEADER.match(line):
            here, first = header[1].strip(), number if first is None else first
            place = number + 1 if here == section else place
        elif said := _SETTING.match(line):
            at = ".".join(filter(None, (here, said[1])))
            if name == keys.SPELLINGS.get(at, at):
                lines[number : number + 1] = []
                place, own = number, said[1]
                break
    if place is None and section:
        lines += [*([""] if lines else []), f"[{section}]"]
    place = place if place is not None else first if first is not None and not section else len(lines)
    gap = [""] if lines[place : place + 1] and _HEADER.match(lines[place]) else []
    changed = "\n".join([*lines[:place], f"{own} = {as_toml(value)}", *gap, *lines[place:]]) + "\n"
    try:
        is_safe = {key: told.value for key, told in _parse(changed, path).items()} == wanted
    except ConfigError:
        is_safe = False
    if not is_safe:
        raise ConfigError(f"{name} cannot be set in {path} without changing other keys; edit the file by hand")
    return changed


def as_toml(value: object) -> str:
    """A value in TOML."""
    if not isinstance(value, Mapping):
        return json.dumps(value)
    rows = cast("Mapping[str, object]", value).items()
    return f"{{ {', '.join(f'{name} = {as_toml(each)}' for name, each in rows)} }}"


def _flatten(content: Mapping[str, object], prefix: str, path: Path) -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        place = f"{prefix}{name}"
        if place in keys.KEY_OF or place in keys.SPELLINGS:
            yield place, value
        elif place not in _SECTIONS:
            raise ConfigError(f"{path}: {place} is not a known key{_nearest(place)}")
        elif isinstance(value, Mapping):
            yield from _flatten(cast("Mapping[str, object]", value), f"{place}.", path)
        else:
            raise ConfigError(f"{path}: {place} must be a table of keys and values, such as [{place}]")


def _nearest(place: str) -> str:
    """A hint with the most similar key."""
    # similarity: a typing error or two in a long key
    found = difflib.get_close_matches(place, [*keys.KEY_OF, *keys.SPELLINGS, *_SECTIONS], n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else "; `mnemic config show` lists all keys"


MASK = "***"
DB_PATH = f"{keys.STORAGE}db_path"
_SECRET_OPTIONS = ("key", "password", "secret", "token")
_SERVED = ("openai", "ollama", "nomic-embed-text", "mxbai-embed-large")
"""Embedders on a server. They get their dims from the configuration, which saves a request."""


class Rank(IntEnum):
    """The origin of a value. Higher wins."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    ARGUMENT = 3


@dataclass(frozen=True, slots=True)
class Value:
    """A key's value and its origin, in words."""

    key: str
    value: object = field(repr=False)
    origin: str
    rank: Rank
    is_secret: bool = False

    @property
    def shown(self) -> object:
        """The value without passwords, keys or tokens."""
        whole = self.value
        if isinstance(whole, str):
            return MASK if self.is_secret else _without_password(whole)
        if not isinstance(whole, Mapping):
            return whole
        options = cast("Mapping[str, object]", whole)
        return {name: MASK if _is_secret(name) else option for name, option in options.items()}


@dataclass(frozen=True, slots=True)
class Effective:
    """The resolved configuration, every key with its value and origin, and the file that was read."""

    config: Config
    values: tuple[Value, ...]
    file: Path | None


def load_config(
    store: str | Path | None = None, *, file: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Config:
    """The resolved configuration; see `resolve`."""
    return resolve(store, file=file, environment=environment).config


def resolve(
    store: str | Path | None = None, *, file: str | Path | None = None, environment: Mapping[str, str] | None = None
) -> Effective:
    """Look up each key in the arguments, the environment (`MNEMIC_…`), the file and the defaults, in this order. `file`
    None: `$MNEMIC_CONFIG`, else the user's own file. Raises `ConfigError` with the place for a missing file, an unknown
    key or an invalid value.
    """
    variables = os.environ if environment is None else environment
    path = find_file(file, variables)
    told = read_file(path) if path else {}
    values = {key.path: _value(key, variables, told, path) for key in keys.KEYS}
    if store is not None:
        values["store"] = Value("store", str(store), "argument", Rank.ARGUMENT)
    _check_only_one(values, told, path)
    _check_chunks(values)
    values["store"] = _store(values, variables, path)
    values[DB_PATH] = _db_path(values[DB_PATH], variables, path)
    for key in (keys.KEYRING, keys.SCALES):
        if (said := values[key]).value is not None:
            values[key] = replace(said, value=_place(str(said.value), said.rank, path))
    values[f"{keys.QDRANT}url"] = _qdrant(values[f"{keys.QDRANT}url"], path)
    return Effective(_config(values), tuple(values.values()), path)


def _value(key: keys.Key, variables: Mapping[str, str], told: Mapping[str, Told], path: Path | None) -> Value:
    for name in key.environment:
        if variables.get(name):
            given = _from_text(key, variables[name])
            return _check_value(key, given, f"environment {name}", Rank.ENVIRONMENT)
    if key.path in told:
        value, spelling = told[key.path]
        origin = f"file {path}" if spelling == key.path else f"file {path}, as {spelling}"
        return _check_value(key, value, origin, Rank.FILE)
    return Value(key.path, key.default, "default", Rank.DEFAULT, key.is_secret)


def _from_text(key: keys.Key, given: str) -> object:
    """Parse a value from the environment. Numbers and tables are JSON."""
    if isinstance(key.default, str) or key.reader in (text, one_id):
        return given
    try:
        return json.loads(given)
    except (ValueError, RecursionError):
        return given


def _check_value(key: keys.Key, given: object, origin: str, rank: Rank) -> Value:
    try:
        return Value(key.path, key.reader(given), origin, rank, key.is_secret)
    except ValueError as error:
        told = MASK if key.is_secret else repr(given)
        raise ConfigError(f"{key.path} must be {error}, not {told:.120} ({origin})") from error


def _check_only_one(values: Mapping[str, Value], told: Mapping[str, Told], path: Path | None) -> None:
    """Refuse two keys of one file that set the same thing."""
    for one, other in (("store", "memory.storage.url"), ("embedder.name", "memory.embedding.model")):
        if one in told and other in told:
            raise ConfigError(f"{path}: {one} and {other} are the same setting; keep only one of them")
    if "store" in told and "memory.storage.type" in told and values["memory.storage.url"].value is None:
        raise ConfigError(f"{path}: store and memory.storage.type are the same setting; keep only one of them")


def _check_chunks(values: Mapping[str, Value]) -> None:
    """Refuse passages that are no larger than their overlap."""
    size, overlap = values["memory.knowledge.chunk-size"], values["memory.knowledge.overlap"]
    told = cast("int | None", size.value), cast("int | None", overlap.value)
    try:
        chunk_config(Settings(chunk_size=told[0], chunk_overlap=told[1]))
    except InvalidInputError as error:
        raise ConfigError(
            f"memory.knowledge.chunk-size ({size.origin}) and memory.knowledge.overlap ({overlap.origin}): {error}"
        ) from error


def _store(values: Mapping[str, Value], variables: Mapping[str, str], path: Path | None) -> Value:
    """The store, from `store` or from the keys of memory.storage."""
    said, url, kind = values["store"], values["memory.storage.url"], values["memory.storage.type"]
    if said.rank >= max(url.rank, kind.rank) and said.rank > Rank.DEFAULT:
        return replace(said, value=_place(str(said.value), said.rank, path))
    if kind.value == "memory":
        return replace(kind, key="store", value=MEMORY_URL)
    if url.value is not None:
        _fits(kind, str(url.value))
        login = [cast("str | None", values[f"memory.storage.{part}"].value) for part in ("username", "password")]
        return replace(url, key="store", value=_place(with_login(str(url.value), *login), url.rank, path))
    if kind.value == "postgresql":
        raise ConfigError(
            "memory.storage.type is postgresql; set memory.storage.url, or PGVECTOR_URL in the environment"
        )
    return replace(said, value=own_store(variables))


def _db_path(said: Value, variables: Mapping[str, str], path: Path | None) -> Value:
    """A memory backend's file: the configured one, or the default backend's own."""
    if said.rank is Rank.DEFAULT:
        return replace(said, value=own_backend_file(variables))
    return replace(said, value=_place(str(said.value), said.rank, path))


def _qdrant(said: Value, path: Path | None) -> Value:
    """The location of Qdrant. A local folder resolves like a store's path."""
    return said if said.value is None else replace(said, value=_place(str(said.value), said.rank, path))


def _fits(kind: Value, url: str) -> None:
    is_postgres = url.removeprefix("jdbc:").startswith(("postgresql://", "postgres://"))
    if kind.value is not None and (kind.value == "postgresql") != is_postgres:
        raise ConfigError(f"memory.storage.type is {kind.value}, but memory.storage.url is {_without_password(url)}")


def _place(store: str, rank: Rank, path: Path | None) -> str:
    """Resolve a path in a file relative to the file's folder, and a leading ~ to the home folder."""
    if "://" in store or store == SQLITE_MEMORY or rank is Rank.ARGUMENT:
        return store
    place = Path(store).expanduser()
    return str(path.parent / place if path and rank is Rank.FILE else place)


def _config(values: Mapping[str, Value]) -> Config:
    def of(path: str) -> Any:
        return values[path].value

    name, model = values["embedder.name"], values["memory.embedding.model"]
    embedder = str(model.value if model.rank > name.rank else name.value)
    options = dict(cast("Mapping[str, object]", of("embedder.options") or {}))
    dims, prefix = of("memory.embedding.dimensions"), of("memory.embedding.query-prefix")
    if dims is not None and embedder.partition(":")[0] in _SERVED:
        options.setdefault("dims", dims)
    if prefix is not None:
        options["query_prefix"] = prefix
    given: dict[str, Any] = {}
    for key in keys.KEYS:
        if key.field:
            given[key.field] = dict(of(key.path) or {}) if key.reader is table else of(key.path)
    return Config(
        **given,
        embedder=embedder,
        embedder_options=options,
        embedder_writings=_parse_writings(of("embedder.writings")),
        tool_modules=_split_names(of("tools.modules")),
        index_budget_bytes=of("memory.index.budget-mb") * MEBIBYTE,
        settings=replace(_settings(values), secrets_passing=frozenset(_split_names(of(keys.SECRETS_PASSING)))),
        backend=_backend(values),
    )


def _backend(values: Mapping[str, Value]) -> BackendSettings:
    size, overlap = values[f"{keys.STORAGE}chunk_size"], values[f"{keys.STORAGE}chunk_overlap"]
    if cast("int", overlap.value) >= cast("int", size.value):
        raise ConfigError(
            f"{overlap.key}, {overlap.value} ({overlap.origin}), must be below {size.key}, {size.value} ({size.origin})"
        )

    def of(name: str, *, when_said: bool = False) -> Any:
        value = values[keys.STORAGE + name]
        return None if when_said and value.rank is Rank.DEFAULT else value.value

    return BackendSettings(
        name=of("default_backend"),
        db_path=of("db_path", when_said=True),
        top_k=of("context_top_k"),
        min_score=of("context_min_score", when_said=True),
        max_tokens=of("context_max_tokens"),
        chunk_size=of("chunk_size"),
        chunk_overlap=of("chunk_overlap"),
    )


def _split_names(names: str | None) -> tuple[str, ...]:
    """The names in a comma-separated text."""
    return tuple(name.strip() for name in (names or "").split(",") if name.strip())


def _parse_writings(table: Mapping[str, object] | None) -> dict[str, tuple[str, ...]]:
    """The scripts of each embedder. One may be given without a list."""
    given: dict[str, tuple[str, ...]] = {}
    for name, writings in (table or {}).items():
        several = cast("list[object]", writings) if isinstance(writings, list) else [writings]
        given[name] = tuple(str(each) for each in several)
    return given


def _settings(values: Mapping[str, Value]) -> Settings:
    given: dict[str, Any] = {}
    life: dict[str, Any] = {}
    assistant: dict[str, Any] = {}
    proxy: dict[str, Any] = {"injects_context": values[keys.CONTEXT_FROM_MEMORY].value}
    oauth: dict[str, Any] = {}
    groups = {"": given, "life": life, "assistant": assistant, "proxy": proxy, "oauth": oauth}
    for key in keys.KEYS:
        if key.setting:
            value: Any = values[key.path].value
            place, _, name = key.setting.rpartition(".")
            groups[place][name] = value if key.unit == 1 or value is None else value * key.unit
    days = cast("Mapping[str, float]", values[keys.HALF_LIVES].value)
    life["half_lives"] = {Kind(kind): number for kind, number in days.items()}
    limits = {level: cast("int", values[f"{keys.LEVEL_LIMIT}{level.value}"].value) for level in Level}
    return Settings(
        level_limits=limits,
        life=LifeSettings(**life),
        assistant=AssistantSettings(**assistant),
        proxy=ProxySettings(**proxy),
        oauth=OAuthSettings(**oauth),
        **given,
    )


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_OPTIONS)


def _without_password(value: str) -> str:
    if "://" not in value:
        return value
    try:
        password = urlsplit(value.removeprefix("jdbc:")).password
    except ValueError:
        return MASK
    return value.replace(f":{password}@", f":{MASK}@") if password else value
