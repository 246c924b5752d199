"""Every reader keeps the contract of the port, alone and in the process of the sandbox."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mnemic.adapters.readers.docx import DocxReader
from mnemic.adapters.readers.epub import EpubReader
from mnemic.adapters.readers.html import HtmlReader
from mnemic.adapters.readers.mail import MailReader
from mnemic.adapters.readers.markdown import MarkdownReader
from mnemic.adapters.readers.notebook import NotebookReader
from mnemic.adapters.readers.pdf import PdfReader
from mnemic.adapters.readers.pptx import PptxReader
from mnemic.adapters.readers.registry import AnyReader
from mnemic.adapters.readers.sandbox import SandboxReader
from mnemic.adapters.readers.tables import CsvReader
from mnemic.adapters.readers.text import CodeReader, TextReader
from mnemic.adapters.readers.xlsx import XlsxReader
from mnemic.ports.files import Reader
from mnemic.testing.reader_contract import ReaderContract, Sample
from tests.conformance import document_files as files

HTML = """<!DOCTYPE html><html lang="en"><head><title>The harbour</title><style>.hiddenstyle{}</style></head><body>
<nav><a href="/">home</a></nav><h1>Harbour &amp; town</h1><p>The ferry leaves
at noon.<p>Second <b>par</b>agraph.<script>var hiddenscript = "<p>";</script>
<div style="display: none">hiddenstyled<div>hiddeninner</div></div>
<ul><li>rope<li>lantern</ul><h2>Prices</h2>
<table><tr><th>What</th><th>Cost</th></tr><tr><td>Ticket</td><td>4 €</td></tr></table>
<pre>  keep
    this</pre><!-- hiddencomment --></body></html>"""
MARKDOWN = """# Boats

Sails are *cheap*.

```python
# not a heading
```

Rigging
-------

- first item
---

### Knots ###
The bowline holds.
"""
BODY = (
    files.paragraph("Report", "Top")
    + files.paragraph("The pump was repaired.")
    + "<w:p><w:del><w:r><w:delText>hiddendeleted</w:delText></w:r></w:del>"
    + "<w:r><w:t>It runs</w:t><w:tab/><w:t>well.</w:t></w:r></w:p>"
    + files.paragraph("Costs", "Like")
    + f"<w:tbl><w:tr><w:tc>{files.paragraph('Part')}</w:tc><w:tc>{files.paragraph('Seal')}</w:tc></w:tr></w:tbl>"
)
SAMPLES = {
    "text": Sample(
        name="a.txt", data="Grüße\r\naus Köln\r\n\r\nviele".encode(), words=("Grüße\n", "Köln", "viele"), title="a"
    ),
    "code": Sample(
        name="a.py", data=b"def area(w, h):\n    return w * h\n", words=("def area", "    return"), title="a.py"
    ),
    "markdown": Sample(
        name="a.md",
        data=MARKDOWN.encode(),
        words=("Boats", "cheap", "not a heading", "Rigging", "bowline"),
        headings=("Boats", "Rigging", "Knots"),
        title="Boats",
    ),
    "csv": Sample(
        name="a.csv",
        data=b'name;town\n"Ada; Countess";Lond\xc3\xb6n\n\nBob;Rye\n',
        words=("name | town", "Ada; Countess | Londön", "Bob"),
    ),
    "html": Sample(
        name="a.html",
        data=HTML.encode(),
        words=(
            "Harbour & town",
            "ferry leaves at noon.\n\nSecond paragraph.",
            "- rope\n- lantern",
            "What | Cost\nTicket | 4 €",
            "  keep\n    this",
        ),
        hidden=("hiddenstyle", "hiddenscript", "hiddenstyled", "hiddeninner", "hiddencomment", "The harbour"),
        headings=("Harbour & town", "Prices"),
        title="The harbour",
    ),
    "pdf": Sample(
        name="a.pdf",
        data=files.pdf(
            ["Opening words", "Middle part", "Closing words"], outline=["Opening", "Middle part"], title="Three pages"
        ),
        words=("Opening words", "Middle part", "Closing words"),
        pages=("Opening", "Middle", "Closing"),
        headings=("Opening", "Middle part"),
        title="Three pages",
    ),
    "docx": Sample(
        name="a.docx",
        data=files.docx(BODY),
        words=("Report", "pump", "It runs\twell.", "Costs", "Part | Seal", "a footnote"),
        hidden=("hiddendeleted",),
        headings=("Report", "Costs"),
        title="Report",
    ),
    "pptx": Sample(
        name="a.pptx",
        data=files.pptx([("Plan", "sail north", "say it slowly"), ("Crew", "four people", "smile")]),
        words=("Plan", "sail north", "say it slowly", "Crew", "four people", "smile"),
        pages=("Plan", "Crew"),
        headings=("Plan", "Crew"),
        title="Plan",
    ),
    "xlsx": Sample(
        name="a.xlsx",
        data=files.xlsx(
            {"Stock": [["rope", 12], ["sail", 3]], "Draft": [["hiddencell"]], "Crew": [["Ada"]]}, hidden=["Draft"]
        ),
        words=("Stock", "rope | 12\nsail | 3", "Crew", "Ada"),
        hidden=("hiddencell",),
        pages=("rope", "Ada"),
        headings=("Stock", "Crew"),
    ),
    "epub": Sample(
        name="a.epub",
        data=files.epub(["<h1>One</h1><p>It began.</p>", "<h1>Two</h1><p>It ended.</p>"]),
        words=("One", "began", "Two", "ended"),
        headings=("One", "Two"),
        title="The boat",
    ),
    "ipynb": Sample(
        name="a.ipynb",
        data=files.notebook(),
        words=("Tides", "twice", "```python\nprint(12 * 2)\n```", "printed twenty-four", "Sources", "harbour"),
        hidden=("cGljdHVyZQ",),
        headings=("Tides", "Sources"),
        title="Tides",
    ),
    "eml": Sample(
        name="a.eml",
        data=files.mail(),
        words=("Subject: Dinner on Friday\nFrom: Ada", "harbour at seven", "Attachment: charts.bin"),
        hidden=("html", "secret"),
        title="Dinner on Friday",
    ),
}
READERS: dict[str, type[Reader]] = {
    "text": TextReader,
    "code": CodeReader,
    "markdown": MarkdownReader,
    "csv": CsvReader,
    "html": HtmlReader,
    "pdf": PdfReader,
    "docx": DocxReader,
    "pptx": PptxReader,
    "xlsx": XlsxReader,
    "epub": EpubReader,
    "ipynb": NotebookReader,
    "eml": MailReader,
}


@pytest.mark.parametrize("kind", list(READERS), scope="class")
class TestEachReader(ReaderContract):
    @pytest.fixture
    def reader(self, kind: str) -> Reader:
        return READERS[kind]()

    @pytest.fixture
    def sample(self, kind: str) -> Sample:
        return SAMPLES[kind]


@pytest.mark.parametrize("kind", list(READERS), scope="class")
class TestAnyReader(ReaderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def reader(cls) -> Reader:
        return AnyReader()

    @pytest.fixture
    def sample(self, kind: str) -> Sample:
        return SAMPLES[kind]


@pytest.mark.parametrize("kind", ["pdf", "docx", "text"], scope="class")
class TestSandbox(ReaderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def reader(cls) -> Iterator[Reader]:
        sandbox = SandboxReader()
        yield sandbox
        sandbox.close()

    @pytest.fixture
    def sample(self, kind: str) -> Sample:
        return SAMPLES[kind]
