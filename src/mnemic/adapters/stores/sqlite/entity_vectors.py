"""Vectors of entities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.entity_vectors import SqlEntityVectors
from mnemic.adapters.stores.sqlite.rows import to_blob, to_vector
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.adapters.stores.sqlite.vectors import SqliteVectors
from mnemic.model.scope import Visibility


class SqliteEntityVectors(SqlEntityVectors):
    """The `EntityVectors` port; a question is compared with every vector that it may see."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("entity_vectors"), SqliteVectors(session), to_blob)

    def nearest(
        self, visible: Visibility, space: str, vector: NDArray[np.float32], limit: int
    ) -> list[tuple[str, float]]:
        pids = self._session.pids(visible.partitions)
        key = {"pids": pids, "agent": visible.agent or "", "space": space}
        rows = [*self._session.run(self._sql["visible"], key)]
        if not rows or limit < 1:
            return []
        ids = [str(row[0]) for row in rows]
        cosines: NDArray[np.float32] = to_vector(b"".join(row[1] for row in rows)).reshape(len(rows), -1) @ vector
        best: dict[str, float] = {}
        places: list[int] = np.argsort(-cosines, kind="stable").tolist()
        for place in places:
            best.setdefault(ids[place], cosines.item(place))
            if len(best) == limit:
                break
        return [*best.items()]
