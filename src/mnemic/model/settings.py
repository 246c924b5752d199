"""The numbers the engine needs; where they come from (file, environment, argument) is the business of `config`."""

from __future__ import annotations

from dataclasses import dataclass, field

from mnemic.model.life import LifeSettings
from mnemic.model.scope import Level


@dataclass(frozen=True, slots=True)
class Weights:
    """Coefficients of the linear score; each multiplies the feature of its name (see `engine.score`).

    Round numbers, the same for every kind of data, chosen on a plateau: doubling or halving any one of them moves no
    development set by more than about two points. Where they come from: docs/decisions/0007-ranking.md.
    """

    keyword: float = 1.1
    dense: float = 1.0
    keyword_before: float = 0.25
    keyword_after: float = 0.35
    dense_before: float = 0.1
    dense_after: float = 0.45
    keyword_around: float = 0.15
    dense_around: float = 0.1
    session_keyword: float = 0.5
    session_dense: float = 0.3
    answer: float = 0.5
    author_named: float = 3.0
    assistant: float = -2.0
    importance: float = 0.1

    def of(self, feature: str) -> float:
        """The coefficient of a feature."""
        return getattr(self, feature)


def _level_limits() -> dict[Level, int]:
    return {Level.SESSION: 10, Level.USER: 5, Level.AGENT: 3, Level.ORG: 5}


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults of the engine. Units are in the names; limits are inclusive."""

    max_text_chars: int = 1_000_000
    max_metadata_bytes: int = 65_536
    max_query_chars: int = 20_000
    recall_limit: int = 5
    fallback_limit: int = 5
    min_similarity: float = 0.5
    min_importance: float = 0.5
    max_results: int = 10
    context_tokens: int = 2048
    window_messages: int = 20
    level_limits: dict[Level, int] = field(default_factory=_level_limits)
    dense_candidates: int = 100
    rerank_candidates: int = 30
    session_memory_ttl_s: float = 3600.0
    max_session_memories: int = 100
    bulk_batch: int = 256
    weights: Weights = field(default_factory=Weights)
    exact_partition_rows: int = 50_000
    keyword_candidates: int = 500
    large_partition_rows: int = 5_000_000
    life: LifeSettings = field(default_factory=LifeSettings)
