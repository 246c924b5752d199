"""Logs of other programs: taken in once, with their times, and resumed where an import stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.errors import UnavailableError
from mnemic.model.item import Message
from mnemic.model.scope import Scope
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from mnemic.testing.observation import state_of
from tests.unit.engine.kit import ANNA, START
from tests.unit.engine.transfer_kit import opened


def log(count: int) -> str:
    moments = (START + timedelta(minutes=number) for number in range(count))
    said = [
        {"role": "user" if n % 2 == 0 else "assistant", "content": f"words {n}", "id": f"m{n}", "timestamp": str(at)}
        for n, at in enumerate(moments)
    ]
    return "\n".join(map(json.dumps, said))


def messages(mnemic: Mnemic, scope: Scope) -> Iterator[Message]:
    for line in mnemic.export(scope):
        record = json.loads(line)
        if record["type"] == "message":
            item = mnemic.get(scope, record["id"])
            assert isinstance(item, Message)
            yield item


@pytest.mark.requirement("P-08")
def test_a_second_import_changes_nothing(store: Store, mnemic: Mnemic):
    assert mnemic.import_(ANNA, log(150)).added == {"message": 150}
    before = state_of(store)
    report = mnemic.import_(ANNA, log(150))
    assert (report.added, report.known) == ({}, {"message": 150})
    assert state_of(store) == before


def test_a_log_that_has_grown_brings_what_is_new(mnemic: Mnemic):
    mnemic.import_(ANNA, log(75))
    assert mnemic.import_(ANNA, log(80)).added == {"message": 5}


@pytest.mark.requirement("P-33")
def test_an_import_that_failed_in_the_middle_goes_on_where_it_stopped():
    store = MemoryStore()
    done: list[int] = []
    failing = opened(FaultyStore(store, Fault(100)))
    with pytest.raises(UnavailableError):
        failing.import_(ANNA, log(200), progress=lambda count, _: done.append(count))
    with opened(store) as mended:
        kept = len(list(messages(mended, ANNA)))
        assert 0 < kept < 200
        assert kept == done[-1]
        report = mended.import_(ANNA, log(200))
        assert (report.added, report.known) == ({"message": 200 - kept}, {"message": kept})
        assert [m.text for m in sorted(messages(mended, ANNA), key=lambda m: m.position)] == [
            f"words {number}" for number in range(200)
        ]


@pytest.mark.requirement("P-33")
def test_progress_rises_to_the_end(mnemic: Mnemic):
    told: list[tuple[int, int | None]] = []
    text = log(150) + '\n{"role": "user", "content": "half \\ud800"}'
    mnemic.import_(ANNA, text, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (151, 151)


def test_times_and_trust_are_those_of_the_log(mnemic: Mnemic):
    mnemic.import_(ANNA, log(2))
    said = sorted(messages(mnemic, ANNA), key=lambda message: message.position)
    assert [m.observed_at for m in said] == [START, START + timedelta(minutes=1)]
    assert {m.trust.value for m in said} == {"imported"}
    assert {m.session for m in said} == {"imported"}


@pytest.mark.requirement("P-19")
def test_a_dry_run_changes_nothing_and_foretells(store: Store, mnemic: Mnemic):
    text = log(70) + "\n" + log(3)  # the first three twice
    before = state_of(store)
    foretold = mnemic.import_(ANNA, text, is_dry_run=True)
    assert state_of(store) == before
    done = mnemic.import_(ANNA, text)
    assert (foretold.added, foretold.known) == (done.added, done.known) == ({"message": 70}, {"message": 3})


@pytest.mark.parametrize(
    "change", [{"id": "\udcff"}, {"id": "x" * 999}, {"name": "\udcff"}, {"name": "n" * 999}, {"timestamp": 1e300}]
)
def test_odd_ids_names_and_times_stop_nothing(mnemic: Mnemic, change: dict[str, Any]):
    text = json.dumps({"role": "user", "content": "hello", **change})
    assert mnemic.import_(ANNA, text).added == {"message": 1}
    assert mnemic.import_(ANNA, text).known == {"message": 1}
