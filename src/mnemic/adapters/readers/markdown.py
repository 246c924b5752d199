"""Reads Markdown unchanged and finds its headings."""

import re
from collections.abc import Iterator

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft, clean
from mnemic.adapters.readers.text import decode, is_binary
from mnemic.model.document import Heading, ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HASHES = re.compile(r" {0,3}(#{1,6})(?![^ \t])(.*)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*$|\s{4}|\s*(?:[-*+>|]|\d+[.)])(?:\s|$)")
_FRONT_FIELD = re.compile(r"^([A-Za-z_][\w-]{0,40}):(.*(?:\n[ \t]*-[ \t].*)*)$", re.MULTILINE)
_LIST = re.compile(r"\s*\[([^\[\]]*)\]\s*")
_QUOTED = re.compile(r"\A([\"'])(.*)\1\Z")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)


class MarkdownReader:
    """The file's own text, with front matter, so that offsets match the file."""

    name = "markdown"
    capabilities = ReaderCapabilities(media_types=("text/markdown",), extensions=(".md", ".markdown", ".mdx"))

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if is_binary(data):
            raise refusals.unknown(name, "not text in a known encoding")
        text, encoding = decode(data)
        text = clean(text)
        draft = DocumentDraft(name, limits)
        draft.verbatim(text)
        front = _FRONT_MATTER.match(text)
        headings = list(markdown_headings(text, front.end() if front else 0))
        for heading in headings:
            draft.mark_heading(heading.offset, heading.level, heading.title)
        fields = _front_fields(front[1]) if front else {}
        first = next((heading.title for heading in headings if heading.level == 1), None)
        title = fields.pop("title", "") or first
        return draft.document("text/markdown", title=title, metadata={**fields, "encoding": encoding})


def _front_fields(front: str) -> dict[str, str]:
    """The simple fields of front matter, by name in lower case. The items of a list are separated by commas."""
    fields: dict[str, str] = {}
    for key, value in _FRONT_FIELD.findall(front):
        first, *items = re.split(r"\n[ \t]*-[ \t]", value)
        if listed := _LIST.fullmatch(first):
            first, items = "", listed[1].split(",")
        fields[key.lower()] = ", ".join(filter(None, (_QUOTED.sub(r"\2", each.strip()) for each in (first, *items))))
    return fields


def markdown_headings(text: str, start: int = 0) -> Iterator[Heading]:
    """The headings from `start` on, in both forms (hashes, underlines), outside of fences, as in CommonMark."""
    fence = ""
    offset, above, above_offset = start, "", start
    for whole in text[start:].splitlines(keepends=True):
        line = whole.rstrip("\n")
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and fence and mark[1].startswith(fence) and not mark[2].strip():
            fence, line = "", ""
        elif not fence and (hashes := _HASHES.match(line)):
            yield Heading(offset, len(hashes[1]), _without_closing(hashes[2].strip()))
            line = ""
        elif not fence and above and (underline := _UNDERLINE.match(line)):
            yield Heading(above_offset, 1 if underline[1][0] == "=" else 2, above.strip())
            line = ""
        above = "" if fence or _NO_PARAGRAPH.match(line) else line
        above_offset = offset
        offset += len(whole)


def _without_closing(title: str) -> str:
    """The title without closing hashes."""
    rest = title.rstrip("#")
    return rest.rstrip() if not rest or rest[-1] in " \t" else title


_fits: type[Reader] = MarkdownReader
