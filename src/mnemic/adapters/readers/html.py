"""Reads HTML as a browser would show it, without scripts, styles and hidden parts; also for e-books and mail. Splits
markup by the states of the HTML standard (13.2.5) in one forward pass: `html.parser` takes a minute for 400 kB of
`<!--`, because it searches for the end of each.
"""

import html
import re
from collections import Counter

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.adapters.readers.text import decode, is_binary
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities
from mnemic.text.normalise import stored_texts

_NAMES = stored_texts(__name__)
SKIPPED, VOID, BLOCKS, IN_HEAD = (frozenset(_NAMES[key].split()) for key in ("skipped", "void", "blocks", "in_head"))
"""Elements whose content is hidden, that have none, that form blocks, and that belong to a head."""

RAW = frozenset(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"])
"""Elements whose content is text up to their own end tag."""

_UNESCAPED = RAW - {"textarea", "title"}
_TAG_NAME = re.compile(r"[A-Za-z][^\s/>]*")
_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:(?P<end>>)|(?P<name>=?[^\s/>=]*+)"
    r"(?P<value>\s*+=\s*+(?:\"(?P<double>[^\"]*+)\"|'(?P<single>[^']*+)'|(?P<bare>[^\s>\"'][^\s>]*+)?))?)"
)
_COMMENT_END = re.compile(r"--!?>")
_HEADING = re.compile(r"h[1-6]$")
_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE)
DECLARATION_BYTES = 4096  # browsers look for the charset in the first 1,024; some pages have scripts before it
_LEFT_OPEN = {
    "li": (frozenset({"ul", "ol", "menu"}), frozenset({"li"})),
    "p": (BLOCKS, BLOCKS),
    "tr": (frozenset({"table", "tbody", "thead", "tfoot"}), frozenset({"tr"})),
    **dict.fromkeys(("td", "th"), (frozenset({"tr", "table"}), frozenset({"td", "th", "tr"}))),
    **dict.fromkeys(("dd", "dt"), (frozenset({"dl"}), frozenset({"dd", "dt"}))),
}
"""Elements with optional end tags: the end tags and start tags of others that close them."""

_NONE = (frozenset[str](), frozenset[str]())


def declared_encoding(data: bytes) -> str | None:
    """The encoding declared in a page's head."""
    found = _CHARSET.search(data[:DECLARATION_BYTES])
    return found[1].decode("ascii", "replace") if found else None


