"""What processes of one server tell each other, seen through two views of one memory."""

from __future__ import annotations

import math
import os
from collections.abc import Generator

import pytest

from mnemic.model.health import Condition
from mnemic.web.limits import Board, Buckets, Doing
from mnemic.web.monitoring import processes
from mnemic.web.problems import ProblemError


@pytest.fixture
def boards() -> Generator[tuple[Board, Board]]:
    one = Board.make(2)
    other = Board(2, os.dup(one.fd))
    yield one, other
    one.close()
    other.close()


def test_what_one_shows_the_other_sees(boards: tuple[Board, Board]):
    one, other = boards
    one.show(0, Doing.ANSWERING)
    one.connections(0, 7)
    one.beat(0, worker_fails=True)
    one.died(1)
    first, second = other.slots()
    assert (first.doing, first.connections, first.deaths, first.worker_fails) == (Doing.ANSWERING, 7, 0, True)
    assert (second.doing, second.deaths) == (Doing.NOTHING, 1)
    assert first.beat_s < 60


def test_only_others_that_answer_are_compared_with(boards: tuple[Board, Board]):
    one, other = boards
    assert one.fewest_connections(0) == math.inf
    other.show(1, Doing.ANSWERING)
    other.connections(1, 3)
    assert one.fewest_connections(0) == 3
    assert one.fewest_connections(1) == math.inf
    other.show(1, Doing.PAUSED)
    assert one.fewest_connections(0) == math.inf


def test_health_tells_that_processes_are_missing(boards: tuple[Board, Board]):
    one, other = boards
    for number in range(2):
        one.show(number, Doing.ANSWERING)
    assert [finding.condition for finding in processes(other)] == [Condition.OK]
    one.show(1, Doing.PAUSED)
    (finding,) = processes(other)
    assert (finding.condition, finding.message) == (Condition.DEGRADED, "1 of 2 answer")
    assert finding.remedy


class TestSharedRates:
    def test_what_is_taken_in_one_process_is_gone_in_the_other(self, boards: tuple[Board, Board]):
        now = [100.0]
        here, there = (Buckets(1.0, 2, lambda: now[0], board.levels(0)) for board in boards)
        here.check("ana")
        there.check("ana")
        with pytest.raises(ProblemError):
            here.check("ana")
        there.check("boris")
        now[0] += 1.0
        here.check("ana")
        with pytest.raises(ProblemError):
            there.check("ana")

    def test_the_two_tables_do_not_mix(self, boards: tuple[Board, Board]):
        rates, attempts = boards[0].levels(0), boards[0].levels(1)
        rates.put("ana", 1.0, 2.0)
        assert attempts.get("ana") is None
        assert boards[1].levels(0).get("ana") == (1.0, 2.0)

    def test_more_names_than_there_is_room_for_drive_out_the_oldest(self, boards: tuple[Board, Board]):
        levels = boards[0].levels(0)
        for number in range(40_000):
            levels.put(f"caller {number}", 1.0, float(number + 1))
        assert levels.get("caller 39999") == (1.0, 40_000.0)
        assert sum(levels.get(f"caller {number}") is not None for number in range(0, 20_000, 100)) < 40
        assert sum(levels.get(f"caller {number}") is not None for number in range(30_000, 40_000, 100)) > 90

    def test_any_text_names_a_bucket(self, boards: tuple[Board, Board]):
        levels = boards[0].levels(0)
        for name in ("", "\ud800", "é" * 5000, "\0"):
            levels.put(name, 3.0, 4.0)
            assert levels.get(name) == (3.0, 4.0)
