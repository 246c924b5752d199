"""Vectors of entities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.entity_vectors import SqlEntityVectors
from mnemic.adapters.stores.sqlite.rows import to_blob, to_vector
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.adapters.stores.sqlite.vectors import SqliteVectors
from mnemic.model.scope import Visibility
from mnemic.ports.tables import AT_ONCE


class SqliteEntityVectors(SqlEntityVectors):
    """The `EntityVectors` port; a question is compared with every vector that it may see."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("entity_vectors"), SqliteVectors(session), to_blob)

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        pids = self._session.pids(visible.partitions)
        key = {"pids": pids, "agent": visible.agent or "", "space": space}
        between()
        rows: Iterator[tuple[str, bytes]] = iter(self._session.run(self._sql["visible"], key))
        best: dict[str, float] = {}
        while limit > 0 and (some := [*islice(rows, AT_ONCE)]):
            cosines: NDArray[np.float32] = to_vector(b"".join(row[1] for row in some)).reshape(len(some), -1) @ vector
            fresh: dict[str, float] = {}
            places: list[int] = np.argsort(-cosines, kind="stable").tolist()
            for place in places:
                fresh.setdefault(some[place][0], cosines.item(place))
                if len(fresh) == limit:
                    break
            best |= {own: max(cosine, best.get(own, cosine)) for own, cosine in fresh.items()}
            best = dict(sorted(best.items(), key=lambda found: (-found[1], found[0]))[:limit])
            between()
        return [*best.items()]
