"""Lists the sets for a fit: what each contains, its licence, and whether it may be used for fitting.

It also loads a set, selects the halves of LongMemEval, and splits documents into passages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from benchmarks.fit.dialogues import Cast, dialogues
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion, load_dataset, read_json_lines
from mnemic.text.sentences import sentences

PASSAGE_CHARS = 800
"""A passage of the chunking set takes whole sentences up to so many characters."""

LEAST_OVERLAP = 0.5
"""A passage is gold when it holds at least so much of a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchSet:
    """One set. `dump`: the set whose features it takes; `is_fitted`: coefficients may be fitted to it."""

    name: str
    licence: str
    is_fitted: bool
    dump: str
    half: int | None = None

    @property
    def family(self) -> str:
        """What must be left out together: sets that share their questions."""
        return self.dump.split("-")[0] if self.half is not None else self.name

    def holds(self, question_id: str) -> bool:
        """True when the question is one of this set's."""
        return self.half is None or half_of(question_id) == self.half


def _set(name: str, licence: str, *, is_fitted: bool, dump: str = "", half: int | None = None) -> BenchSet:
    return BenchSet(name=name, licence=licence, is_fitted=is_fitted, dump=dump or name, half=half)


SETS = (
    _set("generated-people", "generated here", is_fitted=True),
    _set("generated-assistant", "generated here", is_fitted=True),
    _set("longmemeval-pool, half 0", "MIT", is_fitted=True, dump="longmemeval-pool", half=0),
    _set("longmemeval-48, half 0", "MIT", is_fitted=True, dump="longmemeval-48", half=0),
    _set("hotpotqa-100", "CC BY-SA 4.0", is_fitted=True),
    _set("chunking-eval", "MIT", is_fitted=True),
    _set("cmrc2018", "CC BY-SA 4.0", is_fitted=True),
    _set("drcd", "CC BY-SA 3.0", is_fitted=True),
    _set("longmemeval-pool, half 1", "MIT", is_fitted=False, dump="longmemeval-pool", half=1),
    _set("longmemeval-48, half 1", "MIT", is_fitted=False, dump="longmemeval-48", half=1),
    _set("locomo", "CC BY-NC 4.0", is_fitted=False),
    _set("beam", "none granted", is_fitted=False),
    _set("halumem", "CC BY-NC-ND 4.0", is_fitted=False),
    _set("memdaily", "none granted", is_fitted=False),
    _set("tc-event-memory", "none granted", is_fitted=False),
    _set("scifact", "treated as non-commercial", is_fitted=False),
    _set("cranfield", "no notice", is_fitted=False),
    _set("longmemeval-pool", "MIT", is_fitted=False),
    _set("longmemeval-48", "MIT", is_fitted=False),
)
"""All of them; the last two are for comparison with other results, and half of their questions were fitted to."""

DUMPS = tuple(dict.fromkeys(each.dump for each in SETS))


def half_of(question_id: str) -> int:
    """0 or 1, by the question's id alone."""
    return hashlib.blake2b(question_id.encode(), digest_size=1).digest()[0] % 2


def load(name: str, data: Path) -> Dataset:
    """The set of this name; `data` is the folder of the sets, not needed for what is generated."""
    made: Mapping[str, Callable[[], Dataset]] = {
        "generated-people": lambda: dialogues(Cast.PEOPLE),
        "generated-assistant": lambda: dialogues(Cast.ASSISTANT),
        "chunking-eval": lambda: _passages(data / name),
    }
    if name in made:
        return made[name]()
    haystacks = data / name / "haystacks.json"
    return load_dataset(
        data / name / "corpus.jsonl.gz", data / name / "queries.jsonl.gz", haystacks if haystacks.exists() else None
    )


def part(dataset: Dataset, chosen: BenchSet) -> Dataset:
    """The questions of `dataset` that belong to the set, with the whole corpus."""
    return replace(dataset, questions=tuple(q for q in dataset.questions if chosen.holds(q.id)))


def _passages(folder: Path) -> Dataset:
    """The documents of the chunking set in passages, and its questions with the passages that hold the references."""
    spans: dict[str, list[tuple[int, int]]] = {}
    rows: list[CorpusRow] = []
    for path in sorted((folder / "documents").glob("*.md")):
        text = path.read_bytes().decode("utf-8")
        spans[path.name] = _cut(text)
        rows += [
            CorpusRow(id=f"{path.name}/{place}", group="all", text=text[start:end])
            for place, (start, end) in enumerate(spans[path.name])
            if text[start:end].strip()
        ]
    known = {row.id for row in rows}
    questions: list[LabelledQuestion] = []
    for _, row in read_json_lines(folder / "questions.jsonl.gz"):
        references = cast("list[Mapping[str, object]]", row["references"])
        gold = {i: 1.0 for reference in references for i in _holding(reference, spans) if i in known}
        questions.append(LabelledQuestion(id=str(row["id"]), group="all", text=str(row["text"]), gold=gold))
    return Dataset(tuple(rows), tuple(questions))


def _cut(text: str) -> list[tuple[int, int]]:
    passages: list[tuple[int, int]] = []
    for start, end in sentences(text):
        if passages and end - passages[-1][0] <= PASSAGE_CHARS:
            passages[-1] = (passages[-1][0], end)
        else:
            passages.append((start, end))
    return passages


def _holding(reference: Mapping[str, object], spans: Mapping[str, list[tuple[int, int]]]) -> list[str]:
    name, start, end = str(reference["doc"]), int(cast("int", reference["start"])), int(cast("int", reference["end"]))
    overlaps = [min(end, last) - max(start, first) for first, last in spans[name]]
    least = min(LEAST_OVERLAP * (end - start), max(overlaps))
    return [f"{name}/{place}" for place, overlap in enumerate(overlaps) if overlap >= least > 0]
