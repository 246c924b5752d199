"""Splits a document into blocks under headings; finds titles named in texts, and page numbers. Reads Markdown, wiki
text (`== Title ==`) and source code line by line. No full Markdown parser: unknown syntax is a paragraph. No text
raises. Pages count from 1.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from itertools import islice

from mnemic.model.document import Heading
from mnemic.text import normalise as scripts
from mnemic.text.analyser import STOP_WORDS
from mnemic.text.normalise import late_pattern, normalise, visible

MAX_HEADING_CHARS = 200  # a longer line is no heading


class BlockKind(StrEnum):
    """Types of block."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    CODE = "code"


_MARKS_CHARS = 12  # signs and numbers beside a heading's title on its line


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines [start, end) in characters. `headings`: the titles above it, outermost first, including its own."""

    start: int
    end: int
    kind: BlockKind
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    start: int
    end: int
    text: str

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(\S.*))?$")
_WIKI = re.compile(r"(=(?: ?=){0,5}) ?([^=\s](?:.*[^=\s])?) ?(=(?: ?=){0,5})$")
_UNDERLINE = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*$")
_ITEM = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,9}[.)])[ \t]+\S")
_FRONT_MATTER = re.compile(r"---[ \t]*$")
_ROW = re.compile(r"[ \t]*\||.* \| ")
_DEFINITION = re.compile(
    r"^(?P<indent>[ \t]*+)(?:"
    r"(?:\w+[ \t]+){0,4}?(?:def|class|func|function|fn|struct|interface|trait|impl|enum|module|type)[ \t]+"
    r"(?:\([^)\n]{0,80}\)[ \t]*)?(?P<a>[A-Za-z_$][\w$]*)"
    r"|(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<b>[\w$]+)[ \t]*=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\([^)\n]{0,200}\)[ \t]*=>)"
    r"|(?:[\w<>\[\],*&:]+[ \t]+){1,5}(?P<c>\w+)\([^;{}\n]{0,300}\)[^;{}\n]{0,80}\{[ \t]*$"
    r")",
    re.MULTILINE,
)
"""Definitions by keyword (Python, Rust, Go, TypeScript …), as arrow functions, and as in C and Java."""
_CONTROL = frozenset(("if", "for", "while", "switch", "catch", "else", "return", "new", "match", "with", "do", "try"))


def blocks(text: str, headings: Sequence[Heading] = ()) -> list[Block]:
    """The blocks of a Markdown, wiki or plain text, in order, without overlap, separated by blank lines only.

    A list continues over blank lines while items or indented lines follow, a fenced block to its closing fence or the
    end. An underlined heading includes its underline. Front matter between lines of three dashes is code. If `headings`
    (ascending) are given, there are no others: each block starts with the heading's line, or the heading stands for it
    if the line has another text.
    """
    lines = _lines(text)
    if headings:
        return _blocks_under(lines, headings)
    found: list[Block] = []
    above: list[tuple[int, str]] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        if line.is_blank:
            number += 1
            continue
        heading = _heading(lines, number)
        if heading is not None:
            level, title, after = heading
            above = [*(each for each in above if each[0] < level), (level, title)]
            kind = BlockKind.HEADING
        else:
            kind, after = _extent(lines, number)
        titles = tuple(title for _, title in above if title)
        found.append(Block(line.start, lines[after - 1].end, kind, titles))
        number = after
    return found


def _blocks_under(lines: list[_Line], headings: Sequence[Heading]) -> list[Block]:
    """The blocks below known headings."""
    found: list[Block] = []
    above: list[tuple[int, str]] = []
    number = place = 0
    while number < len(lines):
        line = lines[number]
        if line.is_blank:
            number += 1
            continue
        kind, after = _extent(lines, number)
        while place < len(headings) and headings[place].offset < line.end:
            heading = headings[place]
            above = [*(each for each in above if each[0] < heading.level), (heading.level, heading.title)]
            if _says(line.text, heading.title):
                marked = _heading(lines, number)
                kind, after = BlockKind.HEADING, number + 1 if marked is None else marked[2]
            place += 1
        if place < len(headings):  # the next heading ends the block: a section starts there
            limit = headings[place].offset
            after = next((n for n in range(number + 1, after) if lines[n].end > limit), after)
        end = max((n for n in range(number, after) if not lines[n].is_blank), default=number)
        found.append(Block(line.start, lines[end].end, kind, tuple(title for _, title in above if title)))
        number = after
    return found


def _says(line: str, title: str) -> bool:
    """True for a heading's line: its title with little else."""
    words, wanted = " ".join(line.split()).casefold(), " ".join(title.split()).casefold()
    return bool(wanted) and wanted in words and len(words) <= len(wanted) + _MARKS_CHARS


