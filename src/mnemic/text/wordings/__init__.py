"""Texts for prompts and around models' answers: one file per language, loaded on first use."""

import tomllib
from functools import cache
from importlib import resources

LANGUAGES = ("en", "zh")


def wording(language: str, name: str) -> str:
    """The wording `part.name` of a language, with braces for values."""
    return _load(language)[name]


def every_wording(name: str) -> list[str]:
    """A wording in every language."""
    return [wording(language, name) for language in LANGUAGES]


@cache
def _load(language: str) -> dict[str, str]:
    text = resources.files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8")
    parts: dict[str, dict[str, str]] = tomllib.loads(text)
    return {f"{part}.{name}": words for part, table in parts.items() for name, words in table.items()}
