"""Erasure for good: every layer, what was derived, the files themselves, other processes, and backups put back."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic import Mnemic, Scope
from mnemic.build import build
from mnemic.config import Config
from mnemic.engine.backup import Owed, replay
from mnemic.engine.engine import Engine
from mnemic.engine.remember import remember
from mnemic.errors import InvalidInputError, NotFoundError
from mnemic.model.item import Memory, MemoryDraft, Provenance
from mnemic.model.scope import Level

CANARY = "zebrafinch"
ANA = Scope(user="ana-of-avonlea", agent="quill", session="s1")
BORIS = Scope(user="boris", agent="quill", session="s1")


@pytest.fixture
def parts(tmp_path: Path) -> Engine:
    return build(Config(store=str(tmp_path / "memory.db")))


@pytest.fixture
def memory(parts: Engine) -> Iterator[Mnemic]:
    with Mnemic(parts) as mnemic:
        yield mnemic


def fill(memory: Mnemic, scope: Scope, word: str = CANARY) -> None:
    """Something in every layer that says the word."""
    memory.capture(scope, user=f"I keep a {word} at home.", assistant=f"How old is the {word}?")
    first = memory.remember(scope, f"The {word} is called Pip")
    memory.update(scope, first.id, text=f"The {word} is called Pippa", reason=f"the {word} is a hen")
    memory.remember(scope, f"Today the {word} was ill", level="session")
    memory.profile.set(scope, {"pet": word})
    memory.ingest(scope, f"# Care\n\nA {word} eats seeds, and a lot of them.".encode(), name="care.md")
    memory.recall(scope, f"what about the {word}?")


def learnt(memory: Memory, source_id: str) -> Memory:
    """The agent's own memory as if it were derived from an item."""
    return replace(memory, provenance=(Provenance(source_id, 0, 3, "rules", "1", 1.0),))


@pytest.mark.requirement("P-07")
def test_the_raw_files_hold_nothing_of_an_erased_user(memory: Mnemic, tmp_path: Path):
    fill(memory, ANA)
    fill(memory, BORIS, "goldcrest")
    receipt = memory.erase(ANA, level="user")
    assert receipt.notes == ()
    assert {"messages", "memories", "documents", "chunks", "vectors", "profiles", "history"} <= set(receipt.counts)
    found = [path.name for path in files(tmp_path) if CANARY.encode() in path.read_bytes().lower()]
    assert found == []
    assert any(b"goldcrest" in path.read_bytes() for path in files(tmp_path))
    assert not any(b"avonlea" in path.read_bytes() for path in files(tmp_path))  # not even the name


@pytest.mark.requirement("P-07")
def test_nobody_else_loses_anything(memory: Mnemic):
    fill(memory, BORIS, "goldcrest")
    fill(memory, ANA)  # writes down what was accessed, too
    before = list(memory.export(BORIS))
    memory.erase(ANA, level="user")
    assert list(memory.export(BORIS))[1:] == before[1:]  # the head tells when it was made
    assert memory.recall(BORIS, "goldcrest").hits
    assert not memory.recall(ANA, CANARY).hits


@pytest.mark.requirement("P-19")
def test_a_plan_changes_nothing_and_equals_the_deed(memory: Mnemic):
    fill(memory, ANA)
    plan = memory.erase(ANA, level="user", is_dry_run=True)
    assert plan.is_plan
    assert memory.recall(ANA, CANARY).hits
    assert memory.receipts(ANA) == []
    assert memory.erase(ANA, level="user").counts == plan.counts
    assert memory.erase(ANA, level="user").counts == {}


@pytest.mark.requirement("P-07")
def test_what_an_agent_learnt_from_a_user_goes_with_the_user(memory: Mnemic, parts: Engine):
    turn = memory.capture(ANA, user="Always answer me in verse, please.")
    note = memory.remember(ANA, "Users like verse", level="agent", kind="learning")
    kept = memory.remember(ANA, "Rhymes are fine", level="agent", kind="learning")
    with parts.store.write() as work:  # as extraction would have written it
        stored = work.memories.get(ANA.visibility, [note.id])[0]
        terms = parts.terms(stored.text)
        assert work.memories.replace(learnt(stored, turn.messages[0].id), terms, stored.updated_at)
    receipt = memory.erase(ANA, level="user")
    assert receipt.counts["memories"] == 1
    with pytest.raises(NotFoundError):
        memory.get(ANA, note.id)
    assert memory.get(ANA, kept.id)


