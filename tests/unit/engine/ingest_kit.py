"""A Mnemic that reads files in this process, and folders to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mnemic.adapters.files import LocalFiles
from mnemic.adapters.readers.registry import AnyReader
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine, ReaderPool
from mnemic.model.document import Document, IngestReport
from mnemic.model.item import Chunk
from mnemic.model.scope import Scope
from tests.unit.engine.kit import ANNA


class InProcess(AnyReader):
    """Reads without a process of its own: quick, and enough where nothing hangs."""

    def close(self) -> None:
        """Nothing is held."""


def reading(parts: Engine, **changes: object) -> Engine:
    """The parts, able to read files."""
    return replace(parts, files=LocalFiles(), readers=ReaderPool(InProcess, number=2), **changes)


def put(folder: Path, texts: Mapping[str, str | bytes]) -> None:
    for name, content in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def outcomes(report: IngestReport) -> dict[str, str]:
    """The outcome of each file by the last part of its source."""
    return {file.source.rpartition("/")[2]: file.outcome.value for file in report.files}


def documents(mnemic: Mnemic, scope: Scope = ANNA) -> dict[str, Document]:
    """The documents by the last part of their sources."""
    return {each.source.rpartition("/")[2]: each for each in mnemic.documents.list(scope, limit=1000).documents}


def chunks(mnemic: Mnemic, name: str, scope: Scope = ANNA) -> list[Chunk]:
    return mnemic.documents.passages(scope, documents(mnemic, scope)[name].id, count=10_000)
