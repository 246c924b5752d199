"""What a person can do about a finding: the verb, and the same as a command with the options of the scope."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from mnemic.model.memory_health import Remedy
from mnemic.model.scope import Scope


class Remedies:
    """Remedies for one scope."""

    def __init__(self, scope: Scope) -> None:
        named = (("--user", scope.user), ("--agent", scope.agent), ("--session", scope.session))
        parts = [("--org", scope.org)] if scope.org != Scope().org else []
        parts += [(option, value) for option, value in named if value is not None]
        self._options = " ".join(f"{option} {shlex.quote(value)}" for option, value in parts)

    def merge(self, ids: Sequence[str], *, is_safe: bool) -> Remedy:
        """The first takes in the others."""
        return Remedy("merge", {"ids": list(ids)}, self._command("memory merge", *ids), is_safe)

    def delete(self, id_: str, *, is_safe: bool = False) -> Remedy:
        """Gone for good; where it is safe, `health` does less."""
        return Remedy("delete", {"id": id_}, self._command("memory delete", id_), is_safe)

    def outdated(self, id_: str, *, is_safe: bool = False) -> Remedy:
        """It does not hold any more."""
        arguments = {"id": id_, "verdict": "outdated"}
        return Remedy("feedback", arguments, self._command("memory feedback", id_, "outdated"), is_safe)

    def judge(self, id_: str) -> Remedy:
        """Trusted or rejected, as somebody decides."""
        either = f"{self._command('memory trust', id_)}; or memory reject"
        return Remedy("trust", {"id": id_}, either)

    def undo(self, id_: str) -> Remedy:
        """The last change is taken back."""
        return Remedy("undo", {"id": id_}, self._command("memory undo", id_))

    def evict(self) -> Remedy:
        """What upkeep does every night where a worker runs."""
        return Remedy("evict", {}, self._command("evict"), is_safe=True)

    def retry(self, id_: str) -> Remedy:
        """The job is tried again."""
        return Remedy("jobs.retry", {"ids": [id_]}, self._command("jobs retry", id_), is_safe=True)

    def _command(self, command: str, *operands: str) -> str:
        return " ".join(part for part in ("mnemic", command, *map(shlex.quote, operands), self._options) if part)
