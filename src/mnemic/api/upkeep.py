"""The verbs that look after a store: what comes in and goes out, what upkeep does, and how everything is."""

from __future__ import annotations

import builtins
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar, cast

from mnemic.api.arguments import check_arguments, check_number
from mnemic.api.doors import Acting, ignore_backup_progress
from mnemic.api.doors import Progress as BackupProgress
from mnemic.build import archive
from mnemic.engine.backup import Order, Wish, backup, restore
from mnemic.engine.browse import reject, review, trust
from mnemic.engine.consolidate import ConsolidateReport, consolidate
from mnemic.engine.conversation import EndReport, end
from mnemic.engine.curate import CurateReport, curate
from mnemic.engine.doctor import doctor, glance
from mnemic.engine.documents import ingest
from mnemic.engine.engine import Engine
from mnemic.engine.erase import erase, receipts
from mnemic.engine.export import OWN_LEVELS, export
from mnemic.engine.extract import ExtractReport, extract
from mnemic.engine.handlers import HANDLERS
from mnemic.engine.health import HealthReport, HealthRequest, health
from mnemic.engine.health import Progress as HealthProgress
from mnemic.engine.import_files import ImportReport
from mnemic.engine.import_files import Progress as ImportProgress
from mnemic.engine.imports import ImportRequest, import_content
from mnemic.engine.indexing import adopt_spaces
from mnemic.engine.ingest_plan import MAX_SOURCE_CHARS, IngestRequest, chunk_config
from mnemic.engine.ingest_plan import Progress as IngestProgress
from mnemic.engine.inputs import check_choice, check_id, check_line, check_text
from mnemic.engine.jobs import POLL_S, Told, Worker, WorkReport, work
from mnemic.engine.reembed import Progress as ReembedProgress
from mnemic.engine.reembed import ReembedReport, reembed
from mnemic.engine.reflect import ReflectReport, reflect
from mnemic.engine.research import MAX_PARALLEL, ResearchRequest, ignore_progress, research
from mnemic.engine.research import Told as ResearchProgress
from mnemic.engine.summaries import SummariseReport, summarise
from mnemic.engine.upkeep import DecayReport, EvictReport, decay, evict
from mnemic.errors import InvalidInputError
from mnemic.model.backup import BackupReport, Contents, RestoreReport
from mnemic.model.document import Chunking, IngestReport, ResearchLimits, ResearchReport, Secrets
from mnemic.model.health import Ailment, Diagnosis
from mnemic.model.item import Memory, Review
from mnemic.model.records import Receipt
from mnemic.model.scope import Level, Scope
from mnemic.text.blocks import Language
from mnemic.text.chunking import ChunkConfig
from mnemic.text.research import LEAST_ROOM

Content = str | PathLike[str] | bytes
"""The path of a file or folder, or the bytes of a file."""
REVIEW_LIMIT = 50
HEALTH_LISTED = 100
MAX_QUESTION_CHARS = 4000
"""What is longer is a document itself; each piece is read with the question before it."""

LANGUAGES = ("en", "zh")
_Choice = TypeVar("_Choice")


