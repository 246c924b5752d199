"""Test sets, their metrics, and runs that can be continued.

A test set has a corpus, questions with gold ids, and optionally a haystack per question. Errors name file and line.
`.gz` files are decompressed. `docs/reference/evaluation.md` describes the fields. A run's progress is kept beside its
file; another test set or other options start again.

With G = the ids of positive grade, each counted at its first place, the metrics of a question are:

    R@k      share of G among the first k
    any@k    1 if one of G is there, all@k: 1 if all of G are
    nDCG@10  sum of (2^grade - 1) / log2(rank + 1), over that of the best order (Järvelin and Kekäläinen 2002, with the
             exponential gain of Burges et al. 2005)
    MRR@10   1 / rank of the first of G within 10, else 0
    s_…      the same over sessions: each id is replaced by its session, and gold are the sessions, of grade 1
"""

import gzip
import hashlib
import json
import math
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar, cast

from mnemic.errors import InvalidInputError
from mnemic.model.item import Role
from mnemic.model.scope import MAX_ID_CHARS, Scope, as_utc

ROLES = frozenset(role.value for role in Role)
Progress = Callable[[str, int, int], None]
"""Progress callback: `(step, done, total)`."""
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusRow:
    """A row to find: a message if it has a session, else a document. `time` is ISO 8601."""

    id: str
    group: str
    text: str
    speaker: str | None = None
    role: str | None = None
    time: str | None = None
    session: str | None = None
    title: str | None = None

    @property
    def is_message(self) -> bool:
        """True for a message of a session."""
        return self.session is not None

    def message(self) -> Mapping[str, object]:
        """The row as a message to capture."""
        fields = {"role": self.role or Role.USER.value, "text": self.text, "name": self.speaker}
        fields |= {"observed_at": self.time, "external_id": self.id}
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    """A question and its gold: corpus ids with a grade (0 or less: not relevant), and session ids. `is_unanswerable`:
    the memory cannot know the answer; such questions are asked but not scored. `time`: when it is asked, which decides
    what "yesterday" means; None: now. `answers`: correct answers as text.
    """

    id: str
    group: str
    text: str
    gold: Mapping[str, float] = field(default_factory=dict[str, float])
    gold_sessions: tuple[str, ...] = ()
    category: str = ""
    is_unanswerable: bool = False
    time: datetime | None = None
    answers: tuple[str, ...] = ()


_T = TypeVar("_T", CorpusRow, LabelledQuestion)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus and its questions. With `haystacks`, a question searches only these sessions instead of its group."""

    corpus: Sequence[CorpusRow]
    questions: Sequence[LabelledQuestion]
    haystacks: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of a question with its gold and category. `gold` falls back to "gold" if missing."""

    gold: str = "gold"
    category: str = "category"


def load_dataset(corpus: Path, questions: Path, haystacks: Path | None = None, fields: Fields | None = None) -> Dataset:
    """Load a test set. Raises `InvalidInputError` for a missing or broken file, a repeated id, a question about a group
    without rows, gold outside the corpus, or a haystack of an unknown session.
    """
    rows = _unique(corpus, _corpus_row)
    asked = _unique(questions, lambda row: _question(row, fields or Fields()))
    groups, sessions = {row.group for row in rows.values()}, {row.session for row in rows.values()}
    for question in asked.values():
        if question.group not in groups:
            raise InvalidInputError(
                f"{questions}: question {question.id!r} has group {question.group!r}, which is not in the corpus"
            )
        missing = [i for i in question.gold if i not in rows]
        if missing:
            raise InvalidInputError(
                f"{questions}: gold {missing[0]!r} of question {question.id!r} is not in the corpus"
            )
    return Dataset(
        tuple(rows.values()),
        tuple(asked.values()),
        None if haystacks is None else _haystacks(haystacks, asked, sessions),
    )


def load_corpus(path: Path) -> tuple[CorpusRow, ...]:
    """The rows of a corpus alone. Raises `InvalidInputError` for a missing or broken file, or a repeated id."""
    return tuple(_unique(path, _corpus_row).values())


