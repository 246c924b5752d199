"""Reads notebooks (IPYNB): texts, code and its printed output."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft, clean
from mnemic.adapters.readers.markdown import markdown_headings
from mnemic.adapters.readers.text import decode
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

KIND = "a notebook"
MEDIA_TYPE = "application/x-ipynb+json"


class NotebookReader:
    """The cells in order; code and output in fences. Leaves out errors and pictures."""

    name = "ipynb"
    capabilities = ReaderCapabilities(media_types=(MEDIA_TYPE,), extensions=(".ipynb",))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        try:
            book = json.loads(decode(data)[0])
        except (ValueError, RecursionError) as error:
            raise refusals.broken(name, KIND, error) from error
        if not isinstance(book, dict):
            raise refusals.broken(name, KIND, "it contains no cells")
        notebook = cast("dict[str, Any]", book)
        language = _language(notebook)
        draft = DocumentDraft(name, limits)
        title = ""
        for cell in _cells(notebook):
            source = clean(_join_lines(cell.get("source", cell.get("input"))))
            kind = cell.get("cell_type")
            if kind == "code":
                if source.strip():
                    draft.paragraph(f"```{language}\n{source}\n```")
                for output in _outputs(cell):
                    draft.paragraph(f"```\n{output}\n```")
            elif kind == "heading":
                level: object = cell.get("level")
                draft.heading(level if isinstance(level, int) else 1, source)
            else:
                found = _markdown(source, draft)
                title = title or found
        return draft.document(MEDIA_TYPE, title=title, metadata={"language": language})


def _markdown(source: str, draft: DocumentDraft) -> str:
    """Write a text cell. Returns its first heading of the highest level, "" without one."""
    source = source.strip("\n").rstrip()
    if not source.strip():
        return ""
    draft.paragraph(source)
    start = draft.length - len(source)
    headings = list(markdown_headings(source))
    for heading in headings:
        draft.mark_heading(start + heading.offset, heading.level, heading.title)
    return next((heading.title for heading in headings if heading.level == 1), "")


def _cells(book: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The cells. Notebooks before format 4 have them in worksheets."""
    sheets = [book, *_objects(book.get("worksheets"))]
    for sheet in sheets:
        yield from _objects(sheet.get("cells"))


def _outputs(cell: Mapping[str, Any]) -> Iterator[str]:
    for output in _objects(cell.get("outputs")):
        data: object = output.get("data")
        shown = cast("dict[str, Any]", data).get("text/plain") if isinstance(data, dict) else output.get("text")
        text = clean(_join_lines(shown)).strip("\n").rstrip()
        if text.strip():
            yield text


def _objects(value: object) -> list[dict[str, Any]]:
    values = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", each) for each in values if isinstance(each, dict)]


def _join_lines(value: object) -> str:
    if isinstance(value, list):
        return "".join(map(str, cast("list[object]", value)))
    return value if isinstance(value, str) else ""


def _language(book: Mapping[str, Any]) -> str:
    metadata: object = book.get("metadata")
    for key in ("kernelspec", "language_info"):
        each: object = cast("dict[str, object]", metadata).get(key) if isinstance(metadata, dict) else None
        if isinstance(each, dict):
            facts = cast("dict[str, object]", each)
            language = facts.get("language") or (facts.get("name") if key == "language_info" else None)
            if isinstance(language, str):
                return language
    return ""


_fits: type[Reader] = NotebookReader
