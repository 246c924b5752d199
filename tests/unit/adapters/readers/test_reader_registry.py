"""Each file goes to its reader: by its bytes where they are sure, else by its name, else by its media type."""

from __future__ import annotations

import importlib.metadata
import sys

import pytest

from mnemic.adapters.readers.registry import AnyReader, all_readers, file_type
from mnemic.adapters.readers.xlsx import XlsxReader
from mnemic.errors import ConfigError
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import ReaderCapabilities, UnreadableError
from tests.conformance import document_files as files

PDF = files.pdf(["text"])
DOCX = files.docx(files.paragraph("text"))


class ToyReader:
    name = "toy"
    capabilities = ReaderCapabilities(media_types=("text/x-toy",), extensions=(".toy", ".pdf"))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return ReadDocument(title=name, media_type="text/x-toy", text=data.decode()[: limits.max_characters])


@pytest.mark.parametrize(
    "name, data, reader",
    [
        ("a.pdf", PDF, "pdf"),
        ("a.PDF", PDF, "pdf"),
        ("a.txt", PDF, "pdf"),
        ("a", PDF, "pdf"),
        ("a.docx", PDF, "pdf"),
        ("a", b"junk before\n" + PDF, "pdf"),
        ("a.pdf", DOCX, "docx"),
        ("a.zip", DOCX, "docx"),
        ("a", files.pptx([("a", "b", "c")]), "pptx"),
        ("a", files.xlsx({"a": [["b"]]}), "xlsx"),
        ("a", files.epub(["<p>a</p>"]), "epub"),
        ("a", b"<!DOCTYPE html><p>text", "html"),
        ("a.docx", b"<html><p>text", "html"),
        ("a.txt", b"<html> is how a page begins", "text"),
        ("a.md", b"<html> is how a page begins", "markdown"),
        ("a.py", b"MARK = b'%PDF-'", "code"),
        ("a.csv", b"a,b", "csv"),
        ("a.ipynb", b"{}", "ipynb"),
        ("a.eml", b"Subject: x", "eml"),
        ("a.unheard", b"text", "text"),
        ("README", b"text", "text"),
    ],
)
def test_each_file_goes_to_its_reader(name: str, data: bytes, reader: str):
    assert AnyReader().reader_for(data, name).name == reader


@pytest.mark.parametrize(
    "name, media_type, named",
    [
        ("upload", "application/pdf", "upload.pdf"),
        ("upload", "text/html; charset=utf-8", "upload.html"),
        ("page.unheard", "Text/Markdown", "page.unheard.md"),
        ("notes.md", "application/pdf", "notes.md"),
        ("upload", "application/x-unheard", "upload"),
    ],
)
def test_a_media_type_names_a_file_that_has_no_known_extension(name: str, media_type: str, named: str):
    assert AnyReader().named(name, media_type) == named


@pytest.mark.requirement("O-36", "O-37", "O-38", "O-39")
@pytest.mark.parametrize(
    "names, expected",
    [
        ("a.md a.markdown a.mdx A.MD", "markdown"),
        ("a.pdf A.Pdf", "pdf"),
        ("a.py a.js a.ts a.rs a.go a.java a.c a.cpp a.yaml a.json a.html a.css a.sh a.sql a.toml", "code"),
        ("a.txt a.rst a.log a.unheard README a.csv .py", "text"),
    ],
)
def test_the_type_of_a_file_follows_its_extension(names: str, expected: str):
    assert {name: file_type(name) for name in names.split()} == dict.fromkeys(names.split(), expected)


@pytest.mark.parametrize("name", ["a.md", "a.pdf", "a.py", "a.html", "a.unheard"])
def test_every_type_of_file_has_a_reader(name: str):
    assert AnyReader().reader_for(PDF if name == "a.pdf" else b"text", name).name


def test_a_package_brings_a_reader_for_a_format_of_its_own(monkeypatch: pytest.MonkeyPatch):
    point = importlib.metadata.EntryPoint("toy", f"{__name__}:ToyReader", "mnemic.readers")

    def announced(*, group: str) -> list[importlib.metadata.EntryPoint]:
        return [point] if group == "mnemic.readers" else []

    monkeypatch.setattr(importlib.metadata, "entry_points", announced)
    reader = AnyReader()
    assert reader.read(b"hello", "a.toy", ReadLimits()).media_type == "text/x-toy"
    assert reader.reader_for(PDF, "a.pdf").name == "pdf"


def test_readers_that_a_program_names_are_asked_first():
    reader = AnyReader([ToyReader(), *all_readers()])
    assert reader.reader_for(PDF, "a.pdf").name == "toy"
    assert ".toy" in reader.capabilities.extensions


def test_a_reader_that_cannot_be_loaded_is_named():
    with pytest.raises(ConfigError, match="nowhere:Reader"):
        all_readers(["nowhere:Reader"])


def test_without_its_package_a_reader_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    for data, name in ((PDF, "a.pdf"), (files.xlsx({"a": [["b"]]}), "a.xlsx")):
        with pytest.raises(ConfigError, match=r"pip install 'mnemic\[documents\]'"):
            AnyReader().read(data, name, ReadLimits())


def test_no_reader_at_all_refuses():
    with pytest.raises(UnreadableError):
        AnyReader([XlsxReader()]).reader_for(b"text", "a.txt")
