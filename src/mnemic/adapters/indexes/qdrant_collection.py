"""The collection of an index in Qdrant: made when it is missing, and refused when it is of something else."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

from mnemic.adapters.indexes.qdrant_link import QdrantOptions
from mnemic.adapters.indexes.qdrant_points import FIELDS
from mnemic.errors import ConfigError

DEFAULT_COLLECTION = "true_recall"
LAYOUT = 1
"""Of the payloads; another one means another collection."""

OLDEST = (1, 17)
"""Upserts that only insert, or look at what is there, came with it: they keep two writers apart."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The collection that an index needs: its name, and the space of its vectors by id, model and dims."""

    name: str
    space: str
    model: str
    dims: int


def prepare(client: QdrantClient, wanted: Wanted, options: QdrantOptions, *, is_local: bool, address: str) -> None:
    """Make the collection, or look at the one that is there. Raises `ConfigError` for a server that is too old and for
    a collection that holds something else.
    """
    if not is_local:
        _check_server(client, address)
    if not client.collection_exists(wanted.name):
        try:
            _make(client, wanted, options)
        except (UnexpectedResponse, ValueError) as error:  # another process makes it at this moment
            if isinstance(error, UnexpectedResponse) and error.status_code != HTTPStatus.CONFLICT:
                raise
    info = client.get_collection(wanted.name)
    _check(info, wanted, address)
    for field, schema in FIELDS.items():
        if not is_local and field not in info.payload_schema:  # a local collection knows no payload indexes
            client.create_payload_index(wanted.name, field, schema, wait=True)


def _make(client: QdrantClient, wanted: Wanted, options: QdrantOptions) -> None:
    client.create_collection(
        wanted.name,
        vectors_config=models.VectorParams(size=wanted.dims, distance=models.Distance.COSINE),
        hnsw_config=models.HnswConfigDiff(m=options.m, payload_m=options.m, ef_construct=options.ef_construct),
        metadata=said_of(wanted),
    )


def said_of(wanted: Wanted) -> dict[str, object]:
    """What a collection says of itself."""
    return {"mnemic_layout": LAYOUT, "mnemic_space": wanted.space, "mnemic_model": wanted.model}


def _check(info: models.CollectionInfo, wanted: Wanted, address: str) -> None:
    vectors, said = info.config.params.vectors, info.config.metadata or {}
    remedy = (
        "it is derived from the rows of a store and can be made again: name another one with "
        f"memory.index.qdrant.collection, or delete it (DELETE {address}/collections/{wanted.name})"
    )
    where = f"the collection {wanted.name!r} of Qdrant at {address}"
    if "mnemic_space" not in said or not isinstance(vectors, models.VectorParams):
        raise ConfigError(
            f"{where} was not made by Mnemic and is left alone; name another one with memory.index.qdrant.collection"
        )
    if vectors.size != wanted.dims or said["mnemic_space"] != wanted.space:
        raise ConfigError(
            f"{where} holds vectors of {said.get('mnemic_model')}, {vectors.size} dims (space {said['mnemic_space']}), "
            f"which are never compared with those of {wanted.model}, {wanted.dims} dims (space {wanted.space}), that "
            f"the embedder makes; {remedy}"
        )
    if vectors.distance != models.Distance.COSINE or said.get("mnemic_layout") != LAYOUT:
        raise ConfigError(f"{where} has another distance or layout than this version of Mnemic uses; {remedy}")


def _check_server(client: QdrantClient, address: str) -> None:
    told = client.info().version
    numbers = tuple(int(part) for part in told.split("-")[0].split(".")[:2] if part.isdigit())
    if numbers < OLDEST:
        raise ConfigError(f"Qdrant at {address} is {told}; {'.'.join(map(str, OLDEST))} or newer is needed")