def table_header(text: str, start: int, end: int) -> str:
    """The header of a table whose first line starts at `start`, cells separated by bars; "" if a cell of that line is a
    number or blank.
    """
    line = text[start:end].split("\n", 1)[0].strip().strip("|")
    cells = [cell.strip() for cell in line.split("|")]
    is_header = len(cells) > 1 and all(
        any(map(str.isalpha, cell)) or (cell.strip("*_ ") and not any(map(str.isdigit, cell))) for cell in cells
    )
    return " | ".join(cells)[:MAX_HEADING_CHARS] if is_header else ""


def definitions(text: str) -> list[tuple[int, int, str]]:
    """The functions, classes and the like that source code defines: offset, indentation and name, cut if too long."""
    found = _DEFINITION.finditer(text)
    named = [(match.start(), len(match["indent"]), match["a"] or match["b"] or match["c"]) for match in found]
    return [(start, indent, name[:MAX_HEADING_CHARS]) for start, indent, name in named if name not in _CONTROL]


def code_blocks(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Spans of source code: definitions and other text at the margin after a blank line, with their bodies. A line at
    the margin that only closes (`}`, `)`, `end`) starts none. Only blank lines are outside.
    """
    begin = last = -1
    after_blank = True
    for line in _lines(text[start:end]):
        if line.is_blank:
            after_blank = True
            continue
        if begin < 0:
            begin = line.start
        elif after_blank and not line.text[0].isspace() and not _closes(line.text):
            yield start + begin, start + last
            begin = line.start
        last, after_blank = line.end, False
    if begin >= 0:
        yield start + begin, start + last


def paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans between blank lines."""
    begin = last = -1
    for line in _lines(text[start:end]):
        if not line.is_blank:
            begin, last = (line.start if begin < 0 else begin), line.end
        elif begin >= 0:
            yield start + begin, start + last
            begin = -1
    if begin >= 0:
        yield start + begin, start + last


def lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the non-blank lines."""
    for line in _lines(text[start:end]):
        if not line.is_blank:
            yield start + line.start, start + line.end


def _lines(text: str) -> list[_Line]:
    found: list[_Line] = []
    position = 0
    for line in text.splitlines(keepends=True):
        found.append(_Line(position, position + len(line), line.rstrip("\r\n")))
        position += len(line)
    return found


def _closes(line: str) -> bool:
    return line[0] in "})]" or line.split(maxsplit=1)[0].rstrip(";") in ("end", "fi", "done", "esac")


def _heading(lines: list[_Line], number: int) -> tuple[int, str, int] | None:
    """Level, title, and the number of the line after it; None if no heading starts here."""
    text = lines[number].text
    if len(text) > MAX_HEADING_CHARS:
        return None
    if atx := _ATX.match(text):
        return len(atx[1]), (atx[2] or "").rstrip().rstrip("#").rstrip(), number + 1
    wiki = _WIKI.match(text.strip())
    if wiki and wiki[1] == wiki[3]:
        return wiki[1].count("="), wiki[2], number + 1
    if number + 1 < len(lines) and _begins_paragraph(lines, number):
        under = lines[number + 1].text
        if len(under) <= MAX_HEADING_CHARS and (found := _UNDERLINE.match(under)):
            return (1 if found[1][0] == "=" else 2), text.strip(), number + 2
    return None


def _begins_paragraph(lines: list[_Line], number: int) -> bool:
    text = lines[number].text
    is_first = number == 0 or lines[number - 1].is_blank
    is_other = _ITEM.match(text) or _FENCE.match(text) or text.lstrip().startswith("|") or _UNDERLINE.match(text)
    return is_first and not is_other


def _extent(lines: list[_Line], number: int) -> tuple[BlockKind, int]:
    """The kind of the block that starts with this line, and the number of the line after it."""
    text = lines[number].text
    if fence := _FENCE.match(text):
        return BlockKind.CODE, _after_fence(lines, number + 1, fence[1])
    if number == 0 and _FRONT_MATTER.match(text):
        closing = next((n for n in range(1, min(len(lines), 100)) if _FRONT_MATTER.match(lines[n].text)), 0)
        if closing:
            return BlockKind.CODE, closing + 1
    if _begins_table(lines, number):
        return BlockKind.TABLE, _after(lines, number + 1, lambda after: _ROW.match(lines[after].text) is not None)
    if _ITEM.match(text):
        return BlockKind.LIST, _after_list(lines, number + 1)
    return BlockKind.PARAGRAPH, _after(
        lines, number + 1, lambda after: not (_ITEM.match(lines[after].text) or _begins_table(lines, after))
    )


def _begins_table(lines: list[_Line], number: int) -> bool:
    """True for a row that begins with a bar, or has another below: prose may quote a command with bars."""
    text = lines[number].text
    below = lines[number + 1].text if number + 1 < len(lines) else ""
    has_next = _ROW.match(below) is not None and below.count("|") <= text.count("|")  # without blank cells at its end
    return _ROW.match(text) is not None and (has_next or text.lstrip().startswith("|"))


def _after_fence(lines: list[_Line], number: int, fence: str) -> int:
    while number < len(lines):
        closing = _FENCE.match(lines[number].text)
        number += 1
        if closing and closing[1].startswith(fence):
            break
    return number


def _after_list(lines: list[_Line], number: int) -> int:
    after = number
    while number < len(lines):
        line, follows_blank = lines[number], lines[number - 1].is_blank
        if not line.is_blank:
            if _breaks(lines, number) or (follows_blank and not _goes_on(line.text)):
                break
            after = number + 1
        number += 1
    return after


def _goes_on(line: str) -> bool:
    return line.startswith(("  ", "\t")) or _ITEM.match(line) is not None


def _after(lines: list[_Line], number: int, belongs: Callable[[int], bool]) -> int:
    while number < len(lines):
        if lines[number].is_blank or _breaks(lines, number) or not belongs(number):
            break
        number += 1
    return number


def _breaks(lines: list[_Line], number: int) -> bool:
    """True if a heading or fence starts here, which ends any open block."""
    return _FENCE.match(lines[number].text) is not None or _heading(lines, number) is not None


MOST_WORDS = 10  # a longer title is a sentence, which is never quoted whole
PLAIN_WORDS = 4  # maximum words of a name that ends in a word without a capital ("the Lease agreement")
LEAST_CHARACTERS = 3  # shorter titles ("It") occur in every text
MOST_TITLE_CHARACTERS = 200  # longer is a sentence
WORDS_READ = 400  # first words of a text that are read

_ALONE = scripts.UNSEGMENTED + scripts.HANGUL
_TOKEN = late_pattern(f"[{_ALONE}]|[^\\W_{_ALONE}]+")
_IS_ALONE = late_pattern(f"[{_ALONE}]")
_QUALIFIER = late_pattern(r"(?:(?<!\s)\s++)?[(\uff08][^()\uff08\uff09]*[)\uff09]\s*$")
_QUOTED = late_pattern(
    '[\u300a\u3008\u300c\u300e\u3010\u201c\u201e\u00ab"]([^\u300a-\u3011\u201c-\u201e\u00ab\u00bb"\n]{2,80})'
    '[\u300b\u3009\u300d\u300f\u3011\u201d\u201c\u00bb"]'
)
_ENDS_SENTENCE = late_pattern(r"[.!?:;\n\u2022*#][\s\"'(\[\u201c\u2018-]*$")


@lru_cache(maxsize=8_192)
def title_key(title: str) -> str:
    """A title's folded words with single blanks; each character of Chinese and the like is a word. A final qualifier in
    brackets, as in "Solaris (film)", is dropped. "" for titles that cannot be recognised: no words, more than
    `MOST_WORDS` or `MOST_TITLE_CHARACTERS`, only stop words and numbers, or fewer than `LEAST_CHARACTERS` characters.
    """
    if len(title) > MOST_TITLE_CHARACTERS:
        return ""
    words = _TOKEN.findall(normalise(_QUALIFIER.sub("", title) or title))
    says_nothing = all(word in STOP_WORDS or word.isdecimal() for word in words)
    if says_nothing or len(words) > MOST_WORDS or sum(map(len, words)) < LEAST_CHARACTERS:
        return ""
    return " ".join(words)


def names_in(text: str) -> frozenset[str]:
    """Keys of all titles that the text could name: text in quotation or title marks, and runs of words with initial
    capitals or digits. One word counts only inside a sentence, where its capital is significant. In a script without
    blanks any run could be a name, so only the marks count.
    """
    shown = visible(text)
    found = list(islice(_TOKEN.finditer(shown), WORDS_READ))
    tokens = [match.group() for match in found]
    words = [token.lower() if token.isascii() else " ".join(_TOKEN.findall(normalise(token))) for token in tokens]
    names = {title_key(quoted[1]) for quoted in islice(_QUOTED.finditer(shown), WORDS_READ)}
    for place, token in enumerate(tokens):
        if token[0].islower() or _IS_ALONE.match(token):
            continue
        least = 2 if token.isdecimal() or _begins_sentence(shown, found[place].start()) else 1
        for end in range(place + least, min(place + MOST_WORDS, len(tokens)) + 1):
            if end - place <= PLAIN_WORDS or not tokens[end - 1][0].islower():
                names.add(" ".join(words[place:end]))
    return frozenset(names - {""})


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(start - 8, 0) : start]
    return not before.strip() or _ENDS_SENTENCE.search(before) is not None


def page_of(pages: Sequence[int], offset: int) -> int | None:
    """The page of a character; None if no pages are known. `pages`: each page's start offset."""
    return max(1, bisect_right(pages, offset)) if pages else None


def last_page_of(pages: Sequence[int], start: int, end: int) -> int | None:
    """The page of the last of the characters `start` to `end` (exclusive); None as above."""
    return page_of(pages, max(start, end - 1))


def pages_told(page: int | None, last_page: int | None) -> str:
    """`page 7`, `pages 4-6`, or "" if unknown."""
    if page is None:
        return ""
    return f"page {page}" if last_page is None or last_page <= page else f"pages {page}-{last_page}"
