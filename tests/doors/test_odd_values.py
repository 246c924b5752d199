"""Numbers beyond all sizes, halves of characters and reasons like novels: each is refused, and nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.errors import InvalidInputError
from mnemic.model.item import Trust
from tests.doors.mcp_door import McpDoor
from tests.doors.review_scenarios import ORDER
from tests.doors.test_security import Doors

ANA = Scope(user="ana", session="s1")
HUGE = "9" * 400
HALF = '"\\ud800"'
LONG = '"' + "why " * 1100 + '"'


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    opened = Doors(tmp_path_factory.mktemp("odd"))
    opened.mnemic.remember(ANA, "Ana likes tea")
    yield opened
    opened.close()


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize(
    "method, path, body",
    [
        *(
            ("POST", f"/v1/{verb}", f'{{"query": "x", "deadline_ms": {value}}}')
            for verb in ("recall", "context")
            for value in ("1e999", "Infinity", "1e308", HUGE, "-1", "NaN")
        ),
        ("POST", "/v1/recall", '{"query": "x", "filter": {"text": {"in": [' + '"a",' * 600 + '"a"]}}}'),
        ("GET", f"/v1/audit?before={HUGE}", ""),
        ("GET", "/v1/audit?before=-1", ""),
        ("PATCH", "/v1/profile", '{"facts": {"\\ud800": "x"}}'),
        ("POST", "/v1/jobs/retry", f'{{"ids": [{HALF}]}}'),
        *(("POST", "/v1/memories/clear", f'{{"reason": {reason}}}') for reason in (HALF, LONG)),
        *(("POST", "/v1/memories/{id}/pin", f'{{"reason": {reason}}}') for reason in (HALF, LONG)),
        *(
            ("POST", "/v1/memories/{id}/feedback", f'{{"verdict": "outdated", "reason": {reason}}}')
            for reason in (HALF, LONG)
        ),
        ("PATCH", "/v1/memories/{id}", f'{{"text": "other", "reason": {LONG}}}'),
        ("DELETE", "/v1/memories/{id}?reason=" + "why+" * 1100, ""),
        ("DELETE", "/v1/documents/notes.md?reason=" + "why+" * 1100, ""),
    ],
)
def test_what_no_store_could_hold_is_refused_and_changes_nothing(doors: Doors, method: str, path: str, body: str):
    (kept,) = doors.mnemic.list(ANA).memories
    if "notes.md" in path and not doors.mnemic.documents.list(ANA).documents:
        doors.mnemic.ingest(ANA, b"# Notes\n\nRye grows.", name="notes.md")
    content: dict[str, Any] = (
        {"content": body.encode(), "headers": {"Content-Type": "application/json"}} if body else {}
    )
    named = "&" if "?" in path else "?"
    answer = doors.ask(method, f"{path.replace('{id}', kept.id)}{named}user=ana&session=s1", **content)
    assert answer.status_code == 422, answer.text
    assert doors.mnemic.list(ANA).memories == (kept,)


def test_a_number_beyond_all_sizes_is_refused_by_the_library_too(doors: Doors):
    for fields in ({"deadline_ms": float("inf")}, {"limit": 10**400}, {"limits": {"user": 10**400}}):
        with pytest.raises(InvalidInputError):
            doors.mnemic.recall(ANA, "tea", **fields)  # pyright: ignore[reportArgumentType] -- of the wrong size
    with pytest.raises(InvalidInputError):
        doors.mnemic.context(ANA, "tea", budget_tokens=10**400)


@pytest.mark.requirement("P-09")
class TestWhatAModelChanges:
    @pytest.fixture
    def door(self, tmp_path: Path) -> Iterator[McpDoor]:
        opened = McpDoor(str(tmp_path / "memory.db"))
        yield opened
        opened.close()

    def test_an_order_planted_by_a_correction_waits_for_review(self, door: McpDoor, tmp_path: Path):
        with Mnemic.open(tmp_path / "memory.db") as mnemic:
            kept = mnemic.remember(ANA, "Ana's invoices go to the office")
        changed = door.call("update", ANA, {"id": kept.id, "text": ORDER})
        assert (changed["state"], changed["trust"]) == ("quarantined", "assistant")
        assert door.call("recall", ANA, {"query": "invoices"})["hits"] == []
        with Mnemic.open(tmp_path / "memory.db") as mnemic:
            assert [each.memory.id for each in mnemic.review(ANA)] == [kept.id]
            mnemic.undo(ANA, kept.id)
            assert mnemic.undo(ANA, kept.id) == kept or mnemic.get(ANA, kept.id).text == kept.text

    def test_a_plain_correction_is_kept_as_the_models_word(self, door: McpDoor, tmp_path: Path):
        with Mnemic.open(tmp_path / "memory.db") as mnemic:
            kept = mnemic.remember(ANA, "Ana lives in Porto")
        changed = door.call("update", ANA, {"id": kept.id, "text": "Ana lives in Lisbon"})
        assert (changed["state"], changed["trust"]) == ("active", "assistant")

    def test_a_profile_takes_no_order(self, door: McpDoor, tmp_path: Path):
        for facts in ({"name": ORDER}, {ORDER[:90]: "x"}):
            with pytest.raises(InvalidInputError):
                door.call("profile.set", ANA, {"facts": facts})
        with Mnemic.open(tmp_path / "memory.db") as mnemic:
            assert mnemic.profile.get(ANA) == {}


def test_trust_is_lowered_by_a_change_and_a_merge_and_never_raised(tmp_path: Path):
    with Mnemic.open(tmp_path / "memory.db") as mnemic:
        theirs = mnemic.remember(ANA, "Ana sails on Sundays", trust="imported")
        hers = mnemic.remember(ANA, "Ana owns a small boat")
        assert mnemic.update(ANA, theirs.id, text="Ana sails on Mondays", trust="user").trust is Trust.IMPORTED
        assert mnemic.update(ANA, hers.id, importance=0.5).trust is Trust.USER
        assert mnemic.merge(ANA, [hers.id, theirs.id]).trust is Trust.IMPORTED
        assert mnemic.undo(ANA, hers.id).trust is Trust.USER
        assert mnemic.update(ANA, hers.id, trust="assistant").trust is Trust.ASSISTANT


def test_a_reason_in_the_history_holds_no_secret_wherever_it_was_given(tmp_path: Path):
    secret = "sk-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    with Mnemic.open(tmp_path / "memory.db") as mnemic:
        mnemic.ingest(ANA, b"# Notes\n\nRye grows.", name="notes.md")
        mnemic.documents.delete(ANA, "notes.md", reason=f"it held {secret}")
        kept = mnemic.remember(ANA, "Ana likes tea")
        mnemic.pin(ANA, kept.id, reason=f"it held {secret}")
        mnemic.delete(ANA, kept.id, reason=f"it held {secret}")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(secret.encode() in path.read_bytes() for path in files)
