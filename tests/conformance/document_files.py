"""Small files of every kind, written by the tests themselves: office files as the archives they are, PDF by hand."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from email.message import EmailMessage

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"


def archive(members: Mapping[str, str | bytes]) -> bytes:
    """A zip file of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def relations(*targets: tuple[str, str, str]) -> str:
    """A part of relationships: ids, the last words of their types, targets."""
    rows = "".join(f'<Relationship Id="{i}" Type="{_TYPES}{kind}" Target="{target}"/>' for i, kind, target in targets)
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{rows}</Relationships>'


def docx(body: str, more: Mapping[str, str] | None = None) -> bytes:
    """A Word document with this body, and headings by the styles `Top` and `Sub` (which is based on it by name)."""
    styles = (
        f'<w:styles {_W}><w:style w:styleId="Top"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:styleId="Sub"><w:name w:val="Mine"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>'
        '<w:style w:styleId="Like"><w:name w:val="Like"/><w:basedOn w:val="Sub"/></w:style></w:styles>'
    )
    return archive(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "word/document.xml")),
            "word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": relations(("r1", "styles", "styles.xml"), ("r2", "footnotes", "notes.xml")),
            "word/styles.xml": styles,
            "word/notes.xml": f"<w:footnotes {_W}><w:footnote>{paragraph('a footnote')}</w:footnote></w:footnotes>",
            **(more or {}),
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of a Word document."""
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{named}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def pptx(slides: Sequence[tuple[str, str, str]], *, hidden: Sequence[int] = ()) -> bytes:
    """A presentation; of every slide the title, a text and the speaker's notes. `hidden`: places of slides."""
    references = "".join(f'<p:sldId id="{256 + i}" r:id="r{i}"/>' for i in range(len(slides)))
    members = {
        "_rels/.rels": relations(("r1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {_P} {_R}><p:sldIdLst>{references}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            *((f"r{i}", "slide", f"slides/s{i}.xml") for i in range(len(slides)))
        ),
    }
    for i, (title, text, notes) in enumerate(slides):
        members[f"ppt/slides/s{i}.xml"] = _slide(
            "sld", _shape(text, "body") + _shape("7", "sldNum") + _shape(title, "title")
        )
        if i in hidden:
            members[f"ppt/slides/s{i}.xml"] = members[f"ppt/slides/s{i}.xml"].replace("<p:sld ", '<p:sld show="0" ')
        members[f"ppt/notes/n{i}.xml"] = _slide("notes", _shape(notes, "body"))
        members[f"ppt/slides/_rels/s{i}.xml.rels"] = relations(("r1", "notesSlide", f"../notes/n{i}.xml"))
    return archive(members)


def _slide(kind: str, shapes: str) -> str:
    return f"<p:{kind} {_P} {_A}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{kind}>"


def _shape(text: str, kind: str) -> str:
    return (
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>'
        f"<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    )


def xlsx(sheets: Mapping[str, Sequence[Sequence[str | int]]], *, hidden: Sequence[str] = ()) -> bytes:
    """A workbook of these sheets."""
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="r{i}" state="{("visible", "hidden")[name in hidden]}"/>'
        for i, name in enumerate(sheets, 1)
    )
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    members = {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/></Types>'
        ),
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f"<workbook {_S} {_R}><sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": relations(
            *((f"r{i}", "worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(sheets) + 1))
        ),
    }
    for i, rows in enumerate(sheets.values(), 1):
        written = "".join(f'<row r="{r}">{"".join(map(_cell, row))}</row>' for r, row in enumerate(rows, 1))
        members[f"xl/worksheets/sheet{i}.xml"] = f"<worksheet {_S}><sheetData>{written}</sheetData></worksheet>"
    return archive(members)


def _cell(value: str | int) -> str:
    return f"<c><v>{value}</v></c>" if isinstance(value, int) else f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def epub(chapters: Sequence[str], more: Mapping[str, str] | None = None) -> bytes:
    """A book whose chapters have these bodies."""
    items = "".join(
        f'<item id="c{i}" href="c{i}.xhtml" media-type="application/xhtml+xml"/>' for i in range(len(chapters))
    )
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    return archive(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="OEBPS/b.opf"/></container>',
            "OEBPS/b.opf": (
                '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>The boat</dc:title>'
                "<dc:creator>Ada</dc:creator><dc:language>en</dc:language></metadata>"
                f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
            ),
            **{
                f"OEBPS/c{i}.xhtml": f"<html><head><title>x</title></head><body>{b}</body></html>"
                for i, b in enumerate(chapters)
            },
            **(more or {}),
        }
    )


def notebook() -> bytes:
    """A notebook with a text, code with a printed line, and a picture."""
    cells = [
        {"cell_type": "markdown", "source": ["# Tides\n", "\n", "High water comes twice."]},
        {
            "cell_type": "code",
            "source": "print(12 * 2)",
            "outputs": [
                {"output_type": "stream", "text": ["printed twenty-four\n"]},
                {"output_type": "display_data", "data": {"image/png": "cGljdHVyZQ=="}},
            ],
        },
        {"cell_type": "markdown", "source": "## Sources\n\nThe harbour office."},
    ]
    metadata = {"kernelspec": {"language": "python"}}
    return json.dumps({"nbformat": 4, "metadata": metadata, "cells": cells}).encode()


def mail() -> bytes:
    """A message in two forms with a note attached."""
    message = EmailMessage()
    message["Subject"] = "Dinner on Friday"
    message["From"] = "Ada <ada@example.org>"
    message["To"] = "Grace <grace@example.org>"
    message["Date"] = "Fri, 01 Mar 2024 18:00:00 +0000"
    message.set_content("We meet at the harbour at seven.\nBring the charts.")
    message.add_alternative("<p>We meet in <b>html</b>.</p>", subtype="html")
    message.add_attachment(b"secret bytes", maintype="application", subtype="octet-stream", filename="charts.bin")
    return message.as_bytes()


def pdf(pages: Sequence[str], *, outline: Sequence[str] = (), title: str = "", encrypted: bool = False) -> bytes:
    """A PDF with a line of text on each page (none for ""), bookmarks to the pages in turn, and a title."""
    count = len(pages)
    kids = " ".join(f"{10 + 2 * i} 0 R" for i in range(count))
    first = 10 + 2 * count
    objects: dict[int, str] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {'/Outlines 5 0 R' if outline else ''} >>",
        2: f"<< /Type /Pages /Count {count} /Kids [{kids}] >>",
        3: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        4: f"<< /Title ({title}) >>",
    }
    for i, text in enumerate(pages):
        drawn = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET" if text else "0 0 10 10 re f"
        objects[10 + 2 * i] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {11 + 2 * i} 0 R "
            "/Resources << /Font << /F 3 0 R >> >> >>"
        )
        objects[11 + 2 * i] = f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream"
    if outline:
        last = first + len(outline) - 1
        objects[5] = f"<< /Type /Outlines /First {first} 0 R /Last {last} 0 R /Count {len(outline)} >>"
        for i, words in enumerate(outline):
            following = f"/Next {first + i + 1} 0 R" if first + i < last else ""
            objects[first + i] = f"<< /Title ({words}) /Parent 5 0 R /Dest [{10 + 2 * i} 0 R /Fit] {following} >>"
    if encrypted:
        key = "41" * 32
        objects[6] = f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}> >>"
    return _pdf_file(objects, "/Encrypt 6 0 R /ID [<41> <41>]" if encrypted else "")


def _pdf_file(objects: Mapping[int, str], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places: dict[int, int] = {}
    for number, content in sorted(objects.items()):
        places[number] = len(out)
        out += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    start = len(out)
    size = max(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n".encode()
    for number in range(1, size):
        place = places.get(number)
        out += (f"{place:010} 00000 n \n" if place is not None else "0000000000 65535 f \n").encode()
    out += f"trailer\n<< /Size {size} /Root 1 0 R /Info 4 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
