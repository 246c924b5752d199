"""The backend `sqlite`: keyword search by SQLite's FTS5 in one file that several processes can share. The default: it
needs no installation. FTS5 indexes the terms of Mnemic's own analyser, which finds word forms in all scripts, with or
without blanks.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from mnemic.adapters.indexes.fts5 import token
from mnemic.adapters.sql_files import execute_when_unlocked, named_statements
from mnemic.adapters.stores.sqlite.session import translated_errors
from mnemic.backends import primitive
from mnemic.config.values import own_backend_file
from mnemic.errors import ConfigError, UnavailableError
from mnemic.text.analyser import Analyser

SQL = named_statements("mnemic.backends", "sqlite.sql")
APPLICATION_ID = 0x4D4E4231  # "MNB1", so that another program's file is never written to
MAX_MATCH_TERMS = 256
"""Maximum words of a query, rarest first: FTS5's time grows faster than the number of words."""


@primitive.MemoryRegistry.register("sqlite")
class SqliteBackend(primitive.MemoryBackend):
    """Scores are FTS5's BM25, made positive. Every completed write has been flushed to disk. `db_path`: the file,
    created with its folder if missing. Default: `mnemic/backend.db` in the user's data folder. A write waits up to
    `lock_wait_s` seconds for other processes, then raises `UnavailableError`.
    """

    facts = primitive.FACTS["sqlite"]

    def __init__(self, db_path: str | Path | None = None, *, lock_wait_s: float = 10.0) -> None:
        """Raises `ConfigError` if the path is another program's database or its folder cannot be created."""
        self.path = Path(own_backend_file(os.environ) if db_path is None else db_path).expanduser()
        self._lock_wait_s = lock_wait_s
        self._analyser = Analyser()
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = self._connect()

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        """See `MemoryBackend.store`."""
        text, line, given = primitive.check_document(content, source, metadata)
        doc_id = uuid4().hex
        row = {
            "id": doc_id,
            "content": text,
            "source": line,
            "metadata": json.dumps(given, ensure_ascii=False),
            "terms": self._terms(text),
        }
        with self._transaction("begin_write") as connection:
            connection.execute(SQL["store"], row)
        return doc_id

    def retrieve(self, query: str, *, top_k: int = primitive.TOP_K, **kwargs: Any) -> list[primitive.RetrievalResult]:
        """See `MemoryBackend.retrieve`. A result shares at least one word with the query."""
        question, limit, min_score = primitive.check_request(query, top_k, kwargs)
        tokens = [token(term) for term in self._analyser.query_terms(question)]
        with self._transaction("begin_read") as connection:
            if len(tokens) > MAX_MATCH_TERMS:
                tokens = _find_rarest(connection, tokens)
            if not tokens:
                return []
            match = " OR ".join(f'"{each}"' for each in tokens)
            values = {"match": match, "min_score": min_score, "limit": min(limit, 2**62)}
            rows: list[tuple[str, str, str, float]] = connection.execute(SQL["retrieve"], values).fetchall()
        return [
            primitive.RetrievalResult(content, score, source, json.loads(given))
            for content, source, given, score in rows
        ]

    def delete(self, doc_id: str) -> bool:
        """See `MemoryBackend.delete`."""
        try:
            doc_id.encode()
        except UnicodeEncodeError:
            return False  # no id contains a lone surrogate, and SQLite accepts none
        with self._transaction("begin_write") as connection:
            return connection.execute(SQL["delete"], {"id": doc_id}).rowcount > 0

    def clear(self) -> None:
        """See `MemoryBackend.clear`."""
        with self._transaction("begin_write") as connection:
            connection.execute(SQL["clear"])

    def close(self) -> None:
        """Close the file. Later calls raise `UnavailableError`."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _terms(self, text: str) -> str:
        return " ".join(token(term) for term in self._analyser.terms(text))

    @contextmanager
    def _transaction(self, begin: str) -> Generator[sqlite3.Connection]:
        with self._lock, translated_errors(f"using {self.path}"):
            if self._connection is None:
                raise UnavailableError(f"the memory backend on {self.path} is closed; create a new one")
            with _transaction(self._connection, begin):
                yield self._connection

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the folder for {self.path} cannot be created: {error}") from error
        with ExitStack() as undo, translated_errors(f"opening {self.path}"):
            connection = sqlite3.connect(
                self.path, timeout=self._lock_wait_s, isolation_level=None, check_same_thread=False
            )
            undo.callback(connection.close)
            with _transaction(connection, "begin_read"):
                self._check(connection)
            execute_when_unlocked(connection, SQL["write_ahead"], self._lock_wait_s)
            for pragma in ("synchronous", "secure_delete"):
                connection.execute(SQL[pragma])
            with _transaction(connection, "begin_write"):
                self._check(connection)
                self._prepare(connection)
            undo.pop_all()
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        is_new = connection.execute(SQL["is_new"]).fetchone()[0]
        if not is_new and connection.execute(SQL["application"]).fetchone()[0] != APPLICATION_ID:
            raise ConfigError(f"{self.path} is another program's database; choose another db_path")

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Create the tables of a new file. Update the terms of an older file to the current analyser."""
        stamp = {"analyser": self._analyser.name}
        if connection.execute(SQL["is_new"]).fetchone()[0]:
            for name, statement in SQL.items():
                if name.startswith("create_"):
                    connection.execute(statement)
            connection.execute(SQL["write_stamp"], stamp)
            connection.execute(SQL["sign"].format(application_id=APPLICATION_ID))
        elif connection.execute(SQL["stamp"]).fetchone()[0] != self._analyser.name:
            rows: list[tuple[int, str]] = connection.execute(SQL["contents"]).fetchall()
            renewed = [{"seq": seq, "terms": self._terms(content)} for seq, content in rows]
            connection.executemany(SQL["renew_terms"], renewed)
            connection.execute(SQL["renew_stamp"], stamp)


@contextmanager
def _transaction(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    """A transaction, rolled back if its block raises."""
    connection.execute(SQL[begin])
    try:
        yield
        connection.execute(SQL["commit"])
    finally:
        with suppress(sqlite3.Error):  # the first error is the one to raise
            connection.rollback()


def _find_rarest(connection: sqlite3.Connection, tokens: Sequence[str]) -> list[str]:
    """The words with the fewest documents, without words that no document has."""
    values = {"tokens": json.dumps(tokens), "limit": MAX_MATCH_TERMS}
    rows: list[tuple[str]] = connection.execute(SQL["rarest"], values).fetchall()
    return [found for (found,) in rows]
