"""What is measured of many users is there, and each kind of it on its own."""

from __future__ import annotations

import pytest

from benchmarks.crowd import CrowdOptions, run_crowd
from mnemic.errors import InvalidInputError


@pytest.mark.requirement("P-31")
def test_many_users_are_measured_alone_among_others_and_beside_a_writer():
    told: list[tuple[str, int, int]] = []
    options = CrowdOptions(users=3, memories=20, active=2, recalls=4, batch=16)
    result = run_crowd(options, lambda what, done, total: told.append((what, done, total)))
    for spread in (result.alone, result.among, result.first, result.beside):
        assert 0 < spread.p50_ms <= spread.p95_ms <= spread.p99_ms
    assert (result.users, result.memories) == (3, 20)
    assert result.written_per_s > 0
    assert told[-1] == ("ingest 3 users", 3, 3)


def test_counts_start_at_one():
    with pytest.raises(InvalidInputError, match="at least 1"):
        CrowdOptions(users=0)
