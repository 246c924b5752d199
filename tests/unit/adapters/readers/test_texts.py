"""How texts come out of files: encodings, web pages, headings, rows and slides."""

from __future__ import annotations

import pytest

from mnemic.adapters.readers.markdown import markdown_headings
from mnemic.adapters.readers.registry import AnyReader
from mnemic.adapters.readers.text import decode, is_binary
from mnemic.errors import InvalidInputError
from mnemic.model.document import Heading, ReadDocument, ReadLimits
from tests.conformance import document_files as files


def read(data: bytes, name: str) -> ReadDocument:
    return AnyReader().read(data, name, ReadLimits())


def page(body: str) -> str:
    return read(f"<html><body>{body}</body></html>".encode(), "a.html").text


@pytest.mark.parametrize(
    "text, encoding",
    [
        ("Größe und 大きさ", "utf-8"),
        ("Größe und 大きさ", "utf-8-sig"),
        ("Größe und 大きさ", "utf-16"),
        ("Größe und 大きさ", "utf-32"),
        ("An ordinary sentence, with a date.", "utf-16-le"),
        ("An ordinary sentence, with a date.", "utf-16-be"),
        ("Мы переехали в новую квартиру у реки, и кошка боится грозы.", "cp1251"),
        ("我们明天下午三点在办公室开会，讨论新的项目计划。", "gb18030"),
        ("明日の午後三時に会議があります。資料を準備してください。", "shift_jis"),
        ("Wir wohnen seit März in Zürich, schöne Grüße überall.", "cp1252"),
        ("café latin", "cp1252"),
        ("Größe 5", "cp1252"),
        ("El señor niño pregunta: ¿qué hay mañana?", "cp1252"),
        ("Où est le garçon ? Il est à l’école — pour 12 €.", "cp1252"),
        ("Não são só canções", "cp1252"),
        ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "cp1250"),
        ("Ő szép és őszinte, és ő nem tűnt boldognak.", "cp1250"),
    ],
)
def test_texts_are_decoded_whatever_they_are_in(text: str, encoding: str):
    assert decode(text.encode(encoding))[0] == text


def test_a_page_is_decoded_as_it_says_itself():
    data = '<html><head><meta charset="iso-8859-7"></head><body>Καλημέρα</body></html>'.encode("iso-8859-7")
    assert read(data, "a.html").text == "Καλημέρα"


def test_bytes_that_fit_no_encoding_are_read_all_the_same():
    text, _ = decode(b"price: 5 \x80 \x81 \xff and so on", "no-such-encoding")
    assert text.startswith("price: 5 ")


@pytest.mark.parametrize(
    "data, expected", [(b"\0\1\2\3" * 9, True), (b"tab\tline\n\x0c", False), ("ä".encode("utf-16"), False)]
)
def test_binary_bytes_are_told_from_texts(data: bytes, expected: bool):  # noqa: FBT001 - a table of facts
    assert is_binary(data) is expected


