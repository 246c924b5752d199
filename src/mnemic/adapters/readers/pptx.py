"""Reads presentations (PPTX): a page per slide with title, texts, tables and speaker notes."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.archive import Archive, local
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "a presentation"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
"""Placeholders for slide number, date and the like, without content."""


class PptxReader:
    """The texts of the visible slides, in order."""

    name = "pptx"
    capabilities = ReaderCapabilities(media_types=(MEDIA_TYPE,), extensions=(".pptx", ".pptm", ".ppsx"))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        archive = Archive(data, name, limits, KIND)
        main = archive.part("officeDocument") or "ppt/presentation.xml"
        slides = {id_: place for id_, kind, place in archive.related(main) if kind == "slide"}
        draft = DocumentDraft(name, limits)
        first_title = ""
        for reference in archive.xml(main).iter():
            if local(reference.tag) != "sldId":
                continue
            ids = (value for key, value in reference.attrib.items() if key.startswith("{") and local(key) == "id")
            id_ = next(ids, "")
            if id_ not in slides:
                raise refusals.broken(name, KIND, "a slide is missing")
            slide = archive.xml(slides[id_])
            if slide.get("show") == "0":
                continue
            title = _slide(slide, draft)
            first_title = first_title or title
            notes = archive.part("notesSlide", slides[id_])
            if notes:
                _notes(archive.xml(notes), draft)
        properties = archive.core_properties()
        metadata = {"author": properties.get("creator"), "created": properties.get("created")}
        return draft.document(MEDIA_TYPE, title=properties.get("title") or first_title, metadata=metadata)


def _slide(slide: ET.Element, draft: DocumentDraft) -> str:
    """Write a slide, title first. Returns the title."""
    draft.page()
    title = ""
    rest: list[ET.Element] = []
    for shape in _shapes(slide):
        kind = _placeholder(shape)
        if kind in _TITLES and not title:
            title = " ".join(_paragraphs(shape)).strip()
        elif kind not in _FURNITURE:
            rest.append(shape)
    draft.heading(1, title)
    for shape in rest:
        if local(shape.tag) == "tbl":
            for row in shape:
                if local(row.tag) == "tr":
                    draft.row([" ".join(_paragraphs(cell)) for cell in row if local(cell.tag) == "tc"])
        else:
            draft.paragraph("\n".join(text for text in _paragraphs(shape) if text.strip()))
    return title


def _notes(notes: ET.Element, draft: DocumentDraft) -> None:
    for shape in _shapes(notes):
        if _placeholder(shape) == "body":
            draft.paragraph("\n".join(_paragraphs(shape)))


def _shapes(root: ET.Element) -> Iterator[ET.Element]:
    """Every shape with text and every table in order, including groups and diagrams."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        kind = local(element.tag)
        if kind in {"sp", "tbl"}:
            yield element
        elif kind != "Fallback":
            waiting.extend(reversed(element))


def _placeholder(shape: ET.Element) -> str:
    """The type of a placeholder (default: body), "" for other shapes."""
    for element in shape.iter():
        if local(element.tag) == "ph":
            return element.get("type", "body")
    return ""


def _paragraphs(shape: ET.Element) -> Iterator[str]:
    for paragraph in shape.iter():
        if local(paragraph.tag) == "p":
            yield "".join(_run(each) for each in paragraph.iter())


def _run(element: ET.Element) -> str:
    kind = local(element.tag)
    return (element.text or "") if kind == "t" else "\n" * (kind == "br")


_fits: type[Reader] = PptxReader
