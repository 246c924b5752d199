"""What different choices of a year share becomes a preference; the choices stay."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from mnemic.api import Mnemic
from mnemic.engine.consolidate import consolidate
from mnemic.errors import BadReplyError, UnavailableError
from mnemic.model.item import Memory, State
from mnemic.ports.store import Store
from tests.unit.engine.kit import ANNA, START, Clock
from tests.unit.engine.life_kit import opened, parts_over

YEAR = (
    "User went with Forgejo instead of GitHub because User wants the code on User's own machine",
    "User will take Vaultwarden, since User can host it themselves",
    "User replaced Google Photos with Immich on User's home server",
    "User installed Navidrome for music rather than paying for Spotify, all on User's own server",
    "User uses Paperless for documents, on User's own server",
    "User moved from Notion to a self-hosted Outline",
    "User decided to self-host the calendar with Radicale",
    "User chose Home Assistant because it can be self-hosted",
)
OTHERS = (
    "User bought a Canyon bike in Leipzig",
    "User decided not to self-host the mail with Postfix",
    "User is considering a self-hosted Matrix",
)


def lived(mnemic: Mnemic, clock: Clock, texts: tuple[str, ...] = YEAR) -> list[str]:
    """A choice every six weeks."""
    ids: list[str] = []
    for place, text in enumerate(texts):
        clock.at = START + timedelta(weeks=6 * place)
        ids.append(mnemic.remember(ANNA, text, kind="gem", categories=["decision"]).id)
    return ids


def preferences(mnemic: Mnemic) -> list[Memory]:
    return list(mnemic.list(ANNA, kinds=["preference"]).memories)


@pytest.mark.requirement("T-33")
class TestAYear:
    def test_eight_choices_of_self_hosted_tools_become_a_preference(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        ids = lived(mnemic, clock)
        for text in OTHERS:
            mnemic.remember(ANNA, text, kind="gem", categories=["decision"])
        (entry,) = mnemic.consolidate(ANNA).entries
        assert (entry.is_new, entry.merged) == (True, tuple(ids))
        (general,) = preferences(mnemic)
        assert general.text == "User prefers self-hosted tools (8 choices from 2026-05-01 to 2027-02-19)"
        assert general.context.splitlines()[0] == f"2026-05-01: {YEAR[0]}"
        assert {mnemic.get(ANNA, each).state for each in ids} == {State.ACTIVE}
        assert mnemic.consolidate(ANNA).entries == ()

    def test_it_grows_with_later_choices_and_undo_takes_that_back(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        lived(mnemic, clock, YEAR[:4])
        mnemic.consolidate(ANNA)
        (first,) = preferences(mnemic)
        lived(mnemic, clock)
        (entry,) = mnemic.consolidate(ANNA).entries
        assert (entry.is_new, entry.memory_id) == (False, first.id)
        assert "8 choices" in preferences(mnemic)[0].text
        assert mnemic.undo(ANNA, first.id).text == first.text

    def test_one_that_a_person_ended_is_not_made_again(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        lived(mnemic, clock, YEAR[:4])
        mnemic.consolidate(ANNA)
        (known,) = preferences(mnemic)
        other = mnemic.remember(ANNA, "User does not care where tools run", kind="preference")
        mnemic.merge(ANNA, [other.id, known.id])
        assert mnemic.consolidate(ANNA).entries == ()

    @pytest.mark.parametrize("count", [1, 2])
    def test_fewer_than_three_show_none(self, store: Store, clock: Clock, count: int):
        mnemic, _ = opened(store, clock)
        lived(mnemic, clock, YEAR[:count])
        assert mnemic.consolidate(ANNA).entries == ()


@pytest.mark.requirement("T-33")
class TestModel:
    def test_a_model_reads_them_together_and_its_words_are_checked(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        ids = lived(mnemic, clock)
        good = {"gem": "User prefers tools that User can host on User's own server", "lines": [1, 2, 3, 4, 5]}
        bad = [
            {"gem": "User dislikes paying taxes in Norway", "lines": [1, 2, 3]},
            {"gem": "User likes Radicale", "lines": [7]},
        ]
        asking, llm = opened(store, clock, lambda _: json.dumps([good, *bad]))
        (entry,) = asking.consolidate(ANNA).entries
        assert (entry.text, entry.merged) == (good["gem"], tuple(ids[:5]))
        assert YEAR[7] in llm.prompts[-1].messages[1].content

    def test_a_model_that_is_away_is_asked_again_by_the_next_run(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        lived(mnemic, clock)
        _, llm = opened(store, clock, lambda _: UnavailableError("away"))
        parts = parts_over(store, clock, llm)
        with pytest.raises(UnavailableError):
            consolidate(parts, ANNA, actor="tester")
        assert mnemic.list(ANNA, kinds=["preference"]).memories == ()
        (entry,) = consolidate(parts, ANNA, actor="tester", is_dry_run=True).entries
        assert entry.text.startswith("User prefers self-hosted tools")

    def test_an_unreadable_reply_leaves_it_to_the_words(self, store: Store, clock: Clock):
        mnemic, _ = opened(store, clock)
        lived(mnemic, clock)
        _, llm = opened(store, clock, lambda _: BadReplyError("no choices"))
        (entry,) = consolidate(parts_over(store, clock, llm), ANNA, actor="tester").entries
        assert entry.text.startswith("User prefers self-hosted tools")
