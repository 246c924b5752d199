"""Huge documents with facts hidden in far places, and a model that reads them as a careful one would."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate

from mnemic import Mnemic
from mnemic.adapters.llms.registry import Script, ScriptedLlm
from mnemic.engine.engine import Engine, new_id
from mnemic.model.chat import Prompt
from mnemic.model.document import Document, DocumentStatus, Heading, ResearchReport
from mnemic.model.item import Chunk
from mnemic.model.scope import Level, Scope
from tests.unit.engine.kit import ANNA

QUESTION = "Which code opens the vault of the lighthouse, and who keeps it?"
FACTS = (
    "The vault of the lighthouse opens with the code 4711-Delta.",
    "Since the fire, the code of the vault is kept by Ingrid Solberg.",
)
FILLER = "The tide came in at noon and the keepers wrote down wind, rain and passing ships. "
PAGE = 3000
_NUMBERED = re.compile(r"^Source: .*\[(\d+)\]$", re.MULTILINE)


def huge(characters: int, facts: Sequence[tuple[float, str]] = ((0.2, FACTS[0]), (0.9, FACTS[1]))) -> list[str]:
    """Sections of a document of about so many characters, each with its heading; the facts stand where told."""
    body = FILLER * 24
    count = max(1, characters // (len(body) + 20))
    sections = [f"# Section {number}\n\n{number} {body}\n\n" for number in range(count)]
    for place, fact in facts:
        number = int(place * count)
        middle = len(sections[number]) // 2
        middle = sections[number].index(". ", middle) + 2
        sections[number] = sections[number][:middle] + fact + " " + sections[number][middle:]
    return sections


def keep(
    parts: Engine, sections: Sequence[str], *, level: Level = Level.USER, source: str = "log.md", scope: Scope = ANNA
) -> Document:
    """Store a document whose passages are these sections."""
    now, text = parts.clock.now(), "".join(sections)
    starts = [*accumulate(map(len, sections[:-1]), initial=0)]
    document = Document(
        id=new_id(now),
        partition=scope.partition(level),
        source=source,
        title="The log of the lighthouse",
        media_type="text/markdown",
        status=DocumentStatus.READY,
        created_at=now,
        updated_at=now,
        pages=tuple(range(0, len(text), PAGE)),
        headings=tuple(Heading(start, 1, f"Section {number}") for number, start in enumerate(starts)),
    )
    rows = [
        Chunk(
            id=new_id(now),
            partition=document.partition,
            document_id=document.id,
            index=index,
            start=start,
            end=start + len(section.rstrip()),
            text=section.rstrip(),
            token_count=500,
            title=document.title,
            source=source,
            created_at=now,
            observed_at=now,
            page=start // PAGE + 1,
        )
        for index, (start, section) in enumerate(zip(starts, sections, strict=True))
    ]
    with parts.store.write() as work:
        work.documents.fill(document, text, [(chunk, parts.terms(chunk.text)) for chunk in rows])
    return document


def kind_of(prompt: Prompt) -> str:
    """Which of the three questions a prompt is."""
    system = prompt.messages[0].content
    if system.startswith("You read one part"):
        return "map"
    return "reduce" if system.startswith("Below are numbered") else "answer"


def careful(prompt: Prompt) -> Script:
    """Quotes the facts word for word, merges notes that it is given, and answers from all of them."""
    told = prompt.messages[-1].content
    if kind_of(prompt) == "map":
        notes = [{"quote": fact, "says": f"It is written: {fact}"} for fact in FACTS if fact in told]
        return json.dumps({"notes": notes})
    numbers = _NUMBERED.findall(told)
    if kind_of(prompt) == "reduce":
        return json.dumps({"notes": [{"says": f"Merged {len(numbers)} notes.", "numbers": [*map(int, numbers)]}]})
    return " ".join(f"Note {number} says so [{number}]." for number in numbers)


def reading(
    parts: Engine, answers: Sequence[Script] | Callable[[Prompt], Script] = careful, *, context_tokens: int = 8192
) -> tuple[Mnemic, ScriptedLlm]:
    """A Mnemic whose model answers so."""
    llm = ScriptedLlm(answers, context_tokens=context_tokens)
    return Mnemic(replace(parts, llm=llm), actor="tester"), llm


def quotes(report: ResearchReport) -> list[str]:
    return [quote.text for citation in report.citations for quote in citation.quotes]


def check_places(mnemic: Mnemic, report: ResearchReport, scope: Scope = ANNA) -> None:
    """Every quote stands in the stored text where its citation says."""
    text = mnemic.documents.text(scope, report.document_id)
    pages = mnemic.documents.get(scope, report.document_id).pages
    for quote in (quote for citation in report.citations for quote in citation.quotes):
        assert text[quote.start : quote.end] == quote.text
        assert quote.page == sum(page <= quote.start for page in pages)


def kinds(llm: ScriptedLlm) -> list[str]:
    return [kind_of(prompt) for prompt in llm.prompts]
