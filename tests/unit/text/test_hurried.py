"""Clauses without a subject, as people type in a hurry: what they say of the user, and what only looks like it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mnemic.text.facts.find import Said, find_candidates, read_attributes
from mnemic.text.facts.statements import find_statements
from mnemic.text.languages import detect, lookup

AT = datetime(2026, 5, 6, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text, told",
    [
        ("work at the harbour office in Genoa, night desk", "User works at the harbour office in Genoa, night desk"),
        ("living on a boat near Arnhem", "User is living on a boat near Arnhem"),
        ("teaching myself arabic, an hour every night", "User is teaching themselves Arabic, an hour every night"),
        ("been on metformin for two years", "User has been on metformin for two years"),
        ("never been to Peru", "User has never been to Peru"),
        ("lived in osaka for a year when i was at uni", "User lived in Osaka for a year when they were at uni"),
        ("dont eat pork", "User does not eat pork"),
        ("can't have gluten, found out as a kid", "User cannot have gluten, found out as a kid"),
        ("getting my hip replaced in october", "User is getting their hip replaced in October (in 2026-10)"),
        ("using a cane since 2021", "User is using a cane since 2021"),
        ("Since I work nights, can you find me a late gym?", "User works nights"),
    ],
)
def test_what_is_typed_in_a_hurry_is_told_of_the_user(text: str, told: str):
    assert [fact.text for fact in find_candidates(Said("m1", text, AT))] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "running the tests gave 3 errors",
        "building permit for a shed",
        "play that again",
        "don't add comments",
        "speak slowly please",
        "live music near the station",
        "own goal in the final",
        "sold out everywhere by noon",
        "never mind the margins",
        "has anybody moved house with cats",
    ],
)
def test_orders_and_things_are_no_acts_of_the_user(text: str):
    assert not [fact for fact in find_candidates(Said("m1", text, AT)) if fact.text.startswith("User ")]


@pytest.mark.parametrize(
    "text, told, slot, value",
    [
        ("i live in york", "User lives in York", "home", "York"),
        ("Moved to leeds last week", "User moved to Leeds last week (in the week of 2026-04-27)", "home", "Leeds"),
        ("we live in a flat in newport pagnell", "User lives in a flat in Newport Pagnell", "home", "Newport Pagnell"),
        ("i live in the us", "User lives in the US", "home", "US"),
        ("just moved to newcastle upon tyne and dont know a soul any tips",
         "User moved to Newcastle upon Tyne and doesn't know a soul", "home", "Newcastle upon Tyne"),
        ("i work for the nhs", "User works for the NHS", "employer", "NHS"),
        ("work at kwik fit whats a good excuse for being late", "User works at Kwik Fit", "employer", "Kwik Fit"),
        ("im a midwife so sleep is rare", "User is a midwife so sleep is rare", "job", "midwife"),
        ("my wifes called anna", "User's wife's called Anna", "partner", "Anna"),
        ("my new boss is called gareth", "User's new boss is called Gareth", "manager", "Gareth"),
        ("i drive an old skoda octavia", "User drives an old Skoda Octavia", "car", "Skoda Octavia"),
        ("my birthday is on 3 may", "User's birthday is on 3 May", "birthday", "3 May"),
        ("ich wohne jetzt in köln", "User wohnt jetzt in Köln", "home", "Köln"),
        ("hab bei siemens angefangen", "User hat bei Siemens angefangen", "employer", "Siemens"),
    ],
)  # fmt: skip
def test_names_get_their_capitals_and_fill_what_the_user_is(text: str, told: str, slot: str, value: str):
    (fact,) = find_candidates(Said("m1", text, AT))
    assert (fact.text, fact.slot, fact.value) == (told, slot, value)


@pytest.mark.parametrize(
    "text",
    [
        "i live in fear of spiders",
        "i live in student halls",
        "i moved to vim",
        "I moved to Slack",
        "i moved to nights",
        "moved to tuesday now",
        "my sister moved to toronto whats the time there",
        "my boss is nice today",
        "i work at night and sleep at noon",
        "call me later when youre done",
        "explain it to me like im five",
        "she goes im 25 and i live in london and im like ok",
        "Let's play. You are the innkeeper and I am Sir Aldous, a knight.",
        "I'm a regular at Starbucks.",
        "I'm a bit mad at Tom.",
        "I'm a volunteer at Oxfam.",
        "I am a beginner at Python.",
        "I'm seeing a therapist.",
        "I'm calling a plumber.",
        "I'm waiting for the plumber.",
        "I'm the designated driver on Friday.",
        "Anna is home now.",
        "I'm in Paris now for a conference.",
        "We're in Rome now on holiday.",
        "I moved up to Senior Engineer.",
        "I moved over to Figma.",
        "I shifted to Kotlin.",
        "I live in the Victorian terrace next door.",
        "I've been with Anna for three years.",
        "I got offered a position at Google but said no.",
        "I joined Reddit in 2012.",
        "I swapped my iPhone for a Pixel.",
        "I bought a Golf club.",
        "I bought a Tesla Powerwall.",
        "I got my Ford fixed.",
        "I drive Uber at weekends.",
        "My car is in Leeds.",
        "got a seat on the train",
        "bought a puma jacket",
        "bought a leaf blower",
        "My son is Tom and birthday is 3 May.",
        "I'm Republican and proud.",
        "I'm Deaf and use BSL.",
        "10 years here and I still get lost.",
        "I'm 12 on a scale of 20.",
        "Can you help me ask my son who is bullying him?",
        "As a lawyer, can you check this contract?",
        "Ich bin die Mutter.",
        "Ich bin der Chef und wohne in Bonn.",
        "Studiere die Liste genau und sag mir was fehlt.",
        "Arbeit ist hart hier.",
        "my boss is friendly",
        "its hot here",
        "i work for fun",
        "i work for tips",
        "i live in scrubs",
        "i moved to iphone last year",
        "i go by bike",
        "ich arbeite für mich",
        "ich lebe in hoffnung",
        "my sister texted me im in rome now",
        "I love JK Rowling's books.",
        "In my book club we read a lot.",
        "My wife is French and a teacher.",
    ],
)
def test_what_only_looks_like_it_fills_nothing(text: str):
    filled = {fact.slot for fact in find_candidates(Said("m1", text, AT))} | read_attributes(text).keys()
    assert not filled & {"home", "employer", "job", "name", "partner", "manager", "age", "car", "birthday"}


@pytest.mark.parametrize(
    "text",
    [
        "the café im Park",
        "an orange and a nice bath",
        "I wonder what can be done in a mobile home",
        "import adams; print(may_be)",
        "see leeds.ac.uk and bath.py",
        "we split the bill in march or may not",
        "the release branch is called stable-2",
        "my function is called parse and the file is named reader",
    ],
)
def test_other_words_keep_their_small_letters(text: str):
    assert detect(text).restore_capitals(text) == text


def test_restoring_capitals_keeps_the_length_so_that_spans_still_hold():
    text = "i live in st ives, see straße 5, my boss is priya and on monday im in são paulo"
    restored = lookup("en").restore_capitals(text)
    assert restored == "I live in St Ives, see straße 5, my boss is Priya and on Monday im in São Paulo"
    assert len(restored) == len(text)


def test_a_name_is_told_in_a_few_small_letters():
    assert [(fact.text, fact.slot) for fact in find_candidates(Said("m1", "im ana", AT))] == [("User is Ana", "name")]


@pytest.mark.parametrize("text", ["ich heiße ßandra", "foo-ŉbar lives in ŉew york", "call me ﬁona"])
def test_letters_whose_capital_is_longer_stay_as_they_are(text: str):
    assert len(detect(text).restore_capitals(text)) == len(text)


def test_a_question_behind_a_statement_without_a_comma_is_cut_off():
    told = [each.text for each in find_statements("ive got a puppy how do i stop him biting")]
    assert told == ["Ive got a puppy"]
    assert [each.text for each in find_statements("i know how to bake and what can go wrong")] == [
        "I know how to bake and what can go wrong"
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("I live in Chicago and work for Deloitte.", ["User lives in Chicago", "User works for Deloitte"]),
        ("I drive a Toyota Yaris and live in Oslo.", ["User drives a Toyota Yaris", "User lives in Oslo"]),
        (
            "hey im jess, live in leeds, work for asda head office",
            ["User is Jess", "User lives in Leeds", "User works for Asda Head Office"],
        ),
        ("Ich wohne in Köln und arbeite bei Siemens.", ["User wohnt in Köln", "User arbeitet bei Siemens"]),
        ("I live in Bath and love it there.", ["User lives in Bath and loves it there"]),
    ],
)
def test_what_can_change_by_itself_is_a_fact_of_its_own(text: str, told: list[str]):
    assert [fact.text for fact in find_candidates(Said("m1", text, AT))] == told


def test_who_is_named_beside_a_fact_that_may_end_is_a_fact_too():
    found = find_candidates(Said("m1", "My wife Claire and I live in Bath with our dog, Biscuit.", AT))
    assert [(fact.text, fact.slot) for fact in found] == [
        ("User and their wife Claire live in Bath with their dog, Biscuit", "home"),
        ("User's wife is called Claire", "partner"),
        ("User's dog is called Biscuit", ""),
    ]


@pytest.mark.parametrize(
    "text, told",
    [
        ("can u make me a meal plan im allergic to shellfish", ["User is allergic to shellfish"]),
        ("cant sleep any tips i work nights as a porter", ["User works nights as a porter"]),
        ("whats a good beginner guitar im left handed", ["User is left handed"]),
        ("Please mention that I use a wheelchair.", ["User uses a wheelchair"]),
        ("Could you recommend a book for my son Leo, who is seven?", ["User's son Leo is seven"]),
        ("As a type 1 diabetic, what exercise should I do?", ["User is a type 1 diabetic"]),
        ("I work nights, so please don't suggest anything before noon.", ["User works nights"]),
        ("hab bei edeka angefangen wo gibts da parkplätze", ["User hat bei Edeka angefangen"]),
        ("right update weve moved to macclesfield last weekend",
         ["User has moved to Macclesfield last weekend (on the weekend of 2026-05-02)"]),
        ("got a cat named waffles he keeps eating socks", ["User got a cat named Waffles; he keeps eating socks"]),
        ("in gta i sold my car and bought a lambo", []),
        ("in sims bin ich grad nach del sol valley gezogen", []),
        ("just kidding ive left my wife for chatgpt", []),
    ],
)  # fmt: skip
def test_what_stands_beside_a_request_is_kept_and_games_are_not(text: str, told: list[str]):
    found = [fact.text for fact in find_candidates(Said("m1", text, AT))]
    assert [each for each in found if each != "User cannot sleep"] == told
