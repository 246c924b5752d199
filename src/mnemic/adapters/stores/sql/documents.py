"""Documents, chunks and research steps over SQL."""

import builtins
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from mnemic.adapters.stores.checks import check_chunks, check_documents, refuse_document
from mnemic.adapters.stores.sql.dialect import CHUNK, DOCUMENT, STEP
from mnemic.adapters.stores.sql.graph import GraphLinks
from mnemic.adapters.stores.sql.session import Parameters, Rows, SqlPort
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.columns import Row, loads, partition_of
from mnemic.model.document import Document, DocumentQuery, Step
from mnemic.model.item import Chunk
from mnemic.model.scope import Partition, Visibility, to_microseconds
from mnemic.text.outline import title_key


class SqlDocuments(SqlPort, topic="documents"):
    """The `Documents` port."""

    def put(self, documents: Sequence[Document]) -> None:
        self._session.check_writing()
        check_documents(documents)
        pids = self._session.lock(document.partition for document in documents)
        self._put([_columns(document, pids[document.partition]) for document in documents])

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        self._session.check_writing()
        check_documents([document])
        check_chunks(document, [chunk for chunk, _ in chunks])
        pid, changed = self._session.changed(document.partition)
        self._check_ids(pid, [chunk.id for chunk, _ in chunks])
        self._put([_columns(document, pid)])
        if self._erase_chunks(pid, changed, [document.id]):
            self._session.erased.add((document.partition, True))
        self._cut_steps(pid, [document.id])
        key: Mapping[str, object] = {"pid": pid, "org": document.partition.org, "id": document.id}
        self._session.write(self._sql["put_text"], {**key, "text": text})
        self._session.write(self._sql["count"], {**key, "characters": len(text), "chunks": len(chunks)})
        item = {"pid": pid, "changed": changed}
        columns = [
            {**CHUNK.row(chunk), **item, "analyser": terms.analyser, "terms": terms.terms} for chunk, terms in chunks
        ]
        self._session.write_many(self._sql["insert_chunk"], columns)
        self._session.advance(pid)

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Document]:
        rows = self._run(("select", "where_visible", "and_ids"), visible, ids=self._session.list_values(ids))
        found = {(document.partition, document.id): document for document in map(_to_document, rows)}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def list(self, visible: Visibility, query: DocumentQuery) -> builtins.list[Document]:
        names = ["select", "where_visible", "and_statuses" if query.statuses else "and_present"]
        if query.sources is not None:
            names.append("and_sources")
        names += ["and_titles"] * (query.titles is not None)
        names += ["and_under"] * bool(query.under) + ["and_after"] * (query.after is not None)
        names += ["order"] + ["limit"] * (query.limit is not None)
        after_source, after_id = query.after or ("", "")
        rows = self._run(
            names,
            visible,
            statuses=self._session.list_values([status.value for status in query.statuses]),
            sources=self._session.list_values(query.sources or ()),
            under=query.under,
            titles=self._session.list_values(sorted(query.titles or ())),
            after_source=after_source,
            after_id=after_id,
            limit=max(query.limit or 0, 0),
        )
        return [_to_document(row) for row in rows]

    def text(self, visible: Visibility, id: str) -> str | None:
        rows = self._run(("select_text", "where_visible", "and_ids"), visible, ids=self._session.list_values([id]))
        found = {partition_of(*row[:3]): row[3] for row in rows}
        return next((found[partition] for partition in visible.partitions if partition in found), None)

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Chunk]:
        names = ("select_chunks", "where_visible", "and_chunk_ids")
        rows = self._run(names, visible, ids=self._session.list_values(ids))
        found = {(chunk.partition, chunk.id): chunk for chunk in map(_to_chunk, rows)}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> builtins.list[Chunk]:
        names = ("select_chunks", "where_visible", "and_passages")
        rows = self._run(names, visible, document_id=document_id, first=first, count=max(count, 0))
        return [_to_chunk(row) for row in rows]

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "ids": self._session.list_values(ids), "at": to_microseconds(at)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key)]
        if erased:
            self._session.erased.add((partition, True))
            self._session.write(self._sql["erase_texts"], {"pid": pid, "ids": self._session.list_values(erased)})
            self._erase_chunks(pid, changed, erased)
            self._cut_steps(pid, erased)
            self._session.advance(pid)
        return len(erased)

    def _put(self, rows: Sequence[Mapping[str, object]]) -> None:
        for row, is_put in zip(rows, self._session.write_each(self._sql["put"], rows), strict=True):
            if not is_put:
                raise refuse_document(str(row["id"]), str(row["source"]))

    def _check_ids(self, pid: int, ids: Sequence[str]) -> None:
        key = {"pid": pid, "ids": self._session.list_values(ids)}
        for row in self._session.run(self._sql["taken_chunk"], key):
            raise ConflictError(f"chunk {row[0]} cannot be stored: the id is already in use")

    def _erase_chunks(self, pid: int, changed: int, document_ids: Sequence[str]) -> bool:
        """Erase the chunks of documents. True if there were any."""
        key = {"pid": pid, "changed": changed, "ids": self._session.list_values(document_ids)}
        erased = [row[0] for row in self._session.write(self._sql["erase_chunks"], key)]
        if erased:
            GraphLinks(self._session).cut(pid, erased)
            gone = {"pid": pid, "ids": self._session.list_values(erased)}
            self._session.write(self._session.statements("vectors")["erase"], gone)
        return bool(erased)

    def _run(self, names: Sequence[str], visible: Visibility, **more: object) -> Rows:
        return self._session.run("\n".join(self._sql[name] for name in names), self._session.visible(visible, **more))

    def _cut_steps(self, pid: int, document_ids: Sequence[str]) -> None:
        """Remove the research steps about these documents of a partition."""
        gone = {"pid": pid, "ids": self._session.list_values(document_ids)}
        self._session.write(self._session.statements("research")["cut"], gone)


class SqlResearchSteps(SqlPort, topic="research"):
    """The `ResearchSteps` port."""

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
        return sum(self._session.write_each(self._sql["put"], [{**place, **STEP.row(step)} for step in steps]))

    def get(self, partition: Partition, document: Document, keys: Collection[str]) -> dict[str, Step]:
        place = {
            "pid": self._session.pid(partition),
            "document_pid": self._session.pid(document.partition),
            "document_id": document.id,
            "keys": self._session.list_values(keys),
        }
        steps = [STEP.noun(row) for row in self._session.run(self._sql["get"], place)]
        return {step.key: step for step in steps}

    def forget(self, before: datetime) -> int:
        return self._session.write_across(self._sql["forget"], {"before": to_microseconds(before)}).rowcount


def _columns(document: Document, pid: int) -> Parameters:
    return {**DOCUMENT.row(document), "pid": pid, "title_key": title_key(document.title)}


def _to_document(row: Row) -> Document:
    *columns, characters, chunks = row
    return DOCUMENT.noun(tuple(columns), characters=characters, chunks=chunks)


def _to_chunk(row: Row) -> Chunk:
    *columns, title, source, agent, metadata = row
    return CHUNK.noun(tuple(columns), title=title, source=source, private_agent=agent or None, metadata=loads(metadata))
