"""Reads plain text and source code: byte order mark, UTF-8, UTF-16, Western European, then a guess."""

import codecs
import importlib
import importlib.util
import re
from typing import Any

from mnemic.adapters.readers import refusals
from mnemic.adapters.readers.draft import DocumentDraft
from mnemic.model.document import ReadDocument, ReadLimits
from mnemic.ports.files import Reader, ReaderCapabilities

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE_BYTES = 64 * 1024  # enough to detect the encoding; the whole file would take too long
MIN_ZERO_SHARE = 0.4
"""Minimum share of zeros among every second byte of a mostly Latin text in UTF-16."""

_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
MAX_CONTROL_SHARE = 0.01
"""Maximum share in a text. Of random bytes, about a tenth are control characters."""


_WESTERN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßœÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŒªº¡¿“”‘’„‚–—…•€«»°§£´·©®™\xa0")
"""Non-ASCII characters of texts in Western European languages. Other letters of Windows-1252 (š, ž, ð, þ) are excluded:
in a text of another encoding they stand for something else.
"""

_FOREIGN = re.compile(r"[^\W\d_a-zA-Z]{3}|[a-zA-Z][‚„¿¡]|[a-zA-Z][‘“”…•€«»°§£´©®™][a-zA-Z]")
"""Signs of another encoding: three adjacent letters outside ASCII, as in no Western European word but every word of
other scripts, and marks inside a word, as where é is a byte of DOS.
"""


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text and its encoding's name. `declared`: the file's own claim, tried after byte order mark and UTF-8. Never
    fails: the last resort is Windows-1252 with replacement characters.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding.removesuffix("-sig")
    for find in (
        lambda: _wide(data),
        lambda: "utf-8",
        lambda: _known_encoding(declared),
        lambda: _western(data),
        lambda: _guess(data),
    ):
        encoding = find()
        try:
            if encoding is not None:
                return data.decode(encoding), encoding
        except (UnicodeDecodeError, LookupError):
            continue
    return data.decode("cp1252", "replace"), "cp1252"


def is_binary(data: bytes) -> bool:
    """Whether the bytes are no text in any encoding: too many control characters at the beginning."""
    sample = data[:SAMPLE_BYTES]
    if any(sample.startswith(mark) for mark, _ in _MARKS) or _wide(sample):
        return False
    return len(_CONTROLS.findall(sample)) > MAX_CONTROL_SHARE * len(sample)


def _wide(data: bytes) -> str | None:
    """UTF-16 without a byte order mark: in most scripts every second byte is often zero, the others hardly ever."""
    sample = data[: SAMPLE_BYTES - SAMPLE_BYTES % 2]
    pairs = len(sample) // 2
    if len(data) % 2 or not pairs:
        return None
    high, low = sample[1::2].count(0), sample[0::2].count(0)
    encoding = "utf-16-le" if high > low else "utf-16-be"
    if max(high, low) < MIN_ZERO_SHARE * pairs or min(high, low) > MAX_CONTROL_SHARE * pairs:
        return None
    readable = sample.decode(encoding, "ignore").encode("utf-8", "ignore")
    return encoding if len(_CONTROLS.findall(readable)) <= MAX_CONTROL_SHARE * len(readable) else None


def _known_encoding(declared: str | None) -> str | None:
    try:
        return codecs.lookup(declared.strip()).name if declared else None
    except (LookupError, ValueError):
        return None


def _western(data: bytes) -> str | None:
    """Windows-1252, if the result is a Western language. Statistics mistake French or Spanish for Czech."""
    text = data[:SAMPLE_BYTES].decode("cp1252", "replace")
    others = [character for character in text if not character.isascii()]
    if not _WESTERN.issuperset(others) or _FOREIGN.search(text):
        return None
    if "õ" in text and not {"ã", "ç"} & set(text):  # Hungarian, with ő in this position
        return None
    letters = sum(character.isascii() and character.isalpha() for character in text)
    return "cp1252" if len(others) <= letters else None


def _guess(data: bytes) -> str | None:
    """The guess of charset-normalizer, if installed."""
    if importlib.util.find_spec("charset_normalizer") is None:
        return None
    package: Any = importlib.import_module("charset_normalizer")
    best: Any = package.from_bytes(data[:SAMPLE_BYTES]).best()
    return None if best is None else str(best.encoding)


_CODE = """
    .py .pyi .js .mjs .cjs .jsx .ts .tsx .rs .go .java .kt .kts .scala .c .h .cpp .cc .cxx .hpp .hh .cs .swift .m .mm
    .rb .php .pl .pm .lua .r .jl .dart .ex .exs .erl .hs .ml .mli .clj .lisp .el .sh .bash .zsh .fish .ps1 .bat .sql
    .yaml .yml .toml .json .jsonl .css .scss .sass .less .vue .svelte .proto .graphql .tf .cmake .gradle .groovy
    .zig .nim .vb .asm .s .f90 .tex .ini .cfg .conf
"""
CODE_EXTENSIONS = tuple(_CODE.split())
"""Source code and similar. Web pages are code too (O-38), but have their own reader."""


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
            raise refusals.unknown(name, "not text in a known encoding")
        text, encoding = decode(data)
        draft = DocumentDraft(name, limits)
        draft.verbatim(text)
        return draft.document(self._media_type, metadata={"encoding": encoding})


class CodeReader(TextReader):
    """Source code, unchanged. The title is the file name."""

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
