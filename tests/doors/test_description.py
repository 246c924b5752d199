"""What the description of REST promises is kept: asked with what it allows, and with what it does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode, checks
from starlette.testclient import TestClient

from mnemic.api.signatures import parameters_of
from mnemic.config import load_config
from mnemic.model.scope import Scope
from mnemic.testing.chat_server import ChatServer
from mnemic.verbs import PREFIX, ROUTES
from tests.doors.http_doors import LOCAL, Served

CHECKS: Any = vars(checks)["CHECKS"]
LEFT_OUT = ("positive_data_acceptance",)
"""Some rules (an end after a begin, the form of a time) are no matter of a schema, and are answered 422."""

INNER = ("items", "additionalProperties", "propertyNames", "contentSchema")
"""Keywords whose value may be a schema."""

KEYWORDS = {
    *("$ref", "type", "enum", "anyOf", "description", "examples", "format", "pattern", "prefixItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems"),
    *("properties", "required", "contentMediaType", *INNER),
}
"""Keywords of JSON Schema 2020-12, the dialect of OpenAPI 3.1. Not `default`: generators make its fields required."""

EXAMPLES = 8
SCOPE = {"org", "user", "agent", "session"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with ChatServer(lambda _request: "As you said.") as model:
        config = load_config(str(tmp_path_factory.mktemp("served") / "memory.db"))
        options = {"base_url": model.url, "model": "m", "attempts": 1}
        opened = Served(replace(config, llm="openai", llm_options=options, reranker="maxsim"))
        opened.mnemic.remember(Scope(user="ana"), "Ana likes tea")
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def description(served: Served) -> Any:
    return schemathesis.openapi.from_asgi("/openapi.json", served.app)


def described_path(verb: str) -> str:
    """The path of a verb's operation in the description."""
    return PREFIX + ROUTES[verb].path


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize("verb", ROUTES)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_an_operation_keeps_to_its_description(served: Served, description: Any, verb: str, mode: GenerationMode):
    operation = description[described_path(verb)][ROUTES[verb].method]
    if mode is GenerationMode.NEGATIVE and not (operation.body or operation.query or operation.path_parameters):
        return
    headers = {"Authorization": f"Bearer {served.token('default')}"}
    statuses: Counter[int] = Counter()
    excluded: list[Any] = [CHECKS.get_one(name) for name in LEFT_OUT]

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        if mode is GenerationMode.POSITIVE:
            case.query.pop("org", None)  # any other than the key's is refused; test_security tries these
        answer = case.call(headers=headers)
        statuses[answer.status_code] += 1
        case.validate_response(answer, headers=headers, excluded_checks=excluded)

    ask()
    assert set(statuses) - {401, 403}, "nothing came through the gate"


def test_the_table_of_the_remote_client_names_every_operation(served: Served):
    described = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in served.app_description()["paths"].items()
        for method, operation in methods.items()
    }
    wanted = {verb.replace(".", "_"): (route.method, described_path(verb)) for verb, route in ROUTES.items()}
    assert described == wanted
    assert all(name.isidentifier() for name in described), "a generated client names its methods after operations"


def test_schemas_have_only_keywords_of_their_dialect(served: Served):
    found = {keyword for schema in schemas_of(served.app_description()) for keyword in schema}
    assert found <= KEYWORDS, "validators ignore other keywords, and strict ones refuse the description"


def test_a_generated_client_needs_only_what_the_verb_needs(served: Served):
    described = served.app_description()
    for verb, route in ROUTES.items():
        operation = described["paths"][PREFIX + route.path][route.method.lower()]
        assert not [each for each in operation["parameters"] if {"type": "null"} in each["schema"].get("anyOf", ())]
        required = {each["name"] for each in operation["parameters"] if each["required"]}
        for content in operation.get("requestBody", {}).get("content", {}).values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            required |= set(described["components"]["schemas"].get(name, {}).get("required", ()))
        needed = {each.name for each in parameters_of(verb).values() if each.default is each.empty}
        assert required - {"file"} == needed - {"scope", "progress", *route.here}, verb


def schemas_of(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every schema of the description, those inside others included."""
    operations = [operation for methods in described["paths"].values() for operation in methods.values()]
    contents = [each.get("requestBody", {}).get("content", {}) for each in operations]
    contents += [answer["content"] for each in operations for answer in each["responses"].values()]
    left = [media["schema"] for content in contents for media in content.values()]
    left += [parameter["schema"] for each in operations for parameter in each["parameters"]]
    left += described["components"]["schemas"].values()
    while left:
        schema = left.pop()
        yield schema
        left += [schema[name] for name in INNER if isinstance(schema.get(name), dict)]
        left += [*schema.get("properties", {}).values(), *schema.get("anyOf", ()), *schema.get("prefixItems", ())]


@pytest.mark.parametrize("verb", ROUTES)
def test_a_request_takes_every_argument_of_its_verb(served: Served, verb: str):
    route, described = ROUTES[verb], served.app_description()
    operation = described["paths"][PREFIX + route.path][route.method.lower()]
    named = {each["name"] for each in operation["parameters"]} - SCOPE
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        named |= set(schema.get("properties", ()))
    wanted = set(parameters_of(verb)) - {"scope", "progress", *route.here}
    assert named - {"file"} == wanted


@pytest.mark.requirement("P-01")
def test_every_json_body_comes_with_an_example_and_that_of_common_requests_is_accepted(
    tmp_path: Path, request: pytest.FixtureRequest
):
    served = Served(load_config(str(tmp_path / "memory.db")))  # of its own: nobody has made a key there
    request.addfinalizer(served.close)
    client = TestClient(served.app, base_url=LOCAL)
    described = served.app_description()
    contents = [
        operation.get("requestBody", {}).get("content", {}).get("application/json", {"example": {}})
        for methods in described["paths"].values()
        for operation in methods.values()
    ]
    assert all("example" in content for content in contents)
    for path in ("memories", "recall", "context", "messages"):
        body = described["paths"][f"/v1/{path}"]["post"]["requestBody"]["content"]["application/json"]["example"]
        answer = client.post(f"/v1/{path}?user=ana", json=body)
        assert answer.is_success, (path, answer.text)
