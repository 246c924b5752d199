"""What `Requests` promises."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from mnemic.errors import UnsupportedError
from mnemic.model.records import KeptRequest, Outcome
from mnemic.model.scope import Level
from mnemic.ports.store import Store
from mnemic.testing.samples import MINUTE, NOW

ORG, OTHER = "acme", "other"
FIRST_TRY, SECOND_TRY, THIRD_TRY = "t1", "t2", "t3"
TOLD = "Ω 'x'\0".encode()


def a_request(**changes: Any) -> KeptRequest:
    """One that was begun at `NOW` and names everybody."""
    request = KeptRequest(
        org=ORG,
        caller="key:1",
        key="k",
        token=FIRST_TRY,
        fingerprint="f",
        at=NOW,
        user="anna",
        agent="jarvis",
        session="s1",
    )
    return replace(request, **changes)


def begin(store: Store, *requests: KeptRequest) -> list[bool]:
    """Insert requests in one unit of work; those of a minute ago count as forgotten."""
    with store.write() as work:
        return [work.requests.add(each, NOW - MINUTE) for each in requests]


def answer(store: Store, request: KeptRequest, outcome: Outcome = Outcome.ANSWERED, told: bytes = TOLD) -> bool:
    """Answer a request."""
    with store.write() as work:
        return work.requests.answer(request, outcome, told)


def known(store: Store, request: KeptRequest) -> KeptRequest | None:
    """What the store knows of it."""
    with store.read() as work:
        return work.requests.get(request.org, request.caller, request.key)


def scrub(store: Store, level: Level, owner: str, but: str = "") -> int:
    """Empty the requests of `ORG` that name the owner."""
    with store.write() as work:
        return work.requests.scrub(ORG, level, owner, but)


class RequestsContract:
    """Tests of `Requests`; each takes an empty open store."""

    def test_a_request_returns_as_it_was_begun_and_with_its_answer(self, store: Store):
        plain = a_request(key="k2", user=None, agent=None, session=None)
        assert begin(store, a_request(), plain) == [True, True]
        assert (known(store, a_request()), known(store, plain)) == (a_request(), plain)
        assert answer(store, a_request())
        assert known(store, a_request()) == a_request(outcome=Outcome.ANSWERED, answer=TOLD)
        assert known(store, a_request(key="unknown")) is None

    def test_a_key_stands_for_one_request_until_that_is_forgotten(self, store: Store):
        old = a_request(at=NOW - MINUTE)
        assert begin(store, old, a_request(token=SECOND_TRY)) == [True, False]
        assert known(store, old) == old
        later = a_request(token=THIRD_TRY, fingerprint="other", at=NOW + MINUTE)
        with store.write() as work:
            assert work.requests.add(later, NOW)
        assert known(store, later) == later

    def test_an_answered_request_keeps_its_place_too(self, store: Store):
        begin(store, a_request())
        answer(store, a_request())
        assert begin(store, a_request(token=SECOND_TRY)) == [False]

    def test_one_key_of_two_orgs_or_two_callers_is_two_keys(self, store: Store):
        requests = (a_request(), a_request(org=OTHER), a_request(caller="key:2"))
        assert begin(store, *requests) == [True] * 3
        answer(store, requests[0])
        assert [known(store, each) for each in requests[1:]] == [*requests[1:]]

    def test_only_who_began_it_answers_it_and_only_once(self, store: Store):
        begin(store, a_request())
        assert not answer(store, a_request(token=SECOND_TRY))
        assert answer(store, a_request(), Outcome.UNFINISHED, b"")
        assert not answer(store, a_request())
        assert known(store, a_request()) == a_request(outcome=Outcome.UNFINISHED)
        assert not answer(store, a_request(key="unknown"))

    def test_only_who_began_it_removes_it_and_only_while_it_is_open(self, store: Store):
        begin(store, a_request(), a_request(key="k2"))
        answer(store, a_request(key="k2"))
        with store.write() as work:
            assert not work.requests.remove(a_request(token=SECOND_TRY))
            assert not work.requests.remove(a_request(key="k2"))
            assert work.requests.remove(a_request())
            assert not work.requests.remove(a_request())
        assert known(store, a_request()) is None

    def test_what_names_an_owner_is_emptied_and_nothing_else(self, store: Store):
        nobody: dict[str, str | None] = {"user": None, "agent": None, "session": None}
        owners = {Level.USER: "anna", Level.AGENT: "jarvis", Level.SESSION: "s1"}
        asked = {level: a_request(key=level, **nobody | {level.value: owner}) for level, owner in owners.items()}
        bert = a_request(key="bert", user="bert", agent="friday", session="s2")
        other, plain = a_request(org=OTHER), a_request(key="plain", **nobody)
        begin(store, *asked.values(), bert, other, plain)
        for each in (*asked.values(), bert, plain):
            answer(store, each)
        kept = {
            each.key: replace(each, outcome=Outcome.ANSWERED, answer=TOLD) for each in (*asked.values(), bert, plain)
        }
        for level, owner in (*owners.items(), (Level.ORG, "acme")):
            names = {level.value} if level in asked else {"bert", "plain"}
            assert (scrub(store, level, owner), scrub(store, level, owner)) == (len(names), 0)
            for name in names:
                kept[name] = replace(kept[name], **nobody, fingerprint="", outcome=Outcome.FORGOTTEN, answer=b"")
            assert {name: known(store, each) for name, each in kept.items()} == kept
        assert known(store, other) == other

    def test_one_that_is_still_open_when_it_is_emptied_keeps_no_answer_later(self, store: Store):
        begin(store, a_request(), a_request(key="k2"))
        assert scrub(store, Level.USER, "anna") == 2
        emptied = a_request(user=None, agent=None, session=None, fingerprint="")
        assert known(store, a_request()) == emptied
        assert answer(store, a_request())
        assert known(store, a_request()) == replace(emptied, outcome=Outcome.FORGOTTEN)
        assert answer(store, a_request(key="k2"), Outcome.UNFINISHED)
        assert known(store, a_request(key="k2")) == replace(emptied, key="k2", outcome=Outcome.UNFINISHED)

    def test_the_one_that_empties_is_left_alone(self, store: Store):
        begin(store, a_request(), a_request(key="k2", token=SECOND_TRY))
        assert scrub(store, Level.USER, "anna", but="t2") == 1
        assert known(store, a_request(key="k2")) == a_request(key="k2", token=SECOND_TRY)

    def test_old_ones_of_every_org_are_forgotten(self, store: Store):
        old = [a_request(at=NOW - MINUTE, key=key, org=org) for key, org in (("k1", ORG), ("k2", OTHER))]
        with store.write() as work:
            for each in old:
                work.requests.add(each, NOW - 2 * MINUTE)
        begin(store, a_request())
        with store.write() as work:
            assert work.requests.forget(NOW) == 2
        assert (known(store, old[0]), known(store, a_request())) == (None, a_request())

    def test_a_unit_of_work_that_fails_begins_nothing(self, store: Store):
        with suppress(LookupError), store.write() as work:
            work.requests.add(a_request(), NOW)
            raise LookupError
        assert known(store, a_request()) is None

    def test_a_reading_unit_of_work_changes_no_request(self, store: Store):
        begin(store, a_request())
        with store.read() as work:
            with pytest.raises(UnsupportedError):
                work.requests.add(a_request(key="k2"), NOW)
            with pytest.raises(UnsupportedError):
                work.requests.answer(a_request(), Outcome.ANSWERED, TOLD)
            with pytest.raises(UnsupportedError):
                work.requests.remove(a_request())
            with pytest.raises(UnsupportedError):
                work.requests.scrub(ORG, Level.ORG, ORG, "")
            with pytest.raises(UnsupportedError):
                work.requests.forget(NOW)
