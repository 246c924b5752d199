"""Imports the packages of optional extras, and explains an absence by the line that ends it."""

from __future__ import annotations

import importlib
from types import ModuleType

from mnemic.errors import ConfigError


def import_extra(module: str, extra: str) -> ModuleType:
    """The module. Raises `ConfigError` with the line to run when the package of the extra is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ConfigError(f"this needs a package that is not here: run `pip install 'mnemic[{extra}]'`") from error
