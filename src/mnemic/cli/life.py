"""What becomes of memories and conversations in time, done by hand instead of by the worker."""

from __future__ import annotations

import typer


def register(app: typer.Typer) -> None:
    """Adds the commands."""
