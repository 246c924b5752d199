"""The verbs of judgement for asyncio; a part of `AsyncMnemic`, on whose threads they run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mnemic.api.review import REVIEW_LIMIT
from mnemic.model.item import Memory, Review
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api.verbs import Mnemic


class AsyncReviewVerbs:
    """As `ReviewVerbs`."""

    _mnemic: Mnemic
    _run: Callable[..., Awaitable[Any]]

    async def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> list[Review]:
        """As `Mnemic.review`."""
        return await self._run(self._mnemic.review, scope, limit=limit, after=after)

    async def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """As `Mnemic.trust`."""
        return await self._run(self._mnemic.trust, scope, id, reason=reason)

    async def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """As `Mnemic.reject`."""
        return await self._run(self._mnemic.reject, scope, id, reason=reason)
