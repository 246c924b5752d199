"""Documents and chunks over SQL: what the SQL stores do alike. The statements are each store's own.

Both files `queries/documents.sql` have the same names and select the same columns in the same order.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from mnemic.adapters.stores.document_checks import check_chunks, check_documents, refused
from mnemic.adapters.stores.graph import GraphLinks
from mnemic.adapters.stores.research import StepLinks
from mnemic.adapters.stores.rows import Row, chunk_columns, document_columns, partition_of, to_chunk, to_document
from mnemic.adapters.stores.sql_session import SqlSession
from mnemic.errors import ConflictError
from mnemic.model.candidates import Terms
from mnemic.model.document import Document, DocumentQuery
from mnemic.model.item import Chunk
from mnemic.model.scope import Partition, Visibility
from mnemic.model.values import to_microseconds


class SqlDocuments:
    """The `Documents` port; `sql` are the statements of `documents.sql`, `erase_vectors` that of `vectors.sql`; `links`
    lets the graph go of passages, `steps` research of documents.
    """

    def __init__(
        self, session: SqlSession, sql: Mapping[str, str], erase_vectors: str, links: GraphLinks, steps: StepLinks
    ) -> None:
        self._session = session
        self._sql = sql
        self._erase_vectors = erase_vectors
        self._links = links
        self._steps = steps

    def put(self, documents: Sequence[Document]) -> None:
        self._session.check_writing()
        check_documents(documents)
        pids = self._session.lock(document.partition for document in documents)
        self._put([document_columns(document, pids[document.partition]) for document in documents])

    def fill(self, document: Document, text: str, chunks: Sequence[tuple[Chunk, Terms]]) -> None:
        self._session.check_writing()
        check_documents([document])
        check_chunks(document, [chunk for chunk, _ in chunks])
        pid, changed = self._session.changed(document.partition)
        self._check_ids(pid, [chunk.id for chunk, _ in chunks])
        self._put([document_columns(document, pid)])
        self._erase_chunks(pid, changed, [document.id])
        self._steps.cut(pid, [document.id])
        key: Mapping[str, object] = {"pid": pid, "org": document.partition.org, "id": document.id}
        self._session.write(self._sql["put_text"], {**key, "text": text})
        self._session.write(self._sql["count"], {**key, "characters": len(text), "chunks": len(chunks)})
        columns = [chunk_columns(chunk, terms, pid, changed) for chunk, terms in chunks]
        self._session.write_many(self._sql["insert_chunk"], columns)
        self._session.advance(pid)

    def get(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Document]:
        rows = self._run(("select", "where_visible", "and_ids"), visible, ids=self._session.listed(ids))
        found = {(document.partition, document.id): document for document in map(to_document, rows)}
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
            statuses=self._session.listed([status.value for status in query.statuses]),
            sources=self._session.listed(query.sources or ()),
            under=query.under,
            titles=self._session.listed(sorted(query.titles or ())),
            after_source=after_source,
            after_id=after_id,
            limit=max(query.limit or 0, 0),
        )
        return [to_document(row) for row in rows]

    def text(self, visible: Visibility, id: str) -> str | None:
        rows = self._run(("select_text", "where_visible", "and_ids"), visible, ids=self._session.listed([id]))
        found = {partition_of(*row[:3]): row[3] for row in rows}
        return next((found[partition] for partition in visible.partitions if partition in found), None)

    def chunks(self, visible: Visibility, ids: Sequence[str]) -> builtins.list[Chunk]:
        names = ("select_chunks", "where_visible", "and_chunk_ids")
        rows = self._run(names, visible, ids=self._session.listed(ids))
        found = {(chunk.partition, chunk.id): chunk for chunk in map(to_chunk, rows)}
        return [found[p, i] for i in ids for p in visible.partitions if (p, i) in found]

    def passages(self, visible: Visibility, document_id: str, first: int, count: int) -> builtins.list[Chunk]:
        names = ("select_chunks", "where_visible", "and_passages")
        rows = self._run(names, visible, document_id=document_id, first=first, count=max(count, 0))
        return [to_chunk(row) for row in rows]

    def erase(self, partition: Partition, ids: Sequence[str], at: datetime) -> int:
        self._session.check_writing()
        if self._session.pid(partition) is None:
            return 0
        pid, changed = self._session.changed(partition)
        key = {"pid": pid, "ids": self._session.listed(ids), "at": to_microseconds(at)}
        erased = [row[0] for row in self._session.write(self._sql["erase"], key)]
        if erased:
            self._session.write(self._sql["erase_texts"], {"pid": pid, "ids": self._session.listed(erased)})
            self._erase_chunks(pid, changed, erased)
            self._steps.cut(pid, erased)
            self._session.advance(pid)
        return len(erased)

    def _put(self, rows: Sequence[Mapping[str, object]]) -> None:
        for row, is_put in zip(rows, self._session.write_each(self._sql["put"], rows), strict=True):
            if not is_put:
                raise refused(str(row["id"]), str(row["source"]))

    def _check_ids(self, pid: int, ids: Sequence[str]) -> None:
        key = {"pid": pid, "ids": self._session.listed(ids)}
        for row in self._session.run(self._sql["taken_chunk"], key):
            raise ConflictError(f"chunk {row[0]} cannot be stored: the id is taken")

    def _erase_chunks(self, pid: int, changed: int, document_ids: Sequence[str]) -> None:
        key = {"pid": pid, "changed": changed, "ids": self._session.listed(document_ids)}
        erased = [row[0] for row in self._session.write(self._sql["erase_chunks"], key)]
        if erased:
            self._links.cut(pid, erased)
            self._session.write(self._erase_vectors, {"pid": pid, "ids": self._session.listed(erased)})

    def _run(self, names: Sequence[str], visible: Visibility, **more: object) -> Iterable[Row]:
        key = {"pids": self._session.pids(visible.partitions), "agent": visible.agent or "", **more}
        return self._session.run("\n".join(self._sql[name] for name in names), key)
