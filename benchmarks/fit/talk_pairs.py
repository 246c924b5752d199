"""Sentences of the invented talks, and pairs of a fact and a sentence that states it, or says something later in its
words: hardly any of them tells that something is over.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mnemic import Mnemic, Scope
from mnemic.text.facts.corrections import hide_topic
from mnemic.text.facts.when import cut_label
from mnemic.text.languages import detect
from mnemic.text.sentences import sentences

FOLDER = Path(__file__).resolve().parent
MOST_WORDS = 40


def read_talk_pairs() -> Iterator[tuple[str, str, str]]:
    """Fact, sentence and talk, of the talks in English."""
    with Mnemic.open("memory://", has_worker=False) as memory:
        for talk, texts in _read_talks().items():
            yield from _read_talk(memory, talk, texts)


def read_talk_sentences(*, has_questions: bool = False) -> list[tuple[str, str]]:
    """Each statement of the user in the talks in English, and its talk. `has_questions`: each question, too."""
    told = [(text, talk) for talk, texts in _read_talks().items() for text in texts]
    return [(each, talk) for text, talk in told for each in _read_statements(text, has_questions=has_questions)]


def _read_talks() -> dict[str, list[str]]:
    talks: dict[str, list[str]] = defaultdict(list)
    for path in sorted(FOLDER.glob("keep_talks_*.jsonl")):
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if row.get("role", "user") == "user":
                talks[f"{path.stem} {row['session']}"].append(row["text"])
    return {talk: texts for talk, texts in talks.items() if detect(" ".join(texts)).code == "en"}


def _read_statements(text: str, *, has_questions: bool = False) -> list[str]:
    said = [text[start:end].strip() for start, end in sentences(text)]
    return [each for each in said if (has_questions or not each.endswith("?")) and len(each.split()) <= MOST_WORDS]


def _read_talk(memory: Mnemic, talk: str, texts: list[str]) -> Iterator[tuple[str, str, str]]:
    scope, facts = Scope(user=talk, session="talk"), list[str]()
    for text in texts:
        memory.capture(scope, user=text)
        memory.work()
        facts += [cut_label(each.text) for each in memory.list(Scope(user=talk), limit=200).memories]
        facts = [*dict.fromkeys(facts)]
        for each in _read_statements(text):
            yield from ((fact, each, talk) for fact in facts if hide_topic(each, fact))
