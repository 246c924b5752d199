"""Names and relations of parsed sentences. The parses are spaCy's own, recorded in `parsed_sentences.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from mnemic.model.graph import Word
from mnemic.text.graph.find import find

RECORDED = json.loads(Path(__file__).with_name("parsed_sentences.json").read_text(encoding="utf-8"))


class Recorded:
    """Answers with the recorded parse of a text."""

    name = "recorded"

    def parse(self, text: str) -> Sequence[Sequence[Word]]:
        (found,) = [each["sentences"] for each in RECORDED if each["text"] == text]
        return [[Word(*word) for word in sentence] for sentence in found]


def read(beginning: str, speaker: str = "") -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    """The types of the names and the relations in the recorded text that begins so."""
    (text,) = [each["text"] for each in RECORDED if each["text"].startswith(beginning)]
    found = find(text, speaker, Recorded())
    names = [name.name for name in found.names]
    relations = {(names[each.source], each.type, names[each.target]) for each in found.relations}
    return {name.name: name.type.value for name in found.names}, relations


@pytest.mark.requirement("N-25", "P-26")
def test_passives_appositions_and_surnames_are_read():
    names, relations = read("Northwind")
    assert relations == {("Northwind", "CREATED_BY", "Marta Keller"), ("Priya Shah", "REPORTS_TO", "Marta Keller")}
    assert names.keys() == {"Northwind", "Marta Keller", "Priya Shah"}


def test_pronouns_and_possessives_stand_for_the_last_subject_that_fits():
    assert read("Brightline")[1] == {
        ("Brightline", "LOCATED_IN", "Dublin"),
        ("Brightline", "PART_OF", "Acme Corp"),
        ("Brightline", "CREATED_BY", "Niamh Byrne"),
        ("Niamh Byrne", "LIVES_IN", "Cork"),
    }


def test_a_relative_clause_is_said_of_its_noun():
    assert ("Ocean Lab", "PART_OF", "Fenwick University") in read("Teresa")[1]
    assert ("Zenith", "CREATED_BY", "Orbit Mobile") in read("Zenith")[1]


def test_a_label_alone_makes_no_name_of_the_first_word():
    assert read("Guitar")[0] == {"Marta": "person", "Lisbon": "place"}


def test_denials_suppositions_and_questions_relate_nothing():
    names, relations = read("Anna Berg does not")
    assert relations == set()
    assert names["Anna Berg"] == "person"


def test_courtesies_are_no_part_of_a_name():
    assert "John" in read("Yep John")[0]
    assert not {name for name in read("Yep John")[0] if "Yep" in name or "Awesome" in name}


def test_the_speaker_relates_as_i():
    assert ("Ana", "WORKS_AT", "Siemens") in read("I work", "Ana")[1]


def test_a_sentence_of_a_thousand_joined_names_is_a_list():
    text = ", ".join(f"Name{number}" for number in range(1000))
    starts = [0]
    for name, _ in pairwise(text.split(", ")):
        starts.append(starts[-1] + len(name) + 2)

    class Chain:
        name = "chain"

        def parse(self, text: str) -> Sequence[Sequence[Word]]:
            words = text.split(", ")
            return [
                [
                    Word(word, start, start + len(word), "PROPN", "conj" if number else "ROOT", max(number - 1, 0))
                    for number, (word, start) in enumerate(zip(words, starts, strict=True))
                ]
            ]

    assert find(text, "", Chain()).relations == ()
