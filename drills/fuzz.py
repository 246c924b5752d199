"""Calls every verb of the library and every REST route with invalid arguments, several at once.

The library must return a result or raise one of its own errors. REST must return a status below 500, or 501 for
features that are not set up. Every refusal must be an `application/problem+json` body with a text. Afterwards, the
store must be sound.

    python drills/fuzz.py [--calls 4000] [--requests 3000] [--seed 1]
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from starlette.testclient import TestClient

from drills.kit.memory import file_problems
from drills.kit.outcome import Outcome, options
from mnemic import Config, Mnemic, Scope
from mnemic.api.signatures import parameters_of
from mnemic.errors import MnemicError
from mnemic.model.health import Condition
from mnemic.verbs import VERBS
from tests.doors.http_doors import LOCAL, Served
from tests.doors.test_wrong_arguments import ELSEWHERE, GIVEN, RAW, WRONG

ANNA = Scope(user="anna", session="s1")
NOT_SET_UP = 501
SERVER_ERROR = 500
REFUSED = 400
MOST_WRONG = 3
MOST_READ = 5
"""Items taken of an answer that is a stream."""

JSON_WRONG: tuple[Any, ...] = (
    *(None, True, -1, 10**30, 1.5, "", "xyz", "a\0b", "x" * 5000, [], [None], [["x"]], {}, {"text": None}, {"$gt": {}}),
    *([{"role": 1}], {"a": {"a": {"a": {"a": []}}}}, "2026-13-45T99:99Z", "../../etc/passwd", "\u202eabc", "\ud800"),
)


def grow(chance: random.Random, pool: tuple[Any, ...], depth: int = 3) -> Any:
    """A wrong thing, or a list or mapping of such."""
    draw = chance.random()
    if depth and draw < 0.1:  # noqa: PLR2004 -- a tenth are lists
        return [grow(chance, pool, depth - 1) for _ in range(chance.randrange(4))]
    if depth and draw < 0.2:  # noqa: PLR2004 -- a tenth are mappings
        names = ("text", "role", "content", "id", "limit", "filter", "and", "x" * 300, "user")
        return {chance.choice(names): grow(chance, pool, depth - 1) for _ in range(chance.randrange(4))}
    return chance.choice(pool)


def call_library(mnemic: Mnemic, chance: random.Random, calls: int) -> tuple[Counter[str], list[str]]:
    """How the calls ended, and what ended in no error of ours."""
    ends, problems = Counter[str](), list[str]()
    verbs = [verb.name for verb in VERBS if verb.name not in ELSEWHERE]
    for number in range(calls):
        verb = verbs[number % len(verbs)]
        known = {n: p for n, p in parameters_of(verb).items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
        named = {n: GIVEN.get(n, "x") for n, p in known.items() if p.default is p.empty}
        named |= {"scope": ANNA} if "scope" in known else {}
        for name in chance.sample(sorted(known), min(len(known), chance.randint(1, MOST_WRONG))):
            named[name] = grow(chance, tuple(WRONG))
        function: Any = mnemic
        for part in verb.split("."):
            function = getattr(function, part)
        try:
            answer: Any = function(**named)
            if hasattr(answer, "__next__"):
                for _ in range(MOST_READ):
                    next(answer, None)
            ends["library: taken"] += 1
        except MnemicError:
            ends["library: refused"] += 1
        except RAW as error:
            ends["library: raw errors"] += 1
            problems.append(f"{verb}({named!r:.120}): {type(error).__name__}: {error!s:.120}")
    return ends, problems


def call_rest(served: Served, chance: random.Random, requests: int) -> tuple[Counter[str], list[str]]:
    """How the requests ended, and which were answered wrongly."""
    ends, problems = Counter[str](), list[str]()
    description = served.app_description()
    paths: dict[str, Any] = description["paths"]
    routes = [(method, path, told) for path, methods in sorted(paths.items()) for method, told in methods.items()]
    headers = {"Authorization": f"Bearer {served.token('default')}", "Content-Type": "application/json"}
    with TestClient(served.app, base_url=LOCAL, raise_server_exceptions=False) as client:
        for number in range(requests):
            method, path, told = routes[number % len(routes)]
            places = {name: str(chance.choice(("x", "%00", "a" * 400, "..", "\u202e"))) for name in _names(path)}
            query = {"user": "anna"} | {
                each["name"]: str(grow(chance, JSON_WRONG, 0)).encode("utf-8", "replace").decode()
                for each in told.get("parameters", ())
                if each["in"] == "query" and chance.random() < 0.5  # noqa: PLR2004 -- half of them
            }
            body = {name: grow(chance, JSON_WRONG) for name in _body_names(told, description) if chance.random() < 0.6}  # noqa: PLR2004
            answer = client.request(
                method.upper(), path.format(**places), params=query, content=json.dumps(body), headers=headers
            )
            ends[f"REST: {answer.status_code // 100}xx"] += 1
            shown = f"{method.upper()} {path} {query!r:.100} {body!r:.100}"
            if answer.status_code >= SERVER_ERROR and answer.status_code != NOT_SET_UP:
                problems.append(f"{shown}: {answer.status_code} {answer.text:.120}")
            elif answer.status_code >= REFUSED and not _explains(answer):
                problems.append(f"{shown}: {answer.status_code} without a text: {answer.text:.80}")
    return ends, problems


def _names(path: str) -> list[str]:
    return [part.split("}")[0] for part in path.split("{")[1:]]


def _body_names(told: Any, description: Any) -> list[str]:
    schema = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return sorted(schema.get("properties", {}))


def _explains(answer: Any) -> bool:
    is_problem = answer.headers.get("content-type", "").startswith("application/problem+json")
    return is_problem and bool(answer.json().get("detail"))


def main() -> int:
    """Run it and write the result."""
    told = options(__doc__, calls=4000, requests=3000, seed=1)
    chance = random.Random(told.seed)  # noqa: S311 -- draws wrong things
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        path = Path(folder) / "memory.db"
        with Mnemic.open(Config(store=str(path), embedder="none"), has_worker=False) as mnemic:
            ends, problems = call_library(mnemic, chance, told.calls)
        served = Served(Config(store=str(path), embedder="none"))
        found, more = call_rest(served, chance, told.requests)
        problems += more
        broken = [each for each in served.mnemic.doctor().findings if each.condition is Condition.BROKEN]
        problems += [f"doctor: {each.part}: {each.message}" for each in broken]
        served.close()
        problems += file_problems(path)
        facts: dict[str, object] = {**dict(sorted(ends.items())), **dict(sorted(found.items()))}
        os.chdir(Path(__file__).resolve().parent.parent)
    return Outcome(name="fuzz", about=__doc__ or "", facts=facts, problems=problems).told()


if __name__ == "__main__":
    sys.exit(main())
