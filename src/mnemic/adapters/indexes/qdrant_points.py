"""What lies in a collection of Qdrant: how rows, deletions and partitions are written as points, and asked for.

Points hold what a filter or a neighbour needs and never the text of anything; whose a row is stands in it as a hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID, uuid5

from qdrant_client import models

from mnemic.model.candidates import MESSAGE, IndexQuery
from mnemic.model.change import Change
from mnemic.model.item import Role
from mnemic.model.scope import Partition

ACTIVE, INACTIVE, GONE, STATE = "active", "inactive", "gone", "state"
SAMPLE_SPAN = 1 << 16
"""Rows are numbered below this by their ids, so that a filter can take the same part of them every time."""

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
"""The payload indexes of a collection. `partition` is the tenant: points of one lie together."""

SHOWN = ["item", "session", "position", "author", "role", "question"]
NOBODY = ""
_NEVER = 1 << 60
_NAMESPACE = UUID("5b1a7c0e-4f9d-4d57-9a3e-0c6f2e8d71b4")
_NO_PERSON = (Role.ASSISTANT, Role.TOOL)


@dataclass(frozen=True, slots=True)
class State:
    """How far a partition is: `version` of the store in this life of it, its `epoch`; 0 while it is being filled, and
    then `beat` grows. Rows of another epoch are left over from a life before and are not seen.
    """

    epoch: str
    version: int
    beat: int = 0


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a row stands in the talk it comes from; `talk` and its neighbours None for what stands nowhere."""

    session: str | None
    talk: str | None
    before: str | None
    after: str | None
    author: str
    is_assistant: bool
    is_question: bool


def key_of(store: str, partition: Partition) -> str:
    """What a partition is called: the same for every process of the store, and nobody's name."""
    whole = json.dumps([store, partition.org, partition.level.value, partition.owner])
    return _digest(whole, 16)


def state_id(key: str) -> str:
    """The id of the point that says how far a partition is."""
    return str(uuid5(_NAMESPACE, key))


def row_id(key: str, epoch: str, item_id: str) -> str:
    """The id of a row's point."""
    return str(uuid5(_NAMESPACE, f"{key}\n{epoch}\n{item_id}"))


def state_point(key: str, store: str, partition: Partition, state: State) -> models.PointStruct:
    """The point that says how far a partition is, and for people whose it is."""
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
    """What a state point says."""
    return State(str(payload["epoch"]), int(payload["version"]), int(payload["beat"]))


def row_point(key: str, epoch: str, change: Change, version: int, now_s: int) -> models.PointStruct:
    """A change as a point. What is gone leaves one that holds no vector and nothing of the item, so that an older form
    which another process still holds cannot come back; such points are removed after a while.
    """
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
    """Where a row stands, as its payload says."""
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
    """The field is a number from `least`, and below `below`."""
    return models.FieldCondition(key=field, range=models.Range(gte=least, lt=below))


def named(ids: Sequence[str]) -> models.HasIdCondition:
    """The point has one of these ids."""
    return models.HasIdCondition(has_id=list(ids))


def visible(key: str, epoch: str, query: IndexQuery) -> list[models.Condition]:
    """What a row must be for the query to see it. The first condition is its partition; no question is asked without
    one.
    """
    return [
        is_("partition", key),
        is_("epoch", epoch),
        among("what", {ACTIVE, INACTIVE} if query.include_inactive else {ACTIVE}),
        between("expires_at", least=query.now + 1),
        among("agent", {NOBODY, query.agent or NOBODY}),
    ]


def narrowings(key: str, epoch: str, query: IndexQuery, most_named: int) -> list[list[models.Condition]]:
    """What a visible row must be besides for the query to admit it: one of these lists. At most `most_named` ids stand
    in one; none: nothing is admitted.
    """
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
