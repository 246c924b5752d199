"""The kinds of jobs, by the names under which they are stored."""

from __future__ import annotations

EMBED = "embed"
EXTRACT = "extract"
SUMMARISE = "summarise"
CURATE = "curate"
CONSOLIDATE = "consolidate"
CONSOLIDATE_SUMMARY = "consolidate_summary"
REFLECT = "reflect"
DECAY = "decay"
EVICT = "evict"
GRAPH = "graph"
HEALTH = "health"
REMAKE = "remake"
