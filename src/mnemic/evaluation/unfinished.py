"""What an evaluation has done so far, kept line by line beside the file that it is to write, until that is complete.

Answers for going on and for belonging: another test set, or other options, begin anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from mnemic.errors import InvalidInputError

Line = Mapping[str, Any]


class Unfinished:
    """JSON objects in `.NAME.unfinished` beside `path`, under a `key`; a last line that was cut off is left out.

    Raises `InvalidInputError` when the file cannot be read or written.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._place = path.with_name(f".{path.name}.unfinished")

    def known(self) -> list[dict[str, Any]]:
        """What was kept of a run with the same key that was broken off."""
        try:
            lines = self._place.read_text(encoding="utf-8").split("\n")[:-1]
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{self._place} cannot be read: {error}; remove it to begin anew") from error
        try:
            head, *rows = (json.loads(line) for line in lines)
            return rows if head.get("key") == self._key else []
        except (ValueError, AttributeError) as error:
            raise self.foreign() from error

    def foreign(self) -> InvalidInputError:
        """The error of a file that holds something else."""
        return InvalidInputError(f"{self._place} is no unfinished evaluation; remove it to begin anew")

    def begin(self, known: Iterable[Line]) -> None:
        """Start the file with what is known, without the line that was cut off."""
        begun = self._place.with_name(f"{self._place.name}.new")
        lines: list[Line] = [{"key": self._key}, *known]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            begun.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            begun.replace(self._place)
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be written: {error}") from error

    def add(self, lines: Iterable[Line]) -> None:
        """Keep each line as it comes."""
        try:
            with self._place.open("a", encoding="utf-8") as out:
                for line in lines:
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be written: {error}") from error

    def end(self) -> None:
        """The file itself is complete: what was kept beside it goes."""
        with suppress(OSError):  # a file too many beside a complete one
            self._place.unlink(missing_ok=True)
