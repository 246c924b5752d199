"""Imports onnxruntime and the packages of optional extras. Errors name the install command. Newer versions of
onnxruntime write a machine id into the user's cache folder and send usage data to its maker. Only an environment
variable set before loading prevents that. Some extras load onnxruntime too.
"""

import importlib
import os
from types import ModuleType
from typing import Any

from mnemic.errors import ConfigError

SENDS_NOTHING = "ORT_DISABLE_TELEMETRY"


def import_runtime() -> Any:
    """Import onnxruntime with telemetry off, unless the environment sets it."""
    os.environ.setdefault(SENDS_NOTHING, "1")
    return importlib.import_module("onnxruntime")


def import_extra(module: str, extra: str) -> ModuleType:
    """Import a package. Raises `ConfigError` with the install command if the extra is missing."""
    os.environ.setdefault(SENDS_NOTHING, "1")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ConfigError(f"the package {error.name} is missing; run `pip install 'mnemic[{extra}]'`") from error
