"""Reads PDF with PDFium (extra `documents`): text in reading order by page, and the outline. No OCR or annotations."""

import re
import threading
from collections.abc import Iterator
from typing import Any

from mnemic.adapters.extras import import_extra
from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft, clean
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

ENCRYPTED_CODES = (4, 5)
"""Of FPDF_GetLastError: a password is needed, or the encryption is unknown."""

MAX_OUTLINE = 5_000  # entries; bounds the time that a forged outline takes
MAX_OUTLINE_DEPTH = 15  # levels; an outline may refer to itself
METADATA = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created"}
_DATE = re.compile(r"D?:?(\d{4})(\d\d)(\d\d).*")

_HYPHEN = re.compile("[\x02\ufffe]\n?")
"""PDFium's marks for hyphenation at the end of a line."""

_ONE_AT_A_TIME = threading.Lock()
"""PDFium has global state and is not thread-safe."""


class PdfReader:
    """The text layer and outline of a PDF."""

    name = "pdf"
    capabilities = ReaderCapabilities(media_types=("application/pdf",), extensions=(".pdf",), signatures=(b"%PDF-",))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        package: Any = import_extra("pypdfium2", "documents")
        with _ONE_AT_A_TIME:
            try:
                file = package.PdfDocument(data)
            except package.PdfiumError as error:
                if error.err_code in ENCRYPTED_CODES:
                    raise refusals.encrypted(name) from error
                raise refusals.broken(name, "PDF", error) from error
            try:
                return _read(file, name, limits)
            except package.PdfiumError as error:
                raise refusals.broken(name, "PDF", error) from error
            finally:
                file.close()


def _read(file: Any, name: str, limits: ReadLimits) -> ReadDocument:
    count = len(file)
    if count > limits.max_pages:
        raise refusals.too_many_pages(name, limits)
    draft = DocumentDraft(name, limits)
    starts: list[int] = []
    texts: list[str] = []
    for number in range(count):
        text = _page_text(file, number)
        draft.page()
        starts.append(draft.length)
        texts.append(text)
        draft.paragraph(text)
    if not any(text.strip() for text in texts):
        raise refusals.scanned(name, count) if count else refusals.empty(name)
    for offset, level, title in sorted(_outline(file, starts, texts)):
        draft.mark_heading(offset, level, title)
    known: dict[str, str] = file.get_metadata_dict(skip_empty=True)
    metadata = {name: known.get(key, "") for key, name in METADATA.items()}
    metadata["created"] = _DATE.sub(r"\1-\2-\3", metadata["created"])
    return draft.document("application/pdf", title=known.get("Title"), metadata=metadata)


def _page_text(file: Any, number: int) -> str:
    page = file[number]
    try:
        layer = page.get_textpage()
        try:
            text = str(layer.get_text_bounded())
        finally:
            layer.close()
    finally:
        page.close()
    return _HYPHEN.sub("", clean(text)).strip("\n").rstrip()


def _outline(file: Any, starts: list[int], texts: list[str]) -> Iterator[tuple[int, int, str]]:
    """Offset, level and title of each entry: its words on the page, else the page's beginning."""
    for index, entry in enumerate(file.get_toc(max_depth=MAX_OUTLINE_DEPTH)):
        if index >= MAX_OUTLINE:
            return
        title = " ".join(clean(str(entry.get_title())).split())
        target = entry.get_dest()
        page: int | None = target.get_index() if target is not None else None
        if title and page is not None and 0 <= page < len(starts):
            words = r"\s+".join(re.escape(word) for word in title.split())
            found = re.search(words, texts[page], re.IGNORECASE)
            yield starts[page] + (found.start() if found else 0), int(entry.level) + 1, title


_fits: type[Reader] = PdfReader
