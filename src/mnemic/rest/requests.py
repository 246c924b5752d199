"""Request parameters and bodies, made from the signatures of the library's verbs. Types and plain bounds are checked
here. The verbs check meaning, with the same messages at every door. Unknown fields are refused with the nearest known
name.
"""

import inspect
import json
import tomllib
import types
from collections.abc import Callable, Coroutine, Iterable, Mapping
from datetime import date
from enum import Enum
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from fastapi import Body as BodyField
from fastapi import File, HTTPException, Query, Request, Response, UploadFile
from fastapi import Path as PathField
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, create_model, model_validator
from pydantic_core import PydanticCustomError

from mnemic.api.arguments import LONGEST_MS, MOST, MOST_HOPS, Unsaid
from mnemic.api.parts import MOST_DEPTH, MOST_LISTED
from mnemic.api.parts import MOST_HOPS as LONGEST_PATH
from mnemic.api.signatures import documentation_of, hints_of, parameters_of
from mnemic.engine.health import MAX_LISTED
from mnemic.errors import InvalidInputError
from mnemic.model.graph import MAX_NAME_CHARS
from mnemic.model.item import Role, Trust
from mnemic.model.scope import Level, unique_keys
from mnemic.rest.asking import unknown_name
from mnemic.verbs import BY_NAME, Verb

MOST_TOGETHER = 1000
"""Items per request. One transaction of this size delays others only briefly."""

Time = Annotated[str, Field(description="ISO 8601. UTC unless it names a zone.", examples=["2026-05-01T09:30:00Z"])]
Fraction = Annotated[StrictFloat, Field(ge=0, le=1)]
Count = Annotated[StrictInt, Field(ge=0, le=MOST)]
FRACTION: Mapping[str, Any] = {"ge": 0, "le": 1}
COUNT: Mapping[str, Any] = {"ge": 0, "le": MOST}
NAME: Mapping[str, Any] = {"min_length": 1, "max_length": MAX_NAME_CHARS}
TOGETHER: Mapping[str, Any] = {"max_length": MOST_TOGETHER}

BOUNDS: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("confidence", "min_relevance", "min_similarity", "diversity"), FRACTION),
    **dict.fromkeys(("budget_tokens", "history_messages", "documents"), COUNT),
    **dict.fromkeys(("memories", "messages", "exchanges", "ids"), TOGETHER),
    "limit": {"ge": 1, "le": MOST},
    "?limit": {"ge": 1, "le": MOST_LISTED},
    "graph.extract.limit": {"ge": 1},
    "health.limit": {"ge": 1, "le": MAX_LISTED},
    "deadline_ms": {"ge": 0, "le": LONGEST_MS},
    "hops": {"ge": 0, "le": MOST_HOPS},
    "depth": {"ge": 1, "le": MOST_DEPTH},
    "max_hops": {"ge": 1, "le": LONGEST_PATH},
    "first": COUNT,
    "count": {"ge": 1, "le": MOST_LISTED},
    "keys.audit.before": {"ge": 0, "le": 2**63 - 1},
    "keys.create.rights": {"max_length": 3},
    "overlap_s": {"ge": 0},
    "max_tool_calls": {"ge": 0, "le": 1000},
    "max_calls": {"ge": 1, "le": 100_000},
    "max_tokens": {"ge": 1, "le": 10**9},
    "deadline_s": {"gt": 0, "le": 86_400},
    "parallel": {"ge": 1, "le": 64},
    "piece_tokens": {"ge": 200, "le": 10**6},
    "message": {"min_length": 1},
    "question": {"min_length": 1},
    "document": {"min_length": 1, "max_length": 4096},
    **dict.fromkeys(("graph.neighbours.name", "graph.path.source", "graph.path.target"), NAME),
    **dict.fromkeys(("graph.correct.name", "graph.undo.name"), NAME),
    "graph.entities.query": {"max_length": MAX_NAME_CHARS},
    "graph.entities.after": {"max_length": MAX_NAME_CHARS},
    "import_.name": {"max_length": 255},
}
"""Bounds by argument, by verb and argument, or with "?" by query argument. Others have their type's bounds."""

TEXTS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("description.toml").read_text(encoding="utf-8"))
"""Texts of the description that no signature has."""

IDS: Mapping[str, Any] = {
    "": PathField(min_length=1, max_length=255, examples=["019b0f6e-2b1c-7cc0-8c45-1d3f0a6f5b11"]),
    "documents": PathField(min_length=1, max_length=4096, description="Its id, or its percent-encoded source."),
    "tools": PathField(min_length=1, max_length=64, examples=["calculator"]),
}
"""Path parameters, by the part of Mnemic that the verb belongs to."""