@pytest.mark.parametrize(
    "body, text",
    [
        ("<p>a</p>\n  <p>b <i>c</i>\n d</p>", "a\n\nb c d"),
        ("a<br>b", "a\nb"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n- b\n- c"),
        ("<ul><li><p>a</p></li></ul>", "a"),
        ("<table><tr><td>a<td>b<tr><td>c<td><p>d</p><p>e</p></table>after", "a | b\nc | de\n\nafter"),
        ("a<script>x</script>b", "ab"),
        ("<div hidden>x<p>y</div>a", "a"),
        ("<p hidden>x<p>a", "a"),
        ("<ul><li style='display:none'>x<li>a</ul>", "- a"),
        ("<input hidden>a", "a"),
        ("<svg><title>x</title></svg>a", "a"),
        ("a<![if x]>b<![CDATA[x]]>", "ab"),
        ("a &lt;b&gt; &amp;amp; &#8364; &nosuch;", "a <b> &amp; € &nosuch;"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("</div></p></td>a</body></html><p>b", "a\n\nb"),
        ("<h2>A\n <b>b</b></h2>c", "A b\n\nc"),
    ],
)
def test_a_page_gives_what_a_browser_shows(body: str, text: str):
    assert page(body) == text


def test_markup_nested_a_hundred_thousand_deep_is_read():
    assert page("<div>" * 100_000 + "deep") == "deep"


@pytest.mark.parametrize(
    "text, headings",
    [
        ("# A\n## B #\n#C\n####### D", [(0, 1, "A"), (4, 2, "B")]),
        ("~~~\n# A\n~~~\n# B", [(12, 1, "B")]),
        ("````\n```\n# A\n````\n# B", [(18, 1, "B")]),
        ("A\n===\n\nB\n---\n\n---", [(0, 1, "A"), (7, 2, "B")]),
        ("- A\n---\n\n    # B\n> C\n===", []),
        ("```\n# never closed", []),
        ("#\n", [(0, 1, "")]),
        ("# C#\n# #\n# a" + " " * 200_000 + "#b", [(0, 1, "C#"), (5, 1, ""), (9, 1, "a" + " " * 200_000 + "#b")]),
    ],
)
def test_headings_of_markdown_are_found_where_they_are(text: str, headings: list[tuple[int, int, str]]):
    assert list(markdown_headings(text)) == [Heading(*each) for each in headings]


def test_the_front_matter_of_markdown_names_it_and_is_no_heading():
    document = read(b"---\ntitle: 'The sea'\nauthor: Ada\n---\n\n# Waves\n", "a.md")
    assert document.title == "The sea"
    assert [(each.title, document.text[each.offset]) for each in document.headings] == [("Waves", "#")]


@pytest.mark.parametrize(
    "data, text",
    [
        (b"a;b\n1,5;2\n", "a | b\n1,5 | 2"),
        (b"a\tb\n1, 2\t3\n", "a | b\n1, 2 | 3"),
        (b'a,b\n"two\nlines",c\n', "a | b\ntwo lines | c"),
        (b"only\none\n", "only\none"),
        (b"a,,\n,,\n,b,\n", "a\n| b"),
    ],
)
def test_rows_of_values_become_lines(data: bytes, text: str):
    assert read(data, "a.csv").text == text


def test_pages_of_a_pdf_are_parted_by_a_blank_line_and_an_empty_one_counts():
    document = read(files.pdf(["one", "", "three"]), "a.pdf")
    assert document.text == "one\n\nthree"
    assert [document.page_at(document.text.index(word)) for word in ("one", "three")] == [1, 3]


def test_what_stands_outside_the_page_of_a_pdf_is_left_out():
    shown = files.pdf(["shown words"])
    assert read(shown.replace(b"72 700 Td", b"72 100 Td"), "a.pdf").text == "shown words"
    two = shown.replace(b"(shown words) Tj", b"(shown) Tj 0 900 Td (unseen) Tj")
    assert read(two, "a.pdf").text.strip() == "shown"


@pytest.mark.parametrize(
    "field, shown",
    [
        ("title: [draft] Plan", "[draft] Plan"),
        ("title: Guide to 1,000 birds", "Guide to 1,000 birds"),
        ('title: The "Great"', 'The "Great"'),
        ('title: "The Great"', "The Great"),
        ("title: '", "'"),
        ("title: Rock 'n' roll", "Rock 'n' roll"),
        ("title: 'tis late", "'tis late"),
        ("tags: [a, 'b c', \"d\"]", "a, b c, d"),
        ("tags:\n  - a\n  - 'b c'", "a, b c"),
        ("tags:\n- 1,000\n- b", "1,000, b"),
    ],
)
def test_front_matter_keeps_brackets_commas_and_quotes_of_texts_and_splits_lists(field: str, shown: str):
    document = read(f"---\n{field}\nauthor: Ada\n---\n\n# Waves\n".encode(), "a.md")
    told = document.title if field.startswith("title") else document.metadata["tags"]
    assert (told, document.metadata["author"]) == (shown, "Ada")


def test_a_title_that_a_program_made_up_gives_way_to_the_name_of_the_file():
    assert read(files.pdf(["text"], title="untitled"), "minutes.pdf").title == "minutes"


def test_a_hidden_slide_is_left_out():
    data = files.pptx([("First", "a", "b"), ("Second", "c", "d"), ("Third", "e", "f")], hidden=[1])
    assert read(data, "a.pptx").text == "First\n\na\n\nb\n\nThird\n\ne\n\nf"


def test_a_document_without_pages_has_no_page_anywhere():
    assert read(b"text", "a.txt").page_at(2) is None


@pytest.mark.parametrize(
    "pages, headings", [((1,), ()), ((0, 9), ()), ((0, 3, 2), ()), ((), (Heading(2, 1, "b"), Heading(1, 1, "a")))]
)
def test_places_outside_the_text_or_out_of_order_are_refused(pages: tuple[int, ...], headings: tuple[Heading, ...]):
    with pytest.raises(InvalidInputError):
        ReadDocument(title="a", media_type="text/plain", text="text", pages=pages, headings=headings)
