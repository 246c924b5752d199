"""What becomes of memories when something they were made of is erased, corrected, or no longer believed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

import pytest

from mnemic.api import Mnemic
from mnemic.engine.dependants import MAX_FLAGS
from mnemic.engine.engine import Engine
from mnemic.engine.remember import remember
from mnemic.errors import ConflictError, NotFoundError
from mnemic.model.item import Cause, Kind, Memory, MemoryDraft, Provenance, State
from mnemic.model.recall import Contribution
from mnemic.model.records import Action, JobState
from mnemic.model.scope import Level, Scope
from mnemic.testing.samples import a_document, fill_document
from tests.unit.engine.kit import ANNA, BERT, Clock


def made(parts: Engine, text: str, *sources: str, scope: Scope = ANNA, **fields: object) -> Memory:
    """A memory that was made of these items, each of which carries all of it."""
    provenance = tuple(Provenance(source, 0, 200, "tests", "1", 1.0) for source in sources)
    draft = MemoryDraft(text=text, provenance=provenance, **fields)  # pyright: ignore[reportArgumentType] -- names of fields
    return remember(parts, scope, [draft], actor="tester")[0]


def causes(mnemic: Mnemic, memory: Memory, scope: Scope = ANNA) -> list[tuple[str, Cause]]:
    """The flags of a memory, as what they name and why."""
    found = mnemic.get(scope, memory.id)
    assert isinstance(found, Memory)
    return [(flag.source_id, flag.cause) for flag in found.flags]


def ids(mnemic: Mnemic, question: str, **fields: object) -> list[str]:
    return [hit.id for hit in mnemic.recall(ANNA, question, limit=None, **fields)]  # pyright: ignore[reportArgumentType] -- names of arguments


def flagged(mnemic: Mnemic, item_id: str, question: str) -> Sequence[Contribution]:
    (hit,) = [hit for hit in mnemic.recall(ANNA, question, limit=None) if hit.id == item_id]
    assert hit.score == pytest.approx(sum(each.points for each in hit.contributions))
    return [each for each in hit.contributions if each.feature == "flagged"]


@pytest.mark.requirement("P-06")
class TestFlags:
    def test_what_was_made_of_an_outdated_fact_is_flagged_ranked_down_and_says_so(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats by the river in Lyon", home.id)
        plain = mnemic.remember(ANNA, "He paints boats by the river in Lyon")
        before = ids(mnemic, "Who paints boats by the river in Lyon?")
        mnemic.feedback(ANNA, home.id, "outdated")
        assert causes(mnemic, derived) == [(home.id, Cause.OUTDATED)]
        assert before[:2] in ([derived.id, plain.id], [plain.id, derived.id])
        assert ids(mnemic, "Who paints boats by the river in Lyon?")[:2] == [plain.id, derived.id]
        (told,) = flagged(mnemic, derived.id, "Who paints boats by the river in Lyon?")
        assert (told.value, told.points) == (1.0, -2.0)
        assert not flagged(mnemic, plain.id, "Who paints boats by the river in Lyon?")
        why = mnemic.why_not(ANNA, derived.id, "Who paints boats by the river in Lyon?")
        assert [each.points for each in why.contributions if each.feature == "flagged"] == [-2.0]
        assert "flag" in why.reason

    def test_the_flag_goes_when_the_judgement_is_taken_back(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats", home.id)
        later = made(parts, "She sells paintings", derived.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        assert causes(mnemic, later) == causes(mnemic, derived) == [(home.id, Cause.OUTDATED)]
        mnemic.undo(ANNA, home.id)
        assert causes(mnemic, later) == causes(mnemic, derived) == []
        assert [entry.action for entry in mnemic.history(ANNA, later.id)] == [
            Action.CREATED,
            Action.FLAGGED,
            Action.CLEARED,
        ]

    def test_a_correction_flags_until_it_is_taken_back(self, mnemic: Mnemic, parts: Engine):
        fact = mnemic.remember(ANNA, "The boat has two masts")
        derived = made(parts, "The boat is a ketch", fact.id)
        mnemic.update(ANNA, fact.id, importance=0.9)
        assert causes(mnemic, derived) == []
        mnemic.update(ANNA, fact.id, text="The boat has one mast")
        mnemic.update(ANNA, fact.id, text="The boat has no mast")
        assert causes(mnemic, derived) == [(fact.id, Cause.CORRECTED)]
        mnemic.undo(ANNA, fact.id)
        assert causes(mnemic, derived) == [(fact.id, Cause.CORRECTED)]
        mnemic.undo(ANNA, fact.id)
        assert causes(mnemic, derived) == []

    def test_what_is_superseded_or_ended_flags_and_what_is_merged_does_not(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "User lives in Lyon")
        derived = made(parts, "She walks along the Saone", home.id)
        mnemic.remember(ANNA, "User lives in Porto")
        assert causes(mnemic, derived) == [(home.id, Cause.SUPERSEDED)]
        tea, sencha = mnemic.remember(ANNA, "Likes green tea"), mnemic.remember(ANNA, "Likes sencha")
        steeped = made(parts, "Owns a tea pot", sencha.id)
        mnemic.merge(ANNA, [tea.id, sencha.id])
        assert causes(mnemic, steeped) == []
        job = mnemic.remember(ANNA, "Works at the harbour")
        shift = made(parts, "Gets up at five", job.id)
        mnemic.update(ANNA, job.id, valid_to=parts.clock.now())
        assert causes(mnemic, shift) == [(job.id, Cause.OUTDATED)]
        mnemic.update(ANNA, job.id, valid_to=None)
        assert causes(mnemic, shift) == []

    def test_what_expires_or_makes_room_flags_nothing(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        faint = mnemic.remember(ANNA, "It rained at noon", importance=0.1)
        derived = made(parts, "The picnic was indoors", faint.id)
        clock.turn(days=400)
        mnemic.evict(ANNA)
        clock.turn(days=60)
        mnemic.evict(ANNA)
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, faint.id)
        assert causes(mnemic, derived) == []

    def test_memories_that_were_made_of_each_other_are_flagged_once(self, mnemic: Mnemic, parts: Engine):
        root = mnemic.remember(ANNA, "The mill stands still")
        one = made(parts, "The miller is away", root.id, "two")
        two = made(parts, "Nobody grinds corn", one.id)
        with parts.store.write() as work:
            provenance = (*one.provenance, Provenance(two.id, 0, 9, "tests", "1", 1.0))
            from dataclasses import replace

            assert work.memories.replace(replace(one, provenance=provenance), parts.terms(one.text), one.updated_at)
        mnemic.feedback(ANNA, root.id, "outdated")
        assert causes(mnemic, one) == causes(mnemic, two) == [(root.id, Cause.OUTDATED)]
        mnemic.undo(ANNA, root.id)
        assert causes(mnemic, one) == causes(mnemic, two) == []

    def test_what_an_agent_learnt_from_a_user_is_flagged_and_nothing_of_another_user_or_org(
        self, mnemic: Mnemic, parts: Engine
    ):
        fact = mnemic.remember(ANNA, "The printer needs blue paper")
        learnt = made(parts, "Printers want blue paper", fact.id, level=Level.AGENT)
        his = made(parts, "Her printer is blue", fact.id, scope=BERT)
        far = made(parts, "Blue paper", fact.id, scope=Scope(org="other", user="anna"))
        mnemic.feedback(ANNA, fact.id, "outdated")
        assert causes(mnemic, learnt) == [(fact.id, Cause.OUTDATED)]
        assert causes(mnemic, his, BERT) == []
        assert causes(mnemic, far, Scope(org="other", user="anna")) == []
        mnemic.delete(ANNA, fact.id)
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, learnt.id)
        assert mnemic.get(BERT, his.id).text == "Her printer is blue"

    def test_the_past_is_asked_without_flags(self, mnemic: Mnemic, parts: Engine, clock: Clock):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats in Lyon", home.id)
        then = clock.now()
        clock.turn(days=1)
        mnemic.feedback(ANNA, home.id, "outdated")
        (hit, *_) = [hit for hit in mnemic.recall(ANNA, "boats in Lyon", as_of=then) if hit.id == derived.id]
        assert not [each for each in hit.contributions if each.feature == "flagged"]

    def test_a_flagged_memory_is_no_background_and_no_part_of_the_profile(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon", importance=0.1)
        derived = made(parts, "She paints boats", home.id, importance=1.0)
        assert derived.id in ids(mnemic, "")
        mnemic.feedback(ANNA, home.id, "outdated")
        assert derived.id not in ids(mnemic, "")
        assert derived.id not in [each.id for each in mnemic.profile.all(ANNA).dynamic]
        context = mnemic.context(ANNA, "Does she paint boats?")
        assert "(to be confirmed) She paints boats" in context.blocks["facts"]


@pytest.mark.requirement("P-06")
class TestReview:
    def test_review_lists_the_flagged_with_their_cause_and_trust_clears_them(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats", home.id)
        later = made(parts, "She sells paintings of boats", derived.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        found = mnemic.review(ANNA)
        assert {each.memory.id for each in found} == {later.id, derived.id}
        assert {each.reason for each in found} == {f"its source {home.id} was outdated"}
        assert mnemic.trust(ANNA, derived.id, reason="she still does").flags == ()
        assert mnemic.review(ANNA) == []
        assert causes(mnemic, later) == []
        assert mnemic.history(ANNA, derived.id)[-1].reason == "she still does"
        with pytest.raises(ConflictError):
            mnemic.trust(ANNA, derived.id)
        mnemic.undo(ANNA, derived.id)
        assert causes(mnemic, derived) == [(home.id, Cause.OUTDATED)]

    def test_trusting_one_of_two_leaves_what_was_made_of_both(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        one, two = made(parts, "She paints boats", home.id), made(parts, "She hires models", home.id)
        both = made(parts, "Models sit in boats", one.id, two.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        mnemic.trust(ANNA, one.id)
        assert causes(mnemic, both) == [(home.id, Cause.OUTDATED)]
        mnemic.trust(ANNA, two.id)
        assert causes(mnemic, both) == []

    def test_what_is_rejected_is_archived_and_flags_what_was_made_of_it(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats", home.id)
        later = made(parts, "She sells paintings of boats", derived.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        assert mnemic.reject(ANNA, derived.id).state is State.ARCHIVED
        assert causes(mnemic, later) == [(home.id, Cause.OUTDATED), (derived.id, Cause.REJECTED)]
        mnemic.undo(ANNA, derived.id)
        assert causes(mnemic, later) == [(home.id, Cause.OUTDATED)]

    def test_whoever_writes_a_flagged_memory_anew_answers_for_it(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats", home.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        assert mnemic.update(ANNA, derived.id, text="She painted boats").flags == ()
        mnemic.undo(ANNA, derived.id)
        assert causes(mnemic, derived) == [(home.id, Cause.OUTDATED)]

    def test_what_is_said_again_has_no_flags(self, mnemic: Mnemic, parts: Engine):
        home = mnemic.remember(ANNA, "Her studio is in Lyon")
        derived = made(parts, "She paints boats", home.id)
        mnemic.feedback(ANNA, home.id, "outdated")
        assert mnemic.remember(ANNA, "she paints boats").id == derived.id
        assert causes(mnemic, derived) == []


@pytest.mark.requirement("P-06")
class TestErased:
    def test_what_was_made_of_it_alone_goes_with_it_and_so_on(self, mnemic: Mnemic, parts: Engine):
        (message,) = mnemic.capture(ANNA, user="My doctor says it is the left kidney").messages
        fact = made(parts, "User has a weak kidney", message.id)
        gem = made(parts, "Kidneys matter to the user", fact.id, kind=Kind.GEM)
        other = mnemic.remember(ANNA, "Kidney beans are in the larder")
        receipt = mnemic.delete(ANNA, message.id)
        assert receipt.counts["memories"] == 2
        for gone in (fact, gem):
            with pytest.raises(NotFoundError):
                mnemic.get(ANNA, gone.id)
            assert mnemic.history(ANNA, gone.id)[-1].reason == "all of its sources were deleted"
        assert ids(mnemic, "kidney") == [other.id]

    def test_what_has_other_sources_is_flagged_at_once_and_kept_when_they_carry_it(self, mnemic: Mnemic, parts: Engine):
        one = mnemic.capture(ANNA, user="I sail a red boat, and my brother owes me money").messages[0]
        two = mnemic.capture(ANNA, user="My red boat sails well").messages[0]
        fact = made(
            parts,
            "User sails a red boat",
            one.id,
            two.id,
            snippet="my brother owes me money",
            context="money\nred boat",
        )
        receipt = mnemic.delete(ANNA, one.id)
        assert "until a worker" in receipt.notes[0]
        assert causes(mnemic, fact) == [(one.id, Cause.ERASED)]
        assert mnemic.work().done >= 1
        kept = mnemic.get(ANNA, fact.id)
        assert isinstance(kept, Memory)
        assert (kept.flags, kept.text, kept.context, kept.snippet) == ((), "User sails a red boat", "red boat", "")
        assert [entry.source_id for entry in kept.provenance] == [two.id]
        assert mnemic.history(ANNA, fact.id)[-1].action is Action.REMADE
        assert "money" not in repr(mnemic.history(ANNA, fact.id))

    def test_what_the_rest_does_not_carry_stays_flagged_for_a_person(self, mnemic: Mnemic, parts: Engine):
        one = mnemic.capture(ANNA, user="I sail a red boat every weekend").messages[0]
        two = mnemic.capture(ANNA, user="Good morning to all of you").messages[0]
        fact = made(parts, "User sails a red boat", one.id, two.id)
        mnemic.delete(ANNA, one.id)
        mnemic.work()
        assert causes(mnemic, fact) == [(one.id, Cause.ERASED)]
        assert [each.memory.id for each in mnemic.review(ANNA)] == [fact.id]
        assert mnemic.jobs.list(ANNA) == []
        mnemic.delete(ANNA, two.id)
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, fact.id)

    def test_what_somebody_also_said_by_himself_is_never_lost(self, mnemic: Mnemic, parts: Engine):
        message = mnemic.capture(ANNA, user="I like green tea, and I am ill").messages[0]
        first = mnemic.remember(ANNA, "Likes green tea")
        assert made(parts, "likes green tea", message.id, snippet="I am ill").id == first.id
        later = made(parts, "Drinks coffee at noon", message.id, snippet="I am ill")
        assert mnemic.remember(ANNA, "Drinks coffee at noon").id == later.id
        mnemic.delete(ANNA, message.id)
        mnemic.work()
        for memory in (first, later):
            kept = mnemic.get(ANNA, memory.id)
            assert isinstance(kept, Memory)
            assert (kept.state, kept.flags, kept.snippet) == (State.ACTIVE, (), "")
            assert "ill" not in repr((asdict(kept), mnemic.history(ANNA, memory.id)))

    def test_what_is_said_again_before_the_job_runs_still_loses_what_was_erased(self, mnemic: Mnemic, parts: Engine):
        one, two = (mnemic.capture(ANNA, user=t).messages[0] for t in ("I sail boats; I am ill", "Boats sail"))
        fact = made(parts, "Sails boats", one.id, two.id, snippet="I am ill")
        mnemic.delete(ANNA, one.id)
        mnemic.remember(ANNA, "sails boats")
        assert causes(mnemic, fact) == [(one.id, Cause.ERASED)]
        mnemic.work()
        kept = mnemic.get(ANNA, fact.id)
        assert isinstance(kept, Memory)
        assert (kept.flags, kept.snippet) == ((), "")

    def test_of_many_causes_some_are_told_and_an_erasure_always_is(self, mnemic: Mnemic, parts: Engine):
        sources = [mnemic.remember(ANNA, f"Harbour {number} is deep") for number in range(MAX_FLAGS + 4)]
        fact = made(parts, "All harbours are deep", *(source.id for source in sources))
        for source in sources[:-1]:
            mnemic.feedback(ANNA, source.id, "outdated")
        assert len(causes(mnemic, fact)) == MAX_FLAGS
        mnemic.delete(ANNA, sources[-1].id)
        assert len(causes(mnemic, fact)) == MAX_FLAGS
        assert causes(mnemic, fact)[-1] == (sources[-1].id, Cause.ERASED)

    def test_what_lost_a_source_and_was_made_of_another_that_did_is_flagged_once(self, mnemic: Mnemic, parts: Engine):
        one, two = (mnemic.capture(ANNA, user=text).messages[0] for text in ("I sail red boats", "Red boats sail"))
        first = made(parts, "Sails red boats", one.id, two.id)
        second = made(parts, "Red boats sail", one.id, first.id)
        third = made(parts, "Boats sail", second.id)
        mnemic.delete(ANNA, one.id)
        assert {tuple(causes(mnemic, each)) for each in (first, second, third)} == {((one.id, Cause.ERASED),)}
        mnemic.work()
        assert [causes(mnemic, each) for each in (first, second, third)] == [[], [], []]

    def test_clearing_follows_too(self, mnemic: Mnemic, parts: Engine):
        fact = mnemic.remember(ANNA, "The printer needs blue paper")
        learnt = made(parts, "Printers want blue paper", fact.id, level=Level.AGENT)
        receipt = mnemic.clear(ANNA, levels=["user"])
        assert receipt.counts["memories"] == 2
        with pytest.raises(NotFoundError):
            mnemic.get(ANNA, learnt.id)

    def test_a_deleted_document_takes_along_what_was_made_of_its_passages(self, mnemic: Mnemic, parts: Engine):
        document = a_document("boats.md", ANNA.partition(Level.USER))
        (passage,) = fill_document(parts.store, document, "The ketch has two masts.")
        fact = made(parts, "A ketch has two masts", passage.id)
        whole = made(parts, "There is a paper on boats", document.id)
        receipt = mnemic.documents.delete(ANNA, document.id)
        assert receipt.counts["memories"] == 2
        for gone in (fact, whole):
            with pytest.raises(NotFoundError):
                mnemic.get(ANNA, gone.id)

    def test_a_job_is_left_for_each_that_is_to_be_made_anew(self, mnemic: Mnemic, parts: Engine):
        one, two = (mnemic.capture(ANNA, user=text).messages[0] for text in ("I sail boats", "Boats sail"))
        fact = made(parts, "Sails boats", one.id, two.id)
        mnemic.delete(ANNA, one.id)
        waiting = [job.key for job in mnemic.jobs.list(ANNA) if job.kind == "remake" and job.state is JobState.PENDING]
        assert waiting == [fact.id]


@pytest.mark.requirement("P-06")
def test_an_export_keeps_flags_and_one_of_before_has_none(mnemic: Mnemic, parts: Engine):
    home = mnemic.remember(ANNA, "Her studio is in Lyon")
    derived = made(parts, "She paints boats", home.id)
    mnemic.feedback(ANNA, home.id, "outdated")
    lines = [*mnemic.export(ANNA)]
    there = Scope(org="elsewhere", user="anna")
    assert mnemic.import_(there, "\n".join(lines)).added["memory"] == 2
    assert causes(mnemic, derived, there) == [(home.id, Cause.OUTDATED)]
    mnemic.undo(there, home.id)
    assert causes(mnemic, derived, there) == []
    assert causes(mnemic, derived) == [(home.id, Cause.OUTDATED)]
    older = [json.dumps({k: v for k, v in json.loads(line).items() if k != "flags"}) for line in lines]
    assert mnemic.import_(Scope(org="third", user="anna"), "\n".join(older)).added["memory"] == 2
    assert causes(mnemic, derived, Scope(org="third", user="anna")) == []
