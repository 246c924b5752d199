"""The verbs that maintain a store: ingest, import and export, background work, erasure, backups and checks."""

from __future__ import annotations

import builtins
import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeVar, cast

from mnemic.api.arguments import check_arguments, check_number
from mnemic.api.background import OwnWorker
from mnemic.api.doors import Acting, ignore_backup_progress
from mnemic.api.doors import Progress as BackupProgress
from mnemic.build import archive
from mnemic.engine.backup import Order, Wish, backup, restore
from mnemic.engine.browse import reject, review, trust
from mnemic.engine.consolidate import ConsolidateReport, consolidate
from mnemic.engine.conversation import EndReport, end
from mnemic.engine.curate import CurateReport, curate
from mnemic.engine.doctor import doctor, glance, language_finding
from mnemic.engine.documents import ingest
from mnemic.engine.engine import Engine
from mnemic.engine.erase import erase, receipts
from mnemic.engine.export import EXPORT_FORMATS, OWN_LEVELS
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
from mnemic.engine.inputs import check_choice, check_id, check_line, check_metadata, check_text
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
REVIEW_LIMIT = 50  # as many as a person judges at one sitting
HEALTH_LISTED = 100  # findings a caller sees unless it asks for more; all are counted
MAX_QUESTION_CHARS = 4000
"""Every prompt repeats the question, so a longer one would crowd out the document."""

LANGUAGES = ("en", "zh")
_Choice = TypeVar("_Choice")