def read_json_lines(path: Path) -> Iterator[tuple[int, Row]]:
    """(line number from 1, row) of each non-blank line. Raises `InvalidInputError`, naming file and line."""
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _object(json.loads(line), f"{path}, line {number}")
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{path}, line {number}: not JSON: {error.msg} (column {error.colno})") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}, after line {number}: not UTF-8: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error


def write_json_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write one JSON line per row, compressed if the name ends in `.gz`. The file appears when complete."""
    partial = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = path.suffix == ".gz"
        with gzip.open(partial, "wt", encoding="utf-8") if packed else partial.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        partial.replace(path)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error}") from error
    finally:
        with suppress(OSError):  # the first error is the one to raise
            partial.unlink(missing_ok=True)


def _unique(path: Path, parse: Callable[[Row], _T]) -> dict[str, _T]:
    """The parsed rows of a file by id, in order."""
    found: dict[str, _T] = {}
    for number, row in read_json_lines(path):
        try:
            parsed = parse(row)
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}, line {number}: {error}") from error
        if parsed.id in found:
            raise InvalidInputError(f"{path}, line {number}: the id {parsed.id!r} appears twice")
        found[parsed.id] = parsed
    if not found:
        raise InvalidInputError(f"{path} has no rows")
    return found


def _corpus_row(row: Row) -> CorpusRow:
    role, time = _optional_text(row, "role"), _optional_text(row, "time")
    if role is not None and role not in ROLES:
        raise InvalidInputError(f"role {role!r} is not one of {', '.join(sorted(ROLES))}")
    if time is not None:
        as_utc(time, "time")
    session = _optional_text(row, "session")
    group = _text(row, "group")
    Scope(user=group, session=session)  # refuses invalid names of a user or session
    return CorpusRow(
        id=_id(row),
        group=group,
        text=_text(row, "text", may_be_blank=True),
        speaker=_optional_text(row, "speaker"),
        role=role,
        time=time,
        session=session,
        title=_optional_text(row, "title"),
    )


def _question(row: Row, fields: Fields) -> LabelledQuestion:
    time = _optional_text(row, "time")
    gold = _object(row.get(fields.gold) or row.get("gold") or {}, "gold")
    if not all(isinstance(grade, int | float) for grade in gold.values()):
        raise InvalidInputError("gold must map each corpus id to its grade (a number)")
    sessions = cast("list[object]", row.get("gold_sessions") or [])
    if not isinstance(sessions, list) or not all(isinstance(session, str) for session in sessions):  # pyright: ignore[reportUnnecessaryIsInstance] -- a file may hold anything
        raise InvalidInputError("gold_sessions must be a list of session ids, or null")
    return LabelledQuestion(
        id=_id(row),
        group=_text(row, "group"),
        text=_text(row, "text"),
        gold={i: float(cast("float", grade)) for i, grade in gold.items()},
        gold_sessions=tuple(cast("list[str]", sessions)),
        category=str(row.get(fields.category)),
        is_unanswerable=bool(row.get("abstain")),
        time=None if time is None else as_utc(time, "time"),
        answers=_answers(row),
    )


def _answers(row: Row) -> tuple[str, ...]:
    """The correct answers: a list `answers`, or one text or number `answer`."""
    several = row.get("answers") or [row.get("answer")]
    if not isinstance(several, list):
        raise InvalidInputError("answers must be a list of strings")
    return tuple(str(each) for each in cast("list[object]", several) if each is not None and str(each).strip())


def _haystacks(
    path: Path, asked: Mapping[str, LabelledQuestion], sessions: Collection[str | None]
) -> dict[str, tuple[str, ...]]:
    try:
        table = _object(json.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"{path}, line {error.lineno}: not JSON: {error.msg}") from error
    missing = [i for i in asked if i not in table]
    if missing:
        raise InvalidInputError(f"{path} has no haystack for question {missing[0]!r}")
    found: dict[str, tuple[str, ...]] = {}
    for question in asked:
        named = table[question]
        if not isinstance(named, list):
            raise InvalidInputError(f"{path}: the haystack of question {question!r} must be a list of session ids")
        unknown = [s for s in cast("list[object]", named) if s not in sessions]
        if unknown:
            raise InvalidInputError(f"{path}: session {unknown[0]!r} of question {question!r} is not in the corpus")
        found[question] = tuple(cast("list[str]", named))
    return found


def _object(value: object, name: str) -> Row:
    if not isinstance(value, dict):
        raise InvalidInputError(f"{name} must be a JSON object, not {type(value).__name__}")
    return cast("Row", value)


def _id(row: Row) -> str:
    value = _text(row, "id")
    if len(value) > MAX_ID_CHARS:
        raise InvalidInputError(f"the id has {len(value)} characters; at most {MAX_ID_CHARS} are allowed")
    return value


def _text(row: Row, name: str, *, may_be_blank: bool = False) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not (value.strip() or may_be_blank):
        raise InvalidInputError(f"{name} must be text" + ("" if may_be_blank else " and not blank"))
    return value


def _optional_text(row: Row, name: str) -> str | None:
    """A text, None if it is blank."""
    return None if row.get(name) is None else _text(row, name, may_be_blank=True).strip() or None


Line = Mapping[str, Any]


def run_key(dataset: Dataset, options: Any) -> str:
    """Equal for the same rows, questions and options."""
    told = json.dumps([asdict(dataset), asdict(options)], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


def silent(what: str, done: int, total: int) -> None:
    """Ignores progress."""


class Unfinished:
    """JSON objects of an unfinished run in `.NAME.unfinished` beside `path`, under a `key`. Ignores a truncated last
    line. Raises `InvalidInputError` if the file cannot be read or written.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key
        self._place = path.with_name(f".{path.name}.unfinished")

    def known(self) -> list[dict[str, Any]]:
        """The objects of an interrupted run with the same key."""
        try:
            lines = self._place.read_text(encoding="utf-8").split("\n")[:-1]
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"{self._place} cannot be read: {error}; remove it to start over") from error
        try:
            head, *rows = (json.loads(line) for line in lines)
            return rows if head.get("key") == self._key else []
        except (ValueError, AttributeError) as error:
            raise self.foreign() from error

    def foreign(self) -> InvalidInputError:
        """The error for a file that holds something else."""
        return InvalidInputError(f"{self._place} is not an unfinished evaluation; remove it to start over")

    def begin(self, known: Iterable[Line]) -> None:
        """Start the file with the known objects, without a truncated line."""
        begun = self._place.with_name(f"{self._place.name}.new")
        lines: list[Line] = [{"key": self._key}, *known]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            begun.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            begun.replace(self._place)
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be written: {error}") from error

    def add(self, lines: Iterable[Line]) -> None:
        """Append each object at once."""
        try:
            with self._place.open("a", encoding="utf-8") as out:
                for line in lines:
                    out.write(json.dumps(line) + "\n")
                    out.flush()
                os.fsync(out.fileno())
        except OSError as error:
            raise InvalidInputError(f"{self._path} cannot be written: {error}") from error

    def end(self) -> None:
        """Remove the file, because the result is complete."""
        with suppress(OSError):  # an extra file beside a complete one is harmless
            self._place.unlink(missing_ok=True)


