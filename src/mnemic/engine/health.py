"""Checks each memory of a scope once, fixes safe findings in separate units of work that check them again, and stores
the score. To check the installation, see `doctor`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import cast

from mnemic.engine.edit import Editor, merge
from mnemic.engine.engine import Engine, new_entry
from mnemic.engine.export import OWN_LEVELS
from mnemic.engine.fields import archive
from mnemic.engine.jobs import retry_jobs
from mnemic.engine.near_pairs import MAX_VECTORS, Judge, Pairs, Remedies, is_live
from mnemic.engine.remember import Neighbours, Settler
from mnemic.engine.sweep import Reach, sweep
from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from mnemic.model.health import WEIGHTS, Ailment, HealthFinding, HealthScore, health_score
from mnemic.model.item import Memory, State, Verdict
from mnemic.model.records import Action, HistoryEntry, JobState
from mnemic.model.scope import Level, Scope, Visibility
from mnemic.ports.store import UnitOfWork


@dataclass(slots=True)
class Fixed:
    """Fixed findings, and how many could not be fixed because they changed."""

    findings: list[HealthFinding] = field(default_factory=list[HealthFinding])
    changed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        if not self.changed:
            return ()
        return (f"{self.changed:,} findings remain: they could not be fixed, or have changed in the meantime",)


def fixed(engine: Engine, scope: Scope, findings: Sequence[HealthFinding], *, actor: str, is_dry_run: bool) -> Fixed:
    """Fix each safe finding that still holds; count the others. A memory is changed for one finding per run."""
    done, touched = Fixed(), set[str]()
    for one in findings:
        if not touched.isdisjoint(one.ids):
            continue
        touched |= set(one.ids)
        try:
            is_ended = is_dry_run or _end(engine, scope, one, actor)
        except (ConflictError, NotFoundError):
            is_ended = False
        if is_ended:
            done.findings.append(one)
        else:
            done.changed += 1
    return done


def _end(engine: Engine, scope: Scope, one: HealthFinding, actor: str) -> bool:
    if one.remedy.verb == "jobs.retry":
        return retry_jobs(engine, scope, one.ids) > 0
    if one.ailment is Ailment.DUPLICATE:
        merge(engine, scope, one.ids, text=None, actor=actor, reason=f"health: {one.reason}")
        return True
    with engine.store.write() as work:
        found = work.memories.get(scope.visibility, [one.ids[-1]])
        return bool(found) and _end_one(
            engine, work, Editor(engine, work, scope.visibility, actor), found[0], one, actor
        )


def _end_one(engine: Engine, work: UnitOfWork, editor: Editor, memory: Memory, one: HealthFinding, actor: str) -> bool:
    if memory.state not in (State.ACTIVE, State.DISPUTED):
        return False
    reason = f"health: {one.reason}"
    if one.ailment in (Ailment.JUNK, Ailment.STALE):
        return archive(engine, work, memory, actor=actor, reason=reason)
    if one.ailment is Ailment.UNSUPPORTED:
        editor.put(memory, replace(memory, state=State.QUARANTINED), Action.QUARANTINED, reason)
        return True
    if one.ailment is Ailment.CONTRADICTORY and is_live(memory, editor.now):
        return Settler(work, editor).settle(memory, Neighbours()).action is not Verdict.ADD
    return False


HEALTH_ITEM = "health"
"""The scores are the history of this id in the partition of the scope's default level."""

MAX_LISTED = 1000
MAX_KEPT = 10_000
"""Findings kept per kind, to be listed or fixed. More are only counted."""

MAX_SCORES = 365
MAX_JOBS = 1000

