"""Files that nobody can read end with a reason and a sentence for whoever chose them, and quickly."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage

import pytest

from mnemic.adapters.readers.archive import ENCRYPTED_STREAM, OLE_SIGNATURE, RATIO_FLOOR_BYTES
from mnemic.adapters.readers.registry import AnyReader
from mnemic.errors import InvalidInputError
from mnemic.model.document import ReadLimits
from mnemic.ports.files import Unreadable, UnreadableError
from tests.conformance import document_files as files

ENTITIES = (
    '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">'
    '<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>&d;</w:t></w:r></w:p>'
    "</w:body></w:document>"
)
OUTSIDE = ENTITIES.replace('<!ENTITY a "ha">', '<!ENTITY a SYSTEM "file:///etc/hostname">')


def refusal(data: bytes, name: str, limits: ReadLimits | None = None) -> UnreadableError:
    with pytest.raises(UnreadableError) as refused:
        AnyReader().read(data, name, limits or ReadLimits())
    assert isinstance(refused.value, InvalidInputError)
    assert name in str(refused.value)
    return refused.value


def encrypted_zip() -> bytes:
    data = bytearray(files.docx(files.paragraph("secret")))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.find(mark)
        while start >= 0:
            data[start + place] |= 1
            start = data.find(mark, start + 4)
    return bytes(data)


def lying_archive(size: int) -> bytes:
    """A member that says it is small, and unpacks to `size`."""
    data = files.docx("", {"word/document.xml": " " * size})
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        true = file.getinfo("word/document.xml").file_size.to_bytes(4, "little")
    return data.replace(true, (100).to_bytes(4, "little"))


@pytest.mark.parametrize(
    "name, data",
    [
        ("a.pdf", files.pdf(["text"], encrypted=True)),
        ("a.docx", OLE_SIGNATURE + bytes(600) + ENCRYPTED_STREAM + bytes(600)),
        ("a.xlsx", OLE_SIGNATURE + bytes(600) + ENCRYPTED_STREAM + bytes(600)),
        ("a", OLE_SIGNATURE + bytes(600) + ENCRYPTED_STREAM + bytes(600)),
        ("b.docx", encrypted_zip()),
        (
            "a.epub",
            files.epub(["<p>text</p>"], {"META-INF/encryption.xml": '<e><CipherReference URI="OEBPS/c0.xhtml"/></e>'}),
        ),
        ("a.eml", b"Subject: x\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nAAAA\n"),
    ],
)
def test_an_encrypted_file_is_refused_with_what_to_do(name: str, data: bytes):
    error = refusal(data, name)
    assert error.reason == Unreadable.ENCRYPTED
    assert "without a password" in str(error)


def test_an_e_book_whose_fonts_alone_are_encrypted_is_read():
    more = {"META-INF/encryption.xml": '<e><CipherReference URI="OEBPS/fonts/a.otf"/></e>'}
    assert "text" in AnyReader().read(files.epub(["<p>text</p>"], more), "a.epub", ReadLimits()).text


def test_pages_of_pictures_are_named_as_such():
    error = refusal(files.pdf(["", ""]), "scan.pdf")
    assert error.reason == Unreadable.SCANNED
    assert "OCR" in str(error)


NO_WORDS = files.docx(files.paragraph(" "), {"word/notes.xml": "<x/>"})


@pytest.mark.parametrize(
    "name, data", [("a.docx", NO_WORDS), ("a.txt", b"\n \n"), ("a.html", b"<p></p>"), ("b.txt", b"")]
)
def test_a_file_without_words_is_empty(name: str, data: bytes):
    assert refusal(data, name).reason == Unreadable.EMPTY


@pytest.mark.parametrize(
    "name, data",
    [
        ("a.pdf", b"%PDF-1.7 and nothing of it"),
        ("a.docx", b"PK\x03\x04 and nothing of it"),
        ("b.docx", files.archive({"word/other.xml": "<x/>"})),
        ("c.docx", files.docx("", {"word/document.xml": "<unclosed>"})),
        ("a.xlsx", files.archive({"xl/workbook.xml": "<x/>"})),
        ("a.epub", files.archive({"META-INF/container.xml": "<x/>"})),
        ("a.ipynb", b"{broken"),
        ("b.ipynb", b"[" * 100_000),
        ("a.eml", b"no headers at all"),
    ],
)
def test_a_damaged_file_is_refused_as_what_it_should_be(name: str, data: bytes):
    error = refusal(data, name)
    assert error.reason == Unreadable.BROKEN
    assert "cannot be read as" in str(error)


@pytest.mark.parametrize(
    "name, data, words",
    [
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "picture"),
        ("a.zip", files.archive({"a.txt": "text"}), "archive"),
        ("a.doc", OLE_SIGNATURE + bytes(600), "before 2007"),
        ("a.rtf", b"{\\rtf1 text}", "Rich Text"),
        ("a.txt", b"\x89PNG\r\n\x1a\n" + bytes(100), "picture"),
        ("a.bin", bytes(range(256)) * 20, "not text"),
        ("a", bytes(range(256)) * 20, "not text"),
    ],
)
def test_what_is_no_document_is_said_to_be_what_it_is(name: str, data: bytes, words: str):
    error = refusal(data, name)
    assert error.reason == Unreadable.UNKNOWN
    assert words in str(error)


@pytest.mark.parametrize("member, name", [("word/document.xml", "a.docx"), ("xl/workbook.xml", "a.xlsx")])
@pytest.mark.parametrize("text", [ENTITIES, OUTSIDE])
def test_xml_that_defines_entities_is_not_opened(member: str, name: str, text: str):
    error = refusal(files.archive({member: text}), name)
    assert error.reason == Unreadable.BOMB
    assert "entities" in str(error)


def test_entities_in_another_encoding_are_seen_too():
    data = files.archive({"word/document.xml": ENTITIES.encode("utf-16")})
    assert refusal(data, "a.docx").reason == Unreadable.BOMB


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_an_archive_that_unpacks_to_hundreds_of_times_its_size_is_not_opened(name: str):
    data = files.archive({"word/a.xml": " " * (2 * RATIO_FLOOR_BYTES)})
    error = refusal(data, name)
    assert error.reason == Unreadable.BOMB
    assert "times its size" in str(error)


def test_an_archive_of_too_many_parts_is_not_opened():
    data = files.docx("", {f"word/{i}.xml": "<x/>" for i in range(60)})
    assert refusal(data, "a.docx", ReadLimits(max_members=50)).reason == Unreadable.BOMB


def test_an_archive_beyond_the_limit_of_unpacking_is_not_opened():
    data = files.docx(files.paragraph("word " * 1000))
    assert refusal(data, "a.docx", ReadLimits(max_unpacked_bytes=2000)).reason == Unreadable.BOMB


def test_a_part_that_lies_about_its_size_is_refused():
    assert refusal(lying_archive(70_000), "a.docx").reason in {Unreadable.BOMB, Unreadable.BROKEN}


def test_messages_within_messages_end_somewhere():
    inner = EmailMessage()
    inner["Subject"] = "innermost"
    inner.set_content("text")
    for _ in range(4):
        outer = EmailMessage()
        outer["Subject"] = "around"
        outer.add_attachment(inner)
        inner = outer
    data = inner.as_bytes()
    assert "innermost" in AnyReader().read(data, "a.eml", ReadLimits()).text
    assert refusal(data, "a.eml", ReadLimits(max_depth=3)).reason == Unreadable.BOMB


def test_tables_nested_without_end_are_refused():
    body = files.paragraph("deep")
    for _ in range(120):
        body = f"<w:sdt>{body}</w:sdt>"
    assert refusal(files.docx(body), "a.docx").reason == Unreadable.BROKEN


def test_a_file_beyond_the_limit_of_bytes_is_not_looked_at():
    error = refusal(b"text " * 100, "a.txt", ReadLimits(max_bytes=100))
    assert error.reason == Unreadable.TOO_LARGE
    assert "raise the limit" in str(error)


def test_a_name_of_any_length_makes_a_short_message():
    with pytest.raises(UnreadableError) as refused:
        AnyReader().read(b"", "a" * 5000, ReadLimits())
    assert len(str(refused.value)) < 200


def test_a_table_of_more_columns_than_a_spreadsheet_has_is_refused():
    refused = refusal(",".join("1" * 20_000).encode(), "wide.csv")
    assert (refused.reason, "columns" in str(refused)) == (Unreadable.BROKEN, True)
    assert AnyReader().read(",".join("12" * 500).encode(), "table.csv", ReadLimits()).text.startswith("1 | 2")
