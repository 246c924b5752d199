"""Scores extracted memories against gold ones.

Two texts are as similar as the F1 of their stems (`extraction_words`). They match from `MATCH` on. Within a group:

    recall, precision   matched pairs of a true memory and a produced one, one to one, most similar first, as a share of
                        the true or the produced ones
    lenient             share of produced ones that match any true memory
    interference        traps (memories that should not be written) that were; a row nearer to a trap than to any true
                        memory may only match traps
    duplicates          unmatched rows that repeat another: they match a taken true memory, or reach `REPEAT` with an
                        earlier or matched row that they do not replace
    junk                unmatched rows without content: courtesies, questions, words without a source
    update              true memories that replace others: whether they were found, and name what they replace
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import CorpusRow, read_json_lines
from mnemic.evaluation.extraction import Produced
from mnemic.evaluation.extraction_words import Bag, Name, Sources, bag, main_name, overlap

MATCH = 0.5  # F1 of stems; lower matches what only shares the subject, higher refuses a paraphrase
REPEAT = 0.8  # F1 of stems; near 1, since two true memories may differ in one word


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldMemory:
    """A memory that should be written or, with `is_trap`, should not. `replaces`: (text, id or None) each."""

    id: str
    group: str
    session: str | None
    text: str
    type: str = ""
    source: str = ""
    is_update: bool = False
    replaces: tuple[tuple[str, str | None], ...] = ()

    @property
    def is_trap(self) -> bool:
        """True if it must not be written."""
        return self.source == "interference"


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole."""

    part: int
    whole: int

    @property
    def ratio(self) -> float | None:
        """The ratio, None without a whole."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class Updates:
    """Of true memories that replace something: how many were produced, name any memory, and name the right one."""

    found: int
    marked: int
    right: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionReport:
    """The scores; see the module docstring."""

    recall: Share
    precision: Share
    lenient: Share
    interference: Share
    interference_rows: int
    duplicates: Share
    junk: Mapping[str, int]
    updates: Updates
    reachable: Updates
    recall_by_type: Mapping[str, Share]
    recall_by_source: Mapping[str, Share]
    session_right: Share

    @property
    def f1(self) -> float:
        """The harmonic mean of recall and precision."""
        r, p = self.recall.ratio or 0.0, self.precision.ratio or 0.0
        return 2 * r * p / (r + p) if r + p else 0.0


def load_gold(path: Path) -> list[GoldMemory]:
    """The gold memories of a file. Raises `InvalidInputError`, naming file and line."""
    found: list[GoldMemory] = []
    for number, row in read_json_lines(path):
        if not all(isinstance(row.get(name), str) for name in ("id", "group", "text")):
            raise InvalidInputError(f"{path}, line {number}: a memory must have an id, a group and text")
        replaces = cast("list[Mapping[str, str | None]]", row.get("supersedes") or [])
        session = row.get("session")
        found.append(
            GoldMemory(
                id=str(row["id"]),
                group=str(row["group"]),
                session=None if session is None else str(session),
                text=str(row["text"]),
                type=str(row.get("type")),
                source=str(row.get("source")),
                is_update=bool(row.get("is_update")),
                replaces=tuple((str(each.get("text")), each.get("id")) for each in replaces),
            )
        )
    if not found:
        raise InvalidInputError(f"{path} has no rows")
    return found


def score_extraction(
    gold: Sequence[GoldMemory], produced: Sequence[Produced], corpus: Sequence[CorpusRow] = ()
) -> ExtractionReport:
    """The scores of produced memories. Without a corpus, only the text decides what is junk."""
    groups = dict.fromkeys(memory.group for memory in gold)
    names = {group: main_name([m.text for m in gold if m.group == group]) for group in groups}
    sources = Sources(corpus, names)
    produced = [sources.placed(row) for row in produced]
    matched = [_Group(group, gold, produced, names[group]) for group in groups]
    rows = len(produced)
    found = {place: row for each in matched for place, row in each.found.items()}
    true = [place for place, memory in enumerate(gold) if not memory.is_trap]
    right = [row for each in matched for row in each.duplicates]
    junk = Counter[str]()
    bags = [bag(row.text, names.get(row.group)) for row in produced]
    for row, content in enumerate(bags):
        golds = [b for each in matched if each.group == produced[row].group for b in each.gold_bags]
        if not any(row in each.settled for each in matched):
            junk[sources.junk(produced[row], content, golds)] += 1
    sessions = [(produced[row].session, gold[place].session) for place, row in found.items()]
    return ExtractionReport(
        recall=Share(len(found), len(true)),
        precision=Share(len(found), rows),
        lenient=Share(sum(each.lenient for each in matched), rows),
        interference=Share(sum(len(each.trapped) for each in matched), sum(each.traps for each in matched)),
        interference_rows=sum(len(each.trap_rows) for each in matched),
        duplicates=Share(len(right), rows),
        junk={reason: number for reason, number in sorted(junk.items()) if reason},
        updates=_updates(gold, produced, matched, only_reachable=False),
        reachable=_updates(gold, produced, matched, only_reachable=True),
        recall_by_type=_by(gold, true, found, lambda memory: memory.type),
        recall_by_source=_by(gold, true, found, lambda memory: memory.source),
        session_right=Share(sum(one == other for one, other in sessions if one), sum(bool(one) for one, _ in sessions)),
    )


class _Group:
    """The matching within one group."""

    def __init__(self, group: str, gold: Sequence[GoldMemory], produced: Sequence[Produced], name: Name | None) -> None:
        self.group, self.name = group, name
        places = [place for place, memory in enumerate(gold) if memory.group == group]
        self.bag_of = {place: bag(gold[place].text, name) for place in places}
        true = {self.bag_of[place] for place in places if not gold[place].is_trap}
        twins = {place for place in places if gold[place].is_trap and self.bag_of[place] in true}
        self.places = [place for place in places if place not in twins]
        self.gold_bags = [self.bag_of[place] for place in places]
        self.rows = [row for row, each in enumerate(produced) if each.group == group]
        self.row_bag = {row: bag(produced[row].text, name) for row in self.rows}
        self.traps = sum(gold[place].is_trap for place in self.places)
        self._match(gold, produced)
        self.duplicates = self._repeats(produced)

    def _match(self, gold: Sequence[GoldMemory], produced: Sequence[Produced]) -> None:
        """Match pairs, and find rows that match anything at all."""
        pairs: dict[bool, list[tuple[float, bool, int, int]]] = {False: [], True: []}
        hits: dict[bool, set[int]] = {False: set(), True: set()}
        for row in self.rows:
            similar = {place: overlap(self.row_bag[row], self.bag_of[place]) for place in self.places}
            best = {
                side: max((s for place, s in similar.items() if gold[place].is_trap is side), default=0.0)
                for side in (False, True)
            }
            side = best[True] > best[False]
            for place, similarity in similar.items():
                if gold[place].is_trap is side and similarity >= MATCH:
                    is_elsewhere = produced[row].session != gold[place].session
                    pairs[side].append((-similarity, is_elsewhere, row, place))
                    hits[side].add(row)
        self.found = _one_to_one(pairs[False])
        self.trapped = _one_to_one(pairs[True])
        self.trap_rows = hits[True]
        self.lenient = len(hits[False])
        self.settled = hits[False] | hits[True]

    def _repeats(self, produced: Sequence[Produced]) -> list[int]:
        taken = set(self.found.values())
        by_id = {produced[row].id: row for row in self.rows if produced[row].id is not None}
        olds = {row: {by_id.get(old) for old in produced[row].supersedes} for row in self.rows}
        repeats: list[int] = []
        for row in self.rows:
            if row in taken or row in self.trap_rows:
                continue
            others = (
                other
                for other in self.rows
                if other != row
                and (other < row or other in taken)
                and other not in olds[row]
                and row not in olds[other]
            )
            again = any(overlap(self.row_bag[row], self.row_bag[other]) >= REPEAT for other in others)
            if again or row in self.settled:
                repeats.append(row)
        return repeats


def _one_to_one(pairs: Sequence[tuple[float, bool, int, int]]) -> dict[int, int]:
    """The matched row for each gold memory, by index."""
    found: dict[int, int] = {}
    rows: set[int] = set()
    for _, _, row, place in sorted(pairs):
        if row not in rows and place not in found:
            found[place] = row
            rows.add(row)
    return found


def _by(
    gold: Sequence[GoldMemory], true: Sequence[int], found: Mapping[int, int], label: Callable[[GoldMemory], str]
) -> dict[str, Share]:
    labels = sorted({label(gold[place]) for place in true})
    return {
        each: Share(
            sum(place in found for place in true if label(gold[place]) == each),
            sum(label(gold[place]) == each for place in true),
        )
        for each in labels
    }


def _updates(
    gold: Sequence[GoldMemory], produced: Sequence[Produced], matched: Sequence[_Group], *, only_reachable: bool
) -> Updates:
    """The true memories that replace something. `only_reachable`: those whose replaced memory is itself gold."""
    place_of = {memory.id: place for place, memory in enumerate(gold)}
    counts = Counter[str]()
    for each in matched:
        by_id = {produced[row].id: row for row in each.rows if produced[row].id is not None}
        for place in each.places:
            if gold[place].is_trap or not gold[place].replaces:
                continue
            texts = [bag(text, each.name) for text, _ in gold[place].replaces]
            olds = _replaced(gold, each, place, texts, place_of)
            if only_reachable and not olds:
                continue
            row = each.found.get(place)
            marked = () if row is None else produced[row].supersedes
            wanted = [*texts, *(each.bag_of[old] for old in olds)]
            counts["whole"] += 1
            counts["found"] += row is not None
            counts["marked"] += bool(marked)
            counts["right"] += any(_names_it(each, by_id, named, wanted, olds) for named in marked)
    return Updates(counts["found"], counts["marked"], Share(counts["right"], counts["whole"]))


def _replaced(
    gold: Sequence[GoldMemory], each: _Group, place: int, texts: Sequence[Bag], place_of: Mapping[str, int]
) -> list[int]:
    known = [place_of[old] for _, old in gold[place].replaces if old is not None and old in place_of]
    earlier = [
        other
        for other in each.places
        if other < place
        and not gold[other].is_trap
        and any(overlap(each.bag_of[other], text) >= REPEAT for text in texts)
    ]
    return [*known, *earlier]


def _names_it(
    each: _Group, by_id: Mapping[str | None, int], named: str, wanted: Sequence[Bag], olds: Sequence[int]
) -> bool:
    """Whether a mark (an id or text) names one of the replaced memories."""
    row = by_id.get(named)
    content = bag(named, each.name) if row is None else each.row_bag[row]
    is_like = any(overlap(content, text) >= MATCH for text in wanted)
    return is_like or (row is not None and any(each.found.get(old) == row for old in olds))