@pytest.mark.requirement("N-20")
def test_a_session_forgets_its_turns_and_what_rests_on_them(memory: Mnemic):
    other = replace(ANA, session="s2")
    memory.capture(ANA, user="I live in Lyon.", assistant="Noted.")
    memory.capture(other, user="I hate cilantro.", assistant="Noted.")
    memory.work()
    assert memory.recall(other, "Lyon", kinds=["message"]).hits[0].text == "I live in Lyon."
    memory.erase(ANA, level="session")
    assert memory.window(ANA, include_closed=True) == []
    assert [each.text for each in memory.list(other).memories] == ["User hates cilantro"]
    assert [each.text for each in memory.window(other)] == ["I hate cilantro.", "Noted."]
    assert "Lyon" not in str(memory.recall(other, "Lyon").hits)


@pytest.mark.requirement("N-20")
def test_what_a_session_without_a_user_says_is_for_that_session_alone(memory: Mnemic):
    alone = Scope(session="visitor")
    memory.capture(alone, user="I live in Lyon.", assistant="Noted.")
    memory.work()
    assert [each.text for each in memory.window(alone)] == ["I live in Lyon.", "Noted."]
    assert memory.recall(Scope(session="next"), "Lyon").hits == ()
    assert memory.list(alone).memories == ()
    memory.erase(alone)
    assert memory.window(alone, include_closed=True) == []


def test_of_a_session_goes_what_was_said_in_it_and_no_more(memory: Mnemic):
    fill(memory, ANA)
    other = replace(ANA, session="s2")
    memory.capture(other, user="The goldcrest sings.")
    memory.erase(ANA, level="session")
    assert memory.window(ANA) == []
    assert len(memory.window(other)) == 1
    assert [
        hit.text for hit in memory.recall(other, "keep at home", kinds=["message"]).hits if CANARY in hit.text
    ] == []
    assert memory.list(ANA, levels=["session"]).memories == ()
    assert memory.list(ANA, levels=["user"]).memories != ()


def test_of_an_agent_goes_what_is_its_own_and_what_is_private_to_it(memory: Mnemic):
    memory.remember(ANA, "Quill signs with a feather", level="agent")
    secret = memory.remember(ANA, "Ana hides her keys", is_private=True)
    shared = memory.remember(ANA, "Ana likes tea")
    receipt = memory.erase(ANA, level="agent")
    assert receipt.counts["memories"] == 2
    with pytest.raises(NotFoundError):
        memory.get(ANA, secret.id)
    assert memory.get(ANA, shared.id)


def test_an_org_goes_whole_and_another_stays(memory: Mnemic, parts: Engine):
    elsewhere = Scope(org="elsewhere", user="ana")
    fill(memory, ANA)
    memory.remember(ANA, "We close at five", level="org")
    memory.remember(elsewhere, "Ana likes tea")
    memory.erase(ANA, level=Level.ORG)
    with parts.store.read() as work:
        assert {partition.org for partition in work.partitions.all()} == {"elsewhere"}


def test_the_user_is_meant_where_no_level_is_said_and_the_org_never(memory: Mnemic, parts: Engine):
    with pytest.raises(InvalidInputError, match="no user, agent or session"):
        memory.erase(Scope())
    fill(memory, ANA)
    memory.erase(ANA)
    with parts.store.read() as work:
        assert all(partition.level is Level.ORG for partition in work.partitions.all())


def test_who_comes_back_is_found_again_also_where_another_process_still_held_the_old_index(tmp_path: Path):
    place = str(tmp_path / "memory.db")
    with Mnemic.open(Config(store=place)) as one, Mnemic.open(Config(store=place)) as two:
        for number in range(5):
            one.remember(ANA, f"The {CANARY} number {number} sings")
        assert two.recall(ANA, CANARY).hits
        one.erase(ANA)
        assert two.recall(ANA, CANARY).hits == ()
        for number in range(5):
            one.remember(ANA, f"The goldcrest number {number} sings")
        assert len(two.recall(ANA, "goldcrest number", limit=10).hits) == 5
        assert two.recall(ANA, f"goldcrest {CANARY}").hits


