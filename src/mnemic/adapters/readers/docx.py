"""Reads Word documents (DOCX) without deleted tracked changes, comments, headers and footers. There are no pages,
because Word only lays them out for display.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.archive import Archive, local
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "a Word document"
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MAX_NESTING = 100
"""Limit of nested tables and text boxes. No writer creates more."""

_HIDDEN = frozenset({"del", "moveFrom", "Fallback", "delText", "instrText", "pPr", "rPr", "sectPr", "tblPr", "object"})
_BLOCKS = frozenset({"p", "tbl"})
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_NOTES = ("footnotes", "endnotes")
_HEADING_NAME = re.compile(r"heading ([1-9])$", re.IGNORECASE)


class DocxReader:
    """The text of a Word document in order, with headings from its styles."""

    name = "docx"
    capabilities = ReaderCapabilities(media_types=(MEDIA_TYPE,), extensions=(".docx", ".docm", ".dotx"))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        archive = Archive(data, name, limits, KIND)
        main = archive.part("officeDocument") or "word/document.xml"
        root = archive.xml(main)
        styles = archive.part("styles", main)
        draft = DocumentDraft(name, limits)
        body = _Body(draft, _levels(archive.xml(styles)) if styles else {}, name)
        body.blocks(root, 0)
        for notes in _NOTES:
            place = archive.part(notes, main)
            for note in archive.xml(place) if place else ():
                if not any(key.endswith("}type") for key in note.attrib):
                    body.blocks(note, 0)
        properties = archive.core_properties()
        metadata = {"author": properties.get("creator"), "created": properties.get("created")}
        return draft.document(MEDIA_TYPE, title=properties.get("title") or body.title, metadata=metadata)


class _Body:
    """Walks through paragraphs and tables at any nesting."""

    def __init__(self, draft: DocumentDraft, levels: dict[str, int], name: str) -> None:
        self.title = ""
        self._draft = draft
        self._levels = levels
        self._name = name

    def blocks(self, parent: ET.Element, depth: int) -> None:
        if depth > MAX_NESTING:
            raise refusals.broken(self._name, KIND, f"nested more than {MAX_NESTING} levels deep")
        for child in parent:
            kind = local(child.tag)
            if kind == "p":
                self._paragraph(child, depth)
            elif kind == "tbl":
                self._table(child)
            elif kind not in _HIDDEN:
                self.blocks(child, depth + 1)

    def _paragraph(self, paragraph: ET.Element, depth: int) -> None:
        style, is_item, level = _style(paragraph)
        level = level or self._levels.get(style, 0)
        text = "".join(_words(paragraph))
        if level:
            self._draft.heading(level, text)
            self.title = self.title or (text if level == 1 else "")
        elif is_item and text.strip():
            self._draft.line(f"- {text.strip()}")
        else:
            self._draft.paragraph(text)
        for box in _inner(paragraph, frozenset({"txbxContent"})):
            self.blocks(box, depth + 1)

    def _table(self, table: ET.Element) -> None:
        for row in _inner(table, frozenset({"tr"})):
            self._draft.row(
                [
                    " ".join("".join(_words(each)) for each in _inner(cell, frozenset({"p"})))
                    for cell in _inner(row, frozenset({"tc"}))
                ]
            )


def _inner(parent: ET.Element, kinds: frozenset[str]) -> Iterator[ET.Element]:
    """The outermost visible elements of these kinds in the parent, in order."""
    waiting = list(reversed(parent))
    while waiting:
        element = waiting.pop()
        kind = local(element.tag)
        if kind in kinds:
            yield element
        elif kind not in _HIDDEN:
            waiting.extend(reversed(element))


def _words(paragraph: ET.Element) -> Iterator[str]:
    """The text of a paragraph, without nested paragraphs."""
    waiting = list(reversed(paragraph))
    while waiting:
        element = waiting.pop()
        kind = local(element.tag)
        if kind == "t":
            yield element.text or ""
        elif kind in _BREAKS:
            yield _BREAKS[kind]
        elif kind not in _HIDDEN and kind not in _BLOCKS:
            waiting.extend(reversed(element))


def _style(paragraph: ET.Element) -> tuple[str, bool, int]:
    """The style's id, whether it is a list item, and its own outline level, 0 without one."""
    style, is_item, level = "", False, 0
    for properties in paragraph:
        if local(properties.tag) == "pPr":
            for each in properties:
                kind = local(each.tag)
                if kind == "pStyle":
                    style = _value(each)
                is_item = is_item or kind == "numPr"
                if kind == "outlineLvl":
                    level = _outline_level(_value(each))
    return style, is_item, level


def _levels(styles: ET.Element) -> dict[str, int]:
    """The outline level of each heading style, its own or inherited."""
    levels: dict[str, int] = {}
    based: dict[str, str] = {}
    for style in styles:
        id_ = next((value for key, value in style.attrib.items() if local(key) == "styleId"), "")
        for each in style.iter():
            if local(each.tag) == "basedOn":
                based[id_] = _value(each)
        level = _level_of(style)
        if level:
            levels[id_] = level
    for id_, parent in based.items():
        seen, above = {id_}, parent
        while above not in levels and above in based and above not in seen:
            seen.add(above)
            above = based[above]
        levels.setdefault(id_, levels.get(above, 0))
    return levels


def _level_of(style: ET.Element) -> int:
    """The style's own level, by its outline level or its name."""
    named = 0
    for each in style.iter():
        kind, value = local(each.tag), _value(each)
        if kind == "outlineLvl":
            return _outline_level(value)
        if kind == "name":
            found = _HEADING_NAME.match(value)
            named = int(found[1]) if found else int(value.lower() == "title")
    return named


def _outline_level(value: str) -> int:
    return int(value) + 1 if value.isdigit() and int(value) < 9 else 0  # noqa: PLR2004 - 9 is body text


def _value(element: ET.Element) -> str:
    return next((value for key, value in element.attrib.items() if local(key) == "val"), "")


_fits: type[Reader] = DocxReader
