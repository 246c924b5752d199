"""The configuration file: where it is, what it may say, and what a first one looks like."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, cast

from mnemic.config.keys import KEY_OF, KEYS, SPELLINGS
from mnemic.errors import ConfigError

CONFIG_VARIABLE = "MNEMIC_CONFIG"
_SECTIONS = frozenset(path[:end] for path in (*KEY_OF, *SPELLINGS) for end, c in enumerate(path) if c == ".")


def own_file(environment: Mapping[str, str]) -> Path:
    """`mnemic/config.toml` in the user's configuration folder (`$XDG_CONFIG_HOME`, else `~/.config`)."""
    folder = environment.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "mnemic" / "config.toml"


def find_file(named: str | Path | None, environment: Mapping[str, str]) -> Path | None:
    """The file that counts: the one named, else `$MNEMIC_CONFIG`, else the user's own where there is one.

    Raises `ConfigError` when a file that was named is not there.
    """
    told = named or environment.get(CONFIG_VARIABLE)
    path = Path(told).expanduser() if told else own_file(environment)
    if path.is_file():
        return path
    if not told:
        return None
    by = "" if named else f" (named by {CONFIG_VARIABLE})"
    raise ConfigError(f"there is no configuration file {path}{by}; `mnemic init` writes a first one")


class Told(NamedTuple):
    """What a file says about a key, and by which name it calls the key."""

    value: object
    spelling: str


def read_file(path: Path) -> dict[str, Told]:
    """The values of a file by key, not yet checked; keys in other places (`SPELLINGS`) are moved to their own.

    Raises `ConfigError`, with the line where that is known, for what is no TOML, for bytes that are not UTF-8, for a
    key nobody knows, with the nearest one, and for a key that is said in two places.
    """
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: {error}") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path} is no TOML: {error}") from error
    told: dict[str, Told] = {}
    for place, value in _flat(_without_app(content, path), "", path):
        key = SPELLINGS.get(place, place)
        if key in told:
            raise ConfigError(f"{path}: {told[key].spelling} and {place} say the same thing; keep one of them")
        told[key] = Told(value, place)
    return told


def _without_app(content: Mapping[str, object], path: Path) -> Mapping[str, object]:
    """What stands in the table `app` counts as if it stood without it; keys may be written as `app.memory.…` too."""
    app = content.get("app")
    if not isinstance(app, Mapping):
        return content
    inner = cast("Mapping[str, object]", app)
    return _merged({key: value for key, value in content.items() if key != "app"}, inner, "", path)


def _merged(one: Mapping[str, object], other: Mapping[str, object], place: str, path: Path) -> dict[str, object]:
    """Both, table by table. Raises `ConfigError` for a key that both hold."""
    merged = dict(one)
    for key, value in other.items():
        mine = merged.get(key)
        if key not in merged:
            merged[key] = value
        elif isinstance(mine, Mapping) and isinstance(value, Mapping):
            inner = cast("Mapping[str, object]", mine), cast("Mapping[str, object]", value)
            merged[key] = _merged(*inner, f"{place}{key}.", path)
        else:
            raise ConfigError(f"{path}: {place}{key} and app.{place}{key} say the same thing; keep one of them")
    return merged


def first_file() -> str:
    """The text of a first configuration file: every key with its meaning and its default, as comments."""
    lines = [
        "# Mnemic's configuration. What is commented out shows the default. `mnemic config show` tells what counts."
    ]
    section = ""
    for key in KEYS:
        here, _, name = key.path.rpartition(".")
        if here != section:
            section = here
            lines += ["", f"# [{section}]"]
        example = as_toml(key.default) if key.default is not None else _EXAMPLES.get(key.path, '"…"')
        lines.append(f"# {name} = {example}  # {key.about}")
    return "\n".join(lines) + "\n"


def as_toml(value: object) -> str:
    """A value as it stands in a file."""
    if not isinstance(value, Mapping):
        return json.dumps(value)
    rows = cast("Mapping[str, object]", value).items()
    return f"{{ {', '.join(f'{name} = {as_toml(each)}' for name, each in rows)} }}"


_EXAMPLES = {
    "store": '"~/memory.db"',
    "user": '"ana"',
    "backup.keyring": '"~/mnemic-keys/keyring.json"',
    "tools.storage.db_path": '"~/backend.db"',
    "embedder.options": "{ threads = 2 }",
    "embedder.writings": '{ minilm = ["latin"] }',
    "embedder.previous": '"minilm"',
    "embedder.previous-options": "{ max_tokens = 128 }",
    "reranker.options": "{ threads = 2 }",
    "llm.options": '{ base_url = "http://localhost:11434/v1" }',
    "memory.embedding.dimensions": "384",
    "proxy.upstream": '"http://localhost:11434/v1"',
    "tools.modules": '["my_company.tools"]',
    "tools.weather.base-url": '"https://wttr.in"',
    "memory.embedding.model": '"bge-small-en-v1.5-q"',
    "memory.knowledge.chunk-size": "512",
    "memory.knowledge.overlap": "50",
    "memory.window.url": '"redis://localhost:6379/0"',
    "memory.window.options": "{ timeout_s = 0.5, staging_ttl_hours = 48 }",
    "memory.storage.type": '"postgresql"',
    "memory.storage.url": '"postgresql://localhost:5432/mnemic"',
}


def _flat(content: Mapping[str, object], prefix: str, path: Path) -> Iterator[tuple[str, object]]:
    for name, value in content.items():
        place = f"{prefix}{name}"
        if place in KEY_OF or place in SPELLINGS:
            yield place, value
        elif place not in _SECTIONS:
            raise ConfigError(f"{path}: {place} is no key{_nearest(place)}")
        elif isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{place}.", path)
        else:
            raise ConfigError(f"{path}: {place} must be a table of keys and values, as [{place}]")


def _nearest(place: str) -> str:
    """A hint at the key that was probably meant."""
    found = difflib.get_close_matches(place, [*KEY_OF, *SPELLINGS, *_SECTIONS], n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else "; `mnemic config show` lists all keys"
