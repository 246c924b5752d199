"""The tokens of a model in a folder: `tokenizer.json` or `vocab.txt`.

Answers for reading those files, and for single texts and pairs as ids. The WordPiece of uncased BERT models, which most
small models have, is read without any package; every other kind needs `tokenizers`. Either way the names of special
tokens ("[SEP]") inside a text are ordinary text, so no text can forge the structure of the model's input.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from mnemic.adapters.extras import import_extra
from mnemic.errors import ConfigError
from mnemic.text.wordpiece import MAX_WORD_CHARACTERS, WordPiece

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILE = "vocab.txt"

MAX_FILE_BYTES = 64 << 20
"""The largest known vocabularies take 35 MB as JSON."""

_KINDS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_FRAMES = ("[CLS]", "[SEP]")
_PAIR_FRAME = 3
"""Tokens of a pair that are of neither: one before, one between, one behind."""


@dataclass(frozen=True, slots=True)
class Tokenised:
    """The ids of a text or a pair, and beside each the part that it belongs to (0 or 1)."""

    ids: list[int]
    types: list[int]


class Tokens(Protocol):
    """The tokeniser of a model. It may be used from several threads at once."""

    def single(self, text: str) -> Tokenised:
        """The ids of a text, cut at its end to the most tokens; none at all for a text without content."""
        ...

    def pair(self, first: str, second: str) -> Tokenised:
        """The ids of both, the longer of them cut first."""
        ...


def read_tokens(folder: Path, max_tokens: int, extra: str) -> Tokens:
    """The tokeniser of a folder, for at most `max_tokens` tokens, those that frame a text included.

    Raises `ConfigError` when there is none or it is damaged, and when it is of a kind that needs the package
    `tokenizers` (of `extra`) and that is not installed.
    """
    file, vocabulary = folder / TOKENIZER_FILE, folder / VOCABULARY_FILE
    if not file.is_file():
        if not vocabulary.is_file():
            raise ConfigError(
                f"{folder} has no tokenizer: it needs {TOKENIZER_FILE}, or the {VOCABULARY_FILE} of a BERT"
            )
        if read_table(folder / "tokenizer_config.json").get("do_lower_case", True) is not True:
            raise ConfigError(f"{vocabulary} is of a model that knows capitals: that needs its {TOKENIZER_FILE}")
        return _Pieces(read_text(vocabulary).removesuffix("\n").split("\n"), max_tokens, vocabulary)
    content = read_text(file)
    table = _table(content, file)
    model = _part(table, "model")
    if model.get("type") not in _KINDS:
        raise ConfigError(f"{file} is no tokenizer: its model is none of {', '.join(_KINDS)}")
    pieces = _own_pieces(table, model)
    return _Pieces(pieces, max_tokens, file) if pieces else _Packaged(_parsed(content, file, extra), max_tokens)


def read_text(file: Path) -> str:
    """The content of a file of a model. Raises `ConfigError` when it is huge, cannot be read or is no UTF-8."""
    try:
        if file.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{file} has more than {MAX_FILE_BYTES >> 20} MB; it is not what its name says")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error


def read_table(file: Path) -> dict[str, Any]:
    """The JSON object in a file, empty when there is no such file. Raises `ConfigError` when it holds anything else."""
    return _table(read_text(file), file) if file.is_file() else {}


def _table(content: str, file: Path) -> dict[str, Any]:
    try:
        table = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged: it holds no JSON") from error
    if not isinstance(table, dict):
        raise ConfigError(f"{file} is damaged: it holds no JSON object")
    return cast("dict[str, Any]", table)


def _part(table: dict[str, Any], name: str) -> dict[str, Any]:
    part = table.get(name)
    return cast("dict[str, Any]", part) if isinstance(part, dict) else {}


def _own_pieces(table: dict[str, Any], model: dict[str, Any]) -> list[str]:
    """The pieces by id, if `WordPiece` of `mnemic.text` does what this file says; else none."""
    expected = {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": MAX_WORD_CHARACTERS}
    normaliser = _part(table, "normalizer")
    cleans = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}
    is_ours = (
        all(model.get(name) == value for name, value in expected.items())
        and model.get("continuing_subword_prefix", "##") == "##"
        and all(normaliser.get(name) == value for name, value in cleans.items())
        and normaliser.get("strip_accents") in (None, True)
        and _part(table, "pre_tokenizer") == {"type": "BertPreTokenizer"}
    )
    vocabulary = _part(model, "vocab")
    if not is_ours or any(name not in vocabulary for name in ("[UNK]", *_FRAMES)):
        return []
    is_framed = _frames(_part(table, "post_processor"), vocabulary)
    places = {place: piece for piece, place in vocabulary.items() if isinstance(place, int)}
    if not is_framed or sorted(places) != list(range(len(vocabulary))) or _has_added_words(table):
        return []
    return [places[place] for place in range(len(places))]


def _frames(processor: dict[str, Any], vocabulary: dict[str, Any]) -> bool:
    """True when a text is framed as BERT frames it: [CLS] text [SEP], and [SEP] behind the second of a pair."""
    start, end = ([name, vocabulary[name]] for name in _FRAMES)
    if processor.get("type") == "BertProcessing":
        return processor.get("cls") == start and processor.get("sep") == end
    if processor.get("type") != "TemplateProcessing":
        return False
    special = _part(processor, "special_tokens")
    if any(_part(special, name).get("ids") != [vocabulary[name]] for name in _FRAMES):
        return False
    first = [_special("[CLS]", 0), {"Sequence": {"id": "A", "type_id": 0}}, _special("[SEP]", 0)]
    second = [{"Sequence": {"id": "B", "type_id": 1}}, _special("[SEP]", 1)]
    return processor.get("single") == first and processor.get("pair") == first + second


def _special(name: str, kind: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": kind}}


def _has_added_words(table: dict[str, Any]) -> bool:
    """True when whole words were added that are no special tokens: they are found before a text is split."""
    added = cast("list[Any]", table.get("added_tokens") or [])
    return any(not isinstance(each, dict) or not cast("dict[str, Any]", each).get("special") for each in added)


class _Pieces:
    """WordPiece in this package."""

    def __init__(self, pieces: list[str], max_tokens: int, file: Path) -> None:
        try:
            self._words = WordPiece(pieces)
        except KeyError as error:
            raise ConfigError(f"{file} is no vocabulary of a BERT: it has no {error}") from error
        self._start, self._end = (pieces.index(name) for name in _FRAMES)
        self._max_tokens = max_tokens

    def single(self, text: str) -> Tokenised:
        ids = self._words.encode(text, self._max_tokens)
        return Tokenised(ids, [0] * len(ids))

    def pair(self, first: str, second: str) -> Tokenised:
        room = self._max_tokens - _PAIR_FRAME
        ones, twos = self._inside(first, room), self._inside(second, room)
        if len(ones) + len(twos) > room:
            shorter = min(len(ones), len(twos), room // 2)
            kept = (shorter, room - shorter) if len(ones) <= len(twos) else (room - shorter, shorter)
            ones, twos = ones[: kept[0]], twos[: kept[1]]
        ids = [self._start, *ones, self._end, *twos, self._end]
        return Tokenised(ids, [0] * (len(ones) + 2) + [1] * (len(twos) + 1))

    def _inside(self, text: str, room: int) -> list[int]:
        """The ids of a text without its frame, at most `room`."""
        return self._words.encode(text, room + 2)[1:-1]


def _parsed(content: str, file: Path, extra: str) -> Any:
    """The tokeniser of the package `tokenizers`."""
    package: Any = import_extra("tokenizers", extra)
    try:
        return package.Tokenizer.from_str(content)
    except Exception as error:  # the package raises nothing narrower; see tests/architecture/test_sizes.py
        raise ConfigError(f"{file} is damaged, or of a later version than the package tokenizers: {error}") from error


class _Packaged:
    """Whatever the package `tokenizers` reads."""

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.encode_special_tokens = True

    def single(self, text: str) -> Tokenised:
        found = self._tokenizer.encode(text)
        if all(found.special_tokens_mask):
            return Tokenised([], [])
        return Tokenised(list(found.ids), list(found.type_ids))

    def pair(self, first: str, second: str) -> Tokenised:
        found = self._tokenizer.encode(first, second)
        return Tokenised(list(found.ids), list(found.type_ids))
