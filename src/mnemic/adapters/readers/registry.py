"""Chooses the reader of a file: Mnemic's own, or for other formats an entry point of the group `mnemic.readers` (a
callable without arguments that returns a `Reader`). Text formats are chosen by name, others by their bytes.
"""

import codecs
import importlib
import importlib.metadata
import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import cast

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.archive import ENCRYPTED_STREAM, OLE_SIGNATURE
from mnemic.adapters.readers.text import CODE_EXTENSIONS, is_binary
from mnemic.errors import ConfigError
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

GROUP = "mnemic.readers"
OWN = (
    "html:HtmlReader",
    "markdown:MarkdownReader",
    "pdf:PdfReader",
    "docx:DocxReader",
    "pptx:PptxReader",
    "xlsx:XlsxReader",
    "tables:CsvReader",
    "epub:EpubReader",
    "notebook:NotebookReader",
    "mail:MailReader",
    "text:CodeReader",
    "text:TextReader",
)
"""Module and class of each reader. Packages of extras are imported on first use."""

MARKDOWN_EXTENSIONS = (".md", ".markdown", ".mdx")
_TEXTUAL = frozenset({"text", "code", "markdown", "csv", "eml", "ipynb"})
"""Readers of texts with arbitrary content: these are chosen by file name."""

PDF_SIGNATURE = b"%PDF-"
PDF_SEARCHED_BYTES = 1024
"""A PDF header may come a little after the file's beginning."""

_BINARY_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"RIFF", "a recording or a picture"),
    (b"ID3", "a recording"),
    (b"\x1f\x8b", "a compressed archive"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed archive"),
    (b"Rar!", "a compressed archive"),
    (b"PK\x03\x04", "a compressed archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"{\\rtf", "in Rich Text Format (save it as DOCX)"),
)
_MEMBERS = (("word/", ".docx"), ("ppt/", ".pptx"), ("xl/", ".xlsx"), ("META-INF/container.xml", ".epub"))


def file_type(name: str) -> str:
    """The type by file name: "markdown", "pdf", "code" or "text"."""
    extension = PurePath(name).suffix.lower()
    if extension in MARKDOWN_EXTENSIONS:
        return "markdown"
    if extension == ".pdf":
        return "pdf"
    return "code" if extension in {*CODE_EXTENSIONS, ".html", ".htm"} else "text"


def own_readers() -> list[Reader]:
    """One instance of each of Mnemic's readers."""
    return [_load(f"mnemic.adapters.readers.{place}") for place in OWN]


def all_readers(more: Sequence[str] = ()) -> list[Reader]:
    """Readers in order: `more` (each "module:callable"), Mnemic's own, those of packages. May raise `ConfigError`."""
    points = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda point: point.name)
    return [*map(_load, more), *own_readers(), *(_load(point.value) for point in points)]


class AnyReader:
    """Reads each file in this process with the first reader that accepts it."""

    name = "any"

    def __init__(self, readers: Sequence[Reader] | None = None) -> None:
        """`readers`: in order of preference. None: all installed ones."""
        self._readers = list(readers) if readers is not None else all_readers()
        self.capabilities = joined([reader.capabilities for reader in self._readers])

    def reader_for(self, data: bytes, name: str) -> Reader:
        """The reader of a file. Raises `UnreadableError` if there is none."""
        extension = PurePath(name).suffix.lower()
        by_name = self._by_extension(extension)
        by_bytes = self._by_bytes(data)
        is_textual = by_name is not None and by_name.name in _TEXTUAL
        if by_bytes is not None and not (is_textual and not is_binary(data) and not data.startswith(PDF_SIGNATURE)):
            return by_bytes
        if by_name is not None and not is_textual:
            return by_name
        what = _known_binary(data, name) or ("not text in a known encoding" if is_binary(data) else None)
        reader = by_name or self._by_extension(".txt")
        if what is not None or reader is None:
            raise refusals.unknown(name, what or "of an unknown type")
        return reader

    def named(self, name: str, media_type: str) -> str:
        """The file name with an extension of its media type, if its own means nothing."""
        if self._by_extension(PurePath(name).suffix.lower()) is not None:
            return name
        kind = media_type.partition(";")[0].strip().lower()
        matching = (each.capabilities for each in self._readers if kind in each.capabilities.media_types)
        return f"{name}{next((each.extensions[0] for each in matching if each.extensions), '')}"

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if len(data) > limits.max_bytes:
            raise refusals.too_large(name, limits)
        if not data.strip():
            raise refusals.empty(name)
        return self.reader_for(data, name).read(data, name, limits)

    def _by_extension(self, extension: str) -> Reader | None:
        return next((each for each in self._readers if extension in each.capabilities.extensions), None)

    def _by_bytes(self, data: bytes) -> Reader | None:
        if PDF_SIGNATURE in data[:PDF_SEARCHED_BYTES]:
            return self._by_extension(".pdf")
        start = data[:PDF_SEARCHED_BYTES].removeprefix(codecs.BOM_UTF8).lstrip()
        signed = (each for each in self._readers if start.startswith(each.capabilities.signatures))
        return self._by_extension(_extension_of(data)) or next(signed, None)


def joined(capabilities: Sequence[ReaderCapabilities]) -> ReaderCapabilities:
    """The combined capabilities."""
    return ReaderCapabilities(
        media_types=tuple(dict.fromkeys(each for one in capabilities for each in one.media_types)),
        extensions=tuple(dict.fromkeys(each for one in capabilities for each in one.extensions)),
        signatures=tuple(dict.fromkeys(each for one in capabilities for each in one.signatures)),
    )


def _extension_of(data: bytes) -> str:
    """The extension that a zip file's members suggest, "" if none."""
    if not data.startswith(b"PK\x03\x04"):
        return ""
    try:
        names = zipfile.ZipFile(io.BytesIO(data)).namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ""
    return next((extension for start, extension in _MEMBERS if any(name.startswith(start) for name in names)), "")


def _known_binary(data: bytes, name: str) -> str | None:
    """The type of a known binary format, None for others. Raises `UnreadableError` if it is encrypted."""
    if data.startswith(OLE_SIGNATURE):
        if ENCRYPTED_STREAM in data:
            raise refusals.encrypted(name)
        return "in an Office format from before 2007 (save it in a current format)"
    return next((what for signature, what in _BINARY_SIGNATURES if data.startswith(signature)), None)


def _load(place: str) -> Reader:
    module, _, attribute = place.partition(":")
    try:
        build = cast("Callable[[], Reader]", getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"the reader {place} cannot be loaded: {error}") from error
    return build()


_fits: type[Reader] = AnyReader
