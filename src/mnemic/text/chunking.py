"""Chunks of a text by the plain rule: paragraphs fill a chunk of so many tokens, with some overlap.

Answers for `chunk_text` and for the sizes that all chunkers share. What an ingested document is cut with, sentences and
structure considered, is in `chunk_drafts`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from mnemic.errors import InvalidInputError
from mnemic.text.analyser import Analyser

Span = tuple[int, int]
TokenSpans = Callable[[str], Sequence[Span]]
"""Where the tokens of a text are: half-open character offsets, ascending, holding all that is not white space."""

DEFAULT_CHUNK_SIZE = 512
DEFAULT_CHUNK_OVERLAP = 64
DEFAULT_MIN_CHUNK_SIZE = 50

_analyser = Analyser()


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """Sizes in tokens, as `Analyser.token_count` counts them: words between blanks, characters of scripts without.

    `chunk_overlap`: how many tokens two neighbouring chunks share. Raises `InvalidInputError` for a size below 1, for
    an overlap that is negative or not below the size, and for a minimum that is negative or above the size, which no
    chunk could reach.
    """

    chunk_size: int = DEFAULT_CHUNK_SIZE
    chunk_overlap: int = DEFAULT_CHUNK_OVERLAP
    min_chunk_size: int = DEFAULT_MIN_CHUNK_SIZE

    def __post_init__(self) -> None:
        if self.chunk_size < 1:
            raise InvalidInputError(f"chunk_size is {self.chunk_size}, and must be at least 1 token")
        if not 0 <= self.chunk_overlap < self.chunk_size:
            raise InvalidInputError(
                f"chunk_overlap is {self.chunk_overlap}, and must be at least 0 and below chunk_size, {self.chunk_size}"
            )
        if not 0 <= self.min_chunk_size <= self.chunk_size:
            raise InvalidInputError(
                f"min_chunk_size is {self.min_chunk_size}, and must be at least 0 and at most chunk_size,"
                f" {self.chunk_size}"
            )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a text. `content` is `text[start:end]`, as it stands there; `offset` counts the tokens before it."""

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
    """The chunks of a text, in order, numbered from 0; none has more tokens than `chunk_size`.

    Paragraphs are parted by blank lines, and fill a chunk until the next one would exceed the size. The next chunk
    begins with the last `chunk_overlap` tokens of the one before, or with as many as leave room for its first
    paragraph. A paragraph above the size is cut into windows of exactly `chunk_size` tokens, each with that overlap;
    what is left of it goes on being filled. Chunks under `min_chunk_size` are discarded, so a short text has none.
    `tokens` replaces the analyser's tokens, for a model's own tokenizer. No string raises.
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
    """The numbers of the tokens that begin a paragraph, and the number of all tokens."""
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
    """Token ranges of the chunks, those under the minimum included."""
    size, overlap = config.chunk_size, config.chunk_overlap
    begin = done = end = 0  # the open chunk is [begin, end), and what lies before `done` is in a chunk already
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
