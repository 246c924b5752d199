"""The verbs of upkeep for asyncio; a part of `AsyncMnemic`, on whose threads they run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from mnemic.api.arguments import MessageFields
from mnemic.api.backup import BackupFields, RestoreFields
from mnemic.api.health import HealthFields
from mnemic.api.reembed import ReembedFields
from mnemic.engine.health import HealthReport
from mnemic.engine.jobs import WorkReport
from mnemic.engine.reembed import ReembedReport
from mnemic.model.backup import BackupReport, RestoreReport
from mnemic.model.item import Message
from mnemic.model.recall import MessagePage
from mnemic.model.scope import Scope

if TYPE_CHECKING:
    from mnemic.api.verbs import Mnemic


class AsyncUpkeepVerbs:
    """As the verbs of `Mnemic` that look after a store and what is remembered."""

    _mnemic: Mnemic
    _run: Callable[..., Awaitable[Any]]

    async def health(self, scope: Scope, **fields: Unpack[HealthFields]) -> HealthReport:
        """As `Mnemic.health`; `progress` is called from another thread."""
        return await self._run(self._mnemic.health, scope, **fields)

    async def window(self, scope: Scope, *, limit: int | None = None, include_closed: bool = False) -> list[Message]:
        """As `Mnemic.window`."""
        return await self._run(self._mnemic.window, scope, limit=limit, include_closed=include_closed)

    async def messages(self, scope: Scope, **fields: Unpack[MessageFields]) -> MessagePage:
        """As `Mnemic.messages`."""
        return await self._run(self._mnemic.messages, scope, **fields)

    async def reembed(self, **fields: Unpack[ReembedFields]) -> ReembedReport:
        """As `Mnemic.reembed`; `progress` is called from another thread."""
        return await self._run(self._mnemic.reembed, **fields)

    async def backup(self, path: str | Path, **fields: Unpack[BackupFields]) -> BackupReport:
        """As `Mnemic.backup`; `progress` is called from another thread."""
        return await self._run(self._mnemic.backup, path, **fields)

    async def restore(self, path: str | Path, **fields: Unpack[RestoreFields]) -> RestoreReport:
        """As `Mnemic.restore`; `progress` is called from another thread."""
        return await self._run(self._mnemic.restore, path, **fields)

    async def work(self, *, until_idle: bool = True) -> WorkReport:
        """As `Mnemic.work`."""
        return await self._run(self._mnemic.work, until_idle=until_idle)
