"""The remote client has the verbs of Mnemic, with the same arguments and defaults, and gives back the same nouns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemic import Mnemic, Scope
from mnemic.api import DocumentVerbs, JobVerbs, KeyVerbs, ProfileVerbs, ToolVerbs
from mnemic.errors import BadReplyError, ConfigError, UnsupportedError
from mnemic.model.item import Memory, MemoryDraft, Message, MessageDraft, Role
from mnemic.model.records import ApiKey
from mnemic.remote import RemoteMnemic, connect
from mnemic.remote.client import RemoteDocuments, RemoteJobs, RemoteKeys, RemoteProfile, RemoteTools
from mnemic.remote.connection import split
from mnemic.wire import to_wire
from mnemic.wire.reading import from_wire
from tests.doors.http_doors import Listening, Served
from tests.doors.test_async import arguments, verbs

HERE_ONLY = {"open"}
"""Verbs that a server does not offer over REST."""

PAIRS = [
    (ProfileVerbs, RemoteProfile),
    (JobVerbs, RemoteJobs),
    (KeyVerbs, RemoteKeys),
    (DocumentVerbs, RemoteDocuments),
    (ToolVerbs, RemoteTools),
]
ANA = Scope(user="ana", session="s1")


@pytest.fixture
def remote(tmp_path: Path) -> Iterator[RemoteMnemic]:
    served = Served(str(tmp_path / "memory.db"))
    listening = Listening(served.app)
    with connect(listening.url, served.token("default")) as opened:
        yield opened
    listening.close()
    served.close()


@pytest.mark.requirement("P-35")
def test_the_client_has_the_verbs_of_the_library():
    plain, remote = verbs(Mnemic), verbs(RemoteMnemic)
    assert set(plain) - set(remote) == HERE_ONLY
    assert set(remote) - set(plain) == set()
    wanted = {name: arguments(verb) for name, verb in plain.items() if name not in HERE_ONLY}
    assert {name: arguments(verb) for name, verb in remote.items()} == wanted


@pytest.mark.requirement("P-35")
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_its_parts_have_the_verbs_of_the_library(pair: tuple[type[object], type[object]]):
    plain, remote = map(verbs, pair)
    assert {n: arguments(v) for n, v in remote.items()} == {n: arguments(v) for n, v in plain.items()}


@pytest.mark.requirement("P-35")
def test_answers_are_the_nouns_of_the_library(remote: RemoteMnemic):
    draft = MemoryDraft(text="Ana sails", categories=("sport",), metadata={"boat": "Ketch"})
    (memory,) = remote.remember_many(ANA, [draft])
    assert isinstance(memory, Memory)
    assert (memory.text, memory.categories, memory.metadata["boat"]) == ("Ana sails", ("sport",), "Ketch")
    turn = remote.capture(ANA, [MessageDraft(role=Role.USER, text="a\u2028b\x85c")])
    assert isinstance(turn.messages[0], Message)
    assert [line for line in remote.export(ANA) if "a\u2028b" in line or "\\u2028" in line]
    assert remote.get(ANA, memory.id) == memory
    assert remote.keys.list(ANA)[0].secret_hash == ""
    assert remote.keys.audit(Scope()).entries[-1].verb == "keys.create"
    with pytest.raises(UnsupportedError):
        remote.worker()
    with pytest.raises(UnsupportedError):
        remote.ingest(ANA, "/")


@pytest.mark.requirement("P-01")
@pytest.mark.parametrize("level", ["session", "user", "agent", "org"])
def test_a_memory_read_from_a_server_equals_the_one_read_here(tmp_path: Path, level: str):
    scope = Scope(user="ana", agent="guide", session="s1")
    fields: Any = {"level": level, "categories": ["sport"], "metadata": {"boat": {"name": "Ketch"}}}
    served = Served(str(tmp_path / "memory.db"))
    listening = Listening(served.app)
    with connect(listening.url, served.token("default")) as remote:
        made = remote.remember(scope, "Ana sails on Sundays!", kind="event", valid_from="2026-05-01", **fields)
        turn = remote.capture(scope, user="I sail")
        page, hits = remote.list(scope).memories, remote.recall(scope, "sailing").hits
        here = served.mnemic.get(scope, made.id)
        assert isinstance(here, Memory)
        assert here.dedup_key
        assert made == here
        assert page == served.mnemic.list(scope).memories
        assert [hit.item for hit in hits] == [served.mnemic.get(scope, hit.item.id) for hit in hits]
        assert turn.messages == (served.mnemic.get(scope, turn.messages[0].id),)
    listening.close()
    served.close()


def test_what_is_read_back_from_the_wire_is_what_was_written(remote: RemoteMnemic):
    remote.remember(ANA, "Ana sails", level="session")
    for answer in (remote.recall(ANA, "sailing"), remote.context(ANA, "sailing"), remote.profile.all(ANA)):
        assert to_wire(from_wire(type(answer), to_wire(answer))) == to_wire(answer)


def test_an_answer_that_cannot_be_is_told():
    with pytest.raises(BadReplyError):
        from_wire(ApiKey, {"id": "x"})
    with pytest.raises(ConfigError):
        connect("localhost:7700")


def test_lines_end_at_line_feeds_alone():
    assert list(split([b"a\xe2\x80", b"\xa8b\nc", b"\n", b"d"])) == ["a\u2028b", "c", "d"]
