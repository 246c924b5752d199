"""What the files beside a model say of it: pooling, prefixes, and how much of a text it reads.

The files are those of sentence-transformers: `modules.json`, `1_Pooling/config.json`, `sentence_bert_config.json`,
`config_sentence_transformers.json`, and the `config.json` and `tokenizer_config.json` of transformers. None of them has
to be there. A text prefix that no file says is known from the folder's name, for published models.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mnemic.adapters.embedders.known import known_model
from mnemic.adapters.onnx_models.tokens import read_table, read_text
from mnemic.errors import ConfigError

POOLINGS = ("mean", "cls", "max", "last")
"""How the vectors of the tokens become one; "cls" is the first token's, "last" that of the last one."""

MAX_TOKENS = 512
"""The most that is read of a text unless told otherwise: a model that could read more takes seconds for it, and a write
waits for its vector."""

LEAST_TOKENS = 8

_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "last",
    # The same direction as the mean, and only the direction is kept.
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
_NAMES = {"lasttoken": "last", "mean_sqrt_len_tokens": "mean"}
_HARMLESS = ("Transformer", "Pooling", "Normalize")
_OFFSET_POSITIONS = ("camembert", "mpnet", "roberta", "xlm-roberta")
"""Model types whose first position is behind the padding's: two fewer than the table has."""


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """`pooling` "": nothing says. `further`: what stands behind the pooling, which a graph of token vectors lacks.
    `width`: of a vector, 0 when nothing says.
    """

    pooling: str
    query_prefix: str
    document_prefix: str
    max_tokens: int
    width: int
    pad_id: int
    further: tuple[str, ...]


def read_settings(folder: Path) -> FolderSettings:
    """What a folder says. Raises `ConfigError` for a file that is damaged, or says what cannot be done here."""
    known = known_model(folder.name)
    config = read_table(folder / "config.json")
    query, document = _prompts(read_table(folder / "config_sentence_transformers.json"))
    if not query and not document:
        query, document = known.query_prefix, known.document_prefix
    pooling_file, further = _modules(folder)
    pooling = read_table(pooling_file)
    if pooling.get("include_prompt") is False and (query or document):
        raise ConfigError(f"{pooling_file} leaves the prefix out of the mean; that cannot be done here")
    return FolderSettings(
        pooling=_pooling(pooling, pooling_file) or known.pooling,
        query_prefix=query,
        document_prefix=document,
        max_tokens=_max_tokens(folder, config),
        width=_number(pooling.get("word_embedding_dimension")) or _number(config.get("hidden_size")),
        pad_id=_number(config.get("pad_token_id")),
        further=further,
    )


def _prompts(table: dict[str, Any]) -> tuple[str, str]:
    """What stands before a question and before a kept text, by the names that sentence-transformers uses."""
    found = table.get("prompts")
    prompts = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    default = prompts.get(str(table.get("default_prompt_name") or ""), "")
    query = prompts.get("query", default)
    document = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), default)
    return str(query or ""), str(document or "")


def _modules(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Where the pooling is described, and the modules that are neither of the model nor harmless behind it."""
    file = folder / "modules.json"
    if not file.is_file():
        return folder / "1_Pooling" / "config.json", ()
    try:
        modules = json.loads(read_text(file))
        kinds = [(str(each["type"]).rpartition(".")[2], str(each["path"])) for each in modules]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ConfigError(f"{file} is damaged: it is no list of modules") from error
    path = next((path for kind, path in kinds if kind == "Pooling"), "1_Pooling")
    further = tuple(kind for kind, _ in kinds if kind not in _HARMLESS)
    return folder / Path(path).name / "config.json", further


def _pooling(table: dict[str, Any], file: Path) -> str:
    named = table.get("pooling_mode")
    flagged = [way for flag, way in _FLAGS.items() if table.get(flag) is True]
    ways = {_NAMES.get(way, way) for way in ([named] if isinstance(named, str) else flagged)}
    if len(ways) > 1 or not ways <= set(POOLINGS):
        raise ConfigError(f"{file} pools by {' and '.join(sorted(ways))}; it must be one of {', '.join(POOLINGS)}")
    return next(iter(ways), "")


def _max_tokens(folder: Path, config: dict[str, Any]) -> int:
    """The least of what the files say, and of `MAX_TOKENS`."""
    positions = _number(config.get("max_position_embeddings"))
    if positions and config.get("model_type") in _OFFSET_POSITIONS:
        positions -= 2
    said = (
        read_table(folder / "sentence_bert_config.json").get("max_seq_length"),
        read_table(folder / "tokenizer_config.json").get("model_max_length"),
        positions,
    )
    return max(LEAST_TOKENS, min([MAX_TOKENS, *(number for number in map(_number, said) if number)]))


def _number(value: object) -> int:
    """A whole number of 0 or more; 0 for anything else. Exporters write "no limit" as a number of thirty digits."""
    return int(value) if isinstance(value, int | float) and 0 <= value < math.inf else 0
