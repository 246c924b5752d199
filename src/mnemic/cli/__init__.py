"""The command line: one command per verb, for people and for scripts (`--json`).

Importing this package costs next to nothing; the commands, and what they need, are imported when they run.
"""

from __future__ import annotations

import gc
import os
import sys

from mnemic.cli import forward

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STAYING = ("serve", "mcp", "worker", "chat")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mnemic` with these arguments (None: those of the process) and give its exit code.

    Codes: 0 done, 1 unexpected or a check that failed, those of `mnemic.cli.failures.EXIT_CODES`, 130 interrupted,
    141 when the reader of the output went away.
    """
    is_whole_process = arguments is None
    is_forwarded = is_whole_process and forward.is_forwarded(sys.argv[1:])
    if is_whole_process and sys.argv[1:2] not in ([name] for name in _STAYING):
        gc.set_threshold(forward.COLLECTED_OBJECTS)
    try:
        if is_forwarded and (code := forward.run_there(sys.argv[1:])) is not None:
            try:
                sys.stdout.flush()  # a page may be left in it
            finally:  # also if its reader has gone
                os._exit(code)  # the interpreter's clean-up takes 2 ms
        from mnemic.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
    finally:
        if is_forwarded:
            forward.start()
        if is_whole_process:
            gc.freeze()  # what is left goes with the process; looking through it for cycles would be another tenth