LOG_EXAMPLE = '{"role": "user", "content": "I sail on Sundays", "session": "s1"}'
CONTENTS: Mapping[str, tuple[str, Any]] = {
    "ingest": ("file", Annotated[UploadFile, File()]),
    "import_": ("text", Annotated[bytes, BodyField(media_type="text/plain", examples=[LOG_EXAMPLE])]),
}
"""Bodies other than JSON objects, and the argument that each fills."""


class Body(BaseModel):
    """A JSON object without unknown fields."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_names(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            known = cls.model_fields
            for name in cast("Mapping[str, Any]", given):
                if name not in known:
                    raise PydanticCustomError("unknown_field", "{told}", {"told": unknown_name(name, known, "field")})
        return cast("Any", given)

    def given(self) -> dict[str, Any]:
        """The fields that were sent, by name. The verb supplies defaults for the rest."""
        return self.model_dump(exclude_unset=True)


class NewMessage(Body):
    """One message. Several contents are joined by newlines."""

    role: Role
    content: Annotated[str | list[str], Field(examples=["I sail on Sundays"])]
    name: str | None = None
    observed_at: Time | None = None
    external_id: (
        Annotated[str, Field(description="Your own id. A message with a known id is not stored again.")] | None
    ) = None
    trust: Trust | None = None
    metadata: Annotated[dict[str, Any], Field(examples=[{"project": "sails"}])] = {}


FORMS: Mapping[str, Callable[[], Any]] = {
    "importance": lambda: Fraction | str,
    "limits": lambda: dict[Level, Count],
    "feedback.verdict": lambda: Literal["relevant", "outdated"],
    "messages": lambda: list[NewMessage],
    "exchanges": lambda: list[list[NewMessage]],
    "remember_many.memories": lambda: list[Union[body_of("remember"), str]],  # noqa: UP007 -- it is made when asked
}
"""Types on the wire that cannot be derived from the library's."""


def parameters(verb: Verb) -> list[inspect.Parameter]:
    """The parameters of a verb's route besides its scope, for FastAPI: path, query, and `body` for a JSON object."""
    found: list[inspect.Parameter] = []
    for name, parameter in _sent_parameters(verb).items():
        if f"{{{name}}}" in verb.path:
            found.append(_make_parameter(name, Annotated[str, IDS.get(verb.name.rpartition(".")[0], IDS[""])]))
        elif not verb.has_body or verb.in_query:
            found.append(_make_query_parameter(verb, parameter))
    if verb.name in CONTENTS:
        found.append(_make_parameter(*CONTENTS[verb.name]))
    elif (body := body_of(verb.name)) is not None:
        found.append(_make_parameter("body", body))
    return found


@cache
def body_of(name: str) -> type[Body] | None:
    """The JSON body of a verb's route: all arguments that are in neither path nor query."""
    verb = BY_NAME[name]
    if not verb.has_body or verb.in_query:
        return None
    fields: dict[str, Any] = {
        parameter.name: _make_field(verb, parameter)
        for parameter in _sent_parameters(verb).values()
        if f"{{{parameter.name}}}" not in verb.path
    }
    if not fields:
        return None
    title = "".join(part.capitalize() for part in name.replace(".", "_").split("_"))
    about = documentation_of(name)[0].partition("\n\n")[0]
    return create_model(f"{title}Request", __base__=Body, __doc__=about, **fields)


def readers(verb: Verb) -> Mapping[str, Callable[[str], object]]:
    """Parsers of query parameters whose text is JSON."""
    is_query = not verb.has_body or verb.in_query
    return {
        name: _make_reader(name)
        for name in _sent_parameters(verb)
        if is_query and _is_mapping(hints_of(verb.name)[name])
    }


def _sent_parameters(verb: Verb) -> Mapping[str, inspect.Parameter]:
    left = {"scope", "progress", *verb.here}
    return {name: each for name, each in parameters_of(verb.name).items() if name not in left}


def _make_parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _find_row(table: Mapping[str, Any], verb: Verb, name: str) -> Any:
    return table.get(f"{verb.name}.{name}", table.get(name))


