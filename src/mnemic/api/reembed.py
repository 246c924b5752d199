"""The verb that follows a change of the embedder."""

from __future__ import annotations

from typing import TypedDict, Unpack

from mnemic.engine.engine import Parts
from mnemic.engine.reembed import Progress, ReembedReport, reembed


class ReembedFields(TypedDict, total=False):
    """What may be said of re-embedding. `progress` is called with how many vectors there are and should be."""

    is_dry_run: bool
    is_pruning: bool
    progress: Progress | None


class ReembedVerbs:
    """A part of `Mnemic`."""

    _parts: Parts

    def reembed(self, **fields: Unpack[ReembedFields]) -> ReembedReport:
        """Give every item of the whole store its vectors of the configured embedders, beside live traffic.

        Until they have them, items are found by the vectors of the embedder before (`embedder.previous`; minilm as it
        comes need not be named). Those stay, to go back to, until `is_pruning` removes them when all is filled. It may
        be interrupted at any time and goes on when called again. A dry run says how much there is to do, and about how
        long it takes, and embeds a few texts to know. Raises ConfigError without an embedder, BackendError when one or
        the store fails.
        """
        return reembed(self._parts, **fields)
