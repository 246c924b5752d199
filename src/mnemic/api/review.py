"""The verbs of judgement: what waits for a person, and what becomes of it."""

from __future__ import annotations

from mnemic.api.acting import Acting
from mnemic.engine.browse import reject, review, trust
from mnemic.engine.engine import Parts
from mnemic.engine.inputs import check_id
from mnemic.model.item import Memory, Review
from mnemic.model.scope import Scope

REVIEW_LIMIT = 50


class ReviewVerbs(Acting):
    """A part of `Mnemic`."""

    _parts: Parts

    def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> list[Review]:
        """The memories that are never or only doubtfully recalled until somebody judges them, each with the reason.

        Those in quarantine (they give orders to the model and the user did not say them, or their sources do not carry
        them), those in dispute, and those with flags (what they were made of was erased, corrected, or is believed no
        more); the newest first, at most `limit` (1 to 1000), from behind the id `after`.
        """
        return review(self._parts, scope, limit=limit, after=None if after is None else check_id(after, "after"))

    def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Let a memory that waits for judgement be recalled, without flags; what recall takes out of texts it still
        takes out.

        Raises ConflictError for one that does not wait.
        """
        return trust(self._parts, scope, check_id(id), actor=self._actor, reason=reason)

    def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Archive a memory that waits for judgement; it is deleted in time, and until then `undo` takes it back.

        Raises ConflictError for one that does not wait.
        """
        return reject(self._parts, scope, check_id(id), actor=self._actor, reason=reason)
