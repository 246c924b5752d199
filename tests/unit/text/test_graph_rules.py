"""Names and relations by rules: what is found, what is not, and that no text raises."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mnemic.model.graph import MAX_NAME_CHARS, EntityType
from mnemic.text.graph.find import MOST_NAMES, MOST_RELATIONS, find
from mnemic.text.graph.names import clean_name, name_key, type_of

PIECES = (
    "Anna",
    "Project X",
    " depends on ",
    " and ",
    ", ",
    ". ",
    "'s manager is ",
    "(AB)",
    "I ",
    "我",
    "依赖",
    "\x00",
    "\ud800",
    "?",
)


def relations(text: str, speaker: str = "") -> set[tuple[str, str, str]]:
    found = find(text, speaker)
    names = [name.name for name in found.names]
    return {(names[each.source], each.type, names[each.target]) for each in found.relations}


def types(text: str, speaker: str = "") -> dict[str, str]:
    return {name.name: name.type.value for name in find(text, speaker).names}


@pytest.mark.requirement("N-25", "P-26")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("Project X depends on the Billing Service.", {("Project X", "DEPENDS_ON", "Billing Service")}),
        ("Anna works at Acme.", {("Anna", "WORKS_AT", "Acme")}),
        ("Redis is used by Project X.", {("Project X", "USES", "Redis")}),
        ("Anna created Apollo.", {("Apollo", "CREATED_BY", "Anna")}),
        ("Apollo was created by Anna Berg.", {("Apollo", "CREATED_BY", "Anna Berg")}),
        ("Bob reports to Carla.", {("Bob", "REPORTS_TO", "Carla")}),
        ("Anna's manager is Bob.", {("Anna", "REPORTS_TO", "Bob")}),
        ("Bob is Anna's manager.", {("Anna", "REPORTS_TO", "Bob")}),
        ("The Vault is part of Project Atlas.", {("Vault", "PART_OF", "Project Atlas")}),
        ("Bob is the CEO of Acme.", {("Bob", "MANAGES", "Acme")}),
        ("Acme is a company based in Oslo.", {("Acme", "LOCATED_IN", "Oslo")}),
        ("The Retention Policy governs the Vault.", {("Vault", "GOVERNED_BY", "Retention Policy")}),
        ("Alice and Bob both work at Initech.", {("Alice", "WORKS_AT", "Initech"), ("Bob", "WORKS_AT", "Initech")}),
        ("Apollo uses Redis, Kafka and Docker.", {("Apollo", "USES", x) for x in ("Redis", "Kafka", "Docker")}),
        ("Anna works at Acme and lives in Berlin.", {("Anna", "WORKS_AT", "Acme"), ("Anna", "LIVES_IN", "Berlin")}),
        (
            "Apollo, which depends on Kafka, was created by Bob.",
            {("Apollo", "DEPENDS_ON", "Kafka"), ("Apollo", "CREATED_BY", "Bob")},
        ),
        ("Anna works at Acme. She reports to Bob.", {("Anna", "WORKS_AT", "Acme"), ("Anna", "REPORTS_TO", "Bob")}),
        ("Marie habite à Toulouse.", {("Marie", "LIVES_IN", "Toulouse")}),
        ("Pedro trabaja en Telefónica.", {("Pedro", "WORKS_AT", "Telefónica")}),
        (
            "阿波罗项目依赖Redis，由张伟负责。",
            {("阿波罗项目", "DEPENDS_ON", "Redis"), ("张伟", "MANAGES", "阿波罗项目")},
        ),
        ("张伟在腾讯公司工作。", {("张伟", "WORKS_AT", "腾讯公司")}),
    ],
)
def test_a_phrase_between_two_names_relates_them(text: str, expected: set[tuple[str, str, str]]):
    assert relations(text) == expected


@pytest.mark.requirement("P-26")
@pytest.mark.parametrize(
    "text",
    [
        "Anna does not work at Acme.",
        "Does Anna work at Acme?",
        "If Anna works at Acme, tell me.",
        "Maybe Anna works at Acme.",
        "Anna might work at Acme.",
        "Anna never worked at Acme.",
        "Anna visited the shop, and Acme closed early.",
        "Anna. Works at Acme.",
        "张伟不在腾讯公司工作。",
        "张伟在哪里工作？",
    ],
)
def test_what_is_denied_asked_or_supposed_relates_nothing(text: str):
    assert relations(text) == set()


class TestTheSpeaker:
    def test_who_says_i_is_the_speaker(self):
        assert relations("I work at Acme. My manager is Bob.", "Ana") == {
            ("Ana", "WORKS_AT", "Acme"),
            ("Ana", "REPORTS_TO", "Bob"),
        }
        assert relations("我住在上海。", "User") == {("User", "LIVES_IN", "上海")}

    def test_the_user_of_a_memory_is_too(self):
        assert relations("User lives in Oslo.", "User") == {("User", "LIVES_IN", "Oslo")}

    def test_nobody_in_particular_is_noted(self):
        assert "User" not in types("User lives in Oslo. I work at Acme.")


class TestNames:
    @pytest.mark.requirement("N-24")
    def test_what_is_told_of_a_name_is_its_type(self):
        assert types("Anna lives in Narnia. Apollo is a project. Zed is a programming language.") == {
            "Anna": "person",
            "Narnia": "place",
            "Apollo": "project",
            "Zed": "technology",
        }
        assert types("We met Dr. Smith at Acme GmbH in Norway.") == {
            "Dr. Smith": "person",
            "Acme GmbH": "organisation",
            "Norway": "place",
        }

    @pytest.mark.requirement("N-24")
    def test_what_a_text_says_of_a_name_is_its_description(self):
        found = find("Acme is a freight company based in Oslo. Beacon, a routing service, runs on Redis.")
        assert {each.name: each.description for each in found.names if each.description} == {
            "Acme": "freight company based in Oslo",
            "Beacon": "routing service",
        }

    def test_a_short_form_in_brackets_is_another_name(self):
        text = "The European Space Agency (ESA) builds Orion."
        assert ("European Space Agency", "ALSO_KNOWN_AS", "ESA") in relations(text)
        assert "ALSO_KNOWN_AS" not in {each[1] for each in relations("Anna Berg (CEO) uses Redis.")}

    def test_the_beginning_of_a_sentence_is_no_name_by_its_capital(self):
        assert types("However, this works. Tomorrow we go. Yes.") == {}

    @pytest.mark.requirement("P-62")
    @pytest.mark.parametrize(
        "text",
        [
            "1. **Add**: Add two cups of flour.\n2. Stir well.",
            "- Use the app every day.\n- Consider a library.\n* Join the company club.",
            "Additional Tips:\n\n## Back Up Your Work\n\n**Online Resources** help.",
            "Don't worry, you'll find it. I\u2019ve tried. They\u2019ll see.",
            "Food matters. We talked about food with a German friend who speaks Spanish.",
            "She is a Product Manager. We ate in the City on Fri.",
            "```\nFoo Bar uses Redis\n```",
        ],
    )
    def test_verbs_headings_common_words_and_roles_are_no_names(self, text: str):
        assert types(text) == {}

    @pytest.mark.requirement("P-62")
    @pytest.mark.parametrize(
        "text, expected",
        [
            ("Adding NYC to the list. Visit Rome. Learning German is fun.", {"NYC": "place", "Rome": "place"}),
            ("Hey Zorro! How are you?", {"Zorro": "person"}),
            ("We met J.K. Rowling and George Penrose.", {"J.K. Rowling": "person", "George Penrose": "person"}),
            ('Then I read "The Name of the Storm".', {"The Name of the Storm": "product"}),
            ('I liked the novel "A Night with Wolves" very much.', {"A Night with Wolves": "product"}),
            ("We talked to people from Under Armour about shoes.", {"Under Armour": "thing"}),
            ("On May 12 we will play CS:GO again, but no MOBAs this time.", {"CS:GO": "thing"}),
            ("I like players like Okimbo and cities such as Vellor.", {"Okimbo": "person", "Vellor": "place"}),
            ("She flew to New York City for the Red Cross.", {"New York City": "place", "Red Cross": "organisation"}),
            ("Pricing Engine is old. Search Service too.", {"Pricing Engine": "thing", "Search Service": "thing"}),
            ("Tandoor is a Spanish-style restaurant.", {"Tandoor": "organisation"}),
        ],
    )
    def test_words_around_a_name_bound_and_type_it(self, text: str, expected: dict[str, str]):
        assert types(text) == expected

    def test_spans_are_places_in_the_text(self):
        text = "So: Project X depends on Redis."
        found = find(text)
        assert {text[name.start : name.end] for name in found.names} == {"Project X", "Redis"}
        (relation,) = found.relations
        assert text[relation.start : relation.end] == "Project X depends on Redis"

    @pytest.mark.parametrize(
        "one, other",
        [("Project X", "project  x."), ("the Vault", "Vault's"), ("ＡＣＭＥ", "Acme"), ("“Apollo”", "apollo")],
    )
    def test_names_are_compared_by_one_form(self, one: str, other: str):
        assert name_key(one) == name_key(other) != ""

    def test_different_names_stay_different(self):
        assert len({name_key(name) for name in ("C", "C++", "C#", "Project X", "Project Y", "Los Angeles")}) == 6

    def test_what_is_no_name_has_no_key(self):
        assert [name_key(name) for name in ("", " ", "...", "\x00", "—")] == [""] * 5

    def test_a_name_to_show_steers_nothing(self):
        assert clean_name(" \u202eAcme\x1b[31m\n Corp. ") == "Acme [31m Corp"

    def test_keys_are_bounded(self):
        assert len(name_key("A" * 10_000)) == MAX_NAME_CHARS

    def test_an_unknown_name_is_a_thing(self):
        assert type_of("Zorblax") is EntityType.THING


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join), st.sampled_from(["", "Ana"]))
@settings(max_examples=60, deadline=None)
def test_no_text_raises_and_every_answer_is_whole(text: str, speaker: str):
    found = find(text, speaker)
    assert len({(name.key, name.type) for name in found.names}) == len(found.names) <= MOST_NAMES
    assert len({(each.source, each.target, each.type) for each in found.relations}) == len(found.relations)
    assert len(found.relations) <= MOST_RELATIONS
    assert all(0 <= name.start < name.end <= len(text) and name.key for name in found.names)
    assert all(each.source != each.target for each in found.relations)


def test_courtesies_before_a_name_are_no_part_of_it():
    for said in ("Wow John, that helps", "Yeah John", "Thanks John", "Woohoo John"):
        assert {name.name for name in find(f"{said}. Anna met John.").names} == {"Anna", "John"}


def test_a_surname_is_the_person_named_before():
    assert relations("Marta Keller founded Acme Corp. Tom Okafor reports to Keller.") == {
        ("Acme Corp", "CREATED_BY", "Marta Keller"),
        ("Tom Okafor", "REPORTS_TO", "Marta Keller"),
    }


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Siemens owns Siemens Energy.", {("Siemens", "MANAGES", "Siemens Energy")}),
        ("Acme Labs is part of Acme.", {("Acme Labs", "PART_OF", "Acme")}),
        ("The service Mercury depends on Mercury Cloud.", {("Mercury", "DEPENDS_ON", "Mercury Cloud")}),
        ("Google acquired Google Maps.", {("Google Maps", "PART_OF", "Google")}),
        (
            "Anna works at Siemens. Bob works at Siemens Energy.",
            {("Anna", "WORKS_AT", "Siemens"), ("Bob", "WORKS_AT", "Siemens Energy")},
        ),
    ],
)
def test_a_name_stays_beside_a_longer_one_that_begins_with_it(text: str, expected: set[tuple[str, str, str]]):
    assert relations(text) == expected


NONE: set[tuple[str, str, str]] = set()


def test_a_first_name_is_the_person_named_before():
    assert relations("Marta Keller works at Acme Corp. Marta reports to Tom Okafor.") == {
        ("Marta Keller", "WORKS_AT", "Acme Corp"),
        ("Marta Keller", "REPORTS_TO", "Tom Okafor"),
    }


@pytest.mark.parametrize(
    "text, expected",
    [
        ("李明的经理是王芳。", {("李明", "REPORTS_TO", "王芳")}),
        ("赵强的妻子是陈静。她来自成都。", {("赵强", "FAMILY_OF", "陈静")}),
        ("刘洋以前在百度工作，现在在云峰集团工作。", {("刘洋", "WORKED_AT", "百度"), ("刘洋", "WORKS_AT", "云峰集团")}),
        ("海燕系统依赖Redis和Kafka。", {("海燕系统", "DEPENDS_ON", "Redis"), ("海燕系统", "DEPENDS_ON", "Kafka")}),
        ("孙丽的丈夫高伟在长江银行工作。", {("孙丽", "FAMILY_OF", "高伟"), ("高伟", "WORKS_AT", "长江银行")}),
    ],
)
def test_chinese_clauses_relate_owners_joined_names_and_the_last_subject(
    text: str, expected: set[tuple[str, str, str]]
):
    assert relations(text) >= expected


@pytest.mark.parametrize(
    "clauses, expected",
    [
        ("张伟住在上海，在百度工作。", {("张伟", "WORKS_AT", "百度")}),
        ("张伟住在上海。他很聪明，在百度工作。", {("张伟", "WORKS_AT", "百度")}),
        ("张伟住在上海。2019年，他加入了百度。", {("张伟", "WORKS_AT", "百度")}),
        ("张伟住在上海。李娜很聪明。她在百度工作。", NONE),
        ("张伟住在上海。李娜不住在北京。她在百度工作。", NONE),
        ("张伟住在上海。现在李娜很聪明，在百度工作。", NONE),
        ("张伟住在上海。他的妻子很聪明，在百度工作。", NONE),
        ("张伟住在上海。我住在北京，在百度工作。", NONE),
        ("张伟住在上海。Anna is clever. 她在百度工作。", NONE),
        ("张伟住在上海。它依赖于PostgreSQL。", NONE),
        ("百度公司位于北京。他住在上海。", {("百度公司", "LOCATED_IN", "北京")}),
        ("百度公司位于北京，在上海工作。", {("百度公司", "LOCATED_IN", "北京")}),
    ],
)
def test_a_chinese_pronoun_or_empty_subject_means_only_the_last_subject(
    clauses: str, expected: set[tuple[str, str, str]]
):
    assert relations(clauses) - {("张伟", "LIVES_IN", "上海")} == expected