_A_DAY = timedelta(days=1)
Progress = Callable[[int, int], object]
"""Progress callback: `(done, total)`, about two steps per memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRequest:
    """Options: findings of `ailments` (empty: all) in some `levels`; safe ones of the kinds in `fix` are fixed.
    `limit`: maximum findings listed per kind.
    """

    levels: tuple[Level, ...]
    ailments: tuple[Ailment, ...] = ()
    fix: tuple[Ailment, ...] = ()
    limit: int = 100
    is_dry_run: bool = False
    progress: Progress | None = None

    @property
    def wanted(self) -> tuple[Ailment, ...]:
        """The kinds to look for."""
        return self.ailments or tuple(Ailment)

    @property
    def is_whole(self) -> bool:
        """True if the score is comparable with others."""
        return not self.ailments and set(self.levels) == set(OWN_LEVELS)


@dataclass(frozen=True, slots=True)
class HealthReport:
    """The `score` now, findings (at most `limit` per kind, gravest first), fixes (planned in a dry run), and earlier
    scores, oldest first. `examined`: memories seen; `notes`: what was skipped or not fixed.
    """

    score: HealthScore
    findings: tuple[HealthFinding, ...]
    fixed: tuple[HealthFinding, ...]
    scores: tuple[HealthScore, ...]
    examined: int
    is_dry_run: bool
    notes: tuple[str, ...] = ()


def health(engine: Engine, scope: Scope, request: HealthRequest, *, actor: str) -> HealthReport:
    """Examine the scope's memories, fix safe findings of the chosen kinds, and examine again. Duplicates are merged,
    junk and stale memories archived, unsupported ones quarantined, contradictions superseded or disputed, dead jobs
    retried; `undo` reverts each. The full score is kept daily and on change, never in a dry run. Raises
    `InvalidInputError` for a limit outside 1..1000.
    """
    if not 1 <= request.limit <= MAX_LISTED:
        raise InvalidInputError(f"limit must be from 1 to {MAX_LISTED}, not {request.limit}")
    engine.accesses.flush(engine.store)
    with engine.observer.span("mnemic.health"):
        look = _Examination(engine, scope, request)
        look.run()
        done = Fixed()
        if request.fix:
            safe = [one for kind in request.fix for one in look.kept[kind] if one.remedy.is_safe]
            done = fixed(engine, scope, safe, actor=actor, is_dry_run=request.is_dry_run)
            if done.findings and not request.is_dry_run:
                look = _Examination(engine, scope, request)
                look.run()
        score = look.score()
        before = _kept_scores(engine, scope)
        if request.is_whole and not request.is_dry_run:
            _keep(engine, scope, score, before, actor=actor)
    listed = [one for kind in WEIGHTS for one in look.kept[kind][: request.limit]]
    notes = (*look.notes(), *done.notes)
    return HealthReport(
        score, tuple(listed), tuple(done.findings), tuple(before), look.examined, request.is_dry_run, notes
    )


class _Examination:
    """One pass over all memories."""

    def __init__(self, engine: Engine, scope: Scope, request: HealthRequest) -> None:
        self._engine, self._request, self._now = engine, request, engine.clock.now()
        self._visible = scope.visibility.at(*request.levels) if request.levels else scope.visibility
        self._seen = scope.visibility
        remedies = Remedies(scope)
        self._judge = Judge(engine, self._seen, remedies, self._now, engine.settings.life)
        self._pairs = Pairs(engine, self._seen, remedies, self._now)
        self.kept: dict[Ailment, list[HealthFinding]] = defaultdict(list)
        self._counts: Counter[Ailment] = Counter()
        self._ailing: dict[str, Ailment] = {}
        self._live = 0
        self.examined = 0
        with engine.store.read() as work:
            self._total = 2 * work.partitions.count(self._visible.partitions).get("memories", 0)

    def run(self) -> None:
        for partition in self._visible.partitions:
            for page in sweep(self._engine, Reach(partition, self._seen), self._plan, None):
                self.examined += page.examined
                self._take(page.found)
                self._report_progress(self.examined)
        if Ailment.ORPHANED in self._request.wanted:
            with self._engine.store.read() as work:
                dead = work.jobs.list(self._visible.partitions, (JobState.DEAD,), MAX_JOBS)
            self._take(self._judge.jobs(dead))
        if Ailment.CONTRADICTORY in self._request.wanted:
            self._take(self._pairs.contradictions())
        if Ailment.DUPLICATE in self._request.wanted:
            self._take(
                self._pairs.duplicates(lambda share: self._report_progress(round(self._total * (1 + share) / 2)))
            )
        self._report_progress(self._total)

    def score(self) -> HealthScore:
        counts = {kind.value: self._counts[kind] for kind in WEIGHTS if self._counts[kind]}
        return health_score(self._now, self._live, self._ailing, counts)

    def notes(self) -> list[str]:
        found: list[str] = []
        if self._engine.embedder is None:
            found.append("without an embedder, only duplicates with similar wording are found")
        if self._pairs.is_capped:
            found.append(f"only {MAX_VECTORS:,} memories were compared by vector")
        found += [
            f"{self._counts[kind] - MAX_KEPT:,} more {kind.value} were counted but not listed or fixed; run it again"
            for kind in WEIGHTS
            if self._counts[kind] > MAX_KEPT
        ]
        return found

    def _plan(self, work: UnitOfWork, memories: Sequence[Memory]) -> Sequence[HealthFinding]:
        self._live += sum(is_live(memory, self._now) for memory in memories)
        if memories:
            self._pairs.page(work, memories[0].partition, memories)
        return list(self._judge.page(work, memories))

    def _take(self, findings: Iterable[HealthFinding]) -> None:
        for one in findings:
            if one.ailment not in self._request.wanted:
                continue
            self._counts[one.ailment] += 1
            if len(self.kept[one.ailment]) < MAX_KEPT:
                self.kept[one.ailment].append(one)
            ids = one.ids[1:] if one.ailment is Ailment.DUPLICATE else one.ids
            for id_ in ids:
                known = self._ailing.get(id_)
                if known is None or WEIGHTS[known] < WEIGHTS[one.ailment]:
                    self._ailing[id_] = one.ailment

    def _report_progress(self, done: int) -> None:
        if self._request.progress is not None:
            self._request.progress(min(done, self._total), self._total)


def _kept_scores(engine: Engine, scope: Scope) -> list[HealthScore]:
    """The newest `MAX_SCORES` scores of the scope's own place, oldest first."""
    own = Visibility((scope.partition(scope.default_level),), scope.agent)
    with engine.store.read() as work:
        entries = [entry for entry in work.history.of(own, HEALTH_ITEM) if entry.action is Action.ASSESSED]
    return [_score_of(entry) for entry in entries[-MAX_SCORES:]]


def _keep(engine: Engine, scope: Scope, score: HealthScore, before: Sequence[HealthScore], *, actor: str) -> None:
    """Keep a score unless the last one is equal and less than a day old, or there never were memories."""
    last = before[-1] if before else None
    if last is None and not score.memories:
        return
    is_same = last is not None and (last.score, last.memories, last.counts) == (
        score.score,
        score.memories,
        score.counts,
    )
    if is_same and last is not None and score.at - last.at < _A_DAY:
        return
    after = {"score": score.score, "memories": score.memories, "counts": dict(score.counts)}
    place = (scope.partition(scope.default_level), HEALTH_ITEM)
    entry = new_entry(score.at, place, Action.ASSESSED, actor, sides=({}, after))
    with engine.store.write() as work:
        work.history.add([entry])


def _score_of(entry: HistoryEntry) -> HealthScore:
    """The score of an entry; empty if scrubbed."""
    score, memories, counts = (entry.after.get(name) for name in ("score", "memories", "counts"))
    told = dict(cast("Mapping[str, int]", counts)) if isinstance(counts, dict) else {}
    return HealthScore(
        entry.at,
        float(score) if isinstance(score, int | float) else 0.0,
        memories if isinstance(memories, int) else 0,
        told,
    )
