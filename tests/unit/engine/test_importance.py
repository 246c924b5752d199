"""How important extracted facts are, what is left of them after more than a year, and what junk does to a score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.doctor import doctor
from mnemic.engine.engine import Engine
from mnemic.engine.importance import confirmed, raise_importance
from mnemic.model.health import Ailment, Condition
from mnemic.model.item import Fact, Kind, Memory, Provenance
from mnemic.model.scope import Scope
from mnemic.ports.models import Vectors
from tests.unit.engine.kit import START, Clock, WordEmbedder

MARA = Scope(user="mara", session="s1")


@pytest.fixture
def parts() -> Iterator[Engine]:
    clock = Clock()
    made = replace(build(Config(store=MEMORY_URL)), clock=clock)
    yield made
    made.store.close()


@pytest.fixture
def mnemic(parts: Engine) -> Mnemic:
    return Mnemic(parts, actor="tester")


def fact(text: str, kind: Kind = Kind.FACT, **fields: object) -> Fact:
    return replace(Fact(text=text, kind=kind, observed_at=START), **fields)


@pytest.mark.requirement("R-08")
def test_a_fact_starts_at_a_half_and_rises_for_cause(parts: Engine):
    facts = (
        fact("User tidied the desk"),
        fact("User prefers tea", Kind.PREFERENCE),
        fact("User tidied the desk", valid_from=START),
        fact("User works as a nurse, and their husband has diabetes"),
        fact("User tidied the desk", importance=0.3),
    )
    plain, preferred, dated, lasting, given = (each.importance for each in raise_importance(parts, facts, [None] * 5))
    assert 0.5 <= plain < 0.6
    assert dated == pytest.approx(plain + 0.05)
    assert min(preferred, lasting) >= 0.6
    assert given == 0.3


@pytest.mark.requirement("R-08")
def test_what_is_said_again_on_another_day_counts_more(mnemic: Mnemic):
    known = mnemic.remember(MARA, "User prefers tea", importance=0.5)
    same_day = replace(known, observed_at=START)
    assert confirmed(known, same_day) == 0.5
    assert confirmed(known, replace(known, observed_at=START.replace(day=9))) == 0.6
    assert confirmed(replace(known, importance=1.0), replace(known, observed_at=START.replace(day=9))) == 1.0


@pytest.mark.requirement("R-20", "D-38")
def test_after_more_than_a_year_trifles_are_gone_and_summaries_and_used_facts_stay(mnemic: Mnemic, parts: Engine):
    clock = parts.clock
    assert isinstance(clock, Clock)
    texts = {
        "trifle": mnemic.remember(MARA, "User tidied the desk", importance=0.5),
        "used": mnemic.remember(MARA, "User borrowed a ladder of the neighbour", importance=0.5),
        "summary": mnemic.remember(MARA, "User talked of the roof and of a ladder.", kind="summary", importance=0.5),
    }
    mnemic.recall(MARA, "ladder of the neighbour", limit=1)
    for _ in range(80):
        clock.turn(days=5)
        mnemic.work()
    left = {memory.id for memory in mnemic.list(MARA).memories}
    assert left == {texts["used"].id, texts["summary"].id}


@pytest.mark.requirement("P-28")
def test_notes_in_their_owners_words_are_not_called_worthless(mnemic: Mnemic):
    for text in (
        "I like green tea",
        "The deploy key is on the NAS",
        "The API rate limit is 100 requests per minute",
        "Bin day is Tuesday",
        "I hate cilantro",
    ):
        mnemic.remember(MARA, text)
    report = mnemic.health(MARA)
    assert report.score.score == 100
    assert not report.findings


@pytest.mark.requirement("P-28")
def test_a_store_of_junk_scores_low_and_one_of_facts_high(mnemic: Mnemic):
    junk = (
        "User will keep ya posted",
        "User is so happy for you",
        "User loves it",
        "User is looking forward to it",
        'Traceback (most recent call last):\n  File "/srv/run.py", line 8, in main\nKeyError: 3',
        "<div class='map'>\n<script src='map.js'></script>\n</div>",
    )
    good = ("User's sister Jana lives in Graz", "User uses Windows 11", "User bought a red boat in Porto")
    other = Scope(user="olga")
    for text in junk:
        mnemic.remember(MARA, text)
    for text in good:
        mnemic.remember(other, text)
    report = mnemic.health(MARA)
    assert report.score.score <= 25
    assert {one.text for one in report.findings if one.ailment is Ailment.JUNK} >= {
        "User loves it",
        "User is so happy for you",
    }
    assert mnemic.health(other).score.score == 100


class Constant(WordEmbedder):
    """Gives every text one vector."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return np.ones((len(texts), self.dims), dtype=np.float32)


@pytest.mark.requirement("P-28")
def test_the_doctor_notices_an_embedder_that_gives_every_text_one_vector(parts: Engine):
    told = {
        is_constant: next(
            each for each in doctor(replace(parts, embedder=embedder)).findings if each.part == "embedder"
        )
        for is_constant, embedder in ((True, Constant()), (False, WordEmbedder()))
    }
    assert (told[True].condition, told[False].condition) == (Condition.BROKEN, Condition.OK)
    assert "the same vector" in told[True].message


@pytest.mark.requirement("J-32", "R-36")
def test_background_is_what_tells_most_and_says_nothing_twice(mnemic: Mnemic, parts: Engine):
    def remember(text: str, importance: float, kind: str = "fact") -> str:
        return mnemic.remember(MARA, text, kind=kind, importance=importance).id

    nurse, diabetes = remember("User works as a nurse", 0.7), remember("User has diabetes", 0.7)
    slept = remember("User slept well", 0.4)
    summary = remember("User works as a nurse. User has diabetes. User slept well.", 0.5, "summary")
    son = remember("User has a son", 0.8)
    trifle = remember("User tidied the desk", 0.4)
    empty = remember("mara: good morning", 0.4, "summary")
    assert [hit.id for hit in mnemic.recall(MARA, "")] == [summary, son, trifle]
    extracted = (Provenance("m1", 0, 5, "extract", "rules-1", 1.0),)
    with parts.store.write() as work:
        for id_ in (trifle, empty):
            old = mnemic.get(MARA, id_)
            assert isinstance(old, Memory)
            work.memories.replace(replace(old, provenance=extracted), parts.terms(old.text), old.updated_at)
    assert [hit.id for hit in mnemic.recall(MARA, "")] == [summary, son]
    clock = parts.clock
    assert isinstance(clock, Clock)
    mnemic.feedback(MARA, slept, "outdated")
    clock.turn(hours=1)
    assert {hit.id for hit in mnemic.recall(MARA, "", limit=3)} == {nurse, diabetes, son}  # the summary is outdated
    mnemic.delete(MARA, summary)
    clock.turn(days=1000)
    assert [hit.id for hit in mnemic.recall(MARA, "", limit=1)] == [son]
    recent = remember("User moved to Rome", 0.7)
    assert [hit.id for hit in mnemic.recall(MARA, "", limit=1)] == [recent]
    for each in (nurse, diabetes, son, recent):
        mnemic.delete(MARA, each)
    assert mnemic.recall(MARA, "").hits[0].id == trifle
