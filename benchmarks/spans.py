"""Computes span metrics: how much of the answer the passages found contain, and how much other text.

All metrics count characters. Each character counts once, even if several passages contain it:

    span_R@k    share of the references that the first k passages cover
    span_P@k    share of the text of the first k passages that is reference, 0 where there is none
    span_IoU@k  what is in both by what is in either
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

SPAN_CUTS = (1, 5, 10)  # passages, as papers report them


@dataclass(frozen=True, slots=True, order=True)
class DocumentSpan:
    """Characters [start, end) of one document."""

    document: str
    start: int
    end: int


def score_spans(found: Sequence[DocumentSpan], references: Sequence[DocumentSpan]) -> dict[str, float]:
    """All metrics of the passages found, best first; the references must hold at least one character."""
    wanted = list(_merge_spans(references))
    scores: dict[str, float] = {}
    for cut in SPAN_CUTS:
        taken = list(_merge_spans(found[:cut]))
        both = sum(_common(a, b) for a in wanted for b in taken)
        n_wanted, n_taken = _characters(wanted), _characters(taken)
        scores[f"span_R@{cut}"] = both / n_wanted
        scores[f"span_P@{cut}"] = both / n_taken if n_taken else 0.0
        scores[f"span_IoU@{cut}"] = both / (n_wanted + n_taken - both)
    return scores


def _merge_spans(spans: Iterable[DocumentSpan]) -> Iterator[DocumentSpan]:
    """The same characters without overlap, in order."""
    last: DocumentSpan | None = None
    for span in sorted(each for each in spans if each.end > each.start):
        if last is not None and span.document == last.document and span.start <= last.end:
            last = DocumentSpan(last.document, last.start, max(last.end, span.end))
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last


def _common(a: DocumentSpan, b: DocumentSpan) -> int:
    return max(0, min(a.end, b.end) - max(a.start, b.start)) if a.document == b.document else 0


def _characters(spans: Iterable[DocumentSpan]) -> int:
    return sum(span.end - span.start for span in spans)
