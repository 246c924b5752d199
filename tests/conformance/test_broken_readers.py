"""The contract of readers refuses readers that break it, each in the test that names its fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mnemic.adapters.readers.html import HtmlReader
from mnemic.adapters.readers.pdf import PdfReader
from mnemic.adapters.readers.text import TextReader
from mnemic.model.document import Heading, ReadDocument, ReadLimits
from mnemic.ports.files import Reader
from mnemic.testing.reader_contract import ReaderContract, Sample
from tests.conformance import document_files as files

HTML = Sample(
    name="a.html",
    data=b"<h1>Top</h1><p>one</p><script>hidden()</script><p>two</p>",
    words=("one", "two"),
    hidden=("hidden",),
    headings=("Top",),
)
PDF = Sample(name="a.pdf", data=files.pdf(["one", "two"]), words=("one", "two"), pages=("one", "two"))
TEXT = Sample(name="a.txt", data=b"one\r\ntwo", words=("one", "two"))


class ShowsScripts(HtmlReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return super().read(data.replace(b"script", b"p"), name, limits)


class MisplacesHeadings(HtmlReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        document = super().read(data, name, limits)
        return replace(
            document, headings=tuple(Heading(len(document.text), h.level, h.title) for h in document.headings)
        )


class MisplacesPages(PdfReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        document = super().read(data, name, limits)
        return replace(document, pages=(0, *(len(document.text) for _ in document.pages[1:])))


class CountsNoPages(PdfReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return super().read(data, name, replace(limits, max_pages=1000))


class KeepsReturns(TextReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return replace(super().read(data, name, limits), text=data.decode())


class HasNoLimit(TextReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return super().read(data, name, replace(limits, max_characters=10**6))


class LetsErrorsThrough(TextReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return super().read(data.decode("ascii").encode(), name, limits)


class Turns(TextReader):
    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        return super().read(data[::-1], name, limits)


@pytest.mark.parametrize(
    "reader, sample, test",
    [
        (ShowsScripts(), HTML, ReaderContract.test_the_text_holds_nothing_that_the_file_hides),
        (MisplacesHeadings(), HTML, ReaderContract.test_headings_stand_at_their_places),
        (MisplacesPages(), PDF, ReaderContract.test_pages_begin_where_their_words_are),
        (KeepsReturns(), TEXT, ReaderContract.test_the_text_is_clean),
        (Turns(), TEXT, ReaderContract.test_the_text_holds_the_words_in_their_order),
    ],
)
def test_a_reader_that_breaks_a_promise_fails_its_test(reader: Reader, sample: Sample, test: object):
    assert callable(test)
    with pytest.raises(AssertionError):
        test(ReaderContract(), reader, sample)


def test_a_reader_without_limits_fails_the_tests_of_limits():
    with pytest.raises(pytest.fail.Exception):
        ReaderContract().test_a_text_beyond_the_limit_is_refused(HasNoLimit(), TEXT)
    with pytest.raises(pytest.fail.Exception):
        ReaderContract().test_a_file_with_more_pages_than_the_limit_is_refused(CountsNoPages(), PDF)


def test_a_reader_that_lets_other_errors_through_fails():
    with pytest.raises(UnicodeDecodeError):
        ReaderContract().test_a_file_with_wrong_bytes_is_read_or_refused_and_nothing_else(LetsErrorsThrough(), TEXT)
