"""What is stored of texts with secrets, by every verb that writes."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.detectors.rules import RuleDetector
from mnemic.api import Mnemic
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.engine.secrets import SecretFinding, redact
from mnemic.errors import ConfigError
from mnemic.model.item import Message, MessageDraft, Role
from mnemic.model.scope import Scope
from mnemic.model.settings import Settings

CANARY = "Kanarie" + "nvogel7351"
ANNA = Scope(user="anna", agent="jarvis", session="s1")
SAID = f"the wifi password is {CANARY}, tell nobody"
KEPT = "the wifi password is [REDACTED: password], tell nobody"


@pytest.fixture
def mnemic() -> Mnemic:
    return open_at("memory://")


def open_at(store: str, settings: Settings | None = None) -> Mnemic:
    return Mnemic.open(Config(store=store, embedder="none", settings=settings or Settings()))


def parts_of(mnemic: Mnemic) -> Engine:
    return mnemic._engine  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 -- to look at the rows


@pytest.mark.requirement("P-10")
def test_a_captured_secret_is_redacted_and_the_turn_says_of_which_kind(mnemic: Mnemic):
    turn = mnemic.capture(ANNA, user=SAID, assistant="noted")
    assert [message.text for message in turn.messages] == [KEPT, "noted"]
    assert turn.redacted == ("password",)
    assert mnemic.capture(ANNA, user="hello").redacted == ()
    assert mnemic.complete(ANNA, turn.id, assistant=f"So {SAID}.").redacted == ("password",)


@pytest.mark.requirement("P-10")
def test_names_and_metadata_are_redacted_too_by_the_key_they_stand_under(mnemic: Mnemic):
    metadata = {"db": {"password": CANARY, "port": 5432}, "notes": [f"api_key={CANARY}x1"], "user": "anna"}
    turn = mnemic.capture(ANNA, [{"role": "user", "content": "hi", "name": f"pwd={CANARY}", "metadata": metadata}])
    (message,) = turn.messages
    assert message.name == "pwd=[REDACTED: password]"
    assert message.metadata == {
        "db": {"password": "[REDACTED: password]", "port": 5432},
        "notes": ["api_key=[REDACTED: api-key]"],
        "user": "anna",
    }
    assert turn.redacted == ("password", "api-key")


@pytest.mark.requirement("P-10")
def test_a_memory_with_a_secret_is_redacted_and_its_history_says_so(mnemic: Mnemic):
    memory = mnemic.remember(ANNA, SAID, context=SAID, metadata={"token": f"{CANARY}{CANARY}"})
    assert (memory.text, memory.context, memory.metadata["token"]) == (KEPT, KEPT, "[REDACTED: api-key]")
    assert mnemic.history(ANNA, memory.id)[0].reason == "redacted: password, api-key"
    assert mnemic.remember(ANNA, SAID).id == memory.id


@pytest.mark.requirement("P-10")
def test_a_correction_a_merge_a_fact_and_the_reasons_given_are_redacted(mnemic: Mnemic):
    first, second = mnemic.remember(ANNA, "one thing"), mnemic.remember(ANNA, "another matter")
    assert mnemic.update(ANNA, first.id, text=SAID, reason=SAID).text == KEPT
    assert mnemic.merge(ANNA, [first.id, second.id], text=f"{SAID}!", reason=SAID).text == f"{KEPT}!"
    mnemic.feedback(ANNA, first.id, "relevant", reason=SAID)
    (fact,) = mnemic.profile.set(ANNA, {"wifi password": CANARY})
    assert fact.value == "[REDACTED: password]"
    mnemic.delete(ANNA, first.id, reason=SAID)
    told = [entry.reason for i in (first.id, second.id) for entry in mnemic.history(ANNA, i)]
    assert any("REDACTED" in reason for reason in told)
    assert CANARY not in "".join(told)


@pytest.mark.requirement("P-10")
def test_no_file_of_the_store_holds_the_bytes_of_a_secret(tmp_path: Path):
    with Mnemic.open(Config(store=str(tmp_path / "memory.db"))) as mnemic:
        turn = mnemic.capture(ANNA, user=SAID, assistant=f"Login: anna / Password: {CANARY}")
        mnemic.remember(ANNA, f"DB_PASSWORD={CANARY}", snippet=SAID)
        mnemic.profile.set(ANNA, {"password": CANARY})
        mnemic.complete(ANNA, turn.id, assistant=f"postgresql://anna:{CANARY}@db/shop", name="helper")
        mnemic.import_(ANNA, json.dumps({"role": "user", "content": SAID}), format="jsonl")
        mnemic.work()
        assert mnemic.recall(ANNA, "wifi password").hits
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert [path.name for path in files if CANARY.encode() in path.read_bytes()] == []


@pytest.mark.requirement("P-10")
def test_an_imported_log_is_redacted_and_the_report_says_how_often(mnemic: Mnemic):
    log = "\n".join(json.dumps({"role": "user", "content": text, "id": str(n)}) for n, text in enumerate([SAID, "hi"]))
    assert mnemic.import_(ANNA, log, format="jsonl").redacted == {"password": 1}
    assert mnemic.import_(ANNA, log, format="jsonl").redacted == {}


@pytest.mark.requirement("P-10")
def test_an_export_comes_back_unchanged_and_one_with_secrets_comes_back_without(mnemic: Mnemic):
    mnemic.capture(ANNA, user=SAID)
    mnemic.remember(ANNA, SAID)
    written = "\n".join(mnemic.export(ANNA))
    other = open_at("memory://")
    assert other.import_(ANNA, written).problems == []
    assert sorted("\n".join(other.export(ANNA)).split("\n")[1:]) == sorted(written.split("\n")[1:])
    careless = open_at("memory://")
    careless.import_(ANNA, written.replace("[REDACTED: password]", CANARY))
    assert CANARY not in "\n".join(careless.export(ANNA))


def test_what_was_redacted_is_counted_and_logged_without_the_secret(mnemic: Mnemic, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, logger="mnemic.secrets"):
        mnemic.capture(ANNA, user=SAID)
    assert [record.getMessage() for record in caplog.records] == ["redacted secrets before storing: password 1"]
    counts = getattr(parts_of(mnemic).observer, "counts")  # noqa: B009 -- the port has no way to ask
    assert counts["mnemic.secrets.redacted", (("kind", "password"),)] == 1


@pytest.mark.requirement("P-10")
def test_redaction_can_be_switched_off_wholly_or_for_a_kind():
    assert open_at("memory://", Settings(redacts_secrets=False)).capture(ANNA, user=SAID).messages[0].text == SAID
    passing = open_at("memory://", Settings(secrets_passing=frozenset({"password"})))
    key = f"api_key={CANARY}x1"
    assert [m.text for m in passing.capture(ANNA, user=SAID, assistant=key).messages] == [
        SAID,
        "api_key=[REDACTED: api-key]",
    ]
    with pytest.raises(ConfigError, match="did you mean 'password'"):
        open_at("memory://", Settings(secrets_passing=frozenset({"passwort"})))


def test_findings_name_the_kind_and_the_line_and_positions_can_be_followed(mnemic: Mnemic):
    text = f"one\npassword={CANARY}\nthree {SAID}\nend"
    redacted = redact(parts_of(mnemic), text)
    assert redacted.findings == (SecretFinding("password", 2), SecretFinding("password", 3))
    assert redacted.kinds == ("password",)
    for word in ("one", "three", "tell", "end"):
        assert redacted.text.startswith(word, redacted.moved(text.index(word)))
    assert redacted.text.startswith("[REDACTED", redacted.moved(text.index(CANARY) + 3))
    assert redacted.moved(len(text)) == len(redacted.text)


DETECTING = replace(parts_of(open_at("memory://")), detector=RuleDetector())
PIECES = ["password", "is", "=", ": ", CANARY, "[REDACTED: password]", "://a:", "@b", "token", " ", "\n", '"', "密码是"]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=14))
def test_redacting_twice_changes_nothing_more(pieces: list[str]):
    parts = DETECTING
    once = redact(parts, "".join(pieces))
    assert redact(parts, once.text).text == once.text


def test_the_window_of_a_session_repeats_no_secret(mnemic: Mnemic):
    mnemic.capture(ANNA, user=SAID)
    context = mnemic.context(ANNA, "what is the wifi password?")
    assert CANARY not in "".join(str(message) for message in context.messages)


def test_a_message_that_comes_again_with_its_secret_is_known(mnemic: Mnemic):
    draft = MessageDraft(role=Role.USER, text=SAID, external_id="m1")
    first, second = mnemic.capture(ANNA, [draft]), mnemic.capture(ANNA, [draft])
    assert [type(m) for m in first.messages] == [Message]
    assert first.messages == second.messages
    assert second.redacted == ()