@check_arguments()
class UpkeepVerbs(Acting):
    """The verbs that maintain a store. A part of `Mnemic`."""

    _engine: Engine
    _is_adopted: bool
    _own_worker: OwnWorker | None

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
        metadata: Mapping[str, object] | None = None,
        include: Sequence[str] = (),
        progress: IngestProgress | None = None,
    ) -> IngestReport:
        """Read a file, a folder with its subfolders, or bytes, and store the text as passages for recall.

        Unchanged files are skipped. A changed file replaces its stored version in one step. Files that cannot be read
        are reported with the reason. Call again to resume after an interruption.

        Args:
            content: The path of a file or folder, or the bytes of a file.
            level: The level of the documents. Default: the first of user, agent and session that the scope sets.
            source: The name to store instead of the path. Default: the absolute path.
            name: The file name for bytes. The extension determines how the bytes are read.
            is_private: Make the documents visible only to the scope's agent.
            is_dry_run: Report which files would be read, without changing anything.
            is_pruning: Remove documents whose files are no longer in the folder.
            is_again: Re-read unchanged files.
            chunking: How to split text: "structure", "sentences" or "paragraphs". Default: structure.
            config: The passage sizes. Default: from the configuration.
            secrets: Use "refuse" to reject files that contain secrets, or "redact" to remove them. Default: refuse.
            metadata: Your own data for filters, such as {"team": "core"}. Default: keep each document's metadata.
            include: Names of normally skipped folders to read, such as "build".
            progress: Progress callback: `(files done, total files, current source)`.

        Raises:
            InvalidInputError: No file or folder exists at the path.
        """
        request = IngestRequest(
            level=None if level is None else check_choice(Level, level, "level"),
            source=source,
            name=name,
            chunking=check_choice(Chunking, chunking, "chunking"),
            config=config or chunk_config(self._engine.settings),
            secrets=check_choice(Secrets, secrets, "secrets"),
            metadata=None if metadata is None else check_metadata(metadata, self._engine.settings),
            include=frozenset(include),
            progress=progress,
            is_private=is_private,
            is_dry_run=is_dry_run,
            is_pruning=is_pruning,
            is_again=is_again,
        )
        report = ingest(self._engine, scope, _path(content), request, actor=self._actor)
        return _with_language(self._engine, report)

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
        """Answer a question from a whole document of any length, with the configured language model.

        The model reads the document piece by piece and combines its notes into an answer with quotes, pages and
        offsets. If the limits are too low for the whole document, the passages that recall finds are read first, and
        the answer states which parts were not read. Finished pieces are kept, so repeating the question resumes the
        work. Without a model, the report contains only the best passages.

        Args:
            document: The id or source of the document.
            question: At most 4,000 characters.
            max_calls: Maximum number of model calls. Default: 256.
            max_tokens: Maximum total number of tokens in prompts and replies. Default: 4,000,000.
            deadline_s: Time limit in seconds. Default: 1800.
            parallel: Number of parallel calls. Default: 4 for a model on a server, 1 for a model in this process.
            piece_tokens: Maximum number of tokens per piece. Default: the model's limit, at most 16,000.
            language: The language of the prompts, "en" or "zh". Default: the question's language.
            is_dry_run: Estimate the cost without calling the model.
            progress: Progress callback: `(done, total, step)`.

        Raises:
            NotFoundError: The document is not in the scope.
            ConflictError: The document changed while it was read.
            BackendError: The model failed.
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
            raise InvalidInputError(f"a question can have at most {MAX_QUESTION_CHARS:,} characters, not {len(text):,}")
        request = ResearchRequest(
            question=text, limits=limits, language=language, is_dry_run=is_dry_run, progress=progress or ignore_progress
        )
        return research(self._engine, scope, check_line(document, "document", limit=MAX_SOURCE_CHARS), request)

    def review(self, scope: Scope, *, limit: int = REVIEW_LIMIT, after: str | None = None) -> builtins.list[Review]:
        """List the memories that need review, newest first, with the reason for each.

        Quarantined memories contain instructions that the user did not write, or claims that their sources do not
        support. Flagged memories have a source that was erased or corrected, or is no longer trusted. Disputed memories
        contradict other memories. Until you review a memory, it ranks low or is not recalled at all.

        Args:
            limit: Memories per page, 1 to 1000. Default: 50.
            after: The last id on the previous page.
        """
        return review(self._engine, scope, limit=limit, after=None if after is None else check_id(after, "after"))

    def trust(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Accept a memory that needs review: clear its flags and make it available for recall. Recall still removes
        unsafe text from the memory.

        Args:
            id: The memory's id.
            reason: The reason to record in the history.

        Raises:
            ConflictError: The memory does not need review.
        """
        return trust(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def reject(self, scope: Scope, id: str, *, reason: str = "") -> Memory:
        """Archive a memory that needs review. `undo` restores the memory until it is permanently deleted.

        Args:
            id: The memory's id.
            reason: The reason to record in the history.

        Raises:
            ConflictError: The memory does not need review.
        """
        return reject(self._engine, scope, check_id(id), actor=self._actor, reason=reason)

    def summarise(self, scope: Scope, *, is_flush: bool = False, is_dry_run: bool = False) -> SummariseReport:
        """Summarise the messages that have left the session's window, if there are enough for a batch.

        The worker does this automatically. Summaries that are raw text because a model failed earlier are rewritten.

        Args:
            is_flush: Summarise all remaining messages, without waiting for a full batch.
            is_dry_run: Report what would happen without changing anything.

        Raises:
            BackendError: The language model failed. Finished summaries are kept.
        """
        return summarise(self._engine, scope, actor=self._actor, is_flush=is_flush, is_dry_run=is_dry_run)

    summarize = summarise

    def end(self, scope: Scope) -> EndReport:
        """End the scope's session: its session memories expire, and a job summarises its messages.

        Ending a session twice changes nothing. The conversation can continue afterwards.
        """
        return end(self._engine, scope, actor=self._actor)

    def reflect(self, scope: Scope, *, is_dry_run: bool = False) -> ReflectReport:
        """Write a reflection on the user's newest summaries and add long-term facts to the profile.

        The worker does this after every ten summaries of a user, counted across all sessions. Without a language model,
        the reflection contains the user's long-term facts. If no reflection is written, the report gives the reason.

        Args:
            is_dry_run: Report what would happen without changing anything.

        Raises:
            BackendError: The language model failed.
        """
        return reflect(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def curate(self, scope: Scope, *, day: date | str | None = None, is_dry_run: bool = False) -> CurateReport:
        """Review uncurated days, and store gems: information that will still matter in six months.

        The worker does this every night, up to the previous day.

        Args:
            day: The last day to review, such as 2026-05-01, up to today in the schedules' time zone. Default:
                yesterday.
            is_dry_run: Change nothing, but still call the language model.

        Raises:
            BackendError: The language model failed. Finished days are kept.
        """
        return curate(self._engine, scope, actor=self._actor, day=_date(day), is_dry_run=is_dry_run)

    def consolidate(self, scope: Scope, *, is_dry_run: bool = False) -> ConsolidateReport:
        """Merge choices made at least three times over two months into general preferences.

        The worker does this every week, for choices at least a month old. Each preference supersedes the choices and
        lists them in its context. Call `undo` on a preference to restore the choices. A second run changes nothing.

        Args:
            is_dry_run: Change nothing, and do not call the model to word the preferences.

        Raises:
            BackendError: The language model is unavailable. Preferences already written are kept.
        """
        return consolidate(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def extract(self, scope: Scope, *, is_dry_run: bool = False) -> ExtractReport:
        """Extract facts from a session's unprocessed messages, at most three per message.

        The worker does this after every capture. The report gives the outcome for each fact, with the reason.

        Args:
            is_dry_run: Change nothing, but still call the language model.

        Raises:
            BackendError: The language model failed. Facts already found are kept.
        """
        return extract(self._engine, scope, actor=self._actor, is_dry_run=is_dry_run)

    def decay(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> DecayReport:
        """Compute how far the importance of memories has faded since their last access. The stored `importance` does
        not change.

        The worker does this every night. A second run immediately afterwards changes nothing.

        Args:
            levels: Include only these levels of the scope. Default: all except org.
            is_dry_run: Report what would happen without changing anything.
        """
        return decay(self._engine, scope, _choices(Level, levels, "levels"), is_dry_run=is_dry_run)

    def evict(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, is_dry_run: bool = False
    ) -> EvictReport:
        """Archive memories that have expired or are old and faded, and delete memories that were archived long ago.

        The worker does this every night. Pinned memories and reflections are kept. `undo` restores an archived memory.

        Args:
            levels: Include only these levels of the scope. Default: all except org.
            is_dry_run: Report what would happen without changing anything.
        """
        chosen = _choices(Level, levels, "levels")
        return evict(self._engine, scope, chosen, actor=self._actor, is_dry_run=is_dry_run)

    def erase(self, scope: Scope, *, level: Level | str | None = None, is_dry_run: bool = False) -> Receipt:
        """Permanently erase all data of the scope's session, user, agent or org, and all derived data.

        Removes messages, memories, documents, vectors, profile, jobs, history and index entries. A receipt with counts
        and keyed hashes is kept. The receipt's `notes` list what software cannot guarantee.

        Args:
            level: What to erase. Default: the first of user, agent and session that the scope sets. An org is erased
                only if you pass "org".
            is_dry_run: Return the plan as a receipt, without changing anything.
        """
        chosen = scope.default_level if level is None else check_choice(Level, level, "level")
        return erase(self._engine, scope, chosen, is_dry_run=is_dry_run)

    def receipts(self, scope: Scope) -> Sequence[Receipt]:
        """Return the receipts of all erasures in the scope's org, oldest first. Receipts contain no names or text."""
        return receipts(self._engine, scope)

    def export(
        self, scope: Scope, *, levels: Iterable[Level | str] = OWN_LEVELS, format: str = EXPORT_FORMATS[0]
    ) -> Iterator[str]:
        """Yield everything the scope owns as JSON Lines, which `import_` can read back without loss.

        Args:
            levels: Include only these levels of the scope. Default: all except org.
            format: "mnemic-export", or "mcp-memory" for the MCP memory server, with only active memories and the graph.
        """
        from mnemic.engine.export_graph import export_as

        return export_as(format, self._engine, scope, _choices(Level, levels, "levels"))

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
        """Import a Mnemic export, or chats or memories from another program. Importing twice changes nothing.

        Invalid records are reported in the result and do not raise an error.

        Args:
            text: The content: text, UTF-8 bytes, mem0's history database, or a zip from ChatGPT or Claude.ai.
            format: The format of the content. Default: detected.
            name: The file's name, which is stored as the source and determines how `.md` files are read.
            is_dry_run: Report what would happen without changing anything.
            include_tools: Also import the results of tool calls.
            progress: Progress callback after each batch: `(records done, total records or None)`.

        Raises:
            InvalidInputError: The format is unknown.
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
        """Check the quality of the scope's memories. Returns a score from 0 to 100 and findings with reasons and fixes.

        Nothing is deleted, and `undo` reverts each fix. Scores are stored, and later runs return them in `scores`. To
        check the installation, use `doctor`.

        Args:
            only: Check only for these kinds: "contradictory", "unsupported", "orphaned", "duplicate", "junk", "stale".
                Default: all.
            fix: Fix findings of these kinds where that is safe.
            levels: Include only these levels of the scope. Default: all except org.
            limit: Maximum number of findings per kind. Default: 100.
            is_dry_run: Report what `fix` would change, and store nothing.
            progress: Progress callback: `(done, total)`.
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
        """Check every part of the installation. Reports what works, what is degraded, and how to fix each problem.
        Broken parts are reported without raising an error.

        Args:
            is_quick: Check only whether the store responds, for health probes.
        """
        return glance(self._engine) if is_quick else doctor(self._engine)

    def reembed(
        self, *, is_dry_run: bool = False, is_pruning: bool = False, progress: ReembedProgress | None = None
    ) -> ReembedReport:
        """Re-embed the whole store after changing the embedder. The store stays available.

        During this time, search uses the vectors of the embedder in `embedder.previous`. This setting is not needed for
        the default, minilm. Old vectors are kept, so you can switch back. Call again to resume after an interruption.

        Args:
            is_dry_run: Embed a few texts to estimate the amount of work and its duration. Changes nothing.
            is_pruning: Once everything is embedded, remove the vectors from other embedders.
            progress: Progress callback: `(vectors done, total vectors)`.

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
        """Write all rows of all orgs to one file, as a consistent snapshot. The store stays available. SQLite and
        PostgreSQL can both restore it. The file is verified, readable only by its owner, and never left incomplete.

        Args:
            path: The file to write.
            contents: Use "whole" for every row, or "receipts" for only the receipts of erasures. Default: whole.
            is_replacing: Replace an existing backup once the new one is complete.
            is_sealed: Encrypt each org's rows with the org's key. Erasing the org destroys the key. Default: True if
                a keyring is configured.
            progress: Progress callback: `(step, done, total)`.

        Raises:
            ConflictError: The file exists and `is_replacing` is False.
            InvalidInputError: The path cannot be a file.
            UnavailableError: The disk or the store failed.
            UnsupportedError: The store is in memory.
            ConfigError: The backup should be sealed, but no keyring is configured or the keyring cannot be opened.
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
        """Replace the content of the whole store with a backup, in one transaction. Other processes continue with the
        restored rows.

        Erasures that are recorded only in this store are applied again. The store's API keys and audit log are kept. If
        the backup is sealed, orgs erased since then are reported as `lost`, and the others are restored.

        Args:
            path: The backup.
            receipts: Another backup, or one with receipts only, whose erasures are also applied again.
            is_replacing: Replace the content of a store that is not empty.
            is_dry_run: Check the backup without changing anything.
            progress: Progress callback: `(step, done, total)`.

        Raises:
            ConflictError: The store is not empty and `is_replacing` is False.
            InvalidInputError: The file is damaged or not a backup.
            ConfigError: A newer Mnemic wrote the backup, or it was sealed with another keyring.
            BackendError: The disk or the store failed. Nothing was changed.
        """
        wish = Wish(receipts, is_replacing, is_dry_run)
        return restore(self._engine, archive(self._engine.keyring), path, wish, progress or ignore_backup_progress)

    def work(self, *, until_idle: bool = True) -> WorkReport:
        """Run all due jobs now, including scheduled ones, instead of in the background. Returns how many jobs
        succeeded, how many will be retried and how many failed permanently.

        The first call also looks for items without vectors, in case an embedder was added or changed.

        Args:
            until_idle: If False, run only one job.
        """
        with nullcontext() if self._own_worker is None else self._own_worker.resting():
            self._adopt()
            return work(self._engine, HANDLERS, worker=f"{self._opened_by}-{uuid.uuid4()}", until_idle=until_idle)

    def worker(self, *, poll_s: float = POLL_S, on_run: Told | None = None) -> Worker:
        """Create a worker to replace the built-in one, for example to run it at other times. `start()` runs jobs in a
        thread until `stop()` is called. `join()` waits for the thread to end.

        Stop the worker before you close this `Mnemic`.

        Args:
            poll_s: Maximum number of seconds between checks for due jobs. Default: 5.
            on_run: Callback for each finished job, called on the worker's thread.
        """
        if not poll_s > 0:
            raise InvalidInputError(f"poll_s must be a positive number of seconds, not {poll_s!r}")
        if self._own_worker is not None:
            self._own_worker.close()
        self._adopt()
        name = f"{self._opened_by}-{uuid.uuid4()}"
        return Worker(self._engine, HANDLERS, name=name, poll_s=poll_s, on_run=on_run)

    def _adopt(self) -> None:
        """Once, look for items without vectors because an embedder was added or changed."""
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


def _with_language(engine: Engine, report: IngestReport) -> IngestReport:
    found = language_finding(engine) if report.counts.get("added") else None
    return report if found is None else replace(report, note=f"{found.message}. To add it, {found.remedy}.")


def _path(content: Content) -> str | bytes:
    if isinstance(content, bytes):
        return content
    path = fspath(content)
    if not isinstance(cast("object", path), str):
        raise InvalidInputError("a path must be text; decode it with os.fsdecode")
    return path


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0 or not math.isfinite(value):
        raise InvalidInputError(f"deadline_s must be a positive number of seconds, not {value!r}")
    return float(value)
