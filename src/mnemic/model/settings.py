"""The numbers the engine needs; where they come from (file, environment, argument) is the business of `config`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from mnemic.model.assistant import AssistantSettings
from mnemic.model.life import LifeSettings
from mnemic.model.proxy import ProxySettings
from mnemic.model.scope import Level


class Quarantine(StrEnum):
    """Which memories that give orders to the model are kept from recall until somebody trusts them: none, those that
    the user did not say, or all.
    """

    OFF = "off"
    UNTRUSTED = "untrusted"
    ALL = "all"


@cache
def coefficients() -> Mapping[str, float]:
    """The coefficients of the linear score that come with the package, by feature: `weights.json`, which also says how
    they were made and from which data under which licences.
    """
    import json

    text = Path(__file__).with_name("weights.json").read_text(encoding="utf-8")
    return json.loads(text)["coefficients"]


def _shipped(feature: str) -> float:
    """The default of a weight: read from the file when the first `Weights` is made, not on import."""
    return field(default_factory=lambda: coefficients()[feature])


@dataclass(frozen=True, slots=True)
class Weights:
    """Coefficients of the linear score; each multiplies the feature of its name (see `engine.recall.score`).

    One set for every kind of data, made by `benchmarks/fit/run.py`; any of them can be set otherwise. What each is
    worth, and on which sets: docs/decisions/0007-ranking.md.
    """

    keyword: float = _shipped("keyword")
    dense: float = _shipped("dense")
    keyword_before: float = _shipped("keyword_before")
    keyword_after: float = _shipped("keyword_after")
    dense_after: float = _shipped("dense_after")
    session_keyword: float = _shipped("session_keyword")
    session_dense: float = _shipped("session_dense")
    answer: float = _shipped("answer")
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


def _level_limits() -> dict[Level, int]:
    return {Level.SESSION: 10, Level.USER: 5, Level.AGENT: 3, Level.ORG: 5}


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of the engine. Units are in the names; limits are inclusive.

    `redacts_secrets`: secrets are taken out of what is stored, but for the kinds in `secrets_passing`.
    """

    max_text_chars: int = 1_000_000
    max_metadata_bytes: int = 65_536
    max_query_chars: int = 20_000
    max_file_bytes: float = 100 * (1 << 20)
    read_timeout_s: float = 60.0
    chunk_size: int | None = None
    chunk_overlap: int | None = None
    recall_limit: int = 5
    recall_hops: int = 0
    fallback_limit: int = 5
    min_similarity: float = 0.5
    min_relevance: float = 0.0
    min_importance: float = 0.5
    max_results: int = 10
    context_tokens: int = 2048
    window_messages: int = 20
    level_limits: dict[Level, int] = field(default_factory=_level_limits)
    dense_candidates: int = 100
    rerank_candidates: int = 30
    session_memory_ttl_s: float = 3600.0
    max_session_memories: int = 100
    max_profile_facts: int = 200
    bulk_batch: int = 256
    weights: Weights = field(default_factory=Weights)
    exact_partition_rows: int = 50_000
    keyword_candidates: int = 500
    large_partition_rows: int = 5_000_000
    life: LifeSettings = field(default_factory=LifeSettings)
    assistant: AssistantSettings = field(default_factory=AssistantSettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)
    quarantine: Quarantine = Quarantine.UNTRUSTED
    redacts_secrets: bool = True
    secrets_passing: frozenset[str] = frozenset()
