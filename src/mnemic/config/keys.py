"""The configuration keys: meaning, default and environment variables."""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, cast

from mnemic.config import values
from mnemic.model.settings import Settings

SLIP = 0.85
"""Minimum similarity (0 to 1) of an unknown variable to a known one to be reported as a typing error."""

OTHER_VARIABLES = frozenset(
    f"MNEMIC_{name}" for name in ("CONFIG", "USER", "AGENT", "SESSION", "ORG", "DEBUG", "HOST", "PORT", "KEY", "DATA")
)
"""Variables that are not keys but have a meaning."""


@dataclass(frozen=True, slots=True)
class Key:
    """One setting, a row of `keys.json` in the order of the file that `mnemic init` writes.

    `path` is its place in the file, `about` its meaning. `setting` is the field of `Settings` that it fills (`life.`
    for a field of `LifeSettings`), in units of `unit`, with that field's default. `field` is a field of `Config` that
    it fills unchanged. `variables`: more environment names. `example` is written in place of a missing default.
    """

    path: str
    reader: values.Reader
    about: str
    default: object = None
    variables: tuple[str, ...] = ()
    is_secret: bool = False
    setting: str = ""
    unit: float = 1
    field: str = ""
    example: str = '"…"'

    @property
    def environment(self) -> tuple[str, ...]:
        """Its environment variables, the first has priority: MNEMIC_RECALL_LIMIT for recall.limit."""
        return (f"MNEMIC_{self.path.upper().replace('.', '_').replace('-', '_')}", *self.variables)


HALF_LIVES = "memory.decay.half-lives"
LEVEL_LIMIT = "context.level-limits."
KEYRING = "backup.keyring"
SCALES = "embedder.scales"
SECRETS_PASSING = "secrets.passing"
QDRANT = "memory.index.qdrant."
CONTEXT_FROM_MEMORY = "agent.context_from_memory"
STORAGE = "tools.storage."
COMPUTED: Mapping[str, object] = {
    HALF_LIVES: values.HALF_LIVES_BY_KIND,
    "memory.index.budget-mb": values.default_budget_mib(),
    **{f"{LEVEL_LIMIT}{level.value}": limit for level, limit in Settings().level_limits.items()},
    f"{STORAGE}default_backend": values.BackendSettings().name,
    f"{STORAGE}context_top_k": values.BackendSettings().top_k,
    f"{STORAGE}context_min_score": values.MIN_COSINE,
    f"{STORAGE}context_max_tokens": values.BackendSettings().max_tokens,
    f"{STORAGE}chunk_size": values.BackendSettings().chunk_size,
    f"{STORAGE}chunk_overlap": values.BackendSettings().chunk_overlap,
}
"""Defaults that are computed in code."""


def _read_keys() -> Iterator[Key]:
    rows = json.loads(Path(__file__).with_name("keys.json").read_text(encoding="utf-8"))
    for path, row in rows.items():
        default = row.pop("default", COMPUTED.get(path))
        if "setting" in row:
            default = reduce(getattr, row["setting"].split("."), cast("Any", Settings()))
        if "unit" in row and default is not None:
            default /= row["unit"]
        yield Key(
            path, values.READERS[row.pop("read")], default=default, variables=tuple(row.pop("variables", ())), **row
        )


KEYS: tuple[Key, ...] = tuple(_read_keys())
"""Every key, in the order of the file that `mnemic init` writes."""

STORAGE_KEYS = tuple(key for key in KEYS if key.path.startswith(STORAGE))
"""Keys of the public memory primitive, with the names from its configuration files."""

KEY_OF: Mapping[str, Key] = {key.path: key for key in KEYS}
OLD_SWITCHES = ("context_injection", *(f"{table}.context_injection" for table in ("agent", "memory", "tools.storage")))
"""Earlier names of `agent.context_from_memory`."""

SPELLINGS: Mapping[str, str] = {
    **{key.path.replace(STORAGE, "memory."): key.path for key in STORAGE_KEYS},
    **{key.path.removeprefix("memory."): key.path for key in KEYS if key.path.startswith("memory.index.")},
    **dict.fromkeys(OLD_SWITCHES, CONTEXT_FROM_MEMORY),
}
"""Alternative paths in a file, each with the key's own path."""


def slips(environment: Mapping[str, str]) -> dict[str, str]:
    """Unknown `MNEMIC_…` variables that resemble a known one, with that one. Others may belong to other programs."""
    known = [name for key in KEYS for name in key.environment]
    unknown = [name for name in environment if name.startswith("MNEMIC_") and name not in {*known, *OTHER_VARIABLES}]
    near = {name: difflib.get_close_matches(name, known, n=1, cutoff=SLIP) for name in sorted(unknown)}
    return {name: found[0] for name, found in near.items() if found}
