"""Reads plain text and source code: as it stands, in whichever encoding."""

from __future__ import annotations

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.adapters.readers.encoding import decode, is_binary
from mnemic.model.document_text import ReadDocument, ReadLimits
from mnemic.ports.reader import Reader, ReaderCapabilities

_CODE = """
    .py .pyi .js .mjs .cjs .jsx .ts .tsx .rs .go .java .kt .kts .scala .c .h .cpp .cc .cxx .hpp .hh .cs .swift .m .mm
    .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .clj .lisp .el .sh .bash .zsh .fish .ps1 .bat .sql
    .yaml .yml .toml .json .jsonl .css .scss .sass .less .vue .svelte .proto .graphql .tf .cmake .gradle .groovy
    .zig .nim .vb .asm .s .f90 .tex .ini .cfg .conf
"""
CODE_EXTENSIONS = tuple(_CODE.split())
"""Of source code and of what is written like it; web pages are code too (O-38), but have a reader of their own."""


class TextReader:
    """Anything made of characters; what no other reader takes comes here."""

    name = "text"
    capabilities = ReaderCapabilities(
        media_types=("text/plain", "text/xml", "application/xml"),
        extensions=(".txt", ".text", ".log", ".rst", ".adoc", ".org", ".xml", ".srt", ".vtt"),
    )
    _media_type = "text/plain"

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        if is_binary(data):
            raise refusals.unknown(name, "no text in an encoding that is known")
        text, encoding = decode(data)
        draft = DocumentDraft(name, limits)
        draft.verbatim(text)
        return draft.document(self._media_type, metadata={"encoding": encoding})


class CodeReader(TextReader):
    """Source code, character by character; its title is the name of its file."""

    name = "code"
    capabilities = ReaderCapabilities(
        media_types=("text/x-code", "application/json", "application/x-yaml", "text/css", "text/javascript"),
        extensions=CODE_EXTENSIONS,
    )
    _media_type = "text/x-code"

    def read(self, data: bytes, name: str, limits: ReadLimits) -> ReadDocument:
        document = TextReader.read(self, data, name, limits)
        return ReadDocument(title=name, media_type=document.media_type, text=document.text, metadata=document.metadata)


_fits: tuple[type[Reader], ...] = (TextReader, CodeReader)