@pytest.mark.requirement("P-07")
def test_a_receipt_holds_no_name_and_no_text(memory: Mnemic):
    fill(memory, ANA)
    receipt = memory.erase(ANA)
    assert memory.receipts(ANA) == [receipt]
    told = repr(receipt)
    assert "avonlea" not in told
    assert CANARY not in told
    assert len(receipt.scope_hash) == 64
    again = memory.erase(ANA)
    assert again.scope_hash == receipt.scope_hash  # keyed, so that the same owner can be known again


def test_a_backup_that_is_put_back_is_erased_again_by_the_receipts(tmp_path: Path):
    place, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with Mnemic.open(Config(store=str(place))) as memory:
        memory.erase(ANA)  # makes the key
        fill(memory, ANA)
        fill(memory, BORIS, "goldcrest")
    shutil.copy(place, backup)
    with Mnemic.open(Config(store=str(place))) as memory:
        receipt = memory.erase(ANA)
    parts = build(Config(store=str(backup)))
    with Mnemic(parts) as memory:
        with parts.store.read() as work:
            owed = Owed(work.erasure.key(), (receipt,))
        assert replay(parts.store, owed, receipt.at, made_at=receipt.at).erased["messages"] == 2
        assert not memory.recall(ANA, CANARY).hits
        assert memory.recall(BORIS, "goldcrest").hits


def files(folder: Path) -> list[Path]:
    """Every file of the store, its indexes too."""
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.requirement("P-07", "P-06")
def test_what_was_taken_in_for_somebody_else_from_an_export_stays_his(memory: Mnemic, parts: Engine):
    message = memory.capture(ANA, user="I sail a red boat").messages[0]
    made = remember(
        parts,
        ANA,
        [MemoryDraft(text="Sails a red boat", provenance=(Provenance(message.id, 0, 9, "tests", "1", 1.0),))],
        actor="tests",
    )[0]
    memory.import_(BORIS, "\n".join(memory.export(ANA)))
    assert memory.get(BORIS, made.id).text == "Sails a red boat"
    memory.erase(ANA, level="user")
    assert memory.get(BORIS, made.id).text == "Sails a red boat"
    assert memory.get(BORIS, message.id).text == "I sail a red boat"


@pytest.mark.requirement("P-07", "P-06")
def test_what_an_erased_session_put_into_the_profile_goes_with_it_unless_it_was_said_elsewhere(memory: Mnemic):
    memory.capture(ANA, user="My name is Ana. I live in Avonlea.")
    memory.capture(replace(ANA, session="s2"), user="My name is Ana.")
    memory.work()
    memory.profile.set(ANA, {"drink": "tea"})
    assert memory.profile.get(ANA) == {"drink": "tea", "home": "Avonlea", "name": "Ana"}
    plan = memory.erase(ANA, level="session", is_dry_run=True)
    assert memory.erase(ANA, level="session").counts == plan.counts
    assert plan.counts["profiles"] == 2
    assert memory.profile.get(ANA) == {"drink": "tea"}
    memory.work()
    assert memory.profile.get(ANA) == {"drink": "tea", "name": "Ana"}


@pytest.mark.requirement("P-07")
@pytest.mark.parametrize("level", [Level.USER, Level.AGENT, Level.ORG])
def test_an_erasure_revokes_the_keys_of_the_erased_and_blanks_their_names(level: Level):
    erased, other = Scope(org="acme", user="zoe", agent="tuner"), Scope(org="acme", user="bo", agent="scout")
    name, apart = level.value, Scope(org="globex", user="bo")
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        for scope in (erased, other, apart):
            parts = {"org": scope.org, name: getattr(scope, name)}
            mnemic.keys.create(Scope(**parts), name=f"phone of {scope.user}")
        plan = mnemic.erase(erased, level=level, is_dry_run=True)
        receipt = mnemic.erase(erased, level=level)
        keys = {key.name: (key.user or key.agent, key.revoked_at) for key in mnemic.keys.list(Scope(org="acme"))}
        (kept,) = mnemic.keys.list(Scope(org="globex"))
    assert plan.counts["api_keys"] == receipt.counts["api_keys"] == (2 if level is Level.ORG else 1)
    assert [key.revoked_at for key in (kept,)] == [None]
    if level is Level.ORG:
        assert {*keys} == {""}
    else:
        assert keys == {"": ("(erased)", receipt.at), "phone of bo": (getattr(other, name), None)}
