"""Vectors of entities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mnemic.adapters.stores.entity_vectors import SqlEntityVectors
from mnemic.adapters.stores.postgres.rows import to_literal
from mnemic.adapters.stores.postgres.session import Session
from mnemic.adapters.stores.postgres.statements import statements
from mnemic.adapters.stores.postgres.vectors import PostgresVectors
from mnemic.model.scope import Visibility


class PostgresEntityVectors(SqlEntityVectors):
    """The `EntityVectors` port; a question is compared with every vector that it may see."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("entity_vectors"), PostgresVectors(session), to_literal)

    def nearest(
        self,
        visible: Visibility,
        space: str,
        vector: NDArray[np.float32],
        limit: int,
        between: Callable[[], None] = lambda: None,
    ) -> list[tuple[str, float]]:
        between()
        pids = self._session.pids(visible.partitions)
        key = {"pids": pids, "agent": visible.agent or "", "space": space, "limit": max(limit, 0)}
        rows = self._session.run(self._sql["nearest"], {**key, "vector": to_literal(vector)})
        return [(row[0], float(row[1])) for row in rows]
