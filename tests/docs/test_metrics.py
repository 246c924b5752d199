"""Every count and duration that the engine reports is documented under the name that Prometheus shows."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from mnemic.adapters.observers.prometheus import PrometheusObserver

REPORTED = re.compile(r"observer\.(count|timing)\(\s*f?\"([^\"]+)\"", re.DOTALL)


def names(repository: Path) -> set[str]:
    found: set[str] = set()
    for path in sorted((repository / "src").rglob("*.py")):
        for kind, name in REPORTED.findall(path.read_text(encoding="utf-8")):
            plain = re.sub(r"\{[^}]*\}", "*", name).replace(".", "_")
            found.add(plain + ("_total" if kind == "count" else "_seconds"))
    return found


@pytest.mark.requirement("P-18")
def test_every_metric_is_documented(repository: Path):
    told = (repository / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    reported = names(repository)
    assert "mnemic_remember_added_total" in reported
    known = re.findall(r"`(\w[\w*]+)`", told)
    assert sorted(name for name in reported if not any(fnmatch(name, pattern) for pattern in known)) == []


def test_counts_and_durations_are_shown_under_their_names_and_tags():
    observer = PrometheusObserver()
    observer.count("mnemic.jobs.done", kind="embed")
    observer.count("mnemic.jobs.done", 2, kind="embed")
    observer.count("agent.memory.redis.failure", operation="write")
    observer.timing("mnemic.recall", 20.0)
    observer.count("mnemic.jobs.done", other="unknown")
    shown = generate_latest(observer.registry).decode()
    assert 'mnemic_jobs_done_total{kind="embed"} 3.0' in shown
    assert 'mnemic_jobs_done_total{kind=""} 1.0' in shown
    assert 'agent_memory_redis_failure_total{operation="write"} 1.0' in shown
    assert 'mnemic_recall_seconds_bucket{le="0.025"} 1.0' in shown
