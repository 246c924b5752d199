"""Reads tables with values separated by commas, semicolons, tabs or bars."""

import csv
import io

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft, clean
from mnemic.adapters.readers.text import decode, is_binary
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

SAMPLE_LINES = 20  # enough to detect the separator
SEPARATORS = ",;\t|"
MAX_COLUMNS = 16_384  # as many as a spreadsheet has; such a row would be a passage of thousands of numbers


class CsvReader:
    """A line per row, with bars between values."""

    name = "csv"
    capabilities = ReaderCapabilities(
        media_types=("text/csv", "text/tab-separated-values"), extensions=(".csv", ".tsv", ".tab")
    )

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if is_binary(data):
            raise refusals.unknown(name, "not text in a known encoding")
        text, encoding = decode(data)
        text = clean(text)
        if len(text) > limits.max_characters:
            raise refusals.too_long(name, limits)
        draft = DocumentDraft(name, limits)
        csv.field_size_limit(limits.max_characters)
        try:
            for row in csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text)):
                if len(row) > MAX_COLUMNS:
                    raise refusals.broken(name, "a table", f"a row has more than {MAX_COLUMNS:,} columns")
                draft.row(row)
        except csv.Error as error:
            raise refusals.broken(name, "a table", error) from error
        return draft.document("text/csv", metadata={"encoding": encoding})


def _separator(text: str) -> str:
    """The separator that splits most of the first lines into the same number of values; more values win."""
    lines = text.split("\n", SAMPLE_LINES)[:SAMPLE_LINES]

    def agreement(separator: str) -> tuple[int, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        common = max(set(widths), key=widths.count, default=1)
        return (widths.count(common) if common > 1 else 0, common)

    return max(SEPARATORS, key=agreement)


_fits: type[Reader] = CsvReader
