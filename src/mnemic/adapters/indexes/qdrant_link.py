"""The line to Qdrant: one collection, checked before its first use, and a breaker that opens with the first failure.

While it is open no call waits for Qdrant: a thread of its own asks every `probe_s` seconds whether it is back.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from mnemic.adapters.indexes.lease import lease_at_once
from mnemic.errors import BackendError, ConfigError, UnavailableError

MEMORY = ":memory:"
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
PASSING = (*REFUSED, HTTPStatus.NOT_FOUND, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
"""Answers below 500 after which Qdrant is as good as away: the collection may be gone, or made again."""

FAILURES = (ApiException, QdrantException, OSError, ValueError, RuntimeError, KeyError, sqlite3.Error)
"""What the client raises; of a local collection also plain errors, such as ValueError for one that is missing."""

_log = logging.getLogger("mnemic.qdrant")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantOptions:
    """`timeout_s`: whole seconds to wait for an answer. `probe_s`: seconds between two looks whether Qdrant is back.
    `batch_rows`: points in one request. `claim_s`: how long a partition that another process is filling may show no
    progress until this one fills it instead. `m`, `ef_construct`: of the HNSW graphs of a collection that is made here;
    `ef_search`: of a search.
    """

    timeout_s: int = 5
    probe_s: float = 1.0
    batch_rows: int = 256
    claim_s: float = 15.0
    m: int = 16
    ef_construct: int = 64
    ef_search: int = 128

    def __post_init__(self) -> None:
        for each in fields(self):
            value: object = getattr(self, each.name)
            is_whole = each.name not in ("probe_s", "claim_s")
            kinds = int if is_whole else int | float
            if isinstance(value, bool) or not isinstance(value, kinds) or not 0 < value < float("inf"):
                wanted = "a whole number" if is_whole else "a number"
                raise ConfigError(f"memory.index.qdrant.options: {each.name} must be {wanted} above 0, not {value!r}")


class QdrantLink:
    """One Qdrant: a server at `http(s)://…`, a folder of this machine that one process uses, or `:memory:`.

    `prepare` is called with a client before anything else is, once and after every outage, and raises `ConfigError`
    where what it finds cannot be used. `catch_up` is called when Qdrant is back, before other calls go there again.
    """

    def __init__(
        self,
        url: str,
        options: QdrantOptions,
        *,
        api_key: str | None = None,
        prepare: Callable[[QdrantClient], None],
        catch_up: Callable[[], None],
    ) -> None:
        """Opens no connection yet. Raises `ConfigError` for a URL that cannot be one."""
        self.is_local = "://" not in url
        self.address = address(url)
        self._url, self._options, self._api_key = url, options, api_key
        self._prepare, self._catch_up = prepare, catch_up
        self._guard = threading.Lock()
        self._one_at_a_time: AbstractContextManager[object] = threading.RLock() if self.is_local else nullcontext()
        self._starting = threading.RLock()
        self._client: QdrantClient | None = None
        self._is_ready = False
        self._is_back = False
        self._away: str | None = None
        self._closing = threading.Event()
        self._prober: threading.Thread | None = None

    def ask(self, call: Callable[[QdrantClient], _Answer]) -> _Answer:
        """What `call` answers. Raises `UnavailableError` while Qdrant is away, and `BackendError` for a request that it
        does not take.
        """
        away = self._away
        if away is not None and threading.current_thread() is not self._prober:
            raise UnavailableError(away)
        try:
            client = self._ready()
            with self._one_at_a_time:
                return call(client)
        except FAILURES as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Stop probing and let go of the connections."""
        self._closing.set()
        prober = self._prober
        if prober is not None and prober is not threading.current_thread():
            prober.join()
        with self._starting:
            client, self._client, self._is_ready = self._client, None, False
        if client is not None:
            client.close()

    def _ready(self) -> QdrantClient:
        """The client, when the collection was seen to be as it must be."""
        if self._closing.is_set():
            raise UnavailableError(f"the index in Qdrant ({self.address}) is closed")
        client = self._client
        if client is not None and self._is_ready:
            return client
        with self._starting, self._one_at_a_time:
            client = self._client = self._client or self._connected()
            if not self._is_ready:
                self._prepare(client)
                self._is_ready = True
            return client

    def _connected(self) -> QdrantClient:
        if self._url == MEMORY:
            return QdrantClient(MEMORY, force_disable_check_same_thread=True)
        if self.is_local:
            _check_free(Path(self._url))
            return QdrantClient(path=self._url, force_disable_check_same_thread=True)
        # As a header: told of a key, the client would warn whoever uses http, also to this machine.
        headers = {"api-key": self._api_key} if self._api_key else None
        return QdrantClient(url=self._url, timeout=self._options.timeout_s, headers=headers, check_compatibility=False)

    def _failed(self, error: Exception) -> BackendError:
        """The error to tell; those that mean that Qdrant is away open the breaker."""
        told = f"Qdrant at {self.address} cannot be used: {reason(error)}"
        if isinstance(error, UnexpectedResponse) and not _is_away(error.status_code or 0):
            return BackendError(told)
        with self._guard:
            self._is_ready = False
            if self._away is None and not self._closing.is_set():
                self._away = told
                _log.warning("%s; until it is back memories are found by their words", told)
                self._prober = threading.Thread(target=self._probe, name="mnemic-qdrant-probe", daemon=True)
                self._prober.start()
        return UnavailableError(told)

    def _probe(self) -> None:
        while not self._closing.wait(self._options.probe_s):
            try:
                self._ready()
                self._catch_up()
            except (BackendError, ConfigError, *FAILURES) as error:
                with self._guard:
                    self._away = f"Qdrant at {self.address} cannot be used: {reason(error)}"
                continue
            _log.info("Qdrant at %s is back", self.address)
            with self._guard:
                self._away = None
            return


def _check_free(folder: Path) -> None:
    """Look before the client does, which leaves a file open where another one has the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with lease_at_once(folder / ".lock") as is_free:
        if not is_free:
            raise RuntimeError("the folder is used by another process, and serves one at a time; several need a server")


def address(url: str) -> str:
    """The place without login and options."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            "memory.index.qdrant.url is not the address of a Qdrant; say http://localhost:6333, https://…, the path of "
            "a folder, or :memory:"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def reason(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, UnexpectedResponse):
        if error.status_code in REFUSED:
            return f"it refuses the key ({error.status_code}); QDRANT_API_KEY, or memory.index.qdrant.api-key, holds it"
        return f"it answers {error.status_code}: {error.content[:200].decode('utf-8', 'replace')}"
    source = error.source if isinstance(error, ResponseHandlingException) else error
    return str(source) or type(source).__name__


def _is_away(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in PASSING
