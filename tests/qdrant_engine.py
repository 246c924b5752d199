"""Qdrant's own engine in a process of its own, behind as much of its REST protocol as the index speaks.

The engine is real (the package qdrant-edge-py: segments, payload indexes, HNSW, write-ahead log); only the routes are
written here, because no package brings the server. `python qdrant_engine.py FOLDER PORT [KEY]` prints its port, and
ends when its input does, so that none outlives the tests.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
from collections.abc import Callable
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import qdrant_edge as edge

Json = Any
KINDS = {
    "keyword": edge.PayloadSchemaType.Keyword,
    "integer": edge.PayloadSchemaType.Integer,
    "bool": edge.PayloadSchemaType.Bool,
}
MODES = {
    "upsert": edge.UpdateMode.Upsert,
    "insert_only": edge.UpdateMode.InsertOnly,
    "update_only": edge.UpdateMode.UpdateOnly,
}


class RefusedError(Exception):
    """A request that is answered with a status other than 200."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Collection:
    """One collection: a shard of the engine and what it was made with, in a folder."""

    def __init__(self, folder: Path, asked: Json | None = None) -> None:
        self._about = folder / "collection.json"
        self.lock = threading.Lock()
        if asked is not None:
            folder.mkdir(parents=True)
            (folder / "shard").mkdir()
            self.asked = asked
            self.shard = edge.EdgeShard.create(str(folder / "shard"), _config(asked))
            self._about.write_text(json.dumps(asked))
        else:
            self.asked = json.loads(self._about.read_text())
            self.shard = edge.EdgeShard.load(str(folder / "shard"))

    def info(self) -> Json:
        held, asked = self.shard.info(), self.asked
        told: Json = asked.get("hnsw_config") or {}
        hnsw: Json = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, **told}
        return {
            "status": "green",
            "optimizer_status": "ok",
            "segments_count": held.segments_count,
            "points_count": held.points_count,
            "indexed_vectors_count": held.indexed_vectors_count,
            "config": {
                "params": {"vectors": asked["vectors"]},
                "hnsw_config": hnsw,
                "optimizer_config": {
                    "deleted_threshold": 0.2,
                    "vacuum_min_vector_number": 1000,
                    "default_segment_number": 0,
                    "flush_interval_sec": 5,
                },
                "metadata": asked.get("metadata"),
            },
            "payload_schema": {
                name: {"data_type": asked["fields"][name]["type"], "params": asked["fields"][name], "points": 0}
                for name in held.payload_schema
            },
        }

    def index(self, asked: Json) -> Json:
        name, schema = asked["field_name"], asked["field_schema"]
        params: Json = {"type": schema} if isinstance(schema, str) else schema
        if name not in self.shard.info().payload_schema:
            self.shard.update(edge.UpdateOperation.create_field_index(name, _schema(params)))
        self.asked.setdefault("fields", {})[name] = params
        self._about.write_text(json.dumps(self.asked))
        return {"operation_id": 0, "status": "completed"}

    def batch(self, asked: Json) -> Json:
        for operation in asked["operations"]:
            ((kind, body),) = operation.items()
            self.shard.update(_operation(kind, body))
        return [{"operation_id": 0, "status": "completed"} for _ in asked["operations"]]

    def query(self, asked: Json) -> Json:
        return [{"points": [_shown(p) for p in self.shard.query(_query(each))]} for each in asked["searches"]]

    def retrieve(self, asked: Json) -> Json:
        found = self.shard.retrieve(asked["ids"], asked.get("with_payload", True), asked.get("with_vector", False))
        return [_shown(point) for point in found]

    def scroll(self, asked: Json) -> Json:
        request = edge.ScrollRequest(
            offset=asked.get("offset"),
            limit=asked["limit"],
            filter=_filter(asked.get("filter")),
            with_payload=asked.get("with_payload", True),
            with_vector=asked.get("with_vector", False),
        )
        points, offset = self.shard.scroll(request)
        return {"points": [_shown(p) for p in points], "next_page_offset": None if offset is None else str(offset)}

    def count(self, asked: Json) -> Json:
        return {"count": self.shard.count(edge.CountRequest(filter=_filter(asked.get("filter")), exact=True))}

    def optimise(self, _: Json) -> Json:
        """What a server does by itself in the background: build the graphs. Not a route of Qdrant."""
        return self.shard.optimize()


