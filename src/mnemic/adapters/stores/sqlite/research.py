"""Steps of research, and their going with the documents they are about."""

from __future__ import annotations

from datetime import datetime

from mnemic.adapters.stores.research import SqlResearchSteps, StepLinks
from mnemic.adapters.stores.sqlite.session import Session
from mnemic.adapters.stores.sqlite.statements import statements
from mnemic.model.values import to_microseconds


class SqliteResearchSteps(SqlResearchSteps):
    """The `ResearchSteps` port."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, statements("research"))
        self._of_all = session

    def forget(self, before: datetime) -> int:
        return self._of_all.write(self._sql["forget"], {"before": to_microseconds(before)}).rowcount


def step_links(session: Session) -> StepLinks:
    """What lets steps go with their documents in the unit of work of a session."""
    return StepLinks(session, statements("research"))
