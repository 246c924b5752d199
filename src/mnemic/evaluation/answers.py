"""Asks a language model the questions of a test set with memory, with all rows and with nothing, and scores the
answers. Token F1 is that of reading comprehension (Rajpurkar et al. 2016): the best over several correct answers, by
character in scripts without blanks. The memory is used through the public verbs, with one user per group. The baselines
get the same rows and the same instruction.
"""

import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

from mnemic.api import Mnemic
from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.errors import BackendError, BadReplyError, InvalidInputError, RateLimitedError, TimedOutError
from mnemic.evaluation import retrieval
from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion, Progress, read_json_lines
from mnemic.model.chat import Prompt, PromptMessage
from mnemic.model.item import Role
from mnemic.model.listing import group_pairs
from mnemic.model.scope import Scope
from mnemic.ports.models import Llm
from mnemic.text.analyser import Analyser
from mnemic.text.replies import read_item, without_thoughts

UNKNOWN = {"en": "I don't know.", "zh": "我不知道。"}
"""The model is asked to answer this if it does not know."""

_ARTICLES = frozenset(("a", "an", "the"))
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]|[^\W_]+(?:['.,][^\W_]+)*")
_DECLINES = re.compile(
    r"(?:i (?:do not|don't|dont) (?:know|have (?:any |that |enough )?information)"
    r"|(?:there is|there's) no (?:information|mention)"
    r"|no information|not (?:mentioned|specified|provided|known)|unknown|cannot be (?:determined|known)"
    r"|不知道|无法(?:确定|得知|回答)|無法(?:確定|得知|回答)|没有(?:提到|提及|相关)|沒有(?:提到|提及|相關))",
    re.IGNORECASE,
)


def tokens(text: str) -> list[str]:
    """The tokens to compare: folded words and numbers without articles, or characters of unspaced scripts."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'").casefold()
    return [token for token in _TOKEN.findall(folded) if token not in _ARTICLES]


def token_f1(answer: str, right: Sequence[str]) -> float:
    """The best F1 over the correct answers, 0 to 1. Two empty token lists give 1."""
    return max((_f1(tokens(answer), tokens(each)) for each in right), default=0.0)


def is_exact(answer: str, right: Sequence[str]) -> bool:
    """True if the answer has exactly the tokens of a correct one, in order."""
    given = tokens(answer)
    return any(given == tokens(each) for each in right)


def declines(answer: str) -> bool:
    """True if the answer starts by saying that it does not know."""
    return _DECLINES.search(answer.replace("’", "'")[:200]) is not None


def _f1(given: Sequence[str], right: Sequence[str]) -> float:
    if not given or not right:
        return float(not given and not right)
    common = sum((Counter(given) & Counter(right)).values())
    if not common:
        return 0.0
    precision, recall = common / len(given), common / len(right)
    return 2 * precision * recall / (precision + recall)


TOKENS_A_WORD = 2.0
"""Assumed model tokens per word, so that a whole transcript never exceeds the context."""

_ANSWER_TOKENS = 128  # test sets ask for a few words; a longer answer lowers the F1
_JUDGEMENT = {
    "type": "object",
    "properties": {"is_right": {"type": "boolean"}},
    "required": ["is_right"],
    "additionalProperties": False,
}
_INSTRUCTION = {
    "en": "You answer a question about earlier conversations or documents, from what you are given, in as few words as"
    f" possible, without explaining. If what you are given does not tell, answer: {UNKNOWN['en']}",
    "zh": "请根据所给内容，用尽量少的字回答关于以往对话或文档的问题，不要解释。"
    f"如果所给内容没有答案，就回答：{UNKNOWN['zh']}",
}
_JUDGE = (
    "You compare an answer with the right answer to a question. It is right when it says the same, in whatever words,"
    ' and nothing that contradicts it. Reply with JSON: {"is_right": true} or {"is_right": false}.'
)
_HAN = re.compile(r"[㐀-鿿]")
_analyser = Analyser()


class Way(StrEnum):
    """What the model gets besides the question."""

    MEMORY = "memory"
    EVERYTHING = "everything"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """`llm`, `llm_options`, `embedder`: as in `Config`. `judge`: a model that judges answers, or "none".
    `budget_tokens`: limit of memory in a prompt. `questions`: maximum number, spread evenly over the set; None: all.
    """

    llm: str
    llm_options: Mapping[str, object] = field(default_factory=dict[str, object])
    judge: str = "none"
    judge_options: Mapping[str, object] = field(default_factory=dict[str, object])
    embedder: str = "minilm"
    ways: tuple[Way, ...] = tuple(Way)
    budget_tokens: int = 2048
    questions: int | None = None
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        if self.llm == "none":
            raise InvalidInputError("a language model is required; choose one, for example --llm ollama:qwen3:4b")
        if not self.ways or self.budget_tokens < 1 or (self.questions is not None and self.questions < 1):
            raise InvalidInputError("choose at least one way; budget and questions must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer. `tokens`: of its prompt, counted by the server, else by our analyser. `f1`, `exact`: 0 to 1.
    `is_right`: the judge's verdict, None without one. For an unanswerable question, `f1` and `exact` are None, and
    `is_right` is True if it declined. `left_out`: rows that did not fit its context.
    """

    qid: str
    way: Way
    category: str
    text: str
    tokens: int
    seconds: float
    f1: float | None
    exact: float | None
    is_right: bool | None
    left_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMeans:
    """Means over the answers of one way, None if nothing was measured. `declined`: the share of unanswerable questions
    that were declined. `cut`: the number of prompts that could not hold all rows.
    """

    n: int
    f1: float | None
    exact: float | None
    judged_right: float | None
    declined: float | None
    tokens: float
    seconds: float
    cut: int


@dataclass(slots=True)
class Failures:
    """Questions on which the model failed, by error type. They are not in the run and will be asked again."""

    by_kind: dict[str, int] = field(default_factory=dict[str, int])

    def note(self, error: BackendError) -> None:
        """Count one error."""
        self.by_kind[type(error).__name__] = self.by_kind.get(type(error).__name__, 0) + 1


def run_answers(
    dataset: Dataset,
    options: AnswerOptions,
    *,
    known: Iterable[Answer] = (),
    failures: Failures | None = None,
    progress: Progress | None = None,
) -> Iterator[Answer]:
    """Yields the answers that are not yet `known`, space by space, from a temporary store. `failures` counts questions
    that time out or get a broken reply. Raises `UnavailableError` if a model cannot be reached, and `InvalidInputError`
    if no question has a correct answer.
    """
    chosen = _choose_questions(dataset, options.questions)
    done = {(answer.qid, answer.way) for answer in known}
    total, failures = len(chosen) * len(options.ways), failures or Failures()
    count = sum((question.id, way) in done for question in chosen for way in options.ways)
    asked = frozenset(question.id for question in chosen)
    with (
        _models(options) as (llm, judge),
        retrieval.opened(retrieval.RetrievalOptions(embedder=options.embedder)) as (mnemic, clock, parts),
    ):
        asking = _Asker(mnemic, clock, llm, judge, options)
        for space in retrieval.spaces_of(dataset):
            wanted = [
                (question, way)
                for question in space.questions
                for way in options.ways
                if question.id in asked and (question.id, way) not in done
            ]
            if any(way is Way.MEMORY for _, way in wanted):
                for _ in retrieval.stored(mnemic, space, retrieval.RetrievalOptions().batch, parts):
                    pass
            for question, way in wanted:
                try:
                    yield asking.answer(space, question, way)
                except (TimedOutError, BadReplyError, RateLimitedError) as error:
                    failures.note(error)
                count += 1
                if progress is not None:
                    progress("ask", count, total)


def means_by_way(answers: Iterable[Answer]) -> dict[Way, AnswerMeans]:
    """Means by way, in the order of `Way`, for ways with answers."""
    grouped = group_pairs((answer.way, answer) for answer in answers)
    return {way: _means(grouped[way]) for way in Way if way in grouped}


def append_answer(path: Path, answer: Answer) -> None:
    """Append a row to the run file, so that an interrupted run can continue."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(answer), ensure_ascii=False) + "\n")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error}") from error


def read_answers(path: Path) -> list[Answer]:
    """The rows of a run file, empty if it is missing. Raises `InvalidInputError`, naming file and line."""
    if not path.exists():
        return []
    answers: list[Answer] = []
    for number, row in read_json_lines(path):
        try:
            answers.append(_from_row(row))
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{path}, line {number}: not a row of an answers run ({error})") from error
    return answers


class _Asker:
    """Asks one question at a time."""

    def __init__(
        self, mnemic: Mnemic, clock: retrieval.QuestionClock, llm: Llm, judge: Llm | None, options: AnswerOptions
    ) -> None:
        self._mnemic, self._clock, self._llm, self._judge, self._options = mnemic, clock, llm, judge, options

    def answer(self, space: retrieval.Space, question: LabelledQuestion, way: Way) -> Answer:
        messages, left_out = self._messages(space, question, way)
        start = time.perf_counter()
        completion = self._llm.complete(
            Prompt(messages=messages, max_tokens=_ANSWER_TOKENS, timeout_s=self._options.timeout_s)
        )
        seconds = time.perf_counter() - start
        text = without_thoughts(completion.text).strip()
        counted = sum(_analyser.token_count(message.content) for message in messages)
        is_scored = not question.is_unanswerable
        return Answer(
            qid=question.id,
            way=way,
            category=question.category,
            text=text,
            tokens=completion.usage.prompt_tokens or counted,
            seconds=round(seconds, 3),
            f1=round(token_f1(text, question.answers), 4) if is_scored else None,
            exact=float(is_exact(text, question.answers)) if is_scored else None,
            is_right=self._judge_answer(question, text),
            left_out=left_out,
        )

    def _messages(
        self, space: retrieval.Space, question: LabelledQuestion, way: Way
    ) -> tuple[tuple[PromptMessage, ...], int]:
        instruction = _INSTRUCTION["zh" if _HAN.search(question.text) else "en"]
        if way is Way.MEMORY:
            with self._clock.at(question.time):
                scope = Scope(user=space.user)
                budget = self._options.budget_tokens
                context = self._mnemic.context(scope, question.text, system=instruction, budget_tokens=budget)
            return tuple(PromptMessage(message.role, message.content) for message in context.messages), 0
        asked = PromptMessage(Role.USER, question.text)
        if way is Way.NOTHING:
            return (PromptMessage(Role.SYSTEM, instruction), asked), 0
        room = self._llm.capabilities.context_tokens / TOKENS_A_WORD - _ANSWER_TOKENS
        room -= _analyser.token_count(instruction) + _analyser.token_count(question.text)
        lines, left_out = newest_within([_line(row) for row in space.rows], room)
        return (PromptMessage(Role.SYSTEM, f"{instruction}\n\n" + "\n".join(lines)), asked), left_out

    def _judge_answer(self, question: LabelledQuestion, text: str) -> bool | None:
        if question.is_unanswerable:
            return declines(text)
        if self._judge is None:
            return None
        right = " / ".join(question.answers)
        said = f"Question: {question.text}\nRight answer: {right}\nAnswer to judge: {text}"
        messages = (PromptMessage(Role.SYSTEM, _JUDGE), PromptMessage(Role.USER, said))
        prompt = Prompt(messages=messages, schema=_JUDGEMENT, max_tokens=64, timeout_s=self._options.timeout_s)
        reading = read_item(self._judge.complete(prompt).text, _JUDGEMENT)
        if not reading.items:
            raise BadReplyError("the judge's reply contains no verdict")
        return bool(reading.items[0]["is_right"])


@contextmanager
def _models(options: AnswerOptions) -> Generator[tuple[Llm, Llm | None]]:
    """Open the model and the judge, and close them afterwards."""
    with ExitStack() as stack:
        llm = _model(stack, options.llm, options.llm_options)
        if options.judge == "none":
            yield llm, None
        elif options.judge == options.llm and options.judge_options == options.llm_options:
            yield llm, llm
        else:
            yield llm, _model(stack, options.judge, options.judge_options)


def _model(stack: ExitStack, name: str, options: Mapping[str, object]) -> Llm:
    parts = build(Config(store=MEMORY_URL, embedder="none", llm=name, llm_options=options))
    if parts.llm is None:
        raise InvalidInputError(f"{name!r} is not a language model")
    stack.callback(parts.llm.close)
    return parts.llm


def newest_within(lines: Sequence[str], room: float) -> tuple[list[str], int]:
    """The last lines that fit in `room` (tokens of our analyser), in order, and the number left out."""
    kept: list[str] = []
    for line in reversed(lines):
        room -= _analyser.token_count(line)
        if room < 0:
            break
        kept.append(line)
    return kept[::-1], len(lines) - len(kept)


def _line(row: CorpusRow) -> str:
    who = row.speaker or row.role or row.title
    head = ", ".join(part for part in (row.time, who) if part)
    return f"{head}: {row.text}" if head else row.text


def _choose_questions(dataset: Dataset, most: int | None) -> list[LabelledQuestion]:
    asked = [question for question in dataset.questions if question.answers or question.is_unanswerable]
    if not asked:
        raise InvalidInputError("no question in this set has an `answer` field")
    if most is None or most >= len(asked):
        return asked
    return [asked[place * len(asked) // most] for place in range(most)]


def _means(answers: Sequence[Answer]) -> AnswerMeans:
    scored = [answer for answer in answers if answer.f1 is not None]
    return AnswerMeans(
        n=len(answers),
        f1=_mean(answer.f1 for answer in scored),
        exact=_mean(answer.exact for answer in scored),
        judged_right=_mean(answer.is_right for answer in scored),
        declined=_mean(answer.is_right for answer in answers if answer.f1 is None),
        tokens=sum(answer.tokens for answer in answers) / len(answers),
        seconds=sum(answer.seconds for answer in answers) / len(answers),
        cut=sum(answer.left_out > 0 for answer in answers),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _from_row(row: Mapping[str, object]) -> Answer:
    names = set(Answer.__dataclass_fields__)
    if set(row) != names:
        raise ValueError(f"expected the fields {', '.join(sorted(names))}")
    answer = Answer(**cast("dict[str, Any]", {**row, "way": Way(str(row["way"]))}))
    return replace(answer, tokens=int(answer.tokens), seconds=float(answer.seconds))