class Engine:
    """Collections by name in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held = {path.name: Collection(path) for path in folder.iterdir() if path.is_dir()}
        self._lock = threading.Lock()

    def answer(self, method: str, path: str, asked: Json) -> Json:
        parts = [unquote(part) for part in path.strip("/").split("/") if part]
        if not parts:
            return None
        name, route = parts[1], "/".join(parts[2:])
        with self._lock:
            held = self._held.get(name)
            if method == "GET" and route == "exists":
                return {"exists": held is not None}
            if method == "PUT" and not route:
                if held is not None:
                    raise RefusedError(409, f"Collection `{name}` already exists!")
                self._held[name] = Collection(self._folder / name, asked)
                return True
            if method == "DELETE" and not route:
                if held is not None:
                    del self._held[name]
                    held.shard.close()
                    shutil.rmtree(self._folder / name)
                return held is not None
        if held is None:
            raise RefusedError(404, f"Not found: Collection `{name}` doesn't exist!")
        calls: dict[tuple[str, str], Callable[[Json], Json]] = {
            ("GET", ""): lambda _: held.info(),
            ("PUT", "index"): held.index,
            ("POST", "points"): held.retrieve,
            ("POST", "points/batch"): held.batch,
            ("POST", "points/count"): held.count,
            ("POST", "points/query/batch"): held.query,
            ("POST", "points/scroll"): held.scroll,
            ("POST", "optimise"): held.optimise,
        }
        if (method, route) not in calls:
            raise RefusedError(404, f"no route {method} {path}")
        with held.lock:
            return calls[method, route](asked)


def _config(asked: Json) -> edge.EdgeConfig:
    hnsw: Json = asked.get("hnsw_config") or {}
    optimizers: Json = asked.get("optimizers_config") or {}
    assert asked["vectors"]["distance"] == "Cosine"
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=asked["vectors"]["size"], distance=edge.Distance.Cosine),
        hnsw_config=edge.HnswIndexConfig(
            m=hnsw.get("m", 16),
            ef_construct=hnsw.get("ef_construct", 100),
            full_scan_threshold=hnsw.get("full_scan_threshold", 10_000),
            payload_m=hnsw.get("payload_m"),
        ),
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=optimizers.get("indexing_threshold")),
    )


def _schema(params: Json) -> Any:
    if params["type"] == "keyword":
        return edge.KeywordIndexParams(is_tenant=params.get("is_tenant"))
    return KINDS[params["type"]]


def _operation(kind: str, body: Json) -> edge.UpdateOperation:
    if kind == "upsert":
        points = [edge.Point(point["id"], point["vector"], point.get("payload")) for point in body["points"]]
        mode = MODES[body["update_mode"]] if body.get("update_mode") else None
        return edge.UpdateOperation.upsert_points(points, _filter(body.get("update_filter")), mode)
    if kind == "delete":
        if "points" in body:
            return edge.UpdateOperation.delete_points(body["points"])
        return edge.UpdateOperation.delete_points_by_filter(_only(body["filter"]))
    if kind == "set_payload":
        return edge.UpdateOperation.set_payload_by_filter(_only(body["filter"]), body["payload"])
    raise RefusedError(400, f"no operation {kind}")


def _query(asked: Json) -> edge.QueryRequest:
    query: Json = asked.get("query") or {}
    params: Json = asked.get("params") or {}
    vector = query.get("nearest")
    return edge.QueryRequest(
        limit=asked.get("limit", 10),
        query=None if vector is None else edge.Query.Nearest(vector),
        filter=_filter(asked.get("filter")),
        with_payload=asked.get("with_payload", False),
        with_vector=asked.get("with_vector", False),
        params=edge.SearchParams(hnsw_ef=params.get("hnsw_ef"), exact=bool(params.get("exact"))),
    )


def _filter(asked: Json | None) -> edge.Filter | None:
    return None if asked is None else _only(asked)


def _only(asked: Json) -> edge.Filter:
    unknown = asked.keys() - {"must", "must_not"}
    if unknown:
        raise RefusedError(400, f"filters of {unknown} are not spoken here")
    lists: list[list[Json]] = [asked.get(name) or [] for name in ("must", "must_not")]
    must, must_not = ([_condition(each) for each in conditions] for conditions in lists)
    return edge.Filter(must=must, must_not=must_not)


def _condition(asked: Json) -> Any:
    if "has_id" in asked:
        return edge.HasIdCondition(set(asked["has_id"]))
    if "key" not in asked:
        return _only(asked)
    if asked.get("range"):
        return edge.FieldCondition(asked["key"], range=edge.RangeFloat(**asked["range"]))
    match = asked["match"]
    found = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
    return edge.FieldCondition(asked["key"], match=found)


def _shown(point: Any) -> Json:
    shown = {"id": str(point.id), "payload": point.payload, "vector": point.vector}
    return {**shown, "score": point.score, "version": point.version} if hasattr(point, "score") else shown


class Handler(BaseHTTPRequestHandler):
    """One request; a key is asked for where the server was started with one."""

    protocol_version = "HTTP/1.1"

    def __init__(self, engine: Engine, key: str, *arguments: Any) -> None:
        self.engine, self.key = engine, key
        super().__init__(*arguments)

    def do(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        asked = json.loads(self.rfile.read(length)) if length else None
        path = urlsplit(self.path).path
        try:
            result = self.engine.answer(self.command, path, asked) if self._is_let_in() else None
            status, body = 200 if self._is_let_in() else 403, {"result": result, "status": "ok", "time": 0.0}
            if path == "/":
                body = {"title": "qdrant - vector search engine", "version": "1.20.0"}
        except RefusedError as error:
            status, body = error.status, {"status": {"error": str(error)}, "time": 0.0}
        told = json.dumps(body).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def _is_let_in(self) -> bool:
        return self.headers.get("api-key", "") == self.key or not self.key

    do_GET = do_PUT = do_POST = do_DELETE = do  # noqa: N815 -- the names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    folder, port, *key = sys.argv[1:]
    engine = Engine(Path(folder))
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), partial(Handler, engine, "".join(key)))
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
