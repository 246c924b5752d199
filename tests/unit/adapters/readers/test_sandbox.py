"""A parser that hangs, crashes or eats memory costs one file, and the next one is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.adapters.readers.sandbox import SandboxReader
from mnemic.errors import ConfigError
from mnemic.model.document import MEBIBYTE, ReadLimits
from mnemic.ports.files import Unreadable, UnreadableError
from tests.conformance import document_files as files

NAUGHTY = """
import os
from mnemic.model.document import ReadDocument
from mnemic.ports.files import ReaderCapabilities

class Naughty:
    name = "naughty"
    capabilities = ReaderCapabilities(media_types=("x/naughty",), extensions=(".naughty",))
    seen = 0

    def read(self, data, name, limits):
        Naughty.seen += 1
        what = data.decode()
        if what == "hang":
            while True:
                pass
        if what == "abort":
            os.abort()
        if what == "exit":
            os._exit(7)
        if what == "eat":
            return bytearray(1 << 34)
        if what == "once" and Naughty.seen > 1:
            os._exit(7)
        if what == "talk":
            print("noise " * 10_000, flush=True)
            os.write(1, b"more noise")
        if what == "nest":
            return self.read(data, name, limits)
        return ReadDocument(title="fine", media_type="x/naughty", text=what, metadata={"id": str(os.getpid())})
"""
LIMITS = ReadLimits(timeout_s=20)


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxReader]:
    (tmp_path / "naughty_parser.py").write_text(NAUGHTY, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    sandbox = SandboxReader(["naughty_parser:Naughty"])
    yield sandbox
    sandbox.close()
    sys.modules.pop("naughty_parser", None)


def refusal(sandbox: SandboxReader, what: str, limits: ReadLimits = LIMITS) -> UnreadableError:
    with pytest.raises(UnreadableError) as refused:
        sandbox.read(what.encode(), "a.naughty", limits)
    assert "a.naughty" in str(refused.value)
    return refused.value


def test_one_process_reads_many_files(sandbox: SandboxReader):
    ids = {sandbox.read(b"text", f"{i}.naughty", LIMITS).metadata["id"] for i in range(5)}
    assert ids == {str(sandbox.process_id)}


def test_a_parser_that_hangs_is_ended_and_replaced(sandbox: SandboxReader):
    first = sandbox.read(b"text", "a.naughty", LIMITS).metadata["id"]
    error = refusal(sandbox, "hang", replace(LIMITS, timeout_s=0.3))
    assert error.reason == Unreadable.TIMEOUT
    assert "0.3 s" in str(error)
    assert sandbox.read(b"text", "a.naughty", LIMITS).metadata["id"] != first


@pytest.mark.parametrize("what", ["abort", "exit"])
def test_a_parser_that_crashes_fails_its_file_alone(sandbox: SandboxReader, what: str):
    assert refusal(sandbox, what).reason in {Unreadable.CRASH, Unreadable.MEMORY}
    assert sandbox.read(b"text", "a.naughty", LIMITS).text == "text"


def test_a_parser_that_eats_memory_is_ended_at_the_limit(sandbox: SandboxReader):
    error = refusal(sandbox, "eat", replace(LIMITS, memory_bytes=512 * MEBIBYTE))
    assert error.reason == Unreadable.MEMORY
    assert "512 MiB" in str(error)
    assert sandbox.read(b"text", "a.naughty", LIMITS).text == "text"


def test_a_process_that_earlier_files_spoiled_is_replaced_before_a_file_is_given_up(sandbox: SandboxReader):
    sandbox.read(b"text", "a.naughty", LIMITS)
    assert sandbox.read(b"once", "a.naughty", LIMITS).text == "once"


def test_what_a_parser_prints_is_not_taken_for_an_answer(sandbox: SandboxReader):
    assert sandbox.read(b"talk", "a.naughty", LIMITS).text == "talk"
    assert sandbox.read(b"text", "a.naughty", LIMITS).text == "text"


def test_a_parser_that_nests_too_deeply_refuses_the_file(sandbox: SandboxReader):
    assert refusal(sandbox, "nest").reason == Unreadable.BROKEN


def test_the_answer_is_the_same_as_in_this_process(sandbox: SandboxReader):
    from mnemic.adapters.readers.registry import AnyReader

    data = files.pdf(["First page", "Second page"], outline=["First"], title="Both")
    assert sandbox.read(data, "a.pdf", LIMITS) == AnyReader().read(data, "a.pdf", LIMITS)


def test_reasons_come_through(sandbox: SandboxReader):
    with pytest.raises(UnreadableError) as refused:
        sandbox.read(files.pdf(["x"], encrypted=True), "a.pdf", LIMITS)
    assert refused.value.reason == Unreadable.ENCRYPTED


def test_a_file_that_is_too_large_starts_no_process(sandbox: SandboxReader):
    assert refusal(sandbox, "text" * 10, replace(LIMITS, max_bytes=10)).reason == Unreadable.TOO_LARGE
    assert sandbox.process_id is None


def test_closing_ends_the_process_and_may_be_repeated(sandbox: SandboxReader):
    sandbox.read(b"text", "a.naughty", LIMITS)
    sandbox.close()
    sandbox.close()
    assert sandbox.process_id is None
    assert sandbox.read(b"text", "a.naughty", LIMITS).text == "text"


def test_a_reader_that_is_not_there_is_an_error_of_the_set_up():
    with pytest.raises(ConfigError, match="nowhere"):
        SandboxReader(["nowhere:Reader"])
