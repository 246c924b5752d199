"""What every integration is given: an open memory, here or on a server; and what is said when a package is absent."""

from __future__ import annotations

from mnemic.api import Mnemic
from mnemic.errors import ConfigError
from mnemic.remote import RemoteMnemic

AnyMnemic = Mnemic | RemoteMnemic
"""An open memory: what `Mnemic.open` or `mnemic.connect` gives. It stays its owner's to close."""


def explained(error: ModuleNotFoundError, extra: str, *packages: str) -> Exception:
    """What to raise where a framework cannot be imported: a `ConfigError` with the line to run where one of its own
    `packages` is not installed, else the error itself.
    """
    missing = (error.name or "").partition(".")[0]
    if missing not in packages:
        return error
    return ConfigError(f"this integration needs the package {missing}: run `pip install 'mnemic[{extra}]'`")
