"""Where a digest came from: the provenance of what a model wrote, what rules chose, and what was left raw.

Answers for summaries and reflections alike, so that neither needs the other. Nothing is stored here, and no model is
asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mnemic.engine.parts import Parts
from mnemic.model.item import Memory, Provenance
from mnemic.ports.llm import Llm
from mnemic.ranking.extract import Excerpt, Passage, extract
from mnemic.text.prompts import CUT_MARK, PROMPT_VERSION

RULES = "extract-1"
RAW = "raw-1"
"""Versions in the provenance of what was made without a model: chosen sentences, and the raw text."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stretch of one item: its id, the stored text of it from the character `start` on, who said it, and whether that
    was the user.
    """

    item_id: str
    text: str
    author: str = ""
    is_own: bool = False
    start: int = 0


def by_model(parts: Parts, llm: Llm, extractor: str, text: str, sources: Sequence[Source]) -> tuple[Provenance, ...]:
    """The provenance of what a model wrote: every source as a whole, with the share of the text's words that are in it
    as its support.
    """
    words = set(parts.analyser.query_terms(text))
    version = f"{llm.name} {PROMPT_VERSION}"

    def support(source: Source) -> float:
        return round(len(words.intersection(parts.analyser.terms(source.text))) / max(len(words), 1), 2)

    return tuple(Provenance(s.item_id, 0, len(s.text), extractor, version, support(s)) for s in sources)


def by_rules(parts: Parts, extractor: str, sources: Sequence[Source], limit: int) -> tuple[str, tuple[Provenance, ...]]:
    """Sentences of the sources, word for word with their author, and which these are; "" when none says anything."""
    passages = [Passage(source.text, source.is_own) for source in sources]
    chosen = extract(passages, parts.analyser.query_terms, parts.analyser.token_count, limit)
    lines = [
        (f"{source.author}: " if source.author else "")
        + " ".join(_quoted(source, excerpt) for excerpt in chosen if excerpt.place == place)
        for place, source in enumerate(sources)
        if any(excerpt.place == place for excerpt in chosen)
    ]
    spans = tuple(
        Provenance(source.item_id, source.start + each.start, source.start + each.end, extractor, RULES, 1.0)
        for each in chosen
        for source in (sources[each.place],)
    )
    return "\n".join(lines), spans


def raw(extractor: str, sources: Sequence[Source]) -> tuple[Provenance, ...]:
    """The provenance of raw text."""
    return tuple(Provenance(s.item_id, 0, len(s.text), extractor, RAW, 1.0) for s in sources)


def covered(summary: Memory) -> tuple[int, int]:
    """The positions of the first and last message that a summary was made of; (1, 0) when it does not say."""
    match summary.metadata.get("positions"):
        case [int(first), int(last)] if 0 < first <= last:
            return first, last
        case _:
            return 1, 0


def _quoted(source: Source, excerpt: Excerpt) -> str:
    return source.text[excerpt.start : excerpt.end] + (CUT_MARK if excerpt.is_cut else "")
