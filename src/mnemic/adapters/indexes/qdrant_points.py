"""A Qdrant collection: its points and checks, and the connection with its circuit breaker, which opens at the first
failure. While it is open no call waits; a thread tries Qdrant every `probe_s` seconds. Points never hold text, and
owners are hashes.
"""

import hashlib
import json
import logging
import sqlite3
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit
from uuid import UUID, uuid5

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from mnemic.adapters.indexes.hnsw import lease_at_once
from mnemic.errors import BackendError, ConfigError, UnavailableError
from mnemic.model.candidates import MESSAGE, Change, IndexQuery
from mnemic.model.item import Role
from mnemic.model.scope import Partition

ACTIVE, INACTIVE, GONE, STATE = "active", "inactive", "gone", "state"
SAMPLE_SPAN = 1 << 16
"""Rows get a number below this from their ids, so that a filter always takes the same sample."""

KEYWORD, INTEGER = models.PayloadSchemaType.KEYWORD, models.PayloadSchemaType.INTEGER
FIELDS: dict[str, models.PayloadSchemaType | models.KeywordIndexParams] = {
    "partition": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    "what": KEYWORD,
    "epoch": KEYWORD,
    "store": KEYWORD,
    "kind": KEYWORD,
    "agent": KEYWORD,
    "talk": KEYWORD,
    "expires_at": INTEGER,
    "observed_at": INTEGER,
    "version": INTEGER,
    "gone_at": INTEGER,
    "sample": INTEGER,
}
"""The payload indexes of a collection. `partition` is the tenant: its points are stored together."""

SHOWN = ["item", "session", "position", "author", "role", "question"]
NOBODY = ""
_NEVER = 1 << 60  # seconds, later than any date: rows without an expiry pass the same range filter
_NAMESPACE = UUID("5b1a7c0e-4f9d-4d57-9a3e-0c6f2e8d71b4")
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)


@dataclass(frozen=True, slots=True)
class State:
    """A partition's `version` in the store and its `epoch`. Version 0: it is being filled, and `beat` grows. Rows of
    other epochs are leftovers and are not seen.
    """

    epoch: str
    version: int
    beat: int = 0


@dataclass(frozen=True, slots=True)
class Spot:
    """A row's position in its conversation. `talk` and its neighbours are None outside of one."""

    session: str | None
    talk: str | None
    before: str | None
    after: str | None
    author: str
    is_assistant: bool
    is_question: bool


def key_of(store: str, partition: Partition) -> str:
    """The anonymous name of a partition, equal in every process of the store."""
    whole = json.dumps([store, partition.org, partition.level.value, partition.owner])
    return _digest(whole, 16)


def state_id(key: str) -> str:
    """The id of a partition's state point."""
    return str(uuid5(_NAMESPACE, key))


def row_id(key: str, epoch: str, item_id: str) -> str:
    """The id of a row's point."""
    return str(uuid5(_NAMESPACE, f"{key}\n{epoch}\n{item_id}"))


def state_point(key: str, store: str, partition: Partition, state: State) -> models.PointStruct:
    """The point with a partition's state, and its owner for people."""
    payload = {
        "what": STATE,
        "store": store,
        "partition": key,
        "org": partition.org,
        "level": partition.level.value,
        "owner": partition.owner,
        "epoch": state.epoch,
        "version": state.version,
        "beat": state.beat,
    }
    return models.PointStruct(id=state_id(key), vector=cast("Any", {}), payload=payload)


def state_of(payload: dict[str, Any]) -> State:
    """The state in a state point."""
    return State(str(payload["epoch"]), int(payload["version"]), int(payload["beat"]))


