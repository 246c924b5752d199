"""A chat continues when its memory is busy, and nothing that was said is lost."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing

import pytest

from mnemic import Mnemic, Scope
from mnemic.config import Config
from mnemic.integrations.memory import Conversation, draft_message
from mnemic.model.item import Role

ANA = Scope(user="ana", session="s")


def test_a_late_capture_does_not_hold_the_chat_and_is_stored_once(store: Config, caplog: pytest.LogCaptureFixture):
    said = draft_message(Role.USER, "The hull is blue.", "u1")

    async def chat(mnemic: Mnemic) -> None:
        conversation = Conversation(mnemic, ANA, capture_timeout_s=0.2)
        with closing(sqlite3.connect(store.store, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await conversation.capture(said)
        assert "messages were not captured in time (TimeoutError)" in caplog.text

    with Mnemic.open(store) as mnemic:
        mnemic.capture(ANA, [{"role": "user", "content": "Hello."}])
        asyncio.run(chat(mnemic))
        mnemic.capture(ANA, said)
        assert [each.text for each in mnemic.messages(ANA).messages] == ["The hull is blue.", "Hello."]
