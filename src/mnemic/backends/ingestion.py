"""Files and folders as chunks for a memory backend: read, cut, with their sources.

Answers for `ingest_path`. Which files of a folder are read is `adapters.files`' business, how one becomes a text that
of the readers, which run in a process of their own. For documents with scopes, versions and citations take `Mnemic`.
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
    """The chunks of a path, in the order of its files; `skipped`: what was not read, each with its reason."""

    def __init__(self, chunks: Iterable[Chunk] = (), skipped: Iterable[LeftOut] = ()) -> None:
        super().__init__(chunks)
        self.skipped = tuple(skipped)


def ingest_path(path: str | os.PathLike[str], config: ChunkConfig | None = None) -> Ingested:
    """The chunks of a file, or of all files in a folder and the folders in it; the same files give the same chunks.

    What a file is follows from its extension: markdown, PDF, code, another format that a reader takes, else text. Its
    text is cut by `chunk_text`; a document that is too short for a chunk is one. A chunk's `source` is the path of its
    file, `start` and `end` count in the text of the document, and `metadata` holds `file_type` (markdown, pdf, code or
    text) and, where the format has pages, the `page` it begins on, from 1. The pages of a PDF are joined by a blank
    line. In a folder, hidden files and folders, folders of programs, what a `.gitignore` leaves out, what by its name
    is no text or holds secrets, and links that lead out of the folder are skipped; and what cannot be read is.

    Raises `InvalidInputError` for a path that is neither a file nor a folder, and for a file that holds secrets by its
    name. A file that was named itself raises what keeps it from being read: `UnreadableError` with the reason,
    `UnavailableError`, or `ConfigError` with the line that installs its reader.
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
        raise InvalidInputError(f"{place.source} is not read: {skipped[0].reason}")
    return Ingested(chunks, skipped)


def _read(files: Files, reader: Reader, file: FoundFile, limits: ReadLimits) -> ReadDocument:
    if file_type(file.name) == "pdf" and find_spec(_PDF_PACKAGE) is None:
        raise ConfigError(f"{file.name} is a PDF, and what reads them is not here: run `{install_line(PDF_EXTRA)}`")
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
    """What `chunk_text` and `ingest_path` take: the keys `chunk_…` of `tools.storage`. Where chunks are smaller than
    the usual minimum, their size is the minimum.
    """
    settings = (config or load_config()).backend
    return ChunkConfig(
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        min_chunk_size=min(DEFAULT_MIN_CHUNK_SIZE, settings.chunk_size),
    )
