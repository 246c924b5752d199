"""The command line: one command per verb, for people and for scripts (`--json`).

Importing this package costs next to nothing; the commands, and what they need, are imported when they run.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `mnemic` with these arguments (None: those of the process) and give its exit code.

    Codes: 0 done, 1 unexpected or a check that failed, those of `mnemic.cli.failures.EXIT_CODES`, 130 interrupted,
    141 when the reader of the output went away.
    """
    try:
        from mnemic.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
