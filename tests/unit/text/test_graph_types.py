"""The types of names by the shipped embedder."""

from collections import Counter
from collections.abc import Sequence

import pytest

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.model.graph import EntityType
from mnemic.text.graph.find import find
from mnemic.text.graph.types import Votes, assign_types

EMBEDDER = MinilmEmbedder()


def typed(texts: Sequence[str], known: Votes | None = None) -> list[dict[str, str]]:
    found = assign_types(texts, [find(text) for text in texts], EMBEDDER, known or {})
    return [{named.name: named.type.value for named in each.names} for each in found]


class TestTypes:
    @pytest.mark.requirement("P-62")
    @pytest.mark.parametrize(
        "text, expected",
        [
            ("We cheered when Minnesota United won the league.", {"Minnesota United": "organisation"}),
            ("I spent the summer playing Elden Lords on my console.", {"Elden Lords": "product"}),
            ("We adopted another cat named Bramble.", {"Bramble": "person"}),
            ("I flew to Szeged last week.", {"Szeged": "place"}),
            (
                "We watched Liverpool beat Chelsea in the cup final.",
                {"Liverpool": "organisation", "Chelsea": "organisation"},
            ),
        ],
    )
    def test_the_words_beside_a_name_tell_its_type(self, text: str, expected: dict[str, str]):
        assert typed([text]) == [expected]

    def test_a_name_has_one_type_in_all_texts(self):
        texts = ["I flew to Montebello last week.", "The Montebello thing again.", "We live in Montebello now."]
        assert {each["Montebello"] for each in typed(texts)} == {"place"}

    def test_types_that_are_known_decide_doubtful_names(self):
        known = {"kestrel": Counter({EntityType.PROJECT: 5})}
        assert typed(["We talked about Kestrel again."], known) == [{"Kestrel": "project"}]

    def test_relations_keep_their_ends(self):
        text = "Anna works at Quorvex. We met at Tiverton Fair."
        (found,) = assign_types([text], [find(text)], EMBEDDER, {})
        ends = [(found.names[each.source].name, each.type, found.names[each.target].name) for each in found.relations]
        assert ends == [("Anna", "WORKS_AT", "Quorvex")]

    def test_texts_without_names_need_no_vectors(self):
        assert typed(["nothing here", ""]) == [{}, {}]

    @pytest.mark.parametrize(
        "text, names",
        [
            ("Мы с Анной ездили в Москву и были в Эрмитаже.", {"Анной", "Москву", "Эрмитаже"}),
            ("Hier j'ai lu Bel-Ami de Maupassant, c'était très bien.", {"Bel-Ami de Maupassant"}),
        ],
    )
    def test_names_in_other_languages_stay_as_the_rules_found_them(self, text: str, names: set[str]):
        assert typed([text]) == [dict.fromkeys(names, "thing")]

    def test_a_name_that_was_a_mere_thing_gets_its_type(self):
        text = "We adopted another cat named Bramble."
        assert typed([text], {"bramble": Counter({EntityType.THING: 9})}) == typed([text])


def test_a_long_name_does_not_hide_the_names_of_its_sentence():
    text = "We adopted a beagle named Biscuit from the Denver Animal Shelter in March."
    assert [named.name for named in find(text).names] == ["Biscuit", "Denver Animal Shelter"]


@pytest.mark.parametrize("text", ["The dentist is on May 12.", "See you on April 15 then."])
def test_a_date_is_no_name(text: str):
    assert find(text).names == ()
