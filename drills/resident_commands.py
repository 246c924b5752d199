"""Compares commands with the resident process and without it, in many forms.

Pipes, terminals, errors, Ctrl-C, a full device, a closed pipe, large and broken input, other variables, folders,
configurations and files. The exit code, every byte of output (without ids, times and ages) and the rights of the files
that come into being must be equal. No process may stay.

    python drills/resident_commands.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.commands import FORMS, compare_commands
from drills.kit.outcome import Outcome, options
from drills.resident import Drill


def main() -> int:
    """Exit code 1 if a command differs."""
    options(__doc__)
    with TemporaryDirectory() as folder:
        disk = Path(folder) / "disk"
        disk.mkdir(mode=0o700)
        drill = Drill(Path(folder), disk, 1)
        problems = compare_commands(drill.caller, Path(folder), drill.warm) + drill.finish()
    facts = {"forms of commands": len(FORMS)}
    return Outcome(name="resident_commands", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
