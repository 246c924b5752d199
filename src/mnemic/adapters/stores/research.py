"""Steps of research over SQL: what the SQL stores do alike. The statements are each store's own.

Both files `queries/research.sql` have the same names and select the same columns in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mnemic.adapters.stores.rows import Row
from mnemic.adapters.stores.sql_session import SqlSession
from mnemic.model.document import Document, Step
from mnemic.model.scope import Partition
from mnemic.model.values import from_microseconds, to_microseconds


class SqlResearchSteps:
    """The `ResearchSteps` port but for `forget`; `sql` are the statements of `research.sql`."""

    def __init__(self, session: SqlSession, sql: Mapping[str, str]) -> None:
        self._session = session
        self._sql = sql

    def put(self, partition: Partition, document: Document, steps: Sequence[Step]) -> int:
        self._session.check_writing()
        pids = self._session.lock((partition, document.partition))
        place = {
            "pid": pids[partition],
            "org": partition.org,
            "document_pid": pids[document.partition],
            "document_id": document.id,
            "updated_at": to_microseconds(document.updated_at),
        }
        return sum(self._session.write_each(self._sql["put"], [{**place, **_columns(step)} for step in steps]))

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        place = {
            "pid": self._session.pid(partition),
            "document_pid": self._session.pid(document.partition),
            "document_id": document.id,
            "keys": self._session.listed([*keys]),
        }
        return {row[0]: _to_step(row) for row in self._session.run(self._sql["get"], place)}


class StepLinks:
    """Lets go of the steps about documents, in the unit of work that changes these."""

    def __init__(self, session: SqlSession, sql: Mapping[str, str]) -> None:
        self._session = session
        self._sql = sql

    def cut(self, pid: int, document_ids: Sequence[str]) -> None:
        """Remove every step about these documents of a partition."""
        self._session.write(self._sql["cut"], {"pid": pid, "ids": self._session.listed(document_ids)})


def _columns(step: Step) -> dict[str, object]:
    return {
        "key": step.key,
        "reply": step.reply,
        "prompt_tokens": step.prompt_tokens,
        "completion_tokens": step.completion_tokens,
        "at": to_microseconds(step.at),
    }


def _to_step(row: Row) -> Step:
    key, reply, prompt_tokens, completion_tokens, at = row
    told = from_microseconds(at)
    return Step(key=key, reply=reply, at=told, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
