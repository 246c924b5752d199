"""The bodies of requests: the arguments of the verbs. A field that is not known is refused with the nearest spelling.

Types are checked here; what values mean is checked by the verbs, with the same words at every door.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, model_validator
from pydantic_core import PydanticCustomError

from mnemic.model.item import Kind, Role, Trust
from mnemic.model.recall import Placement
from mnemic.model.records import Right
from mnemic.model.scope import Level
from mnemic.rest.asking import unknown_name

MOST_TOGETHER = 1000
Time = Annotated[str, Field(description="ISO 8601; without a zone it is UTC", examples=["2026-05-01T09:30:00Z"])]
Fraction = Annotated[StrictFloat | StrictInt, Field(ge=0, le=1)]
Importance = Annotated[Fraction | str, Field(description="0 to 1, or low, medium, high", examples=[0.8, "high"])]
Milliseconds = Annotated[StrictFloat | StrictInt, Field(ge=0, le=86_400_000)]
Count = Annotated[StrictInt, Field(ge=0, le=2**31)]
Hops = Annotated[StrictInt, Field(ge=0, le=4, description="relations of the graph that are followed")]
Metadata = Annotated[dict[str, Any], Field(examples=[{"project": "sails"}])]
Filter = Annotated[dict[str, Any], Field(examples=[{"categories": {"contains": "work"}}])]
Reason = Annotated[str, Field(description="why; kept in the history", examples=["she said so"])]


class Body(BaseModel):
    """A JSON object whose names are all known."""

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
        """What was said, by name; what was left out is left to the verb."""
        return self.model_dump(exclude_unset=True)


class NewMemory(Body):
    """One thing worth keeping."""

    text: Annotated[str, Field(examples=["User prefers dark mode"])]
    kind: Kind = Kind.FACT
    level: Level | None = None
    importance: Importance = 0.8
    confidence: Fraction = 1.0
    categories: list[str] = []
    context: str = ""
    snippet: str = ""
    source: str = ""
    observed_at: Time | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    is_private: StrictBool = False
    is_pinned: StrictBool = False
    trust: Trust = Trust.USER
    metadata: Metadata = {}


class NewMemories(Body):
    """Many things worth keeping: stored together, or not at all."""

    memories: Annotated[list[NewMemory | str], Field(max_length=MOST_TOGETHER)]


class MemoryChanges(Body):
    """What shall be different; null ends or empties a time."""

    text: str = ""
    kind: Kind = Kind.FACT
    importance: Importance = 0.8
    confidence: Fraction = 1.0
    categories: list[str] = []
    context: str = ""
    snippet: str = ""
    source: str = ""
    observed_at: Time = ""
    valid_from: Time | None = None
    valid_to: Time | None = None
    expires_at: Time | None = None
    trust: Annotated[Trust, Field(description="whose word it is; lowers the memory's, never raises it")] = Trust.USER
    metadata: Metadata = {}
    reason: Reason = ""


class Question(Body):
    """What is asked, and what may answer."""

    query: Annotated[str, Field(examples=["What should the editor look like?"])]
    limit: Annotated[StrictInt, Field(ge=1, le=2**31)] | None = 5
    limits: dict[Level, Count] | None = None
    levels: list[Level] = []
    kinds: Annotated[list[str], Field(examples=[["preference", "message"]])] = []
    filter: Filter | None = None
    min_relevance: Fraction = 0.0
    min_similarity: Fraction | None = None
    as_of: Time | None = None
    known_at: Time | None = None
    deadline_ms: Milliseconds | None = None
    rerank: StrictBool | None = None
    diversity: Fraction = 0.0
    hops: Hops = 0


class Around(Body):
    """What may stand before what the model is about to answer."""

    system: str = ""
    budget_tokens: Count = 2048
    placement: Placement = Placement.LEADING
    history_messages: Count = 20
    documents: Count = 5
    role: str | None = None
    model: str | None = None
    language: Annotated[str, Field(examples=["en", "zh"])] | None = None
    limit: Annotated[StrictInt, Field(ge=1, le=2**31)] | None = None
    limits: dict[Level, Count] | None = None
    filter: Filter | None = None
    min_relevance: Fraction = 0.0
    min_similarity: Fraction | None = None
    as_of: Time | None = None
    known_at: Time | None = None
    deadline_ms: Milliseconds | None = None
    rerank: StrictBool | None = None
    diversity: Fraction = 0.0
    hops: Hops = 0


class ContextRequest(Around):
    """What the model is about to answer, and what may stand before it."""

    query: Annotated[str, Field(examples=["What should the editor look like?"])]


class AskedQuestion(Around):
    """A question that memory and documents answer."""

    question: Annotated[str, Field(min_length=1, examples=["What is the notice period?"])]


class Researched(Body):
    """A question about one document, and what answering it may cost."""

    document: Annotated[str, Field(min_length=1, max_length=4096, description="its id, or its source")]
    question: Annotated[str, Field(min_length=1, examples=["What did each board meeting decide about the harbour?"])]
    max_calls: Annotated[StrictInt, Field(ge=1, le=100_000, description="of the model; 256 unless told")] | None = None
    max_tokens: (
        Annotated[StrictInt, Field(ge=1, le=10**9, description="of prompts and replies; 4,000,000 unless told")] | None
    ) = None
    deadline_s: (
        Annotated[StrictFloat | StrictInt, Field(gt=0, le=86_400, description="in seconds; 1800 unless told")] | None
    ) = None
    parallel: Annotated[StrictInt, Field(ge=1, le=64, description="calls at a time")] | None = None
    piece_tokens: Annotated[StrictInt, Field(ge=200, le=10**6, description="the most of one piece")] | None = None
    language: Literal["en", "zh"] | None = None
    is_dry_run: Annotated[StrictBool, Field(description="say what it would take, and ask nothing")] = False


class ChatTurn(Around):
    """What the user says, and how the turn is to go."""

    message: Annotated[str, Field(min_length=1, examples=["What did I plan for Lisbon?"])]
    plan: Annotated[list[str], Field(description="planned steps, shown after the profile")] = []
    rules: Annotated[list[str], Field(description="how to keep to them")] = []
    tools: Annotated[
        StrictBool | list[str], Field(description="names of the tools that may be called; true: all, false: none")
    ] = True
    max_tool_calls: Annotated[StrictInt, Field(ge=0, le=1000)] = 8
    captures: Annotated[StrictBool, Field(description="false: nothing of this turn is kept")] = True


class ToolArguments(Body):
    """What a tool is called with; its schema is in the list of tools."""

    arguments: Annotated[dict[str, Any], Field(examples=[{"expression": "17 * 23"}])] | None = None


class NewMessage(Body):
    """One utterance; several contents are joined by line ends."""

    role: Role
    content: Annotated[str | list[str], Field(examples=["I sail on Sundays"])]
    name: str | None = None
    observed_at: Time | None = None
    external_id: Annotated[str, Field(description="yours; a second message with it is not stored")] | None = None
    trust: Trust | None = None
    metadata: Metadata = {}


class Exchange(Body):
    """One exchange: messages, or short for them the text of the user and of the assistant."""

    messages: Annotated[list[NewMessage], Field(max_length=MOST_TOGETHER)] | None = None
    user: Annotated[str, Field(examples=["I sail on Sundays"])] | None = None
    assistant: Annotated[str, Field(examples=["Noted."])] | None = None
    observed_at: Time | None = None


class Exchanges(Body):
    """Many exchanges: stored together, or not at all."""

    exchanges: Annotated[list[list[NewMessage]], Field(max_length=MOST_TOGETHER)]
    observed_at: Time | None = None


class Completion(Body):
    """The answer of the assistant to a turn that was captured without it."""

    assistant: str | list[str]
    name: str | None = None
    observed_at: Time | None = None


class Why(Body):
    """Why something is done."""

    reason: Reason = ""


class Pin(Body):
    """Keep it from fading, or let it fade again."""

    is_pinned: StrictBool = True
    reason: Reason = ""


class Judgement(Body):
    """Why somebody trusts or rejects a memory."""

    reason: Reason = ""


class Verdict(Body):
    """What somebody thinks of a memory."""

    verdict: Literal["relevant", "outdated"]
    reason: Reason = ""


class Merge(Body):
    """Which memories become one: the first stays, with `text` if given."""

    ids: Annotated[list[str], Field(max_length=MOST_TOGETHER)]
    text: str | None = None
    reason: Reason = ""


class Clearing(Body):
    """Which levels are emptied; the scope's default level unless told."""

    levels: list[Level] = []
    reason: Reason = ""


