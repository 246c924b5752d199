"""Runs a test set through `context` and scores the blocks: evidence shown, size, and silence on unrelated prompts. A
row counts as shown only if at least `SHOWN` of its words are in the block, so that naming it is not enough. Words are
sets: the block may have them in any order.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from mnemic.api import Mnemic
from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import (
    CorpusRow,
    Dataset,
    LabelledQuestion,
    Progress,
    read_json_lines,
    silent,
    write_json_lines,
)
from mnemic.evaluation.embedders import KeptVectors
from mnemic.evaluation.retrieval import QuestionClock, RetrievalOptions, Space, opened, spaces_of, stored
from mnemic.model.listing import group_pairs
from mnemic.model.recall import Context
from mnemic.model.scope import Scope

SHOWN = 0.5
"""Minimum share of a row's words in a block for the row to count as shown."""

SILENT_WORDS = 40
"""A block without rows is silent up to this many words: a date and a name are no memory."""

_NOT_MEMORY = ("system", "history")
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_FUNCTION_WORDS = (
    "a an the of in on for to and or is are was were be been with at from as that this it its i you he she they we his "
    "her their my your our not no did do does has have had"
)
_STOP = frozenset(_FUNCTION_WORDS.split())


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt unrelated to any memory, and its kind."""

    id: str
    text: str
    kind: str = "?"


@dataclass(frozen=True, slots=True)
class Block:
    """The context of one question: corpus rows shown at least in part, and the text. `kind`: of an unrelated prompt."""

    qid: str
    ids: Sequence[str]
    tokens: int
    text: str
    kind: str | None = None

    def row(self) -> dict[str, object]:
        """The row in a run file."""
        row: dict[str, object] = {"qid": self.qid, "ids": [*self.ids], "tokens": self.tokens, "text": self.text}
        return row if self.kind is None else row | {"unrelated": True, "kind": self.kind}


@dataclass(frozen=True, slots=True)
class BlockReport:
    """Means over the answerable questions, by category, and the silence by kind of unrelated prompt. `not_shown`: ids
    named without their text. `missing`: questions with gold but no block.
    """

    overall: Mapping[str, float]
    by_category: Mapping[str, Mapping[str, float]]
    silence: Mapping[str, float]
    not_shown: int
    missing: int


def load_prompts(path: Path) -> list[Prompt]:
    """Unrelated prompts from JSON lines with `id`, `text` and optionally `kind`. Raises `InvalidInputError`."""
    prompts: list[Prompt] = []
    for number, row in read_json_lines(path):
        if not isinstance(row.get("text"), str) or not row["text"]:
            raise InvalidInputError(f"{path}, line {number}: a prompt must have text")
        prompts.append(Prompt(str(row.get("id", number)), str(row["text"]), str(row.get("kind") or "?")))
    return prompts


def run_blocks(
    dataset: Dataset,
    budget_tokens: int,
    prompts: Sequence[Prompt] = (),
    options: RetrievalOptions | None = None,
    progress: Progress | None = None,
    vectors: KeptVectors | None = None,
) -> Iterator[Block]:
    """The blocks of all questions, space by space, each followed by those of the unrelated prompts. A question with a
    time is asked at that time. `options` and `vectors` as in `run_retrieval`.
    """
    spaces = spaces_of(dataset)
    rows, asked = sum(len(space.rows) for space in spaces), sum(len(space.questions) for space in spaces)
    asked, kept, done = asked + len(prompts) * len(spaces), 0, 0
    options, progress = options or RetrievalOptions(), progress or silent
    with opened(options, vectors) as (mnemic, clock, parts):
        for space in spaces:
            ids: dict[str, str] = {}
            for batch in stored(mnemic, space, options.batch, parts):
                ids.update(batch)
                kept += len(batch)
                progress("store", kept, rows)
            for block in blocks_of_space(mnemic, clock, space, ids, budget_tokens, prompts):
                done += 1
                progress("ask", done, asked)
                yield block


def blocks_of_space(
    mnemic: Mnemic,
    clock: QuestionClock,
    space: Space,
    ids: Mapping[str, str],
    budget_tokens: int,
    prompts: Sequence[Prompt] = (),
) -> Iterator[Block]:
    """The blocks of one stored space. `ids`: the corpus row of each item."""
    scope = Scope(user=space.user)
    for question in space.questions:
        with clock.at(question.time):
            built = mnemic.context(scope, question.text, budget_tokens=budget_tokens)
        yield _block(question.id, built, ids)
    for prompt in prompts:
        built = mnemic.context(scope, prompt.text, budget_tokens=budget_tokens)
        yield _block(f"{space.user}/{prompt.id}", built, ids, prompt.kind)


def _block(qid: str, built: Context, ids: Mapping[str, str], kind: str | None = None) -> Block:
    text = "\n\n".join(part for name, part in built.blocks.items() if name not in _NOT_MEMORY)
    named = dict.fromkeys(ids[citation.item_id] for citation in built.citations if citation.item_id in ids)
    return Block(qid, [*named], built.token_count, text, kind)


def write_blocks(path: Path, blocks: Iterable[Block]) -> None:
    """Write one JSON row per block, compressed if the name ends in `.gz`. Raises `InvalidInputError`."""
    write_json_lines(path, (block.row() for block in blocks))


def score_blocks(dataset: Dataset, blocks: Sequence[Block]) -> BlockReport:
    """Score the blocks against the set's gold. evidence: share of a question's gold rows that are shown; all: share of
    questions with all of them. sessions, all_sessions: the same for gold sessions. answer_words: share of the answer's
    content words in the block. tokens: as the engine counts them; words: as this module does.
    """
    corpus, questions = {row.id: row for row in dataset.corpus}, {each.id: each for each in dataset.questions}
    measured: list[tuple[str, dict[str, float]]] = []
    silence, not_shown = list[tuple[str, float]](), 0
    for block in blocks:
        if block.kind is not None:
            is_silent = float(not block.ids and len(words(block.text)) <= SILENT_WORDS)
            silence += [("all", is_silent), (block.kind, is_silent)]
            continue
        question = questions.get(block.qid)
        if question is None or question.is_unanswerable:
            continue
        shown = _shown_rows(block, corpus)
        not_shown += len(set(block.ids)) - len(shown)
        measured.append((question.category, _measures(question, block, shown)))
    scored = {each.id for each in dataset.questions if not each.is_unanswerable and (each.gold or each.gold_sessions)}
    missing = len(scored - {block.qid for block in blocks})
    categories = {name: _means(each) for name, each in sorted(group_pairs(measured).items())}
    quiet = {kind: fmean(values) for kind, values in group_pairs(silence).items()}
    return BlockReport(_means([each for _, each in measured]), categories, quiet, not_shown, missing)


def _means(measures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    values = group_pairs(pair for each in measures for pair in each.items())
    return {name: fmean(several) for name, several in values.items()}


def _shown_rows(block: Block, corpus: Mapping[str, CorpusRow]) -> dict[str, CorpusRow]:
    text = frozenset(words(block.text))
    named = {i: corpus[i] for i in block.ids if i in corpus}
    return {i: row for i, row in named.items() if _share_shown(row.text, text) >= SHOWN}


def _share_shown(text: str, block: frozenset[str]) -> float:
    said = _word_set(text)
    return len(said & block) / len(said) if said else 1.0


@cache
def _word_set(text: str) -> frozenset[str]:
    return frozenset(words(text))


def _measures(question: LabelledQuestion, block: Block, shown: Mapping[str, CorpusRow]) -> dict[str, float]:
    text = frozenset(words(block.text))
    measures: dict[str, float] = {}
    if gold := {i for i, grade in question.gold.items() if grade > 0}:
        measures |= {"evidence": len(gold & shown.keys()) / len(gold), "all": float(gold <= shown.keys())}
    if sessions := set(question.gold_sessions):
        found = sessions & {row.session for row in shown.values()}
        measures |= {"sessions": len(found) / len(question.gold_sessions), "all_sessions": float(found == sessions)}
    if answer := [word for word in words(" ".join(question.answers)) if word not in _STOP]:
        measures["answer_words"] = sum(word in text for word in answer) / len(answer)
    return measures | {"tokens": float(block.tokens), "words": float(len(words(block.text)))}


def words(text: str) -> list[str]:
    """The lower-cased words of a text. Each Chinese character is one."""
    found: list[str] = []
    for word in _WORD.findall(text.lower()):
        found += list(word) if _HAN.search(word) else [word]
    return found