def _make_query_parameter(verb: Verb, parameter: inspect.Parameter) -> inspect.Parameter:
    name, default = parameter.name, parameter.default
    hint = hints_of(verb.name)[name]
    kind = str if _is_mapping(hint) else _form_of(hint, is_strict=False)
    bounds = BOUNDS.get(f"{verb.name}.{name}") or BOUNDS.get(f"?{name}") or BOUNDS.get(name, {})
    about = documentation_of(verb.name)[1].get(name)
    if default is inspect.Parameter.empty:
        return _make_parameter(name, Annotated[kind, Query(description=about, **bounds)])
    if default is None or isinstance(default, Unsaid | tuple):
        return _make_parameter(name, Annotated[kind | None, Query(description=about, **bounds)], None)
    return _make_parameter(name, Annotated[kind, Query(description=about, **bounds)], default)


def _make_field(verb: Verb, parameter: inspect.Parameter) -> tuple[Any, Any]:
    """The type of a body field, with its default and description."""
    name, default = parameter.name, parameter.default
    hint = hints_of(verb.name)[name]
    example = _find_row(TEXTS["examples"], verb, name)
    form = _find_row(FORMS, verb, name)
    kind: Any = form() if form else _form_of(hint, is_strict=True)
    bounds: Mapping[str, Any] = _find_row(BOUNDS, verb, name) or {}
    extra: Mapping[str, Any] = {} if example is None else {"examples": [example]}
    kind = Annotated[kind, Field(**bounds, **extra)] if bounds or extra else kind
    kind = Union[kind, None] if type(None) in _members_of(hint) else kind  # noqa: UP007 -- as above
    about = documentation_of(verb.name)[1].get(name)
    if default is inspect.Parameter.empty:
        return kind, Field(description=about)
    if isinstance(default, Unsaid):
        return kind, Field(default_factory=lambda: None, description=about)
    usual: Any = list(cast("tuple[Any, ...]", default)) if isinstance(default, tuple) else default
    return kind, Field(default=usual, description=about)


def _form_of(hint: Any, *, is_strict: bool) -> Any:
    """The wire type of a library type: in JSON, or if not `is_strict` in a query's text."""
    members = [each for each in _members_of(hint) if each is not type(None)]
    if any(isinstance(each, type) and issubclass(each, date) for each in members):
        return Time if is_strict else str
    choices = [each for each in members if isinstance(each, type) and issubclass(each, Enum)]
    if choices:
        return choices[0]
    forms = [_plain_form_of(each, is_strict=is_strict) for each in members]
    return Union[tuple(forms)]  # noqa: UP007 -- as many as there are


def _plain_form_of(hint: Any, *, is_strict: bool) -> Any:
    origin: Any = get_origin(hint)
    inner = (
        [_nullable_form_of(each, is_strict=is_strict) for each in get_args(hint)] if isinstance(origin, type) else []
    )
    if inner and issubclass(origin, Mapping):
        return dict.__class_getitem__(tuple(inner))
    if inner and issubclass(origin, Iterable):
        return list.__class_getitem__(inner[0])
    strict = {bool: StrictBool, int: StrictInt, float: StrictFloat}
    return Any if hint is object else strict.get(hint, hint) if is_strict else hint


def _nullable_form_of(hint: Any, *, is_strict: bool) -> Any:
    form = _form_of(hint, is_strict=is_strict)
    return Union[form, None] if type(None) in _members_of(hint) else form  # noqa: UP007 -- it is made here


def _members_of(hint: Any) -> list[Any]:
    """The members of a union, or the type itself, without markers of a default."""
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    return [each for each in members if not (get_origin(each) is Literal and isinstance(get_args(each)[0], Unsaid))]


def _is_mapping(hint: Any) -> bool:
    origins = [get_origin(each) for each in _members_of(hint)]
    return any(isinstance(origin, type) and issubclass(origin, Mapping) for origin in origins)


class UniqueKeys(APIRoute):
    """A route that refuses a JSON body in which an object repeats a key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, which gets a request that reads its body so."""
        handle = super().get_route_handler()

        async def read(request: Request) -> Response:
            return await handle(_Request(request.scope, request.receive))

        return read


class _Request(Request):
    async def json(self) -> Any:
        try:
            return json.loads(await self.body(), object_pairs_hook=unique_keys)
        except json.JSONDecodeError:
            raise
        except ValueError as error:
            raise HTTPException(HTTPStatus.BAD_REQUEST, f"the body is not valid JSON: {error}") from error


def _make_reader(name: str) -> Callable[[str], object]:
    def loads(text: str) -> object:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"{name} is not JSON") from error

    return loads
