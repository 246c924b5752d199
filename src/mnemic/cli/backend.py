"""`mnemic backend …`: the configured memory backend's four verbs (`mnemic.backends`), without scopes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from mnemic.cli import output
from mnemic.cli.commands import command
from mnemic.cli.input import parse_json_object, read_text
from mnemic.cli.options import AsJson, ConfigFile, IsSure
from mnemic.errors import NotFoundError, UnsupportedError

if TYPE_CHECKING:
    from mnemic.backends import MemoryBackend


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """The configuration with the backend, and the output format."""

    config: ConfigFile = None
    as_json: AsJson = False

    @contextmanager
    def open(self) -> Generator[MemoryBackend]:
        """Open the configured backend. Raises `UnsupportedError` if it keeps its data only in memory."""
        from mnemic.backends import open_backend
        from mnemic.config import load_config

        backend = open_backend(load_config(file=self.config))
        try:
            if not backend.facts.is_durable:
                raise UnsupportedError(
                    f"backend {backend.backend_id!r} keeps its data in memory and loses it when the command ends; "
                    "set tools.storage.default_backend to sqlite",
                    capability="durable",
                )
            yield backend
        finally:
            backend.close()


@command("backend store")
def store(
    options: BackendOptions,
    text: Annotated[str, typer.Argument(help="The text, or - for standard input.")],
    source: Annotated[str, typer.Option(help="Where the text comes from, such as a file name.")] = "",
    metadata: Annotated[str | None, typer.Option(help="A JSON object to store with the text.")] = None,
) -> None:
    """Store a text in the configured memory backend and print its id."""
    with options.open() as backend:
        own = backend.store(read_text(text), source=source, metadata=parse_json_object(metadata, "--metadata"))
    output.show_answer({"id": own}, lambda answer: output.write(answer["id"]), as_json=options.as_json)


@command("backend retrieve")
def retrieve(
    options: BackendOptions,
    query: Annotated[str, typer.Argument(help="The question, or - for standard input.")],
    top_k: Annotated[int, typer.Option(help="Maximum number of results.")] = 5,
) -> None:
    """Find texts in the configured memory backend, best first."""
    with options.open() as backend:
        found = backend.retrieve(read_text(query), top_k=top_k)
    rows = [output.Row((f"{each.score:.4g}",), each.content, (each.source,)) for each in found]
    output.show_answer(found, lambda _: output.show_rows(("score",), rows, "nothing found"), as_json=options.as_json)


@command("backend delete")
def delete(options: BackendOptions, id: Annotated[str, typer.Argument(metavar="ID", help="The text's id.")]) -> None:
    """Delete a text from the configured memory backend."""
    with options.open() as backend:
        if not backend.delete(id):
            raise NotFoundError(f"the backend has no text with the id {id!r}")
    output.show_answer({"deleted": id}, lambda _: output.note("text deleted"), as_json=options.as_json)


@command("backend clear")
def clear(options: BackendOptions, is_sure: IsSure = False) -> None:
    """Delete every text in the configured memory backend. This cannot be undone."""
    output.require_answer("delete", is_sure=is_sure)
    with options.open() as backend:
        ask = f"Delete every text in the backend {backend.backend_id!r}?"
        output.confirm(lambda: ask, verb="delete", is_sure=is_sure)
        backend.clear()
    output.show_answer({"cleared": True}, lambda _: output.note("all texts deleted"), as_json=options.as_json)
