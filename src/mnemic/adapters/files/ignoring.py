"""What `.gitignore` files say, at every depth, as git reads them; the innermost that says anything decides."""

from __future__ import annotations

import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

NAME = ".gitignore"
MAX_BYTES = 1 << 20
MAX_STARS = 3
"""In one pattern, and as many double ones. The time to match grows by a power with every star, so that a folder of
somebody else could stop us: five take seconds for one name. Hardly a real pattern has more than two.
"""

_log = logging.getLogger("mnemic.ingest")
_DOUBLE = re.compile(r"\*{2,}")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The rules that hold in a folder: those of the folders above it, outermost first, each with its folder."""

    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def within(self, folder: str, names: set[str]) -> Ignored:
        """The rules that hold below a folder, its own included when it has any."""
        rules = read_rules(folder) if NAME in names else None
        return self if rules is None else Ignored((*self.rules, (folder, rules)))

    def holds(self, path: str, *, is_folder: bool) -> bool:
        """True when a path is to be left out. The folders above it must have been asked for before."""
        for folder, rules in reversed(self.rules):
            inner = path[len(folder) :].lstrip(os.sep).replace(os.sep, "/")
            verdict = rules.check_file(f"{inner}/" if is_folder else inner, separators=()).include
            if verdict is not None:
                return verdict
        return False


def rules_above(folder: str) -> Ignored:
    """The rules of the folders above, up to that of the repository; none outside of a repository, and none where they
    leave out the folder itself: it was named.
    """
    above: list[str] = []
    place = folder
    while not _is_there(os.path.join(place, ".git")):
        parent = os.path.dirname(place)
        if parent == place:
            return Ignored()
        above.append(parent)
        place = parent
    found = ((each, read_rules(each)) for each in reversed(above))
    ignored = Ignored(tuple((each, rules) for each, rules in found if rules is not None))
    return Ignored() if ignored.holds(folder, is_folder=True) else ignored


def read_rules(folder: str) -> GitIgnoreSpec | None:
    """The rules of one folder; None where it has none that can be read."""
    path = Path(folder, NAME)
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError:
        return None
    lines = [line.removesuffix("\r").removeprefix("\ufeff") for line in lines]
    return GitIgnoreSpec.from_lines([line for line in lines if _is_obeyed(line)])


def _is_obeyed(pattern: str) -> bool:
    """True for a pattern that is valid and is matched in a short time; git leaves out those that are not valid too."""
    singles, doubles = _DOUBLE.sub("", pattern).count("*"), len(_DOUBLE.findall(pattern))
    if max(singles, doubles) > MAX_STARS:
        _log.warning("a pattern of a .gitignore has more than %d stars and is not obeyed", MAX_STARS)
        return False
    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return False
    return True


def _is_there(path: str) -> bool:
    return os.path.lexists(path)
