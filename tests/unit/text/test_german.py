"""German through the rules: what is kept, how it is told, which slot it fills, and which days it names."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from mnemic.model.item import Kind
from mnemic.text.asking import Asking, Date, Span
from mnemic.text.choices import choice_of
from mnemic.text.facts.find import Said, find_candidates, read_attributes
from mnemic.text.facts.when import find_time
from mnemic.text.graph.find import find
from mnemic.text.junk import junk_reason
from mnemic.text.languages import detect, lookup
from mnemic.text.slots import Filled, slot_of
from tests.unit.text.fact_cases import keep_facts

AT = datetime(2026, 5, 6, 9, 0, tzinfo=UTC)
TODAY = date(2026, 11, 22)
GERMAN = lookup("de")


@pytest.mark.parametrize(
    "said, told, slot, value",
    [
        ("Ich wohne in Wien.", "User wohnt in Wien", "home", "Wien"),
        (
            "Ich wohne seit Mai in Frankfurt am Main.",
            "User wohnt seit Mai in Frankfurt am Main",
            "home",
            "Frankfurt am Main",
        ),
        ("Ich bin nach Graz gezogen.", "User ist nach Graz gezogen", "home", "Graz"),
        ("Hallo, ich heiße Ana.", "User heißt Ana", "name", "Ana"),
        (
            "Ich bin Softwareentwicklerin bei Google.",
            "User ist Softwareentwicklerin bei Google",
            "job",
            "Softwareentwicklerin",
        ),
        ("Ich arbeite als Lehrer.", "User arbeitet als Lehrer", "job", "Lehrer"),
        ("Mein Geburtstag ist am 3. Mai 1990.", "Users Geburtstag ist am 3. Mai 1990", "birthday", "3. Mai 1990"),
        ("Ich hasse Koriander.", "User hasst Koriander", "", ""),
        ("Ich habe zwei Katzen, Mia und Leo.", "User hat zwei Katzen, Mia und Leo", "", ""),
        ("Meine Schwester lebt in Linz.", "Users Schwester lebt in Linz", "", ""),
        ("Übrigens, ich bin allergisch gegen Nüsse.", "User ist allergisch gegen Nüsse", "allergy to nüsse", "Nüsse"),
        ("Meine Lieblingsfarbe ist Grün.", "Users Lieblingsfarbe ist Grün", "favourite farbe", "Grün"),
    ],
)
def test_a_fact_is_told_in_the_third_person_and_fills_its_slot(said: str, told: str, slot: str, value: str):
    (fact,) = find_candidates(Said("m1", said, AT))
    assert (fact.text.split(" (")[0], fact.slot, fact.value) == (told, slot, value)


def test_kinds_are_told_by_their_wording():
    kinds = {
        fact.text: fact.kind for fact in find_candidates(Said("m1", "Ich hasse Koriander. Ich wohne in Wien.", AT))
    }
    assert kinds == {"User hasst Koriander": Kind.PREFERENCE, "User wohnt in Wien": Kind.FACT}


def test_a_question_behind_a_statement_is_cut_off():
    (fact,) = find_candidates(Said("m1", "Ich bin gestern nach Graz gezogen, kannst du mir ein Café empfehlen?", AT))
    assert (fact.text, fact.slot) == ("User ist gestern nach Graz gezogen (am 2026-05-05)", "home")


@pytest.mark.parametrize(
    "text",
    [
        "Wo wohne ich eigentlich?",
        "Kannst du mir ein gutes Buch empfehlen?",
        "Danke schön, das war sehr hilfreich!",
        "Vielen Dank für deine Hilfe.",
        "Guten Morgen, wie geht es dir?",
        "Wenn ich in Rom wohne, lerne ich Italienisch.",
        "Vielleicht ziehe ich nach Bern.",
        "Bitte übersetze diesen Satz: Ich wohne in Kairo.",
        "Er sagte: „Ich wohne in Oslo.“",
        "Ich brauche ein paar Tipps für den Garten.",
    ],
)
def test_questions_courtesies_and_orders_are_not_kept(text: str):
    assert keep_facts(Said("m1", text, AT)) == []


@pytest.mark.parametrize(
    "text, facts",
    [
        ("Ich heiße Ana und ich arbeite bei Siemens.", {"name": "Ana", "employer": "Siemens"}),
        ("Ich spreche Deutsch und Kroatisch.", {"language": "Deutsch und Kroatisch"}),
        ("Meine Muttersprache ist Ungarisch.", {"language": "Ungarisch"}),
        ("Ich wohne nicht in Wien.", {}),
        ("Früher wohnte ich in Wien.", {}),
        ("Meine Mutter sagt, ich wohne in Wien.", {}),
    ],
)
def test_a_profile_takes_what_is_plain(text: str, facts: dict[str, str]):
    assert read_attributes(text) == facts


@pytest.mark.parametrize(
    "text, label",
    [
        ("Ich war gestern im Kino", "am 2026-05-05"),
        ("Wir fahren übermorgen weg", "am 2026-05-08"),
        ("Ich habe letzte Woche gekündigt", "in der Woche vom 2026-04-27"),
        ("Ich fange nächsten Monat an", "im Monat 2026-06"),
        ("Ich habe letztes Jahr geheiratet", "im Jahr 2025"),
        ("Ich bin vor zwei Wochen umgezogen", "in der Woche vom 2026-04-20"),
        ("Ich reise in drei Tagen ab", "am 2026-05-09"),
        ("Ich habe Olga letzten Freitag getroffen", "am 2026-05-01"),
        ("Am Montag habe ich Prüfung", "am 2026-05-11"),
        ("Ich habe im März angefangen", "im Monat 2026-03"),
        ("Ich habe im Dezember angefangen", "im Monat 2025-12"),
        ("Ich bin am 3. Mai angekommen", "am 2026-05-03"),
        ("Ich bin im Jahr 1990 geboren", "im Jahr 1990"),
    ],
)
def test_times_are_counted_from_when_it_was_said(text: str, label: str):
    language = detect(text)
    named = find_time(text, AT, language.dates)
    assert language is GERMAN
    assert named is not None
    assert language.dates.labels[named.unit].format(named.start) == f" ({label})"


@pytest.mark.parametrize("text", ["Guten Morgen", "Ich trinke am Morgen Tee", "Ich mag Züge"])
def test_no_time_is_read_into_a_text(text: str):
    assert find_time(text, AT, GERMAN.dates) is None


@pytest.mark.parametrize(
    "text, dates",
    [
        ("Was haben wir am 7. Mai 2023 gekauft?", (Date(2023, 5, 7),)),
        ("Was habe ich im Oktober gelesen?", (Date(None, 10, None),)),
        ("Was hat Ana vorgeschlagen?", ()),
    ],
)
def test_dates_in_a_question_are_known(text: str, dates: tuple[Date, ...]):
    assert Asking.of(text, TODAY).dates == dates


@pytest.mark.parametrize(
    "text, first, last",
    [
        ("Was habe ich vor drei Tagen gekauft?", date(2026, 11, 18), date(2026, 11, 20)),
        ("Was habe ich gestern gegessen?", date(2026, 11, 21), date(2026, 11, 21)),
        ("Wen traf ich letzte Woche?", date(2026, 11, 9), date(2026, 11, 20)),
    ],
)
def test_days_counted_from_today_are_known(text: str, first: date, last: date):
    assert Asking.of(text, TODAY).spans == (Span(first, last),)


def test_who_asks_for_a_reply_of_the_assistant_is_understood():
    assert Asking.of("Welches Buch hast du mir empfohlen?", TODAY).is_of_assistant
    assert not Asking.of("Welches Buch lese ich?", TODAY).is_of_assistant


@pytest.mark.parametrize(
    "text, filled",
    [
        ("User wohnt in Wien", ("home", "Wien", False)),
        ("User ist nach Graz gezogen", ("home", "Graz", True)),
        ("Ich heiße Ana", ("name", "Ana", False)),
        ("User hasst Koriander", ("likes koriander", "hate", False)),
        ("User mag keinen Koriander", ("likes koriander", "dislike", False)),
    ],
)
def test_a_memory_fills_its_slot(text: str, filled: tuple[str, str, bool]):
    assert slot_of(text) == Filled(*filled)


def test_what_is_chosen_again_is_known():
    choice = choice_of("User hat sich für PostgreSQL entschieden")
    assert choice is not None
    assert (choice.verb, choice.thing) == ("wählt", "PostgreSQL")
    assert choice_of("User hat sich nicht für PostgreSQL entschieden") is None


def test_the_graph_reads_it():
    found = find("Anna arbeitet bei der Firma Siemens.")
    assert {(name.name, name.type.value) for name in found.names} == {("Anna", "person"), ("Siemens", "organisation")}
    assert [relation.type for relation in found.relations] == ["WORKS_AT"]


@pytest.mark.parametrize(
    "first, third",
    [
        ("Gestern habe ich mein Rad verkauft", "Gestern hat User Users Rad verkauft"),
        ("Ich bleibe, weil ich in Wien wohne", "User bleibt, weil User in Wien wohnt"),
        ("Ich rief meine Mutter an", "User rief Users Mutter an"),
        ("Sie sagte „ich komme“ zu mir", "Sie sagte „ich komme“ zu User"),
        ("Wir wohnen in Ulm", "User wohnt in Ulm"),
    ],
)
def test_the_first_person_becomes_the_third(first: str, third: str):
    assert GERMAN.third_person(first) == third


def test_a_courtesy_is_worth_nothing():
    assert junk_reason("Danke schön")


@pytest.mark.parametrize(
    "text, code",
    [
        ("Ich wohne in Wien", "de"),
        ("I live in Vienna", "en"),
        ("Die Hard was a film", "en"),
        ("我住在维也纳", "zh"),
        ("", "en"),
    ],
)
def test_a_language_is_told_by_its_words_or_its_script(text: str, code: str):
    assert detect(text).code == code
