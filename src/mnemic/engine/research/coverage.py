"""What of a document was read and what was not, as numbers, as places, and in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mnemic.model.research import Coverage, Stretch
from mnemic.text.blocks import Language
from mnemic.text.pages import page_of
from mnemic.text.pieces import Piece

MOST_STRETCHES = 100
TOLD_STRETCHES = 5
_WORDS: dict[Language, tuple[str, str, str, str]] = {
    "en": (
        "Read: {read} of {pieces} pieces, {percent} % of the document. Not read: {places}.",
        "pages {} to {}",
        "characters {:,} to {:,}",
        "and {} more stretches",
    ),
    "zh": (
        "已读{pieces}个部分中的{read}个，占文档的{percent}%。未读：{places}。",
        "第{}至{}页",
        "第{:,}至{:,}个字符",
        "以及另外{}处",
    ),
}
_AND: dict[Language, str] = {"en": ", ", "zh": "、"}


def coverage_of(
    pieces: Sequence[Piece], read: Collection[int], kept: int, reasons: Mapping[int, str], pages: Sequence[int]
) -> Coverage:
    """The numbers and places. `reasons`: why the others were not read, by the index of the piece."""
    stretches: list[Stretch] = []
    for piece in pieces:
        if piece.index in read:
            continue
        reason = reasons.get(piece.index, "")
        last = page_of(pages, piece.end - 1)
        if stretches and (stretches[-1].end, stretches[-1].reason) == (piece.own, reason):
            stretches[-1] = replace(stretches[-1], end=piece.end, last_page=last)
        else:
            stretches.append(Stretch(piece.own, piece.end, reason, page_of(pages, piece.own), last))
    failed = sum(1 for index in reasons if index not in read and reasons[index] != LIMITED)
    return Coverage(
        pieces=len(pieces),
        read=len(read),
        kept=kept,
        failed=failed,
        unread=len(pieces) - len(read) - failed,
        characters=pieces[-1].end if pieces else 0,
        characters_read=sum(piece.end - piece.own for piece in pieces if piece.index in read),
        missing=tuple(stretches[:MOST_STRETCHES]),
    )


LIMITED = "the limits did not allow it"
"""Why a piece was not asked about."""


def percent(coverage: Coverage) -> str:
    """The share of the characters that was read, never rounded up to all of them."""
    return f"{min(99.9, 100 * coverage.characters_read / max(coverage.characters, 1)):.1f}"


def not_read(coverage: Coverage, language: Language) -> str:
    """A sentence that says how much was read and where the rest is; "" when all was."""
    if coverage.is_whole:
        return ""
    told, pages, characters, more = _WORDS[language]
    places = [
        characters.format(each.start, each.end)
        if each.first_page is None
        else pages.format(each.first_page, each.last_page)
        for each in coverage.missing[:TOLD_STRETCHES]
    ]
    if len(coverage.missing) > TOLD_STRETCHES:
        places.append(more.format(len(coverage.missing) - TOLD_STRETCHES))
    return told.format(
        read=coverage.read, pieces=coverage.pieces, percent=percent(coverage), places=_AND[language].join(places)
    )
