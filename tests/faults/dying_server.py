"""A server on a store that is killed while it answers a request: `dying_server.py STORE PLACE`.

PLACE: `writing` in the transaction of the work, `answering` when that is committed and the answer is not written down,
`sending` when the answer is written down and not sent. It prints its address.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mnemic.adapters.stores.sql.items import SqlMemories
from mnemic.api.doors import Repeats
from mnemic.config import Config
from tests.doors.http_doors import Listening, Served


def die(*_: object, **__: object) -> None:
    """The process is gone, as by a power cut."""
    os.kill(os.getpid(), signal.SIGKILL)


def then_die(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method, and then the end."""

    def done(*given: Any, **named: Any) -> None:
        method(*given, **named)
        die()

    return done


def main(store: str, place: str) -> None:
    """Serve until the end."""
    if place == "writing":
        SqlMemories.add = then_die(SqlMemories.add)
    elif place == "answering":
        Repeats.keep = die
    else:
        Repeats.keep = then_die(Repeats.keep)
    listening = Listening(Served(Config(store=store, embedder="none")).app)
    sys.stdout.write(f"{listening.url}\n")
    sys.stdout.flush()
    signal.pause()


if __name__ == "__main__":
    main(*sys.argv[1:])
