"""The numbers of a memory's life: window, summaries, reflection, fading, eviction, schedules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mnemic.model.item import Kind


def _half_lives() -> dict[Kind, float]:
    return {Kind.EVENT: 14.0, Kind.CONTEXT: 14.0, Kind.STATE: 7.0, Kind.SCRATCHPAD: 2.0}


@dataclass(frozen=True, slots=True)
class LifeSettings:
    """Defaults of upkeep; units are in the names, limits are inclusive.

    Window: the last `window_messages` of a session are its window, for `window_ttl_s` after the last of them.
    What falls out is pending; `summary_batch` pending messages become a summary, and so does everything not yet
    summarised when the session ends or nothing was said for `idle_flush_s`. `reflection_threshold` summaries of a
    session cause a reflection. It is made of the newest `reflection_episodes` summaries; with fewer than half of these
    (rounded up) it is skipped.

    Fading: importance halves every `half_life_days` (of its kind, where named) since the last access, down to
    `faded_floor`. Eviction archives what has faded below `evict_below`, is older than `evict_after_days` and was stored
    with less than `kept_importance`; what is archived is deleted after `archive_days`.

    Schedules are cron lines of five fields, or six with seconds first, in `time_zone`. With each run of one, jobs that
    were done more than `done_jobs_days` ago and entries of the audit log older than `audit_days` go. `llm_tries`: after
    so many failures of the language model a step does its work without it.

    Each way to memories has its switch: `extracts`, facts are sought in what users say; `summarises`, what falls out of
    the window is summarised; `reflects`, summaries are reflected on; `curates`, days are curated by night. One that is
    switched off waits: what was said meanwhile is taken up when it is on again. `promotes_learnings`: a model is also
    asked what its agent should learn from what users say. `consolidates`: choices of one thing, made again and again
    over months, become one general preference. `graphs`: entities and relations are read into the graph by night.
    `scores_health`: how well what is remembered of each user and agent is, is looked at and kept by night.
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
    curate_cron: str = "30 2 * * *"
    consolidate_cron: str = "30 3 * * 0"
    evict_cron: str = "0 0 3 * * ?"
    graph_cron: str = "15 4 * * *"
    health_cron: str = "0 5 * * *"
    time_zone: str = "UTC"
    llm_tries: int = 3
    extracts: bool = True
    summarises: bool = True
    reflects: bool = True
    curates: bool = True
    consolidates: bool = True
    graphs: bool = False
    scores_health: bool = False
    promotes_learnings: bool = False
