"""The suite rejects stores that are broken on purpose, each in one way, and nothing else about them is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import Phase, settings

from mnemic.adapters.stores.memory import MemoryStore
from mnemic.ports.store import Store
from mnemic.testing.conformance import StoreContract, rejections
from mnemic.testing.faults import FaultsContract
from mnemic.testing.isolation import IsolationContract
from mnemic.testing.machine import SETTINGS, compare_with_reference
from mnemic.testing.store_requests import RequestsContract
from tests.conformance import broken_stores as broken

WITHOUT_SHRINKING = settings(SETTINGS, phases=[Phase.generate], max_examples=300)  # it ends at the first difference


def rejected(**spoilt: type[broken.Spoilt]) -> set[str]:
    """The contract tests that reject the reference store once these ports of it are spoilt."""
    return set(rejections(StoreContract, lambda: broken.SpoiltStore(**spoilt)))


def test_the_unbroken_reference_passes_the_same_call():
    assert rejections(StoreContract, MemoryStore) == {}
    assert rejected() == set()
    ports = ("memories", "messages", "conversations", "upkeep", "documents", "vectors", "jobs")
    assert rejected(**dict.fromkeys(ports, broken.Spoilt)) == set()


def test_a_store_that_ignores_filters_is_rejected():
    assert "test_every_filter_means_what_the_filter_language_says" in rejected(memories=broken.IgnoresFilters)


def test_a_store_that_lists_memories_of_other_users_is_rejected():
    assert "test_only_the_visible_partitions_are_listed" in rejected(memories=broken.LeaksAcrossUsers)


def test_a_store_that_gets_messages_of_other_users_is_rejected():
    found = rejected(messages=broken.GetsForeignMessages)
    assert "test_messages_of_another_user_or_org_are_not_visible" in found


def test_a_store_whose_limit_is_off_by_one_is_rejected():
    assert "test_limit_bounds_how_many_are_listed" in rejected(memories=broken.ListsOneTooMany)


def test_a_store_whose_pages_overlap_by_one_is_rejected():
    assert "test_pages_join_without_gap_or_overlap_in_every_order" in rejected(memories=broken.RepeatsTheBookmark)


def test_a_store_that_loses_metadata_is_rejected():
    assert "test_a_memory_returns_as_it_was_stored" in rejected(memories=broken.LosesMetadata)


def test_a_store_whose_changes_miss_updates_is_rejected():
    found = rejected(partitions=broken.MissesUpdates)
    assert "test_a_row_that_was_updated_is_a_change_again_in_its_present_form" in found


def test_a_store_whose_changes_miss_erasures_is_rejected():
    assert "test_an_erased_item_comes_as_gone" in rejected(partitions=broken.ForgetsErasures)


def test_a_store_whose_version_stands_still_is_rejected():
    assert "test_every_kind_of_write_advances_the_version" in rejected(partitions=broken.KeepsItsVersion)


def test_a_store_that_ignores_dedup_keys_is_rejected():
    found = rejected(memories=broken.IgnoresDedupKeys)
    assert "test_a_memory_whose_dedup_key_is_taken_is_not_inserted" in found
    assert "test_threads_that_add_one_dedup_key_at_once_leave_one_row_and_get_no_error" in found


def test_a_store_that_shows_expired_memories_is_rejected():
    assert "test_what_has_expired_is_never_shown" in rejected(memories=broken.ShowsExpiredRows)


def test_a_store_that_shows_private_memories_to_another_agent_is_rejected():
    assert "test_a_private_memory_is_got_by_its_agent_only" in rejected(memories=broken.ShowsPrivateRows)


def test_a_store_that_keeps_the_chunks_of_the_former_version_is_rejected():
    found = rejected(documents=broken.KeepsReplacedChunks)
    assert "test_filling_again_replaces_text_and_chunks_with_their_vectors" in found
    assert "test_of_two_fills_at_once_one_is_there_whole" in found


def test_a_store_that_keeps_the_vectors_of_replaced_chunks_is_rejected():
    found = rejected(documents=broken.KeepsVectorsOfReplacedChunks)
    assert "test_filling_again_replaces_text_and_chunks_with_their_vectors" in found


def test_a_store_that_shows_passages_of_private_documents_is_rejected():
    assert "test_a_private_document_is_seen_by_its_agent_only" in rejected(documents=broken.ShowsPrivateDocuments)


def test_a_store_that_gets_chunks_of_other_users_is_rejected():
    found = rejected(documents=broken.GetsForeignChunks)
    assert "test_documents_of_another_user_or_org_are_not_visible" in found


def test_a_store_that_takes_a_source_twice_is_rejected():
    found = rejected(documents=broken.TakesASourceTwice)
    assert "test_a_source_is_taken_once_in_its_partition_and_private_agent" in found
    assert "test_threads_that_put_one_source_at_once_leave_one_document" in found


def test_a_store_whose_erased_documents_are_only_emptied_is_rejected():
    found = rejected(documents=broken.BringsErasedDocumentsBack)
    assert "test_erasing_removes_all_that_a_document_says_and_leaves_a_tombstone" in found
    assert "test_what_was_erased_is_not_brought_back_and_its_source_is_free" in found


def test_a_store_that_finds_the_beginning_of_a_source_anywhere_is_rejected():
    assert "test_a_list_meets_every_condition" in rejected(documents=broken.MatchesUnderAnywhere)


def test_a_store_that_answers_with_a_vector_of_another_space_is_rejected():
    assert "test_the_vectors_of_two_spaces_and_views_stay_apart" in rejected(vectors=broken.AnswersFromAnotherSpace)


def test_a_store_that_takes_vectors_of_other_dims_into_a_space_is_rejected():
    found = rejected(vectors=broken.TakesAnyDims)
    assert "test_a_vector_whose_dims_are_not_the_spaces_is_refused_and_nothing_stored" in found


def test_a_store_that_lets_two_workers_claim_one_job_is_rejected():
    assert "test_no_job_is_claimed_by_two" in rejected(jobs=broken.ClaimsWithoutLease)


def test_a_store_that_forgets_accesses_is_rejected():
    found = rejected(memories=broken.ForgetsTouches)
    assert "test_touch_adds_to_access_counts_and_sets_the_time_of_last_access" in found


def test_a_store_whose_memories_stay_faded_when_accessed_is_rejected():
    assert "test_an_access_undoes_fading" in rejected(memories=broken.KeepsFadingWhenTouched)


def test_a_store_that_moves_a_cursor_wherever_it_stood_is_rejected():
    found = rejected(conversations=broken.MovesFromAnywhere)
    assert "test_a_cursor_that_stands_elsewhere_is_not_moved" in found
    assert "test_of_threads_that_move_one_cursor_from_one_place_exactly_one_does" in found


def test_a_store_that_starts_a_run_whenever_the_last_one_was_is_rejected():
    found = rejected(upkeep=broken.StartsEveryRun)
    assert "test_a_schedule_that_ran_for_another_time_is_not_started" in found
    assert "test_of_threads_that_start_one_run_exactly_one_does" in found


def test_a_store_whose_conversations_are_idle_at_once_is_rejected():
    found = rejected(upkeep=broken.IdlesAtOnce)
    assert "test_a_conversation_is_idle_when_it_was_last_heard_of_before_that_time" in found


def test_a_store_whose_conversations_are_idle_although_they_are_done_with_is_rejected():
    found = rejected(upkeep=broken.IdlesForEveryCursor)
    assert "test_a_conversation_whose_cursor_stands_at_its_last_message_is_done_with" in found


def test_a_store_that_forgets_jobs_of_any_age_is_rejected():
    assert "test_only_old_jobs_that_are_done_are_forgotten" in rejected(upkeep=broken.ForgetsAnyJob)


def test_a_store_that_forgets_what_jobs_cost_is_rejected():
    found = rejected(jobs=broken.ForgetsWhatJobsCost)
    assert "test_what_the_tries_of_a_job_cost_is_kept_when_it_fails_and_when_it_is_done" in found


def test_a_store_that_commits_although_the_block_raised_is_rejected():
    assert "test_a_unit_of_work_that_raises_leaves_no_trace" in rejections(StoreContract, broken.CommitsWhatRaised)


def test_a_store_that_commits_although_a_call_failed_is_rejected_by_the_faults():
    with pytest.raises(AssertionError, match="half of the write"):
        FaultsContract().test_a_failure_of_any_call_leaves_the_old_state_or_the_new_never_half(broken.CommitsWhatRaised)


@pytest.mark.parametrize(
    "port, spoilt",
    [
        ("memories", broken.LeaksAcrossUsers),
        ("memories", broken.ShowsPrivateRows),
        ("documents", broken.ShowsPrivateDocuments),
        ("documents", broken.GetsForeignChunks),
    ],
)
def test_a_store_that_crosses_a_boundary_is_rejected_by_random_use(port: str, spoilt: type[broken.Spoilt]):
    make_store: Callable[[], Store] = lambda: broken.SpoiltStore(**{port: spoilt})  # noqa: E731 -- a def hides its type
    with pytest.raises((AssertionError, KeyError)):
        IsolationContract().test_ten_thousand_random_operations_over_random_scopes_never_show_a_row_outside(make_store)


@pytest.mark.parametrize(
    "spoilt, promise",
    [
        (broken.AnswersAnyOrg, "test_one_key_of_two_orgs_or_two_callers_is_two_keys"),
        (broken.BeginsTwice, "test_a_key_stands_for_one_request_until_that_is_forgotten"),
        (broken.KeepsAnswersOfTheForgotten, "test_what_names_an_owner_is_emptied_and_nothing_else"),
    ],
)
def test_a_store_that_mistakes_requests_is_rejected(spoilt: type[broken.Spoilt], promise: str):
    assert promise in rejections(RequestsContract, lambda: broken.SpoiltStore(requests=spoilt))


@pytest.mark.parametrize(
    "port, spoilt",
    [
        ("memories", broken.IgnoresFilters),
        ("memories", broken.ListsOneTooMany),
        ("partitions", broken.MissesUpdates),
        ("jobs", broken.ClaimsWithoutLease),
        ("documents", broken.KeepsReplacedChunks),
        ("documents", broken.BringsErasedDocumentsBack),
    ],
)
def test_a_store_that_differs_from_the_reference_is_rejected_by_the_state_machine(
    port: str, spoilt: type[broken.Spoilt]
):
    with pytest.raises(AssertionError):
        compare_with_reference(lambda: broken.SpoiltStore(**{port: spoilt}), WITHOUT_SHRINKING)
