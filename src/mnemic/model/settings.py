"""Settings of the engine, of upkeep and of the proxy. `config` reads them from file, environment and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from mnemic.model.candidates import Scale
from mnemic.model.chat import AssistantSettings
from mnemic.model.document import MEBIBYTE
from mnemic.model.item import Kind
from mnemic.model.scope import Level


def _half_lives() -> dict[Kind, float]:
    # days: states decay faster than events, and scratchpad notes fastest; summaries and attempts take about a year
    lasting = dict.fromkeys((Kind.SUMMARY, Kind.ATTEMPT), 365.0)
    return {Kind.EVENT: 14.0, Kind.CONTEXT: 14.0, Kind.STATE: 7.0, Kind.SCRATCHPAD: 2.0, **lasting}


@dataclass(frozen=True, slots=True)
class LifeSettings:
    """Defaults of upkeep. Units are in the names, limits are inclusive.

    Window: a session's last `window_messages` are its window, until `window_ttl_s` after the last one. Older messages
    are pending. `summary_batch` pending messages become a summary. So do all messages without one when the session ends
    or is silent for `idle_flush_s`. After `reflection_threshold` new summaries a user gets a reflection on the newest
    `reflection_episodes` of them. With fewer than half of these (rounded up) it is skipped.

    Fading: importance halves every `half_life_days` (or the kind's own `half_lives`) since the last access, down to
    `faded_floor`. Eviction archives memories that have faded below `evict_below`, are older than `evict_after_days` and
    were stored with less than `kept_importance`. Archived memories are deleted after `archive_days`.

    Schedules are cron lines of five fields, or six with seconds first, in `time_zone`. Each scheduled run also deletes
    jobs done more than `done_jobs_days` ago, audit entries older than `audit_days`, and records of contexts older than
    `context_days` (0: record none). After `llm_tries` failures of the language model, a step works without it.

    Switches: `extracts` facts from messages; `summarises` messages that leave the window; `reflects` on summaries;
    `curates` days; `consolidates` repeated choices into preferences; `graphs` extracts entities and relations;
    `scores_health` of each user's and agent's memories; `promotes_learnings` also asks a model what the agent should
    learn from users. A switched-off step catches up when it is switched on again. `facts_per_message`: maximum
    number of facts stored for a message.
    """

    window_messages: int = 20
    window_ttl_s: float = 7200.0
    summary_batch: int = 5
    idle_flush_s: float = 1800.0
    reflection_threshold: int = 10
    reflection_episodes: int = 10
    summary_importance: float = 0.5
    raw_importance: float = 0.3
    reflection_importance: float = 0.9
    half_life_days: float = 30.0
    half_lives: Mapping[Kind, float] = field(default_factory=_half_lives)
    faded_floor: float = 0.05
    evict_below: float = 0.1
    evict_after_days: float = 180.0
    kept_importance: float = 0.6
    archive_days: float = 30.0
    done_jobs_days: float = 14.0
    audit_days: float = 365.0
    context_days: int = 30
    curate_cron: str = "30 2 * * *"
    consolidate_cron: str = "30 3 * * 0"
    evict_cron: str = "0 0 3 * * ?"
    graph_cron: str = "15 4 * * *"
    health_cron: str = "0 5 * * *"
    time_zone: str = "UTC"
    llm_tries: int = 3
    extracts: bool = True
    facts_per_message: int = 3
    summarises: bool = True
    reflects: bool = True
    curates: bool = True
    consolidates: bool = True
    graphs: bool = False
    scores_health: bool = False
    promotes_learnings: bool = False


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The proxy's upstream server, and how it uses memory.

    `upstream`: the base URL of an OpenAI-compatible server, `…/v1`. If None, the proxy answers with an error. `api_key`
    is sent there if the client sends no key or a Mnemic key. `anthropic_upstream` and `anthropic_api_key`: the same
    for Anthropic's Messages, which go to `upstream` by default. `user`: the user of requests that name none, if no key
    is needed. Memory that takes longer than `memory_timeout_s` is left out of a chat. `timeout_s`: maximum wait between
    two pieces of an answer. `injects_context` False: prompts stay unchanged, chats are still captured.
    """

    upstream: str | None = None
    api_key: str | None = field(default=None, repr=False)
    user: str = "default"
    memory_timeout_s: float = 2.0
    timeout_s: float = 600.0
    injects_context: bool = True
    anthropic_upstream: str | None = None
    anthropic_api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """OAuth for MCP over HTTP.

    `url`: this server's public address. None: OAuth is off. `redirect_hosts`: comma-separated hosts to which the
    built-in authorization server may send codes, besides the user's own machine. `issuer`: another authorization
    server, whose keys are at `jwks_url`. Its tokens are for `audience` (default: the address of MCP on this server),
    and their claim `user_claim` contains the user in `org`.
    """

    url: str | None = None
    redirect_hosts: str = "claude.ai,claude.com,chatgpt.com"
    issuer: str | None = None
    jwks_url: str | None = None
    audience: str | None = None
    user_claim: str = "sub"
    org: str = "default"


class Quarantine(StrEnum):
    """Which memories that contain instructions to the model are held back until a person trusts them: none, those
    not from the user, or all.
    """

    OFF = "off"
    UNTRUSTED = "untrusted"
    ALL = "all"


class Caps(StrEnum):
    """What limits the memories of a context besides the budget: nothing, or a number per level."""

    BUDGET = "budget"
    LEVELS = "levels"


@cache
def coefficients() -> Mapping[str, float]:
    """The shipped coefficients of the linear score. `weights.json` also has their data sources and licences."""
    import json

    text = Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
    return json.loads(text)["coefficients"]


def _shipped(feature: str) -> float:
    """The default of a weight: read from the file when the first `Weights` is made, not on import."""
    return field(default_factory=lambda: coefficients()[feature])


@dataclass(frozen=True, slots=True)
class Weights:
    """Coefficients of the linear score. Each multiplies the feature of its name (see `engine.recall.score`).

    One set for every kind of data, fitted by `benchmarks/fit/run.py`; each can be overridden. Their effect per test
    set: docs/decisions/0007-ranking.md.
    """

    keyword: float = _shipped("keyword")
    dense: float = _shipped("dense")
    keyword_before: float = _shipped("keyword_before")
    keyword_after: float = _shipped("keyword_after")
    dense_after: float = _shipped("dense_after")
    session_keyword: float = _shipped("session_keyword")
    session_dense: float = _shipped("session_dense")
    answer: float = _shipped("answer")
    brief: float = _shipped("brief")
    asks: float = _shipped("asks")
    author_named: float = _shipped("author_named")
    assistant: float = _shipped("assistant")
    assistant_asked: float = _shipped("assistant_asked")
    dated: float = _shipped("dated")
    linked: float = _shipped("linked")
    related: float = _shipped("related")
    elsewhere: float = _shipped("elsewhere")
    importance: float = _shipped("importance")
    flagged: float = _shipped("flagged")

    def of(self, feature: str) -> float:
        """The coefficient of a feature."""
        return getattr(self, feature)


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of the engine. Units are in the names, limits are inclusive.

    `min_relevance` None: contexts are filtered by `ranking.silence`, and recall drops nothing. `scales`: those of
    calibrated embedders by the id of their space, besides those in the package. `redacts_secrets`:
    secrets are removed before storing, except the kinds in `secrets_passing`.
    """

    max_text_chars: int = 1_000_000
    max_metadata_bytes: int = 65_536
    max_query_chars: int = 20_000
    max_file_bytes: float = 100 * MEBIBYTE
    read_timeout_s: float = 60.0
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    recall_limit: int = 5
    recall_hops: int = 0
    fallback_limit: int = 5
    min_similarity: float = 0.5
    min_relevance: float | None = None
    scales: Mapping[str, Scale] = field(default_factory=dict[str, Scale])
    min_importance: float = 0.5
    max_results: int = 10
    context_tokens: int = 2048
    window_messages: int = 20
    caps: Caps = Caps.BUDGET
    level_limits: dict[Level, int] = field(
        default_factory=lambda: {Level.SESSION: 10, Level.USER: 5, Level.AGENT: 3, Level.ORG: 5}
    )
    dense_candidates: int = 100
    rerank_candidates: int = 30
    session_memory_ttl_s: float = 3600.0
    max_session_memories: int = 100
    max_profile_facts: int = 200
    profile_ttl_s: float | None = None  # since the last write; None: a profile stays
    bulk_batch: int = 256
    weights: Weights = field(default_factory=Weights)
    exact_partition_rows: int = 50_000
    keyword_candidates: int = 500
    large_partition_rows: int = 5_000_000
    life: LifeSettings = field(default_factory=LifeSettings)
    assistant: AssistantSettings = field(default_factory=AssistantSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    oauth: OAuthSettings = field(default_factory=OAuthSettings)
    quarantine: Quarantine = Quarantine.UNTRUSTED
    redacts_secrets: bool = True
    secrets_passing: frozenset[str] = frozenset()