def row_point(key: str, epoch: str, change: Change, version: int, now_s: int) -> models.PointStruct:
    """A change as a point. A removed row leaves an empty tombstone, so that no stale process restores it."""
    point_id = row_id(key, epoch, change.item_id)
    payload: dict[str, Any] = {"partition": key, "epoch": epoch, "version": version}
    if change.is_gone:
        gone = payload | {"what": GONE, "gone_at": now_s}
        return models.PointStruct(id=point_id, vector=cast("Any", {}), payload=gone)
    payload |= {
        "what": ACTIVE if change.is_active else INACTIVE,
        "item": change.item_id,
        "kind": change.kind,
        "agent": change.private_agent or NOBODY,
        "observed_at": change.observed_at,
        "expires_at": _NEVER if change.expires_at is None else change.expires_at,
        "sample": UUID(point_id).int % SAMPLE_SPAN,
    }
    if change.session is not None:
        session = _digest(f"{key}\n{change.session}", 8)
        payload |= {
            "session": session,
            "position": change.position,
            "talk": _talk(session, change.position),
            "author": change.author,
            "role": change.role,
            "question": change.is_question,
        }
    vector = cast("Any", {}) if change.vector is None else change.vector.tolist()
    return models.PointStruct(id=point_id, vector=vector, payload=payload)


def spot_of(payload: dict[str, Any]) -> Spot:
    """A row's position, from its payload."""
    session, position = payload.get("session"), int(payload.get("position", 0))
    if session is None:
        return Spot(None, None, None, None, "", is_assistant=False, is_question=False)
    return Spot(
        session,
        _talk(session, position),
        _talk(session, position - 1),
        _talk(session, position + 1),
        str(payload["author"]),
        is_assistant=payload["role"] in _NO_PERSON,
        is_question=bool(payload["question"]),
    )


def is_(field: str, value: str) -> models.FieldCondition:
    """The field has this value."""
    return models.FieldCondition(key=field, match=models.MatchValue(value=value))


def among(field: str, values: Collection[str]) -> models.FieldCondition:
    """The field has one of these values."""
    return models.FieldCondition(key=field, match=models.MatchAny(any=sorted(values)))


def between(field: str, *, least: int | None = None, below: int | None = None) -> models.FieldCondition:
    """The field is a number from `least` to below `below`."""
    return models.FieldCondition(key=field, range=models.Range(gte=least, lt=below))


def named(ids: Sequence[str]) -> models.HasIdCondition:
    """The point has one of these ids."""
    return models.HasIdCondition(has_id=list(ids))


def visible(key: str, epoch: str, query: IndexQuery) -> list[models.Condition]:
    """Conditions for rows that the query may see, first its partition."""
    return [
        is_("partition", key),
        is_("epoch", epoch),
        among("what", {ACTIVE, INACTIVE} if query.include_inactive else {ACTIVE}),
        between("expires_at", least=query.now + 1),
        among("agent", {NOBODY, query.agent or NOBODY}),
    ]


def narrowings(key: str, epoch: str, query: IndexQuery, most_named: int) -> list[list[models.Condition]]:
    """Alternative lists of conditions, with at most `most_named` ids each. An empty result admits nothing."""
    kinds: list[models.Condition] = [among("kind", query.kinds)] if query.kinds else []
    if query.allowed is None:
        return [kinds]
    ids = [row_id(key, epoch, item_id) for item_id in sorted(query.allowed)]
    found = [[*kinds, named(ids[start : start + most_named])] for start in range(0, len(ids), most_named)]
    if query.messages_until is not None:
        found.append([*kinds, is_("kind", MESSAGE), between("observed_at", below=query.messages_until + 1)])
    return found


def _talk(session: str, position: int) -> str:
    return f"{session}:{position}"


def _digest(text: str, size: int) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


