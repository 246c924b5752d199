"""Reads web pages."""

from __future__ import annotations

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.adapters.readers.encoding import decode, is_binary
from mnemic.adapters.readers.markup import MarkupText, declared_encoding
from mnemic.model.document_text import ReadDocument, ReadLimits
from mnemic.ports.reader import Reader, ReaderCapabilities


class HtmlReader:
    """The visible text of a page; nothing that it names is fetched."""

    name = "html"
    capabilities = ReaderCapabilities(
        media_types=("text/html", "application/xhtml+xml"),
        extensions=(".html", ".htm", ".xhtml"),
        signatures=(b"<!DOCTYPE html", b"<!doctype html", b"<html"),
    )

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if is_binary(data):
            raise refusals.unknown(name, "no text in an encoding that is known")
        text, encoding = decode(data, declared_encoding(data))
        draft = DocumentDraft(name, limits)
        page = MarkupText(draft)
        page.feed(text)
        page.close()
        return draft.document("text/html", title=page.title, metadata={"encoding": encoding, "language": page.language})


_fits: type[Reader] = HtmlReader
