"""Reads e-books (EPUB): chapters in order, with their headings."""

import posixpath
import urllib.parse
import xml.etree.ElementTree as ET

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.archive import Archive, local
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.adapters.readers.html import MarkupText, declared_encoding
from mnemic.adapters.readers.text import decode
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "an e-book"
CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
CHAPTERS = ("application/xhtml+xml", "text/html")


class EpubReader:
    """The text of a book's spine. E-books have no pages."""

    name = "epub"
    capabilities = ReaderCapabilities(media_types=("application/epub+zip",), extensions=(".epub",))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        archive = Archive(data, name, limits, KIND)
        roots = (each.get("full-path", "") for each in archive.xml(CONTAINER).iter() if local(each.tag) == "rootfile")
        place = next(roots, "")
        package = archive.xml(place)
        chapters = _chapters(package, posixpath.dirname(place))
        if _encrypted_members(archive) & set(chapters):
            raise refusals.encrypted(name)
        draft = DocumentDraft(name, limits)
        for chapter in chapters:
            page = archive.read(chapter)
            text, _ = decode(page, declared_encoding(page))
            markup = MarkupText(draft)
            markup.feed(text)
            markup.close()
        facts = {local(each.tag): (each.text or "").strip() for each in reversed(list(package.iter())) if each.text}
        metadata = {"author": facts.get("creator"), "language": facts.get("language")}
        return draft.document("application/epub+zip", title=facts.get("title"), metadata=metadata)


def _chapters(package: ET.Element, folder: str) -> list[str]:
    """The archive members of the spine, in order."""
    items = {each.get("id", ""): each for each in package.iter() if local(each.tag) == "item"}
    spine = [items.get(each.get("idref", "")) for each in package.iter() if local(each.tag) == "itemref"]
    return [
        posixpath.normpath(posixpath.join(folder, urllib.parse.unquote(item.get("href", ""))))
        for item in spine
        if item is not None and item.get("media-type") in CHAPTERS
    ]


def _encrypted_members(archive: Archive) -> set[str]:
    """The encrypted members. Often these are fonts, which does not matter."""
    if ENCRYPTION not in archive.names:
        return set()
    references = (each for each in archive.xml(ENCRYPTION).iter() if local(each.tag) == "CipherReference")
    return {urllib.parse.unquote(each.get("URI", "")) for each in references}


_fits: type[Reader] = EpubReader
