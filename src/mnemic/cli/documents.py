"""`mnemic documents …`: what was taken in of files."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli.options import command
from mnemic.cli.output import Row, moment, note, number_of, one_line, printable, show_json, show_rows, write
from mnemic.cli.scope_options import ScopeOptions
from mnemic.errors import NotFoundError
from mnemic.model.document import Document, DocumentStatus
from mnemic.model.scope import Level, Scope
from mnemic.text.pages import pages_told

if TYPE_CHECKING:
    from mnemic.api import DocumentFields, Mnemic
    from mnemic.model.item import Chunk

Reference = Annotated[
    str, typer.Argument(help="The id of a document, its source, or the path of its file.", metavar="ID")
]


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The arguments of `documents.list`, as options."""

    levels: Annotated[list[Level] | None, typer.Option("--level", help="Only this level; may be repeated.")] = None
    statuses: Annotated[
        list[DocumentStatus] | None, typer.Option("--status", help="Only this status; may be repeated.")
    ] = None
    under: Annotated[str, typer.Option(help="Only sources that begin so, as handbook/.")] = ""
    limit: Annotated[int, typer.Option("--limit", "-n", help="Documents per page, 1 to 1000.")] = 50
    after: Annotated[str | None, typer.Option("--after", help="Go on after this id, the last of the page before.")] = (
        None
    )

    def arguments(self) -> DocumentFields:
        """The arguments of `documents.list`."""
        return {
            "levels": self.levels or (),
            "statuses": self.statuses or (),
            "under": self.under,
            "limit": self.limit,
            "after": self.after,
        }


def show_list(asking: ScopeOptions, given: ListOptions) -> None:
    """List documents by source: status, passages, and why one failed."""
    with asking.open() as mnemic:
        page = mnemic.documents.list(asking.scope, **given.arguments())
    if asking.as_json:
        show_json(page)
        return
    if not page.documents:
        note("there are no such documents; `mnemic ingest` takes files in")
        return
    show_rows(("status", "passages"), [_row(document) for document in page.documents])
    if page.after is not None:
        note(f"there are more: --after {page.after}")


def show(reference: Reference, asking: ScopeOptions) -> None:
    """Show what is known of a document, without its text."""
    with asking.open() as mnemic:
        document = _document(mnemic, asking.scope, reference)
    if asking.as_json:
        show_json(document)
        return
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
        "read": moment(document.updated_at),
        "sha256": document.sha256,
    }
    for name, fact in facts.items():
        if fact:
            write(f"{name:<12}{one_line(fact)}")


def text(reference: Reference, asking: ScopeOptions) -> None:
    """Print the stored text of a document."""
    with asking.open() as mnemic:
        stored = mnemic.documents.text(asking.scope, _document(mnemic, asking.scope, reference).id)
    if asking.as_json:
        show_json(stored)
    elif stored:
        write(printable(stored.removesuffix("\n")))


def passages(
    reference: Reference,
    asking: ScopeOptions,
    first: Annotated[int, typer.Option(help="The index of the first passage.", min=0)] = 0,
    count: Annotated[int, typer.Option("--count", "-n", help="At most so many.", min=1)] = 50,
) -> None:
    """List the passages of a document, with the pages and the headings they stand under."""
    with asking.open() as mnemic:
        found = mnemic.documents.passages(
            asking.scope, _document(mnemic, asking.scope, reference).id, first=first, count=count
        )
    if asking.as_json:
        show_json(found)
        return
    rows = [
        Row((str(chunk.index), _pages(chunk)), one_line(chunk.text), (chunk.id, one_line(chunk.heading)))
        for chunk in found
    ]
    if rows:
        show_rows(("passage", "pages"), rows)
    else:
        note("this document has no such passages")


def remove(
    reference: Reference,
    asking: ScopeOptions,
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the history.")] = "",
) -> None:
    """Remove a document with all that is kept of it; the file itself is not touched."""
    with asking.open() as mnemic:
        receipt = mnemic.documents.delete(asking.scope, _document(mnemic, asking.scope, reference).id, reason=reason)
    if asking.as_json:
        show_json(receipt)
        return
    note(f"removed with {number_of(receipt.counts['chunks'], 'passages')}")
    for each in receipt.notes:
        note(one_line(each))


def register(documents: typer.Typer) -> None:
    """Adds the commands to the group."""
    command(documents, "list", examples="mnemic documents list --user ana --status failed")(show_list)
    command(documents, "show", examples="mnemic documents show --user ana handbook/tea.pdf")(show)
    command(documents, "text", examples="mnemic documents text --user ana handbook/holidays.md")(text)
    examples = "mnemic documents passages --user ana handbook/holidays.md --first 10 --count 5"
    command(documents, "passages", examples=examples)(passages)
    command(documents, "delete", examples="mnemic documents delete --user ana handbook/holidays.md")(remove)


def _document(mnemic: Mnemic, scope: Scope, reference: str) -> Document:
    """The document that is called so, else the one of the file at this path: a source is a whole path, and people name
    files as they see them. Raises `NotFoundError`.
    """
    try:
        return mnemic.documents.get(scope, reference)
    except NotFoundError:
        path = os.path.abspath(os.path.expanduser(reference))  # noqa: PTH100, PTH111 -- links stay as they are named
        if path == reference or "\0" in reference:
            raise
        with suppress(NotFoundError):
            return mnemic.documents.get(scope, path)
        raise


def _pages(chunk: Chunk) -> str:
    return pages_told(chunk.page, chunk.last_page).rpartition(" ")[2] or "-"


def _row(document: Document) -> Row:
    about = (one_line(document.source), document.id, document.level.value, moment(document.updated_at))
    return Row(
        (document.status.value, str(document.chunks)), one_line(document.title), about, one_line(document.reason)
    )
