"""Imports onnxruntime and the packages of optional extras, and explains an absence by the line that ends it.

From some version on onnxruntime writes an id of the machine into the user's cache folder and sends what it was used for
to its maker, in native code, unless the environment tells it not to before it is loaded. Some extras load it too.
"""

import importlib
import os
from types import ModuleType
from typing import Any

from mnemic.errors import ConfigError

SENDS_NOTHING = "ORT_DISABLE_TELEMETRY"


def import_runtime() -> Any:
    """onnxruntime, told to send nothing, unless the environment already says otherwise."""
    os.environ.setdefault(SENDS_NOTHING, "1")
    return importlib.import_module("onnxruntime")


def import_extra(module: str, extra: str) -> ModuleType:
    """The module. Raises `ConfigError` with the line to run when the package of the extra is not installed."""
    os.environ.setdefault(SENDS_NOTHING, "1")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise ConfigError(f"this needs a missing package; run `pip install 'mnemic[{extra}]'`") from error
