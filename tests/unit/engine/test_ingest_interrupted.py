"""An ingest that is stopped at any point leaves whole documents, and the next one does the rest."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.adapters.files import LocalFiles
from mnemic.adapters.readers.sandbox import SandboxReader
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SqliteStore
from mnemic.api import Mnemic
from mnemic.engine import documents as ingest_store
from mnemic.engine.engine import Engine, ReaderPool
from mnemic.errors import UnavailableError
from mnemic.model.document import DocumentStatus
from mnemic.ports.store import Store
from mnemic.testing.faults import Fault, FaultyStore
from tests.unit.engine.ingest_kit import chunks, documents, outcomes, put, reading
from tests.unit.engine.kit import ANNA
from tests.unit.engine.transfer_kit import opened_parts


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    put(tmp_path / "papers", {f"{n}.md": f"# Paper {n}\n\nIts words are {n}." for n in range(6)})
    return tmp_path / "papers"


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest_store, "GROUP_FILES", 2)


def whole(mnemic: Mnemic) -> dict[str, DocumentStatus]:
    """The status of each document, after a look that each has the passages of its text, or none."""
    found = documents(mnemic)
    for name, document in found.items():
        texts = [chunk.text for chunk in chunks(mnemic, name)]
        assert len(texts) == document.chunks
        assert texts == ([mnemic.documents.text(ANNA, document.id)] if texts else [])
    return {name: document.status for name, document in found.items()}


@pytest.mark.requirement("P-33")
@pytest.mark.usefixtures("small_groups")
def test_a_store_that_fails_at_any_step_leaves_whole_documents_and_the_next_run_does_the_rest(papers: Path):
    for nth in range(1, 60, 3):
        store = MemoryStore()
        failing = Mnemic(reading(opened_parts(FaultyStore(store, Fault(nth)))))
        try:
            failing.ingest(ANNA, papers)
        except UnavailableError:
            mended = Mnemic(reading(opened_parts(store)))
            before = whole(mended)
            report = mended.ingest(ANNA, papers)
            unchanged = [name for name, outcome in outcomes(report).items() if outcome == "unchanged"]
            assert unchanged == [name for name, status in before.items() if status is DocumentStatus.READY]
            assert set(whole(mended).values()) == {DocumentStatus.READY}
            assert [entry.action.value for d in documents(mended).values() for entry in mended.history(ANNA, d.id)] == [
                "created"
            ] * 6


@pytest.mark.requirement("P-33")
@pytest.mark.usefixtures("small_groups")
def test_ctrl_c_between_files_keeps_what_was_stored(parts: Engine, papers: Path):
    mnemic = Mnemic(reading(parts))

    def interrupt(done: int, _total: int, _source: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mnemic.ingest(ANNA, papers, progress=interrupt)
    assert list(whole(mnemic).values()) == [
        *[DocumentStatus.READY] * 2,
        *[DocumentStatus.PROCESSING] * 2,
        *[DocumentStatus.PENDING] * 2,
    ]
    assert mnemic.ingest(ANNA, papers).counts == {"added": 4, "unchanged": 2}
    assert set(whole(mnemic).values()) == {DocumentStatus.READY}


def test_ctrl_c_while_a_file_is_read_ends_the_process_that_reads_it(parts: Engine, tmp_path: Path):
    put(tmp_path / "papers", {"a.slow": "words", "b.md": "More words."})
    (tmp_path / "slow_reader.py").write_text(SLOW)
    opened: list[SandboxReader] = []

    def open_reader() -> SandboxReader:
        opened.append(SandboxReader(["slow_reader:SlowReader"]))
        return opened[-1]

    def interrupt() -> None:
        deadline = time.monotonic() + 30
        while not (opened and opened[0].process_id) and time.monotonic() < deadline:
            time.sleep(0.01)
        process_ids.append(opened[0].process_id)
        os.kill(os.getpid(), signal.SIGINT)

    process_ids: list[int | None] = []
    mnemic = Mnemic(replace(parts, files=LocalFiles(), readers=ReaderPool(open_reader, number=1)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(tmp_path), *sys.path])
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            mnemic.ingest(ANNA, tmp_path / "papers")
    assert process_ids[0] is not None
    with pytest.raises(ProcessLookupError):
        os.kill(process_ids[0], 0)
    mnemic.close()


def test_a_closed_mnemic_has_ended_its_readers(parts: Engine, papers: Path):
    opened: list[SandboxReader] = []

    def open_reader() -> SandboxReader:
        opened.append(SandboxReader())
        return opened[-1]

    mnemic = Mnemic(replace(parts, files=LocalFiles(), readers=ReaderPool(open_reader, number=2)))
    assert mnemic.ingest(ANNA, papers).counts == {"added": 6}
    running = [reader.process_id for reader in opened if reader.process_id]
    assert len(running) == 1
    mnemic.close()
    with pytest.raises(ProcessLookupError):
        os.kill(running[0], 0)


@pytest.mark.usefixtures("small_groups")
def test_two_that_ingest_one_folder_at_once_keep_every_document_once_and_whole(tmp_path: Path, papers: Path):
    folder = papers
    stores: list[Store] = [SqliteStore(tmp_path / "memory.db") for _ in range(2)]
    both = [Mnemic(reading(opened_parts(store))) for store in stores]
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(mnemic.ingest, ANNA, folder) for mnemic in both]
        assert [future.result().counts.get("failed", 0) for future in running] == [0, 0]
    assert len(documents(both[0])) == 6
    assert both[0].ingest(ANNA, folder).counts["unchanged"] == 6
    assert set(whole(both[0]).values()) == {DocumentStatus.READY}
    for mnemic in both:
        mnemic.close()


SLOW = """
import time
from mnemic.ports.files import ReaderCapabilities

class SlowReader:
    name = "slow"
    capabilities = ReaderCapabilities(media_types=("text/x-slow",), extensions=(".slow",))

    def read(self, data, name, limits):
        time.sleep(600)
"""
