"""What the doors promise of keys, rights and orgs holds over PostgreSQL too, where an ordinary role keeps the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemic.model.health import Condition
from tests.doors import test_security as security
from tests.doors.test_security import Doors


@pytest.fixture
def doors(tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doors]:
    monkeypatch.setenv("HOME", str(tmp_path))
    opened = Doors(tmp_path, store=database)
    yield opened
    opened.close()


@pytest.mark.requirement("P-17")
@pytest.mark.parametrize(
    "holds",
    [
        security.test_a_key_of_one_org_reaches_nothing_of_another_by_any_route,
        security.test_naming_another_org_is_refused_on_every_route,
        security.test_a_key_does_only_what_its_rights_say,
        security.test_a_bound_key_speaks_for_its_user_and_agent_alone,
        security.test_a_bound_key_changes_nothing_that_others_share,
        security.test_a_key_that_is_wrong_ended_or_missing_is_refused_in_the_same_words,
        security.test_a_rotated_key_is_accepted_beside_the_new_one_for_the_overlap_alone,
        security.test_every_write_and_every_refusal_is_in_the_audit_log_without_texts,
    ],
    ids=lambda test: test.__name__.removeprefix("test_"),
)
def test_over_postgresql(doors: Doors, holds: Callable[[Doors], None]):
    store = doors.mnemic.doctor().findings[0]
    assert (store.part, store.condition) == ("store", Condition.OK)
    holds(doors)