class MarkupText:
    """Adds the text of markup to a draft. Call `feed` once with all of it, then `close`."""

    def __init__(self, draft: DocumentDraft) -> None:
        self.title = ""
        self.language = ""
        self._draft = draft
        self._words: list[str] = []
        self._cells: list[str] | None = None
        self._heading = 0
        self._verbatim = 0
        self._in_title = False
        self._skipping: list[str] = []
        self._skipped: Counter[str] = Counter()

    def feed(self, text: str) -> None:
        """Read markup. An unfinished tag or comment swallows the rest, as in a browser."""
        place = 0
        while place < len(text):
            start = text.find("<", place)
            if start < 0:
                start = len(text)
            if start > place:
                self._handle_data(_unescape(text[place:start]))
            place = self._read_markup(text, start) if start < len(text) else start

    def _read_markup(self, text: str, start: int) -> int:
        """Read a construct that starts with `<`. Returns where to continue."""
        is_end = text.startswith("</", start)
        name = _TAG_NAME.match(text, start + 1 + is_end)
        if name is not None:
            return self._read_tag(text, name, is_end=is_end)
        if is_end or text.startswith(("!", "?"), start + 1):
            return _skip_comment(text, start)
        self._handle_data("<")
        return start + 1

    def _read_tag(self, text: str, name: re.Match[str], *, is_end: bool) -> int:
        attributes, place = _read_attributes(text, name.end())
        tag = name.group().lower()
        if place < 0:
            place = len(text)
        elif is_end:
            self._handle_endtag(tag)
        else:
            self._handle_starttag(tag, attributes)
            if text[place - 2] == "/":
                self._handle_endtag(tag)
            elif tag in RAW:
                place = self._read_raw(tag, text, place)
        return place

    def _read_raw(self, tag: str, text: str, place: int) -> int:
        end = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(text, place)
        content = text[place : end.start() if end else len(text)]
        self._handle_data(content if tag in _UNESCAPED else _unescape(content))
        return end.start() if end else len(text)

    def _handle_starttag(self, tag: str, named: dict[str, str]) -> None:
        if tag == "html":
            self.language = named.get("lang", "") or named.get("xml:lang", "")
        if tag == "title" and not self.title and self._skipping in ([], ["head"]):
            self._in_title = True
        if self._skipping and not self._ends_skipping(tag):
            self._skip_deeper(tag)
            return
        self._skipping = []
        is_hidden = "hidden" in named or _HIDING.search(named.get("style", "")) is not None
        if (tag in SKIPPED or is_hidden) and tag not in VOID:
            self._skipping, self._skipped = [tag], Counter((tag,))
            return
        if tag in BLOCKS and self._cells is None:
            self._flush()
        self._begin(tag)

    def _handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if self._skipping:
            self._skip_less(tag)
            return
        if tag in {"td", "th"} and self._cells is not None:
            self._end_cell()
        elif tag in {"tr", "table"}:
            self._end_row()
        elif tag in BLOCKS and self._cells is None:
            self._flush()
        if _HEADING.match(tag):
            self._heading = 0
        elif tag == "pre":
            self._verbatim = max(self._verbatim - 1, 0)

    def _handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._skipping:
            self._words.append(data if self._verbatim else re.sub(r"\s+", " ", data))

    def close(self) -> None:
        """End the markup."""
        self._end_row()
        self._flush()

    def _begin(self, tag: str) -> None:
        if _HEADING.match(tag) and self._cells is None:
            self._heading = int(tag[1])
        elif tag == "pre":
            self._verbatim += 1
        elif tag == "li":
            self._words.append("- ")
        elif tag == "br":
            self._words.append("\n" if self._cells is None else " ")
        elif tag == "tr":
            self._end_row()
            self._flush()
            self._cells = []
        elif tag in {"td", "th"} and self._cells is not None:
            self._end_cell()

    def _end_cell(self) -> None:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if self._cells is not None and text:
            self._cells.append(text)

    def _end_row(self) -> None:
        if self._cells is not None:
            self._end_cell()
            cells, self._cells = self._cells, None
            self._draft.row(cells)

    def _flush(self) -> None:
        text = "".join(self._words)
        self._words.clear()
        if not self._verbatim:
            text = "\n".join(line.strip() for line in re.sub(r"[ \t]+", " ", text).split("\n"))
        if text.strip() in {"", "-"}:
            return
        if self._heading:
            self._draft.heading(self._heading, text)
        elif text.startswith("- "):
            self._draft.line(text)
        else:
            self._draft.paragraph(text)

    def _ends_skipping(self, tag: str) -> bool:
        """Whether hidden content ends here by the standard, though nothing closed it."""
        if len(self._skipping) != 1:
            return False
        skipped = self._skipping[0]
        if skipped == "head":
            return tag not in IN_HEAD
        return tag in _LEFT_OPEN.get(skipped, _NONE)[1]

    def _skip_deeper(self, tag: str) -> None:
        if tag in VOID:
            return
        if len(self._skipping) > 1 and tag in _LEFT_OPEN.get(self._skipping[-1], _NONE)[1]:
            self._skipped[self._skipping.pop()] -= 1
        self._skipping.append(tag)
        self._skipped[tag] += 1

    def _skip_less(self, tag: str) -> None:
        if self._skipped[tag] > 0:
            closed = ""
            while closed != tag:
                closed = self._skipping.pop()
                self._skipped[closed] -= 1
        elif tag in _LEFT_OPEN.get(self._skipping[0], _NONE)[0]:
            self._skipping = []


def _skip_comment(text: str, start: int) -> int:
    """The end of a comment, a declaration, or what the standard calls a bogus comment."""
    end = re.compile(r">")
    if text.startswith("<!--", start):
        start += 4
        end = end if text.startswith((">", "->"), start) else _COMMENT_END
    found = end.search(text, start)
    return found.end() if found else len(text)


def _read_attributes(text: str, place: int) -> tuple[dict[str, str], int]:
    """A tag's attributes after its name (the first of equal names) and its end, -1 without one."""
    found: dict[str, str] = {}
    while match := _ATTRIBUTE.match(text, place):
        place = match.end()
        if match["end"]:
            return found, place
        is_open = match["value"] is not None and text.startswith(("'", '"'), place)
        if is_open or place == len(text) or match.start() == place:
            break
        value = match["double"] or match["single"] or match["bare"] or ""
        found.setdefault(match["name"].lower(), _unescape(value))
    return found, -1


def _unescape(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a numeric reference with thousands of digits
        return text


class HtmlReader:
    """The visible text of a page. Fetches nothing that it refers to."""

    name = "html"
    capabilities = ReaderCapabilities(
        media_types=("text/html", "application/xhtml+xml"),
        extensions=(".html", ".htm", ".xhtml"),
        signatures=(b"<!DOCTYPE html", b"<!doctype html", b"<html"),
    )

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if is_binary(data):
            raise refusals.unknown(name, "not text in a known encoding")
        text, encoding = decode(data, declared_encoding(data))
        draft = DocumentDraft(name, limits)
        page = MarkupText(draft)
        page.feed(text)
        page.close()
        return draft.document("text/html", title=page.title, metadata={"encoding": encoding, "language": page.language})


_fits: type[Reader] = HtmlReader