@check_arguments()
class UpkeepVerbs(Acting):
    """What looks after a store; a part of `Mnemic`."""

    _engine: Engine
    _is_adopted: bool

    def ingest(
        self,
        scope: Scope,
        content: Content,
        *,
        level: Level | str | None = None,
        source: str | None = None,
        name: str | None = None,
        is_private: bool = False,
        is_dry_run: bool = False,
        is_pruning: bool = False,
        is_again: bool = False,
        chunking: Chunking | str = Chunking.STRUCTURE,
        config: ChunkConfig | None = None,
        secrets: Secrets | str = Secrets.REFUSE,
        progress: IngestProgress | None = None,
    ) -> IngestReport:
        """Take in a file, a folder with all that is in it, or bytes: read, cut into passages, and stored to be found.

        A file that is known and unchanged is left alone; one that has changed replaces what was kept of it at once. A
        file that cannot be read fails with a reason, and the others go on. If it is interrupted, the same call goes on
        from there. The report tells what became of each file.

        Args:
            content: The path of a file or folder, or the bytes of a file.
            level: What the documents belong to. Default: the user, else the agent, else the session of the scope.
            source: What the path is called in the store. Default: its absolute path.
            name: Of bytes; its ending tells their type.
            is_private: For the scope's agent alone.
            is_dry_run: Say what would be read, and change nothing.
            is_pruning: Remove the documents of files that are gone from the folder.
            is_again: Read unchanged files too.
            chunking: How passages are cut: "structure", "sentences" or "paragraphs".
            config: Sizes of passages. Default: as configured.
            secrets: A file that holds a secret fails ("refuse"), or is kept without it ("redact").
            progress: Called with files done, files in all, and the source at hand.

        Raises:
            InvalidInputError: There is nothing at the path.
        """
        chunks = config or chunk_config(self._engine.settings)
        if not isinstance(cast("object", chunks), ChunkConfig):
            raise InvalidInputError(f"config must be a ChunkConfig, not {type(config).__name__}")
        request = IngestRequest(
            level=None if level is None else check_choice(Level, level, "level"),
            source=source,
            name=name,
            chunking=check_choice(Chunking, chunking, "chunking"),
            config=chunks,
            secrets=check_choice(Secrets, secrets, "secrets"),
            progress=progress,
            is_private=_bool(is_private, "is_private"),
            is_dry_run=_bool(is_dry_run, "is_dry_run"),
            is_pruning=_bool(is_pruning, "is_pruning"),
            is_again=_bool(is_again, "is_again"),
        )
        data = content if isinstance(content, bytes) else _path(content)
        return ingest(self._engine, scope, data, request, actor=self._actor)

    def research(
        self,
        scope: Scope,
        document: str,
        question: str,
        *,
        max_calls: int | None = None,
        max_tokens: int | None = None,
        deadline_s: float | None = None,
        parallel: int | None = None,
        piece_tokens: int | None = None,
        language: Language | None = None,
        is_dry_run: bool = False,
        progress: ResearchProgress | None = None,
    ) -> ResearchReport:
        """Answer a question from the whole of one ingested document, however long, with the configured language model.

        It is cut into pieces, each is read for what bears on the question, and the notes are combined into an answer
        that cites quotes by page and offsets. If the limits do not allow all of it, what recall finds is read first,
        and the answer says what was not. What was read is kept: the same question goes on where it stopped. Without a
        model the best passages are given, and said to be no more.

        Args:
            document: Its id or source.
            question: At most 4,000 characters.
            max_calls: Most calls of the model. Default: 256.
            max_tokens: Most tokens of prompts and replies together. Default: 4,000,000.
            deadline_s: Most seconds. Default: 1800.
            parallel: Calls under way at a time. Default: four of a server, one of a model in this process.
            piece_tokens: Most tokens of one piece. Default: as the model allows, at most 16,000.
            language: Of the prompts, "en" or "zh". Default: that of the question.
            is_dry_run: Say what it would take, and ask nothing.
            progress: Called with how much of a step is done, how much there is, and the step.

        Raises:
            NotFoundError: The document is not in the scope.
            ConflictError: The document changes meanwhile.
            BackendError: The model failed for good.
        """
        if language is not None and language not in LANGUAGES:
            raise InvalidInputError(f"language must be one of {', '.join(LANGUAGES)}, not {language!r}")
        usual = ResearchLimits()
        limits = ResearchLimits(
            max_calls=usual.max_calls if max_calls is None else check_number(max_calls, "max_calls"),
            max_tokens=usual.max_tokens if max_tokens is None else check_number(max_tokens, "max_tokens"),
            deadline_s=usual.deadline_s if deadline_s is None else _seconds(deadline_s),
            parallel=None if parallel is None else check_number(parallel, "parallel", MAX_PARALLEL),
            piece_tokens=None if piece_tokens is None else check_number(piece_tokens, "piece_tokens", least=LEAST_ROOM),
        )
        text = check_text(question, "question", self._engine.settings)
        if len(text) > MAX_QUESTION_CHARS:
            raise InvalidInputError(f"a question has at most {MAX_QUESTION_CHARS:,} characters, not {len(text):,}")
        request = ResearchRequest(
            question=text,
            limits=limits,
            language=language,
            is_dry_run=_bool(is_dry_run, "is_dry_run"),
            progress=progress or ignore_progress,
        )
        return research(self._engine, scope, check_line(document, "document", limit=MAX_SOURCE_CHARS), request)

    def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> builtins.list[Review]:
        """The memories that are never or only doubtfully recalled until somebody judges them, each with the reason.

        Those in quarantine (they give orders to the model and the user did not say them, or their sources do not carry
        them), those in dispute, and those with flags (what they were made of was erased, corrected, or is believed no
        more); the newest first.

        Args:
            limit: Most memories, 1 to 1000.
            after: The id that the page before ended with.
        """
        return review(self._engine, scope, limit=limit, after=None if after is None else check_id(after, "after"))

    def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Let a memory that waits for judgement be recalled, without flags. What recall takes out of texts it still
        takes out.

        Args:
            id: The memory.
            reason: Why; kept in the history.

        Raises:
            ConflictError: It does not wait.
        """
        return trust(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Archive a memory that waits for judgement; it is deleted in time, and until then `undo` takes it back.

        Args:
            id: The memory.
            reason: Why; kept in the history.

        Raises:
            ConflictError: It does not wait.
        """
        return reject(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport:
        """Make summaries of what has fallen out of the window of the scope's session, if it is at least a batch.

        The worker does it by itself.

        Args:
            is_flush: Of everything that is in no summary yet.
            is_dry_run: Say what would be done, and change nothing.

        Raises:
            BackendError: The language model failed; what was summarised before stays.
        """
        return summarise(self._engine, scope, actor=self._actor, is_flush=is_flush, is_dry_run=is_dry_run)

    def end(self, scope: Scope) -> EndReport:
        """End the scope's session: its session-level memories expire, and a job summarises what was said in it.

        Ending it again changes nothing, and talking on in it is allowed.
        """
        return end(self._engine, scope, actor=self._actor)

    def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport:
        """Make a reflection of the user's newest summaries, and fill the profile with lasting facts.

        The worker does it after every ten summaries of a user, counted over all sessions. Without a language model the
        reflection joins the user's lasting facts. The report says why if none is made.

        Args:
            is_dry_run: Say what would be done, and change nothing.

        Raises:
            BackendError: The language model failed.
        """
        return reflect(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport:
        """Keep what will be worth knowing in six months of the days that were not read yet, as gems.

        The worker does it every night, up to yesterday.

        Args:
            day: The last day to read, such as 2026-05-01, in the time zone of the schedules; today may be named.
            is_dry_run: Change nothing; the language model is asked too.

        Raises:
            BackendError: The language model failed; what was curated before stays.
        """
        return curate(self._engine, scope, actor=self._actor, day=_date(day), is_dry_run=is_dry_run)

    def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport:
        """Make one general preference of each thing that was chosen again and again: three times, over two months.

        The worker does it every week, of choices that are at least a month old. The single memories are superseded by
        it, and its context tells them; `undo` of the preference brings them back. A second run changes nothing.

        Args:
            is_dry_run: Change nothing; the language model, which words the preferences, is not asked.
        """
        return consolidate(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport:
        """Find facts in what the user said in the scope's session since the last time, at most three a message.

        The worker does it after every capture. The report says what became of each fact, and why.

        Args:
            is_dry_run: Write nothing; the language model is asked too.

        Raises:
            BackendError: The language model failed; what was found before stays.
        """
        return extract(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """Note what the importance of memories has faded to since their last access; `importance` stays as stored.

        The worker does it every night. A second run at the same moment changes nothing.

        Args:
            levels: Of those that the scope names; what the whole org shares only if "org" is among them.
            is_dry_run: Say what would be done, and change nothing.
        """
        return decay(self._engine, scope, _choices(Level, levels, "levels"), is_dry_run=is_dry_run)

    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """Archive what has faded and is old, or has expired; delete what has been archived for long.

        The worker does it every night. Pinned memories and reflections stay. `undo` brings back what was archived.

        Args:
            levels: Of those that the scope names; what the whole org shares only if "org" is among them.
            is_dry_run: Say what would be done, and change nothing.
        """
        chosen = _choices(Level, levels, "levels")
        return evict(self._engine, scope, chosen, actor=self._actor, is_dry_run=is_dry_run)

    def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt:
        """Erase for good all that belongs to the scope's session, user, agent or org, and what was derived from it.

        Messages, memories, documents, vectors, profile, jobs and history go, indexes too. The receipt, which is kept,
        holds counts and keyed hashes; its `notes` say what the technology cannot make sure of.

        Args:
            level: Whose. Default: the user, else the agent, else the session of the scope; the org only if named.
            is_dry_run: Change nothing; the receipt is the plan.
        """
        chosen = scope.default_level if level is None else check_choice(Level, level, "level")
        return erase(self._engine, scope, chosen, is_dry_run=is_dry_run)

    def receipts(self, scope: Scope) -> Sequence[Receipt]:
        """The receipts of all erasures in the scope's org, oldest first; they hold no names and no text."""
        return receipts(self._engine, scope)

    def export(self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS) -> Iterator[str]:
        """Everything the scope owns, as lines of JSON without line feeds; `import_` reads them back without loss.

        Args:
            levels: Of those that the scope names; what the whole org shares only if "org" is among them.
        """
        return export(self._engine, scope, _choices(Level, levels, "levels"))

    def import_(
        self,
        scope: Scope,
        text: str | bytes,
        *,
        format: str | None = None,
        name: str = "",
        is_dry_run: bool = False,
        include_tools: bool = False,
        progress: ImportProgress | None = None,
    ) -> ImportReport:
        """Take in an export of Mnemic, or chats or memories of another program; repeating it changes nothing.

        Broken parts are reported, not raised.

        Args:
            text: The whole content of the file: a text, UTF-8, or mem0's history database.
            format: Of the content. Default: found out.
            name: Of the file; it says what `.md` is, and where memories came from.
            is_dry_run: Say what would happen, and change nothing.
            include_tools: Keep the results of tool calls too.
            progress: Called with records done, and records in all or None, after each batch.

        Raises:
            InvalidInputError: The format is not known.
        """
        request = ImportRequest(
            format=format, name=name, is_dry_run=is_dry_run, include_tools=include_tools, progress=progress
        )
        return import_content(self._engine, scope, text, request, actor=self._actor)

    def health(
        self,
        scope: Scope,
        *,
        only: Iterable[Ailment | str] = (),
        fix: Iterable[Ailment | str] = (),
        levels: Iterable[Level | str] = OWN_LEVELS,
        limit: int = HEALTH_LISTED,
        is_dry_run: bool = False,
        progress: HealthProgress | None = None,
    ) -> HealthReport:
        """How well what the scope remembers is: a score from 0 to 100, what is wrong, why, and what ends it.

        Nothing is ever deleted by it: what `fix` ends, `undo` takes back. A score of everything is kept, to be seen in
        `scores` the next time. How well the installation is, says `doctor`.

        Args:
            only: Look for these kinds of findings: "contradictory", "unsupported", "orphaned", "duplicate", "junk",
                "stale"; all unless named.
            fix: End what is safe to end of these kinds.
            levels: Of those that the scope names; what the whole org shares only if "org" is among them.
            limit: Most findings listed of a kind.
            is_dry_run: Say what `fix` would end; keep and change nothing.
            progress: Called with how much is done and how much there is.
        """
        if isinstance(limit, bool) or not isinstance(cast("object", limit), int):
            raise InvalidInputError(f"limit must be a whole number, not {limit!r}")
        request = HealthRequest(
            levels=_choices(Level, levels, "levels"),
            ailments=tuple(dict.fromkeys(_choices(Ailment, only, "only"))),
            fix=tuple(dict.fromkeys(_choices(Ailment, fix, "fix"))),
            limit=limit,
            is_dry_run=is_dry_run,
            progress=progress,
        )
        return health(self._engine, scope, request, actor=self._actor)

    def doctor(self, *, is_quick: bool = False) -> Diagnosis:
        """How the installation is: the thorough look at every part of the whole store, what works, what is degraded,
        and what to do. Never raises for a broken part.

        Args:
            is_quick: Only whether the store answers; for probes.
        """
        return glance(self._engine) if is_quick else doctor(self._engine)

    def reembed(
        self, *, is_dry_run: bool = False, is_pruning: bool = False, progress: ReembedProgress | None = None
    ) -> ReembedReport:
        """Give every item of the whole store its vectors of the configured embedders, beside live traffic.

        Until then items are found by the vectors of the embedder before (`embedder.previous`; minilm as it comes need
        not be named), which stay. If it is interrupted, it goes on when called again.

        Args:
            is_dry_run: Say how much there is to do, and about how long it takes; a few texts are embedded to know.
            is_pruning: Remove the vectors of other embedders when all is filled.
            progress: Called with how many vectors there are and should be.

        Raises:
            ConfigError: No embedder is configured.
            BackendError: An embedder or the store failed.
        """
        return reembed(self._engine, is_dry_run=is_dry_run, is_pruning=is_pruning, progress=progress)

    def backup(
        self,
        path: str | Path,
        *,
        contents: Contents | str = Contents.WHOLE,
        is_replacing: bool = False,
        is_sealed: bool | None = None,
        progress: BackupProgress | None = None,
    ) -> BackupReport:
        """Write every row of the whole store, of all orgs, to one file, as all were at one moment; the store is used
        meanwhile. SQLite and PostgreSQL both take it back. The file is checked when it is written, readable by its
        owner alone, and whole or not there.

        Args:
            path: Of the file.
            contents: "whole": every row; "receipts": those of erasures alone.
            is_replacing: A backup that is there already gives way to it, when it is complete.
            is_sealed: Encrypt the rows of each org with a key of its own, which erasing the org destroys. Default: if a
                keyring is configured.
            progress: Called with what is being done, how much of it is done, and how much there is.

        Raises:
            ConflictError: There is a file that is not to be replaced.
            InvalidInputError: No file can be there.
            UnavailableError: The disk or the store failed.
            UnsupportedError: The store is in memory.
            ConfigError: It is to be sealed and there is no keyring, or none that can be used.
        """
        order = Order(check_choice(Contents, contents, "contents"), is_replacing, is_sealed)
        return backup(self._engine, archive(self._engine.keyring), path, order, progress or ignore_backup_progress)

    def restore(
        self,
        path: str | Path,
        *,
        receipts: str | Path | None = None,
        is_replacing: bool = False,
        is_dry_run: bool = False,
        progress: BackupProgress | None = None,
    ) -> RestoreReport:
        """Put the backup at `path` in the place of what the whole store holds, in one transaction; other processes that
        have it open go on with the new rows.

        Erasures that only this store knows of are made again. Keys and audit log stay if the store has any. Orgs of a
        sealed backup that were erased are `lost`, and the others restored.

        Args:
            path: Of the backup.
            receipts: A further backup, or one of receipts alone, whose erasures are made again too.
            is_replacing: What the store holds gives way to it.
            is_dry_run: Check the backup, and change nothing.
            progress: Called with what is being done, how much of it is done, and how much there is.

        Raises:
            ConflictError: The store holds something that is not to be replaced.
            InvalidInputError: The file is damaged or no backup.
            ConfigError: It is of a newer Mnemic or sealed with another keyring.
            BackendError: The disk or the store failed; all is as it was.
        """
        wish = Wish(receipts, is_replacing, is_dry_run)
        return restore(self._engine, archive(self._engine.keyring), path, wish, progress or ignore_backup_progress)

    def work(self, *, until_idle: bool = True) -> WorkReport:
        """Run all due jobs, those of the schedules too. Returns how many succeeded, were retried and gave up.

        The first call also looks for items that lack vectors because an embedder was added or changed.

        Args:
            until_idle: False: run one job.
        """
        self._adopt()
        return work(self._engine, HANDLERS, worker=f"{self._opened_by}-{uuid.uuid4()}", until_idle=until_idle)

    def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker:
        """A worker for a program that stays: `start()` runs jobs in a thread until `stop()`; `join()` waits for it.

        Stop it before this Mnemic is closed.

        Args:
            poll_s: Look for work every so many seconds; it looks earlier when something is due.
            on_run: Called with every job, on its thread.
        """
        if not poll_s > 0:
            raise InvalidInputError(f"poll_s is a number of seconds above 0, not {poll_s!r}")
        self._adopt()
        name = f"{self._opened_by}-{uuid.uuid4()}"
        return Worker(self._engine, HANDLERS, name=name, poll_s=poll_s, on_run=on_run)

    def _adopt(self) -> None:
        """Look once for items that lack vectors because an embedder was added or changed."""
        if not self._is_adopted:
            adopt_spaces(self._engine)
            self._is_adopted = True


def _choices(kind: Callable[[Any], _Choice], given: Iterable[_Choice | str], name: str) -> tuple[_Choice, ...]:
    return tuple(check_choice(cast("Any", kind), each, name) for each in given)


def _date(day: date | str | None) -> date | None:
    if day is None or (isinstance(day, date) and not isinstance(day, datetime)):
        return day
    try:
        return date.fromisoformat(str(day))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"day must be a date such as 2026-05-01, not {day!r}") from error


def _path(content: object) -> str:
    if not isinstance(content, str | PathLike):
        raise InvalidInputError(f"what is ingested is a path or bytes, not {type(content).__name__}")
    path = fspath(cast("str | PathLike[str]", content))
    if not isinstance(cast("object", path), str):
        raise InvalidInputError("a path is a text; decode it with os.fsdecode")
    return path


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0 or not math.isfinite(value):
        raise InvalidInputError(f"deadline_s must be a number of seconds above 0, not {value!r}")
    return float(value)


def _bool(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} must be true or false, not {value!r}")
    return value