RECALL_CUTS = (1, 5, 10, 20)  # hits, as papers report them
ANY_ALL_CUTS = (5, 10)  # hits, as papers report them
DEPTH = 10  # hits counted by NDCG@10 and MRR@10
SESSION_METRICS = ("R@5", "any@5", "all@5", "nDCG@10")
Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question: corpus ids, best first, and its milliseconds (None: not measured)."""

    qid: str
    ranked: Sequence[str]
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class Means:
    """Means over `n` questions, `n_sessions` of them with gold sessions. Latencies in milliseconds."""

    n: int
    n_sessions: int
    metrics: Scores
    p50_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """The means over all scored questions and per category. `missing`: questions with gold but no ranking, which score
    0. `foreign_ids`: results outside the question's group or haystack. Any of them is a leak.
    """

    overall: Means
    by_category: Mapping[str, Means]
    unanswerable: int
    without_gold: int
    missing: int
    foreign_ids: int


def score_ranking(ranked: Iterable[str], gold: Mapping[str, float]) -> dict[str, float]:
    """All metrics of one ranking. `gold` needs a positive grade."""
    relevant = {i: grade for i, grade in gold.items() if grade > 0}
    places = {i: place for place, i in enumerate(dict.fromkeys(ranked))}
    hits = sorted(places[i] for i in relevant if i in places)
    scores: dict[str, float] = {}
    for cut in RECALL_CUTS:
        within = sum(place < cut for place in hits)
        scores[f"R@{cut}"] = within / len(relevant)
        if cut in ANY_ALL_CUTS:
            scores[f"any@{cut}"] = float(within > 0)
            scores[f"all@{cut}"] = float(within == len(relevant))
    gained = sum(_gain(relevant[i], places[i]) for i in relevant if places.get(i, DEPTH) < DEPTH)
    best = sum(_gain(grade, place) for place, grade in enumerate(sorted(relevant.values(), reverse=True)[:DEPTH]))
    scores["nDCG@10"] = gained / best
    scores["MRR@10"] = 1.0 / (hits[0] + 1) if hits and hits[0] < DEPTH else 0.0
    return scores


def score_sessions(sessions: Iterable[str], gold: Iterable[str]) -> dict[str, float]:
    """The session metrics of a ranking, given the session of each hit. Repetitions are allowed."""
    scores = score_ranking(sessions, dict.fromkeys(gold, 1.0))
    return {f"s_{name}": scores[name] for name in SESSION_METRICS}


def percentile(values: Sequence[float], percent: float) -> float | None:
    """The percentile by linear interpolation between the closest ranks, None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    place = (len(ordered) - 1) * percent / 100.0
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def score_run(dataset: Dataset, rankings: Iterable[Ranking]) -> Report:
    """The report of a run. Of several rankings of a question the first counts."""
    answers: dict[str, Ranking] = {}
    for ranking in rankings:
        answers.setdefault(ranking.qid, ranking)
    scored: list[tuple[str, dict[str, float], float | None]] = []
    unanswerable = without_gold = missing = 0
    sessions = {row.id: row.session for row in dataset.corpus}
    for question in dataset.questions:
        if question.is_unanswerable:
            unanswerable += 1
        elif not question.gold_sessions and not any(grade > 0 for grade in question.gold.values()):
            without_gold += 1
        else:
            answer = answers.get(question.id)
            missing += answer is None
            ranking = answer or Ranking(question.id, ())
            scored.append((question.category, _scores(sessions, question, ranking), ranking.ms))
    categories = sorted({category for category, _, _ in scored})
    return Report(
        overall=_means([(scores, ms) for _, scores, ms in scored]),
        by_category={name: _means([(s, ms) for category, s, ms in scored if category == name]) for name in categories},
        unanswerable=unanswerable,
        without_gold=without_gold,
        missing=missing,
        foreign_ids=_foreign(dataset, answers),
    )


