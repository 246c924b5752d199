"""Detectors of secrets by name: `rules`, or one from a package with an entry point of the group `mnemic.detectors`: a
callable without arguments that returns a `Detector`. Mnemic's own names win.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from typing import cast

from mnemic.adapters.detectors.rules import RuleDetector
from mnemic.errors import ConfigError
from mnemic.ports.models import Detector

GROUP = "mnemic.detectors"
_OWN: dict[str, Callable[[], Detector]] = {"rules": RuleDetector}


def open_detector(name: str) -> Detector:
    """The detector of a name. Raises `ConfigError` for a name nobody knows, and for one that cannot be loaded."""
    if own := _OWN.get(name):
        return own()
    for point in importlib.metadata.entry_points(group=GROUP, name=name):
        try:
            return cast("Callable[[], Detector]", point.load())()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"detector {name!r} of {point.value} cannot be loaded: {error}") from error
    raise ConfigError(f"detector {name!r} is not known; there are {', '.join(detector_names())}")


def detector_names() -> list[str]:
    """Every name that `open_detector` knows, in order; those of other packages too."""
    return sorted({*_OWN, *(point.name for point in importlib.metadata.entry_points(group=GROUP))})