class DryRun(Body):
    """Whether only to say what would be done."""

    is_dry_run: StrictBool = False


class Summarising(DryRun):
    """With `is_flush`, of everything that is in no summary yet."""

    is_flush: StrictBool = False


class Curation(DryRun):
    """`day`: the last day to read; up to yesterday unless told."""

    day: Annotated[str, Field(examples=["2026-05-01"])] | None = None


class Upkeep(DryRun):
    """The levels it concerns; those that the scope names, without the org's, unless told."""

    levels: list[Level] = [Level.SESSION, Level.USER, Level.AGENT]


class GraphReading(Upkeep):
    """At most `limit` items."""

    limit: Annotated[StrictInt, Field(ge=1)] | None = None


class Erasure(DryRun):
    """The level that is erased: of user, agent and session the first that the scope names, unless told."""

    level: Level | None = None


class Facts(Body):
    """Facts by key; null removes one."""

    facts: Annotated[dict[str, str | None], Field(examples=[{"city": "Lisbon"}])]


class Retry(Body):
    """Which jobs that gave up are tried again."""

    ids: Annotated[list[str], Field(max_length=MOST_TOGETHER)]


class Work(Body):
    """All that is due, or one job."""

    until_idle: StrictBool = True


class NewKey(Body):
    """A key of this org; the scope's user and agent, where named, bind it."""

    name: Annotated[str, Field(examples=["laptop"])] = ""
    rights: Annotated[list[Right], Field(max_length=3)] = [Right.READ, Right.WRITE]
    expires_at: Time | None = None


class Rotation(Body):
    """How long the old key is accepted beside the new one."""

    overlap_s: Annotated[StrictFloat | StrictInt, Field(ge=0)] = 3600.0
