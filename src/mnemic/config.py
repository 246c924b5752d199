"""What can be set, and where the values come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mnemic.errors import ConfigError
from mnemic.model.settings import Settings

MEMORY_URL = "memory://"


def default_path() -> Path:
    """`$MNEMIC_STORE`, else `mnemic/memory.db` in the user's data folder (`$XDG_DATA_HOME`, else `~/.local/share`)."""
    named = os.environ.get("MNEMIC_STORE")
    if named:
        return Path(named)
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "mnemic" / "memory.db"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """How to open a Mnemic. `store` is a path, `sqlite:///path` or `memory://`; `embedder` is a name, or "none".

    `embedder_options` are the keyword arguments of the embedder's class: `base_url`, `api_key`, `dims`, `folder`, …
    """

    store: str = field(default_factory=lambda: str(default_path()))
    embedder: str = "minilm"
    embedder_options: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
    index_budget_bytes: int = 1 << 30
    lock_wait_s: float = 10.0
    settings: Settings = field(default_factory=Settings)

    @property
    def sqlite_path(self) -> Path | None:
        """The file of an embedded store, None for `memory://`. Raises `ConfigError` for a URL nobody knows."""
        if self.store == MEMORY_URL:
            return None
        if "://" not in self.store:
            return Path(self.store)
        parts = urlsplit(self.store)
        if parts.scheme != "sqlite" or parts.netloc or not parts.path.strip("/"):
            raise ConfigError(
                f"store {self.store!r} is not known; use a path, sqlite:///relative.db, sqlite:////absolute.db or memory://"
            )
        return Path(unquote(parts.path[1:]))
