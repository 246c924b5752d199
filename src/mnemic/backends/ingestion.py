"""`ingest_path`: files and folders as chunks with their sources, for a memory backend. `adapters.files` chooses the
files of a folder, and readers in their own process turn each into text. For documents with scopes, versions and
citations use `Mnemic`.
"""

import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec

from mnemic.adapters.readers.registry import file_type
from mnemic.backends.primitive import install_line
from mnemic.config import Config, load_config
from mnemic.errors import BadReplyError, ConfigError, InvalidInputError, UnavailableError
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Files, FoundFile, LeftOut, Reader, UnreadableError
from mnemic.text.chunking import DEFAULT_MIN_CHUNK_SIZE, Chunk, ChunkConfig, chunk_text

PDF_EXTRA = "memory-pdf"
_PDF_PACKAGE = "pypdfium2"


class Ingested(list[Chunk]):
    """The chunks of a path, in file order. `skipped`: unread files, each with the reason."""

    def __init__(self, chunks: Iterable[Chunk] = (), skipped: Iterable[LeftOut] = ()) -> None:
        super().__init__(chunks)
        self.skipped = tuple(skipped)


def ingest_path(path: str | os.PathLike[str], config: ChunkConfig | None = None) -> Ingested:
    """The chunks of a file, or of all files below a folder. The same files give the same chunks.

    The extension decides the type: markdown, PDF, code, another format with a reader, else text. `chunk_text` splits
    the text; a document too short for a chunk becomes one. `source` is the file's path, and `start` and `end` are
    offsets in the document's text. `metadata` has `file_type` (markdown, pdf, code or text) and, if the format has
    pages, the first `page`, from 1. PDF pages are joined by a blank line.

    In folders, these are skipped: hidden files and folders, folders of programs, files ignored by `.gitignore`, names
    that suggest binary data or secrets, links that lead outside, and unreadable files.

    Raises `InvalidInputError` if the path is neither file nor folder, or its name suggests secrets. If a single file
    cannot be read, raises `UnreadableError` with the reason, `UnavailableError`, or `ConfigError` with the install
    command of its reader.
    """
    from mnemic.adapters.files import LocalFiles
    from mnemic.adapters.readers.sandbox import SandboxReader

    limits, files, skipped = ReadLimits(), LocalFiles(), list[LeftOut]()
    told: object = os.fspath(path)
    if isinstance(told, bytes):
        raise InvalidInputError("a path must be text; decode it with os.fsdecode")
    place = files.find(str(told))
    chunks: list[Chunk] = []
    with closing(SandboxReader()) as reader:
        for entry in files.walk(place, limits.max_bytes):
            if isinstance(entry, LeftOut):
                skipped.append(entry)
                continue
            try:
                document = _read(files, reader, entry, limits)
            except (UnreadableError, UnavailableError, BadReplyError, ConfigError) as error:
                if not place.is_folder:
                    raise
                skipped.append(LeftOut(entry.source, str(error)))
            else:
                chunks += _chunks(document, entry, config or ChunkConfig())
    if skipped and not place.is_folder:
        raise InvalidInputError(f"{place.source} was not read: {skipped[0].reason}")
    return Ingested(chunks, skipped)


def _read(files: Files, reader: Reader, file: FoundFile, limits: ReadLimits) -> ReadDocument:
    if file_type(file.name) == "pdf" and find_spec(_PDF_PACKAGE) is None:
        raise ConfigError(f"{file.name} is a PDF, but the PDF reader is not installed; run `{install_line(PDF_EXTRA)}`")
    return reader.read(files.read(file, limits.max_bytes), file.name, limits)


def _chunks(document: ReadDocument, file: FoundFile, config: ChunkConfig) -> list[Chunk]:
    chunks = chunk_text(document.text, source=file.source, config=config)
    if not chunks:
        chunks = chunk_text(document.text, source=file.source, config=replace(config, min_chunk_size=0))
    return [replace(chunk, metadata=_metadata(document, file, chunk)) for chunk in chunks]


def _metadata(document: ReadDocument, file: FoundFile, chunk: Chunk) -> dict[str, object]:
    page, last_page = document.page_at(chunk.start), document.page_at(max(chunk.start, chunk.end - 1))
    pages = {} if page is None else {"page": page, "last_page": last_page}
    return {"file_type": file_type(file.name), **pages}


def chunk_config(config: Config | None = None) -> ChunkConfig:
    """The configuration for `chunk_text` and `ingest_path`: the keys `chunk_…` of `tools.storage`. If the chunk size is
    below the usual minimum, it is the minimum.
    """
    settings = (config or load_config()).backend
    return ChunkConfig(
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        min_chunk_size=min(DEFAULT_MIN_CHUNK_SIZE, settings.chunk_size),
    )
