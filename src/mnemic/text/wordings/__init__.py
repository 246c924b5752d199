"""Texts for prompts and around models' answers: one file per language, loaded on first use. A folder of a person's own
(`mnemic init --prompts`) can replace any of them.
"""

import hashlib
import re
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path

from mnemic.errors import ConfigError

LANGUAGES = ("en", "zh")
_own: dict[str, dict[str, str]] = {}
_FIELD = re.compile(r"(?<!\{)\{\w*\}(?!\})")


def wording(language: str, name: str) -> str:
    """The wording `part.name` of a language, with braces for values."""
    return _own.get(language, {}).get(name) or _load(language)[name]


def every_wording(name: str) -> list[str]:
    """A wording in every language."""
    return [wording(language, name) for language in LANGUAGES]


def edition() -> str:
    """What is added to a version in provenance: "" for the wordings as they are shipped."""
    told = repr(sorted((language, sorted(words.items())) for language, words in _own.items() if words))
    return f"+{hashlib.sha256(told.encode()).hexdigest()[:8]}" if any(_own.values()) else ""


def use_prompts(folder: Path) -> None:
    """Use the wordings in a folder, in the whole process. Raises `ConfigError` for one that is unknown, or lacks what
    is filled in.
    """
    found: dict[str, dict[str, str]] = {}
    for language in LANGUAGES:
        path = folder / f"{language}.toml"
        try:
            words = _flatten(path.read_text(encoding="utf-8")) if path.exists() else {}
        except (OSError, UnicodeError, AttributeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        shipped = _load(language)
        for name, text in words.items():
            if name not in shipped:
                raise ConfigError(f"{path}: {name} is unknown; `mnemic init --prompts` writes all prompts")
            if (wanted := set(_FIELD.findall(shipped[name]))) != set(_FIELD.findall(text)):
                raise ConfigError(f"{path}: {name} must have {', '.join(sorted(wanted)) or 'no braces'}")
        found[language] = {name: text for name, text in words.items() if text != shipped[name]}
    if not folder.is_dir():
        raise ConfigError(f"the prompts folder {folder} does not exist; `mnemic init --prompts` creates one")
    _own.clear()
    _own.update(found)


def shipped_file(language: str) -> str:
    """The file of a language as it is shipped."""
    return resources.files(__name__).joinpath(f"{language}.toml").read_text(encoding="utf-8")


@cache
def _load(language: str) -> dict[str, str]:
    return _flatten(shipped_file(language))


def _flatten(text: str) -> dict[str, str]:
    parts: dict[str, dict[str, str]] = tomllib.loads(text)
    return {f"{part}.{name}": str(words) for part, table in parts.items() for name, words in table.items()}
