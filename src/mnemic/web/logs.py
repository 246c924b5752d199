"""Logs as JSON lines on the standard error: one object a line, with the time, the level and what is known."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime

_OWN = frozenset(vars(logging.makeLogRecord({})))


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON. Of an exception it tells the type alone: its text may hold memories.
    `always` is told in every line.
    """

    def __init__(self, always: Mapping[str, object] | None = None) -> None:
        super().__init__()
        self._always = dict(always or {})

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._always,
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, ensure_ascii=True, default=str)


def log_to_stderr(level: str, **always: object) -> None:
    """Let the loggers of Mnemic and of the server write JSON lines from `level` on; `always` stands in each."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(always))
    for name in ("mnemic", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False
