"""What the secrets of well-known issuers look like: data in `tokens.toml`, read when a text is first searched."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from mnemic.text.late_pattern import late_pattern

_WORD = "[A-Za-z0-9_-]"


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a secret. Where the expression has a group `secret`, only that is the secret."""

    kind: str
    needs: tuple[str, ...]
    expression: re.Pattern[str]


@cache
def load_forms() -> tuple[Form, ...]:
    """Every form, in the order in which they are looked for."""
    text = resources.files(__package__ or "").joinpath("tokens.toml").read_text(encoding="utf-8")
    return tuple(
        Form(form["kind"], tuple(form["needs"].split()), _compile_alone(form["expression"].replace("{WORD}", _WORD)))
        for form in tomllib.loads(text)["forms"]
    )


def _compile_alone(expression: str) -> re.Pattern[str]:
    return late_pattern(rf"(?<![A-Za-z0-9_]){expression}(?![A-Za-z0-9])")


KEY_BESIDE = late_pattern(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])")
"""The secret half of an AWS key pair: it has no beginning of its own, and is looked for near the other half only."""
