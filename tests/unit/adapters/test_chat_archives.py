"""The zip archives that ChatGPT and Claude.ai mail, and those that somebody forged."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from mnemic.adapters.chat_archives import archive_texts
from mnemic.adapters.readers.archive import RATIO_FLOOR_BYTES
from mnemic.errors import InvalidInputError

pytestmark = pytest.mark.requirement("P-60")


def zipped(members: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return file.getvalue()


def test_only_conversations_memories_and_projects_are_unpacked():
    members = {
        "export/conversations.json": "[1]",
        "conversations-000.json": "[2]",
        "conversations-001.json": "[3]",
        "memories/a1.json": "{}",
        "data/projects/p1.json": '{"uuid": "p1"}',
        "users.json": "[]",
        "chat.html": "<html>",
        "shared_conversations.json": "[]",
        "file-1.png": b"\x89PNG",
        "__MACOSX/export/conversations.json": b"\x00\x05",
    }
    texts = archive_texts(zipped(dict(members)), "export.zip")
    assert texts == {name: text for name, text in members.items() if name in [*members][:5]}


def test_a_mark_at_the_start_of_a_text_is_dropped():
    assert archive_texts(zipped({"conversations.json": "\ufeff[]".encode()}), "a.zip") == {"conversations.json": "[]"}


@pytest.mark.parametrize(
    "members, told",
    [
        ({"[Content_Types].xml": "<x/>", "word/document.xml": "<x/>"}, "mnemic ingest"),
        ({"../../conversations.json": "[]"}, "unsafe path"),
        ({"/conversations.json": "[]"}, "unsafe path"),
        ({"a\\..\\conversations.json": "[]"}, "unsafe path"),
        ({"conversations.json": b"\xff\xfe["}, "not UTF-8"),
        ({"conversations.json": b" " * (RATIO_FLOOR_BYTES + 1)}, "may be an attack"),
    ],
)
def test_a_document_and_a_forged_archive_are_refused(members: dict[str, str | bytes], told: str):
    with pytest.raises(InvalidInputError, match=told):
        archive_texts(zipped(members), "export.zip")


def test_a_cut_archive_is_refused():
    with pytest.raises(InvalidInputError, match="may be damaged"):
        archive_texts(zipped({"conversations.json": json.dumps(["x" * 500])})[:60], "export.zip")
