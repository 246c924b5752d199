"""What every reader promises, as tests: subclass `ReaderContract` and give it your reader and a file for it.

class TestMine(ReaderContract):
    @pytest.fixture
    def reader(self): return MyReader()

    @pytest.fixture
    def sample(self): return Sample(name="a.xyz", data=b"…", words=("first", "second"))
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, Unreadable, UnreadableError

DAMAGES = 24
"""Damaged copies of the sample that a reader is given, of each sort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A small file and what is in it.

    `words`: some of its text, in the order of reading, each once. `hidden`: what stands in the bytes, and no one who
    opens the file sees it. `pages`: for each page one of the words; none for a format without pages. `headings`: the
    titles of all headings. `title`: what the file calls itself, where it does.
    """

    name: str
    data: bytes
    words: tuple[str, ...]
    hidden: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    title: str | None = None


class ReaderContract:
    """Every promise of the reader port. A subclass gives the fixtures `reader` and `sample`."""

    def test_the_text_holds_the_words_in_their_order(self, reader: Reader, sample: Sample):
        text = _read(reader, sample).text
        places = [text.find(word) for word in sample.words]
        assert -1 not in places, text
        assert places == sorted(places)

    def test_the_text_holds_nothing_that_the_file_hides(self, reader: Reader, sample: Sample):
        text = _read(reader, sample).text
        assert [word for word in sample.hidden if word in text] == []

    def test_the_text_is_clean(self, reader: Reader, sample: Sample):
        text = _read(reader, sample).text
        assert text.strip()
        assert not {"\0", "\r"} & set(text)
        text.encode()

    def test_the_same_bytes_give_the_same_document(self, reader: Reader, sample: Sample):
        assert _read(reader, sample) == _read(reader, sample)

    def test_pages_begin_where_their_words_are(self, reader: Reader, sample: Sample):
        document = _read(reader, sample)
        assert len(document.pages) == len(sample.pages)
        found = [document.page_at(document.text.index(word)) for word in sample.pages]
        assert found == list(range(1, len(sample.pages) + 1))

    def test_headings_stand_at_their_places(self, reader: Reader, sample: Sample):
        document = _read(reader, sample)
        assert tuple(heading.title for heading in document.headings) == sample.headings
        for heading in document.headings:
            assert heading.level >= 1
            assert heading.title in document.text[heading.offset :][: len(heading.title) + 10]

    def test_the_document_has_the_title_of_the_file(self, reader: Reader, sample: Sample):
        document = _read(reader, sample)
        assert document.title
        assert sample.title in {None, document.title}

    def test_its_media_type_is_one_that_the_reader_declares(self, reader: Reader, sample: Sample):
        assert _read(reader, sample).media_type in reader.capabilities.media_types

    def test_its_extensions_are_in_lower_case_with_their_dot(self, reader: Reader, sample: Sample):
        extensions = reader.capabilities.extensions
        assert all(each.startswith(".") and each == each.lower() for each in extensions)
        assert sample.name[sample.name.rindex(".") :] in extensions

    @pytest.mark.parametrize("blank", [b"", b" \n\t\r\n "])
    def test_blank_files_are_refused(self, reader: Reader, sample: Sample, blank: bytes):
        with pytest.raises(UnreadableError):
            reader.read(blank, sample.name, ReadLimits())

    def test_a_text_beyond_the_limit_is_refused(self, reader: Reader, sample: Sample):
        with pytest.raises(UnreadableError) as refusal:
            reader.read(sample.data, sample.name, ReadLimits(max_characters=3))
        assert refusal.value.reason == Unreadable.TOO_LARGE

    def test_a_file_with_more_pages_than_the_limit_is_refused(self, reader: Reader, sample: Sample):
        limits = ReadLimits(max_pages=max(len(sample.pages) - 1, 1))
        if len(sample.pages) <= 1:
            assert reader.read(sample.data, sample.name, limits).text
            return
        with pytest.raises(UnreadableError) as refusal:
            reader.read(sample.data, sample.name, limits)
        assert refusal.value.reason == Unreadable.TOO_MANY_PAGES

    def test_a_file_that_was_cut_off_is_read_or_refused_and_nothing_else(self, reader: Reader, sample: Sample):
        for part in range(1, DAMAGES):
            _read_or_refuse(reader, sample, sample.data[: len(sample.data) * part // DAMAGES])

    def test_a_file_with_wrong_bytes_is_read_or_refused_and_nothing_else(self, reader: Reader, sample: Sample):
        chance = random.Random(sample.name)  # noqa: S311 - repeatable damage, no secret
        for _ in range(DAMAGES):
            damaged = bytearray(sample.data)
            for _ in range(1 + len(damaged) // 200):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            _read_or_refuse(reader, sample, bytes(damaged))

    def test_random_bytes_are_read_or_refused_and_nothing_else(self, reader: Reader, sample: Sample):
        chance = random.Random(sample.name)  # noqa: S311 - repeatable damage, no secret
        for size in (1, 7, 64, 4096):
            _read_or_refuse(reader, sample, chance.randbytes(size))

    def test_several_threads_at_once_read_the_same(self, reader: Reader, sample: Sample):
        expected = _read(reader, sample)
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(_read, [reader] * 12, [sample] * 12, timeout=60)) == [expected] * 12


def _read(reader: Reader, sample: Sample) -> ReadDocument:
    return reader.read(sample.data, sample.name, ReadLimits())


def _read_or_refuse(reader: Reader, sample: Sample, data: bytes) -> None:
    """Any error but the port's own goes through, and fails the test."""
    message = None
    try:
        document = reader.read(data, sample.name, ReadLimits(max_characters=100_000))
        assert document.text.strip()
    except UnreadableError as refusal:
        message = str(refusal)
    assert message is None or sample.name in message
