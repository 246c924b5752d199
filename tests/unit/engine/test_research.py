"""One question about one huge document: all of it read, or what the limits allow, and every citation in the text."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from mnemic import Mnemic, Scope
from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.engine.engine import Engine
from mnemic.errors import UnavailableError
from mnemic.model.chat import Prompt, Usage
from mnemic.model.document import STEPS_KEPT
from mnemic.model.scope import Level
from mnemic.text.narrative import tokens
from tests.unit.engine.kit import ANNA, BERT, Clock
from tests.unit.engine.research_kit import (
    FACTS,
    QUESTION,
    careful,
    check_places,
    huge,
    keep,
    kind_of,
    kinds,
    quotes,
    reading,
)

SMALL = 100_000
ASKED = ("log.md", QUESTION)


@pytest.mark.requirement("P-25")
def test_all_of_a_document_is_read_and_facts_of_far_places_are_combined_with_citations(parts: Engine):
    mnemic, llm = reading(parts)
    keep(parts, huge(SMALL))
    told = list[tuple[int, int, str]]()
    report = mnemic.research(ANNA, *ASKED, progress=lambda done, total, what: told.append((done, total, what)))
    assert report.text == "Note 1 says so [1]. Note 2 says so [2]."
    assert quotes(report) == list(FACTS)
    check_places(mnemic, report)
    assert report.coverage.is_whole
    assert report.coverage.missing == ()
    assert (report.coverage.read, report.plan.pieces) == (report.coverage.pieces, report.coverage.pieces)
    assert report.usage.calls == len(llm.prompts) == report.coverage.pieces + 1
    assert kinds(llm) == ["map"] * report.coverage.pieces + ["answer"]
    assert (report.is_extractive, report.is_dry_run, report.degraded) == (False, False, ())
    assert told[0] == (0, report.coverage.pieces, "reading")
    assert told[-1] == (1, 1, "answering")


@pytest.mark.requirement("P-25", "N-29")
def test_facts_in_a_million_tokens_are_found_and_combined_within_few_calls(parts: Engine):
    mnemic, llm = reading(parts)
    sections = huge(4_200_000)
    text = "".join(sections)
    assert len(text) / 4 > 1_000_000
    keep(parts, sections)
    report = mnemic.research(ANNA, *ASKED, max_calls=8, max_tokens=60_000)
    assert quotes(report) == list(FACTS)
    assert all(text[q.start : q.end] == q.text for each in report.citations for q in each.quotes)
    assert report.usage.calls == len(llm.prompts) <= 8
    assert report.usage.prompt_tokens + report.usage.completion_tokens <= 60_000
    assert report.coverage.read <= 7
    assert report.coverage.pieces > 200
    assert not report.coverage.is_whole
    assert f"Read: {report.coverage.read} of {report.coverage.pieces} pieces" in report.text
    assert "Not read: pages " in report.text


@pytest.mark.requirement("P-25")
def test_notes_that_do_not_fit_are_combined_in_a_tree_and_keep_their_quotes(parts: Engine):
    def talkative(prompt: Prompt) -> Script:
        if kind_of(prompt) != "map":
            return careful(prompt)
        words = re.findall(r"^\D*(\d+) The tide came in at noon", prompt.messages[-1].content, re.MULTILINE)
        says = "The keepers wrote down the wind, the rain and the ships that passed. " * 4
        notes = [{"quote": f"{number} The tide came in at noon", "says": says} for number in words]
        return json.dumps({"notes": notes})

    mnemic, llm = reading(parts, talkative, context_tokens=2600)
    keep(parts, huge(SMALL))
    report = mnemic.research(ANNA, *ASKED)
    reduced = kinds(llm).count("reduce")
    assert reduced > 2
    assert len(llm.prompts) <= report.plan.calls
    assert all(sum(tokens(m.content) for m in p.messages) + p.max_tokens <= 2600 for p in llm.prompts)
    assert len(quotes(report)) > len(report.citations) > 0
    check_places(mnemic, report)


@pytest.mark.requirement("P-25")
@pytest.mark.parametrize("most", [1, 2, 3, 5, 9, 30])
@pytest.mark.parametrize("parallel", [1, 4])
def test_the_limit_of_calls_is_kept_with_a_model_that_fails_at_every_other_reply(
    parts: Engine, most: int, parallel: int
):
    count = iter(range(10_000))
    mnemic, llm = reading(parts, lambda prompt: "I cannot." if next(count) % 2 else careful(prompt))
    keep(parts, huge(SMALL))
    report = mnemic.research(ANNA, *ASKED, max_calls=most, parallel=parallel)
    assert len(llm.prompts) == report.usage.calls <= most
    assert report.coverage.read + report.coverage.failed + report.coverage.unread == report.coverage.pieces
    assert report.text


@pytest.mark.requirement("P-25")
@pytest.mark.parametrize("most", [1000, 9000, 20_000, 36_000])
def test_the_limit_of_tokens_is_kept(parts: Engine, most: int):
    mnemic, _ = reading(parts)
    keep(parts, huge(SMALL))
    report = mnemic.research(ANNA, *ASKED, max_tokens=most, parallel=3)
    assert report.usage.prompt_tokens + report.usage.completion_tokens <= most
    assert not report.coverage.is_whole
    assert "Not read: " in report.text


@pytest.mark.requirement("P-25")
def test_after_the_deadline_no_call_is_made_and_the_best_passages_are_given(parts: Engine):
    mnemic, llm = reading(parts)
    keep(parts, huge(SMALL))
    report = mnemic.research(ANNA, *ASKED, deadline_s=1e-9)
    assert llm.prompts == []
    assert report.is_extractive
    assert any(FACTS[0] in quote for quote in quotes(report))
    check_places(mnemic, report)
    assert "the limits allow no piece to be read" in report.text


@pytest.mark.requirement("P-25")
def test_no_call_waits_longer_than_what_is_left_of_the_deadline(parts: Engine):
    mnemic, llm = reading(parts)
    keep(parts, huge(SMALL))
    mnemic.research(ANNA, *ASKED, deadline_s=50)
    assert all(0 < prompt.timeout_s <= 50 * 3 / 4 for prompt in llm.prompts if kind_of(prompt) == "map")
    assert 50 * 3 / 4 < llm.prompts[-1].timeout_s <= 50


@pytest.mark.requirement("P-25")
def test_a_dry_run_tells_what_it_would_take_and_asks_nothing(parts: Engine):
    mnemic, llm = reading(parts)
    keep(parts, huge(SMALL))
    plan = mnemic.research(ANNA, *ASKED, is_dry_run=True)
    assert (llm.prompts, plan.text, plan.citations, plan.is_dry_run) == ([], "", (), True)
    done = mnemic.research(ANNA, *ASKED)
    assert plan.plan == done.plan
    assert done.usage.calls <= plan.plan.calls
    assert done.usage.prompt_tokens + done.usage.completion_tokens <= plan.plan.tokens
    again = mnemic.research(ANNA, *ASKED, is_dry_run=True).plan
    assert (again.kept, again.calls) == (again.pieces, 1)
    few = mnemic.research(ANNA, "log.md", "And the ships?", is_dry_run=True, max_calls=3).plan
    assert (few.kept, few.read < few.pieces, few.calls <= 3) == (0, True, True)


@pytest.mark.requirement("P-25")
def test_an_outage_of_the_model_keeps_what_was_read_and_the_next_call_pays_for_the_rest_alone(parts: Engine):
    left = [5]

    def failing(prompt: Prompt) -> Script:
        left[0] -= 1
        return careful(prompt) if left[0] >= 0 else UnavailableError("the model is away")

    mnemic, llm = reading(parts, failing)
    keep(parts, huge(SMALL))
    with pytest.raises(UnavailableError, match="away"):
        mnemic.research(ANNA, *ASKED)
    assert len(llm.prompts) == 7  # five answers, and one question asked twice
    left[0] = 1000
    report = mnemic.research(ANNA, *ASKED)
    assert (report.coverage.kept, report.plan.kept) == (5, 5)
    assert report.usage.calls == report.coverage.pieces - 5 + 1
    assert quotes(report) == list(FACTS)
    free = mnemic.research(ANNA, *ASKED)
    assert (free.usage, free.text, free.citations) == (Usage(), report.text, report.citations)


@pytest.mark.requirement("P-25")
@pytest.mark.parametrize("parallel", [1, 3])
def test_whoever_breaks_off_keeps_what_was_read(parts: Engine, parallel: int):
    mnemic, _ = reading(parts)
    keep(parts, huge(SMALL))

    def break_off(done: int, _total: int, _what: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mnemic.research(ANNA, *ASKED, progress=break_off, parallel=parallel)
    report = mnemic.research(ANNA, *ASKED)
    assert 3 <= report.coverage.kept <= 3 + parallel
    assert quotes(report) == list(FACTS)


def test_larger_limits_go_on_where_smaller_ones_ended(parts: Engine):
    mnemic, _ = reading(parts)
    keep(parts, huge(SMALL * 2))
    first = mnemic.research(ANNA, *ASKED, max_calls=4)
    second = mnemic.research(ANNA, *ASKED, max_calls=4)
    assert 0 < first.coverage.read == second.coverage.kept < second.coverage.read


def test_what_was_read_for_one_question_model_or_asker_is_not_taken_for_another(parts: Engine):
    mnemic, llm = reading(parts)
    keep(parts, huge(SMALL), level=Level.ORG)
    mnemic.research(ANNA, *ASKED)
    pieces = len(llm.prompts) - 1
    assert mnemic.research(ANNA, "log.md", "How was the wind?").coverage.kept == 0
    assert mnemic.research(BERT, *ASKED).coverage.kept == 0
    other = Mnemic(replace(parts, llm=ScriptedLlm(careful, name="other")), actor="tester")
    assert other.research(ANNA, *ASKED).coverage.kept == 0
    assert mnemic.research(ANNA, *ASKED).coverage.kept == pieces


@pytest.mark.requirement("P-25")
@pytest.mark.parametrize("how", ["delete", "again", "erase", "old"])
def test_what_was_read_goes_with_the_document_with_who_asked_and_with_time(parts: Engine, how: str, clock: Clock):
    mnemic, _ = reading(parts)
    shared = Scope(org=ANNA.org, agent="robot")
    document = keep(parts, huge(SMALL), level=Level.ORG)
    mnemic.research(ANNA, *ASKED)
    assert mnemic.research(ANNA, *ASKED, is_dry_run=True).plan.kept > 0
    if how == "delete":
        mnemic.documents.delete(shared, document.id)
    elif how == "again":
        with parts.store.write() as work:
            work.documents.fill(document, "".join(huge(SMALL)), [])
    elif how == "erase":
        mnemic.erase(ANNA, level="user")
    else:
        clock.turn(days=STEPS_KEPT.days + 1)
        with parts.store.write() as work:
            work.research.forget(clock.now() - STEPS_KEPT)
    if how != "delete":
        assert mnemic.research(ANNA, *ASKED, is_dry_run=True).plan.kept == 0
    with parts.store.read() as work:
        partition = ANNA.partition(Level.USER)
        assert work.erasure.count(partition).get("research_steps", 0) == 0 or how == "old"