MEMORY = ":memory:"
REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
PASSING = (*REFUSED, HTTPStatus.NOT_FOUND, HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
"""Statuses below 500 that count as an outage: the collection may be missing or being recreated."""

FAILURES = (ApiException, QdrantException, OSError, ValueError, RuntimeError, KeyError, sqlite3.Error)
"""Exceptions of the client. A local collection also raises plain ones, such as ValueError if it is missing."""

_log = logging.getLogger("mnemic.qdrant")
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class QdrantOptions:
    """`timeout_s`: of a request, whole seconds. `probe_s`: interval of probes during an outage. `batch_rows`: points
    per request. `claim_s`: another process's fill without progress for this long is taken over. `m`, `ef_construct`:
    HNSW parameters of new collections; `ef_search`: of a search.
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
    """A Qdrant: a server at `http(s)://…`, a folder for one process, or `:memory:`. Calls `prepare` before first use
    and after every outage; it raises `ConfigError` for an unusable collection. Calls `catch_up` after an outage, before
    other calls.
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
        """Opens no connection yet. Raises `ConfigError` for an invalid URL."""
        self.is_local = "://" not in url
        self.address = address(url)
        self._url, self._options, self._api_key = url, options, api_key
        self._prepare, self._catch_up = prepare, catch_up
        self._guard = threading.Lock()
        self._one_at_a_time: AbstractContextManager[object] = threading.RLock() if self.is_local else nullcontext()
        self._starting = threading.RLock()
        self._client: QdrantClient | None = None
        self._is_ready = False
        self._away: str | None = None
        self._closing = threading.Event()
        self._prober: threading.Thread | None = None

    def ask(self, call: Callable[[QdrantClient], _Answer]) -> _Answer:
        """The result of `call`. Raises `UnavailableError` during an outage, else `BackendError`."""
        away = self._away
        if away is not None and threading.current_thread() is not self._prober:
            raise UnavailableError(away)
        try:
            client = self._ready()
            with self._one_at_a_time:
                return call(client)
        except FAILURES as error:
            raise self._note_failure(error) from error

    def close(self) -> None:
        """Stop probing and close the connections."""
        self._closing.set()
        prober = self._prober
        if prober is not None and prober is not threading.current_thread():
            prober.join()
        with self._starting:
            client, self._client, self._is_ready = self._client, None, False
        if client is not None:
            client.close()

    def _ready(self) -> QdrantClient:
        """The client, once the collection has been checked."""
        if self._closing.is_set():
            raise UnavailableError(f"the Qdrant index ({self.address}) is closed")
        client = self._client
        if client is not None and self._is_ready:
            return client
        with self._starting, self._one_at_a_time:
            client = self._client = self._client or self._connect()
            if not self._is_ready:
                self._prepare(client)
                self._is_ready = True
            return client

    def _connect(self) -> QdrantClient:
        if self._url == MEMORY:
            return QdrantClient(MEMORY, force_disable_check_same_thread=True)
        if self.is_local:
            _check_free(Path(self._url))
            return QdrantClient(path=self._url, force_disable_check_same_thread=True)
        # As a header: given a key, the client would warn about http, even to this machine.
        headers = {"api-key": self._api_key} if self._api_key else None
        return QdrantClient(url=self._url, timeout=self._options.timeout_s, headers=headers, check_compatibility=False)

    def _note_failure(self, error: Exception) -> BackendError:
        """The error to raise. Outages open the breaker."""
        told = f"Qdrant at {self.address} cannot be used: {reason(error)}"
        if isinstance(error, UnexpectedResponse) and not _is_away(error.status_code or 0):
            return BackendError(told)
        with self._guard:
            self._is_ready = False
            if self._away is None and not self._closing.is_set():
                self._away = told
                _log.warning("%s; search uses keywords only until it is available again", told)
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
            _log.info("Qdrant at %s is available again", self.address)
            with self._guard:
                self._away = None
            return


def _check_free(folder: Path) -> None:
    """Check the folder's lock before the client does, which would leave a file open."""
    folder.mkdir(parents=True, exist_ok=True)
    with lease_at_once(folder / ".lock") as is_free:
        if not is_free:
            raise RuntimeError("the folder is in use by another process; to share it, run a Qdrant server")


def address(url: str) -> str:
    """The URL without login and options."""
    if "://" not in url:
        return url
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            "memory.index.qdrant.url is not a valid Qdrant address; use http://localhost:6333, https://…, the path of "
            "a folder, or :memory:"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def reason(error: Exception) -> str:
    """The error in one line."""
    if isinstance(error, UnexpectedResponse):
        if error.status_code in REFUSED:
            return f"it rejected the API key ({error.status_code}); check QDRANT_API_KEY or memory.index.qdrant.api-key"
        return f"it returned status {error.status_code}: {error.content[:200].decode('utf-8', 'replace')}"
    source = error.source if isinstance(error, ResponseHandlingException) else error
    return str(source) or type(source).__name__


def _is_away(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in PASSING


DEFAULT_COLLECTION = "true_recall"
LAYOUT = 1
"""Version of the payloads. Another one needs another collection."""

OLDEST = (1, 17)
"""The first version with conditional and insert-only upserts, which separate concurrent writers."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The collection that an index needs: its name, and the space of its vectors (id, model, dims)."""

    name: str
    space: str
    model: str
    dims: int


def prepare(client: QdrantClient, wanted: Wanted, options: QdrantOptions, *, is_local: bool, address: str) -> None:
    """Create or check the collection. Raises `ConfigError` if the server is too old or the content is not ours."""
    if not is_local:
        _check_server(client, address)
    if not client.collection_exists(wanted.name):
        try:
            _make(client, wanted, options)
        except (UnexpectedResponse, ValueError) as error:  # another process is creating it
            if isinstance(error, UnexpectedResponse) and error.status_code != HTTPStatus.CONFLICT:
                raise
    info = client.get_collection(wanted.name)
    _check(info, wanted, address)
    for field, schema in FIELDS.items():
        if not is_local and field not in info.payload_schema:  # a local collection has no payload indexes
            client.create_payload_index(wanted.name, field, schema, wait=True)


def _make(client: QdrantClient, wanted: Wanted, options: QdrantOptions) -> None:
    client.create_collection(
        wanted.name,
        vectors_config=models.VectorParams(size=wanted.dims, distance=models.Distance.COSINE),
        hnsw_config=models.HnswConfigDiff(m=options.m, payload_m=options.m, ef_construct=options.ef_construct),
        metadata=said_of(wanted),
    )


def said_of(wanted: Wanted) -> dict[str, object]:
    """The metadata of a collection."""
    return {"mnemic_layout": LAYOUT, "mnemic_space": wanted.space, "mnemic_model": wanted.model}


def _check(info: models.CollectionInfo, wanted: Wanted, address: str) -> None:
    vectors, said = info.config.params.vectors, info.config.metadata or {}
    remedy = (
        "it can be rebuilt from the store: delete it "
        f"(DELETE {address}/collections/{wanted.name}) or choose another with memory.index.qdrant.collection"
    )
    where = f"the collection {wanted.name!r} of Qdrant at {address}"
    if "mnemic_space" not in said or not isinstance(vectors, models.VectorParams):
        raise ConfigError(f"{where} was not created by Mnemic; choose another with memory.index.qdrant.collection")
    if vectors.size != wanted.dims or said["mnemic_space"] != wanted.space:
        raise ConfigError(
            f"{where} contains vectors from {said.get('mnemic_model')} ({vectors.size} dims, space "
            f"{said['mnemic_space']}), which cannot be compared with those from the embedder {wanted.model} "
            f"({wanted.dims} dims, space {wanted.space}); {remedy}"
        )
    if vectors.distance != models.Distance.COSINE or said.get("mnemic_layout") != LAYOUT:
        raise ConfigError(f"{where} uses a different distance or layout than this version of Mnemic; {remedy}")


def _check_server(client: QdrantClient, address: str) -> None:
    told = client.info().version
    numbers = tuple(int(part) for part in told.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise ConfigError(f"Qdrant at {address} has version {told}; {'.'.join(map(str, OLDEST))} or newer is required")
