"""Cuts texts into chunks: plainly, by filling them with paragraphs and some overlap, or for documents by sentences and
structure, without the lines repeated on every page.
"""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from mnemic.errors import InvalidInputError
from mnemic.model.document import Chunking, Heading
from mnemic.text import outline
from mnemic.text.analyser import Analyser
from mnemic.text.outline import Block, BlockKind, last_page_of, page_of
from mnemic.text.sentences import sentences

Span = tuple[int, int]
TokenSpans = Callable[[str], Sequence[Span]]
"""Half-open character offsets of a text's tokens, ascending, covering all but white space."""

DEFAULT_CHUNK_SIZE = 512  # tokens: most embedders read no more; smaller chunks lose their context
DEFAULT_CHUNK_OVERLAP = 64  # an eighth: text divided by a cut is whole in one of two chunks
DEFAULT_MIN_CHUNK_SIZE = 50  # tokens: shorter chunks say little alone, and are discarded

_analyser = Analyser()


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """Sizes in tokens, as `Analyser.token_count` counts them. `chunk_overlap`: tokens shared by neighbouring chunks.
    Raises `InvalidInputError` for a size below 1, an overlap that is negative or not below the size, and a minimum that
    is negative or above the size.
    """

    chunk_size: int = DEFAULT_CHUNK_SIZE
    chunk_overlap: int = DEFAULT_CHUNK_OVERLAP
    min_chunk_size: int = DEFAULT_MIN_CHUNK_SIZE

    def __post_init__(self) -> None:
        if self.chunk_size < 1:
            raise InvalidInputError(f"chunk_size is {self.chunk_size} but must be at least 1 token")
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise InvalidInputError(
                f"chunk_overlap is {self.chunk_overlap} but must be at least 0 and below chunk_size, {self.chunk_size}"
            )
        if not 0 <= self.min_chunk_size <= self.chunk_size:
            raise InvalidInputError(
                f"min_chunk_size is {self.min_chunk_size} but must be at least 0 and at most chunk_size,"
                f" {self.chunk_size}"
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text. `content` is `text[start:end]`; `offset` is the number of tokens before it."""

    content: str
    source: str = ""
    offset: int = 0
    index: int = 0
    metadata: Mapping[str, object] = field(default_factory=dict[str, object])
    start: int = 0
    end: int = 0


def chunk_text(
    text: str, *, source: str = "", config: ChunkConfig | None = None, tokens: TokenSpans | None = None
) -> list[Chunk]:
    """The chunks of a text, in order, numbered from 0, each of at most `chunk_size` tokens.

    Paragraphs, separated by blank lines, fill a chunk up to the size. The next chunk starts with the last
    `chunk_overlap` tokens, or as many as leave room for its first paragraph. A paragraph above the size is cut into
    windows of exactly `chunk_size` tokens with that overlap; its rest is filled up with what follows. Chunks under
    `min_chunk_size` are discarded, so a short text has none. `tokens` replaces the analyser, for a model's own
    tokenizer. No string raises.
    """
    config = config or ChunkConfig()
    spans = (tokens or _analyser.token_spans)(text)
    chunks: list[Chunk] = []
    for first, last in _filled(_paragraph_borders(text, spans), config):
        if last - first >= config.min_chunk_size:
            start, end = spans[first][0], spans[last - 1][1]
            chunks.append(Chunk(text[start:end], source=source, offset=first, index=len(chunks), start=start, end=end))
    return chunks


def _paragraph_borders(text: str, spans: Sequence[Span]) -> list[int]:
    """Numbers of the tokens that start a paragraph, and the number of all tokens."""
    if not spans:
        return []
    begins = [
        number
        for number, ((_, end), (start, _)) in enumerate(pairwise(spans), start=1)
        if start - end > 1 and _has_blank_line(text[end:start])
    ]
    return [0, *begins, len(spans)]


def _has_blank_line(gap: str) -> bool:
    return gap.count("\n") + gap.count("\r") - gap.count("\r\n") > 1


def _filled(borders: Sequence[int], config: ChunkConfig) -> Iterator[Span]:
    """Token ranges of the chunks, including those under the minimum."""
    size, overlap = config.chunk_size, config.chunk_overlap
    begin = done = end = 0  # the open chunk is [begin, end); tokens before `done` are in a chunk already
    for start, end in pairwise(borders):
        if end - begin > size and start > done:
            yield begin, start
            begin, done = max(begin, start - overlap), start
        if end - start <= size:
            begin = max(begin, end - size)
        while end - begin > size:
            done = begin + size
            yield begin, done
            begin = done - overlap
    if end > done:
        yield begin, end


EDGE_LINES = 3  # lines at the top and bottom of a page that may be its head or foot
MAX_LINE_CHARS = 150  # a running head or foot is one short line
MIN_PAGES = 4  # on fewer a repeat may be chance
MIN_SHARE = 0.3
"""Minimum share of pages that repeat a line: left and right pages, or chapters, may have their own."""

_NUMBERS = re.compile(r"\d+|\b[ivxlc]+\b")


def boilerplate(text: str, pages: Sequence[int]) -> list[Span]:
    """Spans of lines near page edges that repeat on many pages, apart from numbers, in order. `pages`: each page's
    start offset. Empty for a text of few pages. A line counts only if the lines between it and the edge also repeat, so
    the last text of a page is never taken for a foot.
    """
    if len(pages) < MIN_PAGES:
        return []
    edges = [_edges(text, start, end) for start, end in zip(pages, [*pages[1:], len(text)], strict=True)]
    counts = Counter(key for top, bottom in edges for key in {_key(text, each) for each in (*top, *bottom)})
    enough = max(MIN_PAGES, MIN_SHARE * len(pages))
    found: list[Span] = []
    for top, bottom in edges:
        for lines in (top, bottom):
            for line in lines:
                if counts[_key(text, line)] < enough:
                    break
                found.append(line)
    return sorted(set(found))


def trimmed(text: str, span: Span, repeated: Sequence[Span]) -> Span | None:
    """A span without repeated lines and blanks at its ends, or None if nothing is left."""
    start, end = _stripped(text, *span)
    while start < end:
        place = _last(repeated, start)
        if place < 0 or repeated[place][1] <= start:
            break
        start, end = _stripped(text, min(repeated[place][1], end), end)
    while start < end:
        place = _last(repeated, end - 1)
        if place < 0 or repeated[place][1] < end:
            break
        start, end = _stripped(text, start, max(repeated[place][0], start))
    return (start, end) if start < end else None


def _last(repeated: Sequence[Span], position: int) -> int:
    """Number of the last span that starts at a position or before; -1 if none does."""
    return bisect_right(repeated, position, key=lambda span: span[0]) - 1


def _edges(text: str, start: int, end: int) -> tuple[list[Span], list[Span]]:
    """The first lines of a page from the top, and the last from the bottom. On a short page they overlap."""
    return _first(_lines(text, start, end)), _first(_lines_from_below(text, start, end))


def _first(lines: Iterator[Span]) -> list[Span]:
    found: list[Span] = []
    for line in lines:
        if line[1] - line[0] > MAX_LINE_CHARS:
            break
        found.append(line)
        if len(found) == EDGE_LINES:
            break
    return found


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end:
        stop = text.find("\n", start, end)
        stop = end if stop < 0 else stop
        if not text[start:stop].isspace() and start < stop:
            yield start, stop
        start = stop + 1


def _lines_from_below(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end:
        begin = text.rfind("\n", start, end) + 1
        begin = max(begin, start)
        if not text[begin:end].isspace() and begin < end:
            yield begin, end
        end = begin - 1


def _key(text: str, line: Span) -> str:
    """The comparison key of a line: its words without numbers."""
    return " ".join(_NUMBERS.sub("#", text[slice(*line)].casefold()).split())


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))


MOST_NESTED = 8  # definitions named around a line of code, the innermost: deeper ones are made by machines

CHARS_A_TOKEN = 40
"""Minimum weight: one token per this many non-blank characters, so that endless words do not make endless chunks."""

PIECES_A_CHUNK = 8
"""A sentence or line above the chunk size is cut into pieces of this part of the size."""

DOCUMENT_CHUNKS = ChunkConfig(chunk_size=160, chunk_overlap=40, min_chunk_size=40)
"""Default for documents, chosen by benchmarks/results/chunking.md."""


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A passage of a document before storing: `text` is `document[start:end]`, without blanks at its ends. `headings`:
    the titles above all of it, outermost first. `page` and `last_page` (from 1): pages of its first and last character,
    None if unknown. `token_count` is the analyser's; `index` counts from 0.
    """

    text: str
    start: int
    end: int
    token_count: int
    index: int
    headings: tuple[str, ...] = ()
    page: int | None = None
    last_page: int | None = None

    @property
    def title(self) -> str:
        """The headings in one line, indexed above the text, or ""."""
        return " > ".join(self.headings)


@dataclass(frozen=True, slots=True)
class _Piece:
    """An indivisible part. `weight` in tokens; `repeats`: may be the overlap of the next chunk; `page`: its first."""

    start: int
    end: int
    weight: int
    headings: tuple[str, ...] = ()
    repeats: bool = True
    page: int | None = None


def draft_chunks(
    text: str,
    config: ChunkConfig | None = None,
    chunking: Chunking = Chunking.STRUCTURE,
    *,
    is_code: bool = False,
    page_starts: Sequence[int] = (),
    headings: Sequence[Heading] = (),
) -> list[ChunkDraft]:
    """The chunks of a document in order, each of at most `chunk_size` tokens. No string raises.

    Default `config`: `DOCUMENT_CHUNKS`. `paragraphs` works as `chunk_text`. `sentences` and `structure` keep all text
    but white space between chunks, and overlap by whole sentences of at most `chunk_overlap` tokens. `structure` starts
    a new chunk at a heading once the open one has `min_chunk_size` tokens, and repeats nothing across it. It cuts
    inside a paragraph, list, table or code block only if it must, and keeps a heading with the text below. `is_code`:
    source code, cut between definitions. `page_starts`: start offset of each page, ascending; a chunk ends with its
    page. `headings`, ascending: the document's, if its format has them; else `structure` finds them in the text.
    """
    config = config or DOCUMENT_CHUNKS
    if chunking is Chunking.PARAGRAPHS:
        spans = [((chunk.start, chunk.end), ()) for chunk in chunk_text(text, config=config)]
    else:
        is_structured = chunking is Chunking.STRUCTURE
        layout = _Layout(text, config, page_starts)
        whole = Block(0, len(text), BlockKind.PARAGRAPH)
        groups = _groups(layout, headings, is_code=is_code) if is_structured else [_cut(layout, whole)]
        packed = _packed(groups, config)
        spans = [((chunk[0].start, chunk[-1].end), _titles(chunk, is_code=is_code)) for chunk in packed]
    return [
        ChunkDraft(
            text=text[start:end],
            start=start,
            end=end,
            token_count=_analyser.token_count(text[start:end]),
            index=index,
            headings=headings,
            page=page_of(page_starts, start),
            last_page=last_page_of(page_starts, start, end),
        )
        for index, ((start, end), headings) in enumerate(spans)
    ]


@dataclass(frozen=True, slots=True)
class _Layout:
    """A text, the sizes of its chunks, and where its pages begin."""

    text: str
    config: ChunkConfig
    pages: Sequence[int]


def _titles(chunk: Sequence[_Piece], *, is_code: bool) -> tuple[str, ...]:
    """The headings of a chunk; in source code with the names of all its definitions."""
    shared = _shared(chunk)
    rest = dict.fromkeys(".".join(piece.headings[len(shared) :]) for piece in chunk) if is_code else {}
    names = ", ".join(filter(None, rest))
    return (*shared, names[: outline.MAX_HEADING_CHARS]) if names else shared


def _shared(chunk: Sequence[_Piece]) -> tuple[str, ...]:
    """The headings that all pieces have in common."""
    first, *others = {piece.headings: None for piece in chunk}
    for other in others:
        same = (a == b for a, b in zip(first, other, strict=False))
        first = first[: next((place for place, is_same in enumerate(same) if not is_same), min(len(first), len(other)))]
    return first


def _packed(groups: Sequence[Sequence[_Piece]], config: ChunkConfig) -> Iterator[list[_Piece]]:
    """Fill chunks with groups. The pieces of a group that does not fit are packed one by one."""
    size = config.chunk_size
    chunk: list[_Piece] = []
    weight = fresh = 0  # of the chunk, and of its pieces that are in no chunk yet
    for group in groups:
        needed = sum(piece.weight for piece in group)
        begins_section = chunk and group[0].headings != chunk[-1].headings and fresh >= config.min_chunk_size
        is_parted = fresh > 0 and fresh >= config.min_chunk_size and weight + needed > size >= needed
        if begins_section or is_parted:
            yield chunk
            chunk = [] if begins_section else _tail(chunk, config, needed)
            weight, fresh = sum(piece.weight for piece in chunk), 0
        for piece in group:
            turns_page = bool(chunk) and piece.page != chunk[-1].page  # so that a citation names the page of its words
            if turns_page or weight + piece.weight > size:
                if fresh:
                    yield chunk
                is_same = not turns_page and chunk[-1].headings == piece.headings
                chunk = _tail(chunk, config, piece.weight) if is_same else []
                weight, fresh = sum(each.weight for each in chunk), 0
            chunk.append(piece)
            weight += piece.weight
            fresh += piece.weight
    if fresh:
        yield chunk


def _tail(chunk: Sequence[_Piece], config: ChunkConfig, needed: int) -> list[_Piece]:
    """The last pieces of a chunk that may start the next one, leaving room for `needed` tokens."""
    room = min(config.chunk_overlap, config.chunk_size - needed)
    first = len(chunk)
    while first > 0 and chunk[first - 1].repeats and chunk[first - 1].weight <= room:
        first -= 1
        room -= chunk[first].weight
    return list(chunk[first:])


def _groups(layout: _Layout, titles: Sequence[Heading], *, is_code: bool) -> list[list[_Piece]]:
    """The pieces of each block; a heading is part of the block that follows it."""
    if is_code:
        return list(_definitions(layout))
    groups: list[list[_Piece]] = []
    heading: list[_Piece] = []
    for block in outline.blocks(layout.text, titles):
        pieces = _cut(layout, block)
        if not pieces:
            continue
        if block.kind is BlockKind.HEADING:
            if heading and not _is_below(block.headings, heading[-1].headings):
                groups.append(heading)
                heading = []
            heading = [replace(each, headings=block.headings) for each in heading] + pieces
        else:
            groups.append(_joined(heading, pieces, layout.config))
            heading = []
    return [*groups, heading] if heading else groups


def _definitions(layout: _Layout) -> Iterator[list[_Piece]]:
    """The pieces of source code, grouped by the function or class that they belong to, outermost first."""
    known, place = outline.definitions(layout.text), 0
    for begin, end in outline.code_blocks(layout.text):
        above: list[tuple[int, str]] = []
        group: list[_Piece] = []
        for piece in _cut(layout, Block(begin, end, BlockKind.CODE)):
            is_first = True
            while place < len(known) and known[place][0] < piece.end:
                _, indent, name = known[place]
                if is_first or not any(each[0] < indent for each in above):
                    above = [*(each for each in above if each[0] < indent), (indent, name)]
                is_first, place = False, place + 1
            names = tuple(name for _, name in above[-MOST_NESTED:])
            if group and group[-1].headings != names:
                yield group
                group = []
            group.append(replace(piece, headings=names))
        if group:
            yield group


def _is_below(headings: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return len(headings) > len(others) and headings[: len(others)] == others


def _joined(heading: list[_Piece], pieces: list[_Piece], config: ChunkConfig) -> list[_Piece]:
    """The heading and the first piece as one, if a chunk can hold both."""
    weight = sum(piece.weight for piece in heading) + pieces[0].weight
    if not heading or weight > config.chunk_size or heading[-1].page != pieces[0].page:
        return heading + pieces
    return [replace(pieces[0], start=heading[0].start, weight=weight, repeats=False), *pieces[1:]]


def _cut(layout: _Layout, block: Block) -> list[_Piece]:
    """The pieces of a block, by page. Those of a table that has several have its header as a heading."""
    turns = layout.pages[bisect_right(layout.pages, block.start) : bisect_left(layout.pages, block.end)]
    parts = [replace(block, start=start, end=end) for start, end in pairwise([block.start, *turns, block.end])]
    pieces = [piece for part in parts for piece in _cut_page(layout, part)]
    if block.kind is BlockKind.TABLE and len(pieces) > 1:
        header = outline.table_header(layout.text, block.start, block.end)
        return [replace(each, headings=(*block.headings, header)) for each in pieces] if header else pieces
    return pieces


def _cut_page(layout: _Layout, block: Block) -> list[_Piece]:
    """The pieces of a page's part of a block: sentences of prose; of the rest the largest parts that fit a chunk."""
    text, config = layout.text, layout.config
    if block.kind in (BlockKind.PARAGRAPH, BlockKind.HEADING):
        inner = text[block.start : block.end]
        spans = [(block.start + start, block.start + end) for start, end in sentences(inner)]
    else:
        spans = _parts(text, block, config)
    pieces: list[_Piece] = []
    for start, end in spans:
        stripped = _strip_span(text, start, end)
        is_prose = block.kind is BlockKind.PARAGRAPH
        for first, last in _fitting(text, stripped, config):
            weight, page = _weight(text[first:last]), page_of(layout.pages, first)
            pieces.append(_Piece(first, last, weight, block.headings, repeats=is_prose, page=page))
    return pieces


def _parts(text: str, block: Block, config: ChunkConfig) -> Iterator[Span]:
    """A list, table or code as a whole, else its blank-line blocks, else its lines."""
    if _weight(text[block.start : block.end]) <= config.chunk_size:
        yield block.start, block.end
        return
    for start, end in outline.paragraphs(text, block.start, block.end):
        if _weight(text[start:end]) <= config.chunk_size:
            yield start, end
        else:
            yield from outline.lines(text, start, end)


def _strip_span(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, begin + len(piece.strip())


def _fitting(text: str, span: Span, config: ChunkConfig) -> Iterator[Span]:
    """The span, or its parts if it exceeds a chunk: cut between words, endless words within them."""
    start, end = span
    if _weight(text[start:end]) <= config.chunk_size:
        yield span
        return
    begins = [
        start + place
        for first, last in _analyser.token_spans(text[start:end])
        for place in range(first, last, CHARS_A_TOKEN)
    ]
    step = max(1, config.chunk_size // PIECES_A_CHUNK)
    for first, last in pairwise([*begins[::step], end]):
        yield _strip_span(text, first, last)


def _weight(piece: str) -> int:
    return max(_analyser.token_count(piece), math.ceil(sum(map(len, piece.split())) / CHARS_A_TOKEN))
