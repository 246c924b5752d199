"""`mnemic ingest`, `documents …` and `research`: files in, what was made of them, and questions over a whole one."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import Arguments, command, verb_command
from mnemic.cli.failures import use_option_names
from mnemic.cli.input import STDIN
from mnemic.cli.options import ScopeOptions
from mnemic.errors import BackendError, InvalidInputError, NotFoundError
from mnemic.model.document import Outcome
from mnemic.text.outline import pages_told

if TYPE_CHECKING:
    from mnemic.api import Mnemic
    from mnemic.engine.documents import DocumentPage
    from mnemic.model.document import Document, FileReport, IngestReport, ResearchCitation, ResearchReport
    from mnemic.model.item import Chunk
    from mnemic.model.records import Receipt
    from mnemic.model.scope import Scope

SHOWN = 20
"""Files that a report lists of each outcome; `--json` has all."""

QUOTES = 3  # per citation: enough to judge it without leaving the screen
QUOTE_CHARS = 200  # two or three lines of a terminal
RESUMABLE = "pieces already read are kept: run the same command again to resume"


@command("ingest")
def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="The paths of files and folders, or - to read a file from standard input.", metavar="PATH..."
        ),
    ],
    options: ScopeOptions,
    arguments: Arguments,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens per passage. Default: as configured.", min=1)] = None,
    overlap: Annotated[
        int | None, typer.Option(help="Number of tokens that consecutive passages share. Requires --chunk-size.", min=0)
    ] = None,
) -> None:
    """Read files and folders, split them into passages and store them for recall. Unchanged files are skipped, and
    changed files are replaced. To resume after an interruption, run the command again. Files that cannot be read are
    listed with the reason, and the command exits with code 14. Intentionally skipped files do not count as failures.
    """
    if len(paths) > 1 and "source" in arguments:
        raise InvalidInputError("--source works with only one path; ingest each path separately")
    _set_sizes(arguments, chunk_size, overlap)
    scope, reports = options.scope, list[tuple[str, "IngestReport"]]()
    position = output.Position("in {name}, {done} of {total} files done{item}")
    remark = "stored files are kept: run the same command again to resume"
    with output.show_progress(lambda: f" {position}; {remark}") as tell, options.open() as mnemic:
        for path in paths:
            position.begin(path, tell)
            content = sys.stdin.buffer.read() if path == STDIN else path
            reports.append((path, mnemic.ingest(scope, content, **arguments, progress=position.reach)))
    if options.as_json:
        output.show_json(reports[0][1] if len(reports) == 1 else [report for _, report in reports])
    else:
        for path, report in reports:
            _show_ingest(path, report)
    output.note_all(dict.fromkeys(report.note for _, report in reports if report.note))
    _end_ingest([report for _, report in reports], as_json=options.as_json)


def find_document(mnemic: Mnemic, scope: Scope, reference: str) -> str:
    """The id of a document by its id, its source or the path of its file: a source is a whole path, and people name
    files as they see them. Raises `NotFoundError`.
    """
    try:
        return mnemic.documents.get(scope, reference).id
    except NotFoundError:
        path = os.path.abspath(os.path.expanduser(reference))  # noqa: PTH100, PTH111 -- links stay as they are named
        if path == reference or "\0" in reference:
            raise
        with suppress(NotFoundError):
            return mnemic.documents.get(scope, path).id
        raise


FIND = {"id": find_document}


@verb_command("documents list")
def list_documents(page: DocumentPage) -> None:
    """List documents by source, with their status, number of passages and any errors."""
    rows = [_format_document(document) for document in page.documents]
    output.show_rows(("status", "passages"), rows, "no documents found; add some with `mnemic ingest`")
    if page.after is not None:
        output.note(f"more results are available; continue with --after {page.after}")


@verb_command("documents show", find=FIND)
def show_document(document: Document) -> None:
    """Show everything about a document except its text."""
    facts = {
        "title": document.title,
        "source": document.source,
        "id": document.id,
        "status": document.status.value + (f": {document.reason}" if document.reason else ""),
        "level": document.level.value,
        "type": document.media_type,
        "pages": f"{len(document.pages)}" if document.pages else "",
        "passages": f"{document.chunks:,}",
        "characters": f"{document.characters:,}",
        "read": output.format_time(document.updated_at),
        "sha256": document.sha256,
    }
    for name, fact in facts.items():
        if fact:
            output.write(f"{name:<12}{output.one_line(fact)}")


@verb_command("documents text", find=FIND)
def text(stored: str) -> None:
    """Print the stored text of a document."""
    if stored:
        output.write(output.escape_controls(stored.removesuffix("\n")))


@verb_command("documents passages", find=FIND)
def passages(found: Sequence[Chunk]) -> None:
    """List the passages of a document with their pages and headings."""
    rows = [
        output.Row((str(chunk.index), _format_pages(chunk)), chunk.text, (chunk.id, chunk.heading)) for chunk in found
    ]
    output.show_rows(("passage", "pages"), rows, "there are no more passages in this document")


@verb_command("documents delete", find=FIND)
def delete_document(receipt: Receipt) -> None:
    """Delete a document and everything derived from it. The file itself is not deleted."""
    output.note(f"removed the document and {output.format_count(receipt.counts['chunks'], 'passages')}")
    output.note_all(receipt.notes)


@command("research")
def research(options: ScopeOptions, arguments: Arguments) -> None:
    """Answer a question from a whole document of any length. The language model reads the document piece by piece,
    within limits, and cites its passages. Run an interrupted command again to resume. Without a model, only the best
    passages are shown.
    """
    try:
        with output.show_progress(lambda: f"; {RESUMABLE}") as tell, options.open() as mnemic:
            report = mnemic.research(
                options.scope, **arguments, progress=lambda done, total, what: tell(what, done, total)
            )
    except BackendError:
        output.note(RESUMABLE)
        raise
    output.show_answer(report, _show_plan if report.is_dry_run else _show_research, as_json=options.as_json)


def _set_sizes(arguments: Arguments, chunk_size: int | None, overlap: int | None) -> None:
    if chunk_size is None:
        if overlap is not None:
            raise InvalidInputError("--overlap requires --chunk-size")
        return
    from mnemic.engine.ingest_plan import chunk_config
    from mnemic.model.settings import Settings

    arguments["config"] = chunk_config(Settings(chunk_size=chunk_size, chunk_overlap=overlap))


def _end_ingest(reports: Sequence[IngestReport], *, as_json: bool) -> None:
    """Sums up several reports, and ends the command with `PARTIAL` if a file failed."""
    counts = Counter[str]()
    for report in reports:
        counts.update(report.counts)
    failed = counts[Outcome.FAILED]
    stored = sum(counts[outcome] for outcome in (Outcome.ADDED, Outcome.REPLACED, Outcome.UNCHANGED))
    skipped = f", {counts[Outcome.SKIPPED]:,} skipped" if counts[Outcome.SKIPPED] else ""
    if failed:
        output.end_partly(f"{output.format_count(failed, 'files')} failed; {stored:,} stored{skipped}", as_json=as_json)
    if len(reports) > 1 and not as_json:
        would = "would be " if reports[0].is_dry_run else ""
        output.note(f"in total: {output.format_count(stored, 'files')} {would}stored{skipped}")


def _show_ingest(path: str, report: IngestReport) -> None:
    counts = ", ".join(f"{count:,} {outcome}" for outcome, count in report.counts.items()) or "nothing"
    would = "would be: " if report.is_dry_run else ""
    passages = (
        "" if report.is_dry_run else f"; {output.format_count(report.chunks, 'passages')} in {report.seconds:.1f} s"
    )
    output.write(f"{output.one_line(path)}: {would}{counts}{passages}")
    by_outcome = {outcome: [file for file in report.files if file.outcome is outcome] for outcome in Outcome}
    if report.is_dry_run:
        _list_files([*by_outcome[Outcome.ADDED], *by_outcome[Outcome.REPLACED]])
    _list_files(
        [file for file in (*by_outcome[Outcome.ADDED], *by_outcome[Outcome.REPLACED]) if file.reason or file.same_as]
    )
    _list_files([*by_outcome[Outcome.FAILED], *by_outcome[Outcome.VANISHED], *by_outcome[Outcome.REMOVED]])
    reasons = Counter(file.reason for file in by_outcome[Outcome.SKIPPED])
    for reason, count in reasons.most_common(SHOWN):
        output.note(f"  {count:,} skipped: {output.one_line(reason)}")
    if report.needs_vectors:
        output.note("  ready for keyword search; `mnemic worker` adds vectors for search by meaning")
    if report.why_nothing:
        output.note(f"  {use_option_names(report.why_nothing)}")


def _list_files(files: Sequence[FileReport]) -> None:
    for file in files[:SHOWN]:
        same = f"the same as {file.same_as}" if file.same_as else ""
        why = "; ".join(part for part in (use_option_names(file.reason), same) if part)
        output.write(
            f"  {file.outcome.value}: {output.one_line(file.source)}" + (f" ({output.one_line(why)})" if why else "")
        )
    if len(files) > SHOWN:
        output.write(f"  and {len(files) - SHOWN} more; --json lists all")


def _show_plan(report: ResearchReport) -> None:
    plan = report.plan
    output.note_all(report.degraded, "missing: ")
    pieces = output.format_count(plan.pieces, "pieces")
    output.write(f"{pieces}, {plan.kept:,} of them already read; {plan.read:,} would be read within the limits")
    calls, tokens = output.format_count(plan.calls, "calls"), output.format_count(plan.tokens, "tokens")
    output.write(f"at most {calls} and {tokens}")


def _show_research(report: ResearchReport) -> None:
    output.write(output.escape_controls(report.text.strip()))
    if not report.is_extractive:
        for citation in report.citations:
            output.note_all(_list_quotes(citation))
    output.note_all(report.degraded, "missing: ")
    usage = report.usage
    tokens = usage.prompt_tokens + usage.completion_tokens
    kept = f"{output.format_count(report.coverage.kept, 'pieces')} already read"
    calls = output.format_count(usage.calls, "calls")
    output.note(f"{calls}, {output.format_count(tokens, 'tokens')}, {report.seconds:.1f} s; {kept}")


def _list_quotes(citation: ResearchCitation) -> list[str]:
    found: list[str] = []
    for quote in citation.quotes[:QUOTES]:
        pages = pages_told(quote.page, quote.last_page)
        words = output.one_line(quote.text)
        shown = words if len(words) <= QUOTE_CHARS else words[:QUOTE_CHARS] + "…"
        found.append(f'[{citation.number}] {pages and pages + ", "}characters {quote.start} to {quote.end}: "{shown}"')
    return found


def _format_pages(chunk: Chunk) -> str:
    return pages_told(chunk.page, chunk.last_page).rpartition(" ")[2] or "-"


def _format_document(document: Document) -> output.Row:
    about = (document.source, document.id, document.level.value, output.format_time(document.updated_at))
    return output.Row((document.status.value, str(document.chunks)), document.title, about, document.reason)
