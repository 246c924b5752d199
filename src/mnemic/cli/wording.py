"""Messages of the library in the words of the command line: `--level org`, where Python says `level='org'`."""

from __future__ import annotations

import re
from collections.abc import Mapping

PHRASES: Mapping[str, str] = {
    "level='org'": "--level org",
    "as user=… and session=…": "by --user and --session",
    "say which, as session=…": "say which, by --session",
    "is_private=True": "--private",
    "is_pruning=True": "--prune",
    "secrets='redact'": "--secrets redact",
    "name='report.pdf'": "--name report.pdf",
    "or None for no limit": "or --all for no limit",
    "exists already; say that it is to be replaced, or": "exists already; --force replaces it, or",
    "already; say that it is to be replaced, or": "already; --replace puts the backup in its place, or",
}
_TIME = re.compile(r"\b(as_of|known_at|observed_at|valid_from|valid_to|expires_at|after|before)=(?=')")


def in_options(message: str) -> str:
    """The message as somebody at a terminal can follow it."""
    for ours, theirs in PHRASES.items():
        message = message.replace(ours, theirs)
    return _TIME.sub(lambda found: f"--{found[1].replace('_', '-')} ", message)