def _gain(grade: float, place: int) -> float:
    return (2.0**grade - 1.0) / math.log2(place + 2)


def _scores(sessions: Mapping[str, str | None], question: LabelledQuestion, ranking: Ranking) -> dict[str, float]:
    scores: dict[str, float] = {}
    if any(grade > 0 for grade in question.gold.values()):
        scores |= score_ranking(ranking.ranked, question.gold)
    if question.gold_sessions:
        found = [session for i in ranking.ranked if (session := sessions.get(i)) is not None]
        scores |= score_sessions(found, question.gold_sessions)
    return scores


def _means(scored: Sequence[tuple[Scores, float | None]]) -> Means:
    names = dict.fromkeys(name for scores, _ in scored for name in scores)
    values = {name: [scores[name] for scores, _ in scored if name in scores] for name in names}
    times = [ms for _, ms in scored if ms is not None]
    return Means(
        n=len(scored),
        n_sessions=sum("s_R@5" in scores for scores, _ in scored),
        metrics={name: sum(found) / len(found) for name, found in values.items()},
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
    )


def _foreign(dataset: Dataset, answers: Mapping[str, Ranking]) -> int:
    rows = {row.id: row for row in dataset.corpus}
    foreign = 0
    for question in dataset.questions:
        answer = answers.get(question.id)
        haystack = None if dataset.haystacks is None else set(dataset.haystacks[question.id])
        for i in dict.fromkeys(answer.ranked if answer else ()):
            row = rows.get(i)
            is_inside = row is not None and row.group == question.group
            foreign += not is_inside or (haystack is not None and row is not None and row.session not in haystack)
    return foreign
