"""How markup is cut into tags and texts: as the HTML standard says, and in one pass whatever is not closed."""

from __future__ import annotations

from contextlib import suppress

import pytest

from mnemic.adapters.readers.html import HtmlReader
from mnemic.model.document import ReadLimits
from mnemic.ports.files import UnreadableError

READ = [
    ("before <!-- not <b>this</b> --> after", "before after"),
    ("before <!-- ends --!> after", "before after"),
    ("before <!--> after", "before after"),
    ("before <!-- never ends <p>and this is in it", "before"),
    ("before <![CDATA[x]]> after", "before after"),
    ("before <?php echo 1 ?> after", "before after"),
    ("before </3 love> after", "before after"),
    ("1 < 2 and 3 <4", "1 < 2 and 3 <4"),
    ('<a title="a > b" href=x>link</a>', "link"),
    ("<a title='it \"is\"'>link</a>", "link"),
    ('seen <a title="never closed>and gone', "seen"),
    ("<div hidden>gone</div>seen", "seen"),
    ("<p style='display: none'>gone</p>seen", "seen"),
    ("<script>if (a < b) { '<p>' }</script>seen", "seen"),
    ("<script>var a = 1;</SCRIPT >seen", "seen"),
    ("<script/>seen", "seen"),
    ("fish &amp; chips &#x263A; &nosuch;", "fish & chips ☺ &nosuch;"),
    ("<P>one<BR>two", "one\ntwo"),
]
HOSTILE = ["<!--", '<a b="', "<![", "</", "<", "<svg>", "<svg></x>", "&#", "<a =", "<script", "<li><ul>", "<tr><td>"]


@pytest.mark.parametrize("markup, text", READ)
def test_markup_is_read_as_a_browser_shows_it(markup: str, text: str):
    assert HtmlReader().read(f"<html><body>{markup}".encode(), "a.html", ReadLimits()).text.strip() == text


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_repeats_are_read_to_their_end(piece: str):
    page = f"<html><body>seen {piece * 100_000}".encode()
    with suppress(UnreadableError):  # more lines than a document may have
        assert HtmlReader().read(page, "a.html", ReadLimits()).text.startswith("seen")


def test_a_number_of_thousands_of_digits_is_no_character():
    page = f"<html><body>&#{'9' * 6000}; seen".encode()
    assert HtmlReader().read(page, "a.html", ReadLimits()).text.endswith("seen")
