from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemic.build import build
from mnemic.config import MEMORY_URL, Config
from mnemic.engine.lasting_facts import within_limit
from mnemic.model.item import Fact, Kind, Trust
from mnemic.ports.models import Embedder, LayeredEmbedder
from mnemic.text.facts.find import (
    EXTRACTOR,
    MAX_FACTS,
    VERSION,
    Said,
    choose_facts,
    find_candidates,
    join_clauses,
    read_attributes,
    state_slot,
)
from mnemic.text.facts.worth import keep_probability
from mnemic.text.languages import detect, lookup
from mnemic.text.slots import ORDER
from tests.unit.text.fact_cases import CHINESE, ENGLISH, LEFT_ALONE, Case

AT = datetime(2026, 5, 6, 14, 30, tzinfo=UTC)


def found(text: str, *, trust: Trust = Trust.USER) -> list[Fact]:
    """What is kept with the shipped embedder."""
    candidates = find_candidates(Said("m1", text, AT, trust=trust))
    texts = [each.text for each in candidates]
    embedder = shipped()
    assert isinstance(embedder, LayeredEmbedder)
    vectors, layers = embedder.embed_layers(texts)
    likely = keep_probability(texts, [each.kind for each in candidates], vectors, embedder.space, layers)
    return [candidates[place] for place in choose_facts(candidates, list(likely))]


@cache
def shipped() -> Embedder:
    embedder = build(Config(store=MEMORY_URL)).embedder
    assert embedder is not None
    return embedder


def test_the_cases_are_many():
    assert len(ENGLISH) + len(CHINESE) + len(LEFT_ALONE) >= 180


@pytest.mark.requirement("J-22", "J-23")
@pytest.mark.parametrize("case", [*ENGLISH, *CHINESE], ids=lambda case: case[0])
def test_a_fact_is_told_of_the_user_in_the_third_person(case: Case):
    text, facts = case
    assert tuple((fact.text, fact.kind.value) for fact in find_candidates(Said("m1", text, AT))) == facts


@pytest.mark.parametrize(
    "text, told",
    [
        ("I'm allergic to hazelnuts.", "User is allergic to hazelnuts"),
        ("What can I cook? I'm allergic to nuts.", "User is allergic to nuts"),
        ("Ich bin allergisch gegen Haselnüsse.", "User ist allergisch gegen Haselnüsse"),
        ("我对花生严重过敏。", "用户对花生严重过敏"),
    ],
)
def test_an_allergy_is_always_kept(text: str, told: str):
    assert [fact.text for fact in found(text)] == [told]


def test_a_job_and_its_employer_are_two_facts_so_that_each_can_change():
    kept = found("I'm a software engineer at Google")
    assert [(fact.text, fact.slot) for fact in kept] == [
        ("User is a software engineer", "job"),
        ("User works at Google", "employer"),
    ]


@pytest.mark.parametrize(
    "text, slot",
    [
        ("No dessert, I'm allergic to eggs because of my genes.", "allergy to eggs"),
        ("My doctor says I'm allergic to penicillin.", "allergy to penicillin"),
        ("I don't think I'm allergic to cats.", ""),
        ("I used to think I am allergic to milk.", ""),
        ("The test ruled out that I'm allergic to nuts.", ""),
        ("I'm allergic to nothing.", ""),
    ],
)
def test_an_allergy_that_is_doubted_fills_no_slot(text: str, slot: str):
    assert [fact.slot for fact in find_candidates(Said("m1", text, AT))] == [slot]


@pytest.mark.parametrize(
    "text",
    [
        "I need help with stairs since I broke my hip.",
        "We want a song by Queen at our wedding.",
        "I'd like an answer from my landlord about the deposit.",
    ],
)
def test_a_wish_about_ones_own_life_is_no_request_to_the_assistant(text: str):
    assert find_candidates(Said("m1", text, AT))


@pytest.mark.parametrize(
    "text, slot, value, plain",
    [
        ("User moved to Porto last week", "home", "Porto", "User lives in Porto"),
        ("User joined Acme", "employer", "Acme", "User works at Acme"),
        ("User ist nach Halle gezogen", "home", "Halle", "User wohnt in Halle"),
        ("用户搬到里昂了", "home", "里昂", "用户住在里昂"),
        ("User lives in Porto with their dog", "home", "Porto", ""),
        ("User's favourite tea is sencha", "favourite tea", "sencha", ""),
    ],
)
def test_a_filled_slot_is_stated_in_the_words_of_questions(text: str, slot: str, value: str, plain: str):
    assert state_slot(text, slot, value) == plain


@pytest.mark.requirement("P-43")
def test_the_head_keeps_nearly_all_plain_facts():
    wanted = [fact for _, facts in (*ENGLISH, *CHINESE) for fact, _ in facts]
    kept = {fact.text for text, _ in (*ENGLISH, *CHINESE) for fact in found(text)}
    assert sum(fact in kept for fact in wanted) >= 0.9 * len(wanted)


@pytest.mark.parametrize(
    "text, told",
    [
        ("I hate cilantro", "User hates cilantro"),
        ("I'm Ana", "User is Ana"),
        ("I'm a software engineer", "User is a software engineer"),
        ("my birthday is on 3 May 1990", "User's birthday is on 3 May 1990"),
        ("I was promoted to head of purchasing", "User was promoted to head of purchasing"),
        ("We live in Oslo now", "User lives in Oslo now"),
        ("Ich wohne in Wien", "User wohnt in Wien"),
    ],
)
def test_short_plain_statements_are_kept(text: str, told: str):
    assert [fact.text for fact in found(text)] == [told]


@pytest.mark.parametrize(
    "text, told",
    [
        ("I play bass and sing in a choir.", "User plays bass and sings in a choir"),
        ("I've also been to the north of Chad.", "User has been to the north of Chad"),
        (
            "So Kirra starts as our first agent on Monday.",
            "Kirra starts as User's first agent on Monday (on 2026-05-11)",
        ),
        ("And by the way, it's odd how time flies - I turned 50 in May.", "User turned 50 in May (in 2026-05)"),
        ("I'm thinking of visiting Europe, maybe Spain.", "User is thinking of visiting Europe, maybe Spain"),
        (
            "I'm planning a trip to Nagano and was wondering if you could recommend some inns?",
            "User is planning a trip to Nagano",
        ),
        ("Yup, I moved out of my flat in Bern last May.", "User moved out of their flat in Bern last May (in 2025-05)"),
        ("We adopted a dog from the shelter in March.", "User adopted a dog from the shelter in March (in 2026-03)"),
        ("My boss moved our deadline to 3 July.", "User's boss moved User's deadline to 3 July (on 2026-07-03)"),
        ("Sold the camper for 9,000 euros.", "User sold the camper for 9,000 euros"),
        ("I moved to Graz in April, can you find me a choir?", "User moved to Graz in April (in 2026-04)"),
        ("The race is on the last weekend of September.", "The race is on the last weekend of September (in 2026-09)"),
    ],
)
def test_a_fact_is_a_sentence_that_a_person_would_write(text: str, told: str):
    assert [fact.text for fact in find_candidates(Said("m1", text, AT))] == [told]


@pytest.mark.parametrize("text", ["I have never used one before.", "She's turning seven.", "I washed them yesterday."])
def test_what_points_at_something_unnamed_is_not_kept(text: str):
    assert found(text) == []


@pytest.mark.requirement("J-23")
@pytest.mark.parametrize("text", LEFT_ALONE)
def test_questions_thanks_orders_guesses_and_the_words_of_others_are_no_facts(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "said, told",
    [
        ("I sold the Volvo and now drive a Tesla.", "User sold the Volvo and now drives a Tesla."),
        ("I cook and often bake cakes.", "User cooks and often bakes cakes."),
        ("I let her cook and drive.", "User let her cook and drive."),
        ("Ich mag Katzen und benutze Windows 11.", "User mag Katzen und benutzt Windows 11."),
    ],
)
def test_every_verb_of_the_user_is_in_the_third_person(said: str, told: str):
    assert detect(said).third_person(said) == told


@pytest.mark.requirement("J-24")
def test_dark_mode_and_windows_make_a_preference_and_a_context():
    facts = found("I prefer dark mode and I use Windows 11")
    assert [(fact.text, fact.kind) for fact in facts] == [
        ("User prefers dark mode", Kind.PREFERENCE),
        ("User uses Windows 11", Kind.CONTEXT),
    ]


@pytest.mark.requirement("J-25")
def test_a_message_gives_at_most_three_facts_in_their_order():
    text = "My name is Ola. I live in Bergen. I think it's nice. I work as a plumber. My wife is a doctor. I ski."
    facts, further = within_limit(found(text), MAX_FACTS)
    assert len(facts) == MAX_FACTS == 3
    assert [fact.text for fact in further] == ["User works as a plumber"]
    starts = [fact.provenance[0].start for fact in facts]
    assert starts == sorted(starts)
    assert "User thinks it's nice" not in [fact.text for fact in facts]


@pytest.mark.requirement("J-27")
@pytest.mark.parametrize("text", ["", "   ", "I ski", "  I am 34  ", "我同意"])
def test_fewer_than_ten_characters_hold_no_fact(text: str):
    assert found(text) == []


def test_the_span_carries_the_fact_and_its_source_and_rules_are_named():
    text = "Hello! I moved to Rome yesterday. What should I see?"
    (fact,) = found(text)
    (entry,) = fact.provenance
    assert text[entry.start : entry.end] == "I moved to Rome yesterday"
    assert (entry.source_id, entry.extractor, entry.version) == ("m1", EXTRACTOR, VERSION)
    assert fact.observed_at == AT
    assert fact.valid_from == datetime(2026, 5, 5, tzinfo=UTC)


def test_what_goes_on_about_a_fact_stays_with_it():
    text = "I saw a film about bees. It was very long. Next week I fly to Oslo."
    facts = found(text)
    assert [fact.text for fact in facts] == [
        "User saw a film about bees; it was long",
        "Next week User flies to Oslo (in the week of 2026-05-11)",
    ]


def test_what_is_to_come_is_dated_in_words_but_is_not_true_yet():
    (fact,) = found("I'm flying to Rome next Friday.")
    assert fact.text == "User is flying to Rome next Friday (on 2026-05-15)"
    assert fact.valid_from is None


@pytest.mark.parametrize(
    "text, slot, value",
    [
        ("I live in Berlin now.", "home", "Berlin"),
        ("I've just moved to Lisbon.", "home", "Lisbon"),
        ("I got promoted to team lead at Acme.", "job", "team lead"),
        ("I'm 34 years old.", "age", "34"),
        ("I've become vegan.", "diet", "vegan"),
        ("My favourite film is Alien.", "favourite film", "Alien"),
        ("I got a new job as a nurse at Northgate.", "job", "nurse"),
        ("I started as a data analyst last month.", "job", "data analyst"),
        ("I joined Brightwater as a designer.", "employer", "Brightwater"),
        ("I moved back to Ghent.", "home", "Ghent"),
        ("I've been learning Polish for two years now.", "how long learning polish", "two years"),
        ("I'm moving to Lisbon next month.", "", ""),
        ("I'm single-handedly raising two kids.", "", ""),
        ("I used to live in Berlin.", "", ""),
        ("I want to live in Berlin.", "", ""),
        ("My sister lives in Berlin.", "", ""),
        ("我搬到了上海，天气不错。", "home", "上海"),
    ],
)
def test_what_holds_one_value_at_a_time_fills_a_slot(text: str, slot: str, value: str):
    said = Said("m1", text, AT)
    assert [(fact.slot, fact.value) for fact in find_candidates(said)][:1] == [(slot, value)]


@pytest.mark.requirement("R-35")
def test_plain_words_of_the_user_about_themselves_are_lines_of_the_profile():
    assert read_attributes("My name is Ola Nordmann.") == {"name": "Ola Nordmann"}
    assert read_attributes("I have a sister in Bergen.") == {}


def test_facts_are_as_trusted_as_their_message():
    assert found("I live in Berlin now.", trust=Trust.IMPORTED)[0].trust is Trust.IMPORTED


def test_what_asks_for_something_counts_less_than_what_tells():
    assert found("I'm not sure which tent would suit.") == []
    assert len(found("My tent is a Korvo for two.")) == 1


@pytest.mark.parametrize(
    "first, third",
    [
        ("I'm a nurse", "User is a nurse"),
        ("I've never been there and I'd love to go", "User has never been there and they would love to go"),
        ("I'd been there", "User had been there"),
        ("I like tea and hate coffee", "User likes tea and hates coffee"),
        ("I want to relax and enjoy life", "User wants to relax and enjoy life"),
        ("My wife and I have two cats", "User and their wife have two cats"),
        ("Anna and I work together", "User and Anna work together"),
        ("We moved into our flat", "User moved into their flat"),
        ("I fly, do sports and watch films", "User flies, do sports and watches films"),
        ("I studied World War I", "User studied World War I"),
        ("He gave me his bike", "He gave User his bike"),
        ("So am I", "So is User"),
        (
            "I don't smoke, I can't swim and I haven't tried",
            "User does not smoke, they can't swim and they haven't tried",
        ),
        ('She said "I love my cat" to me', 'She said "I love my cat" to User'),
        ("I need, feed and succeed", "User needs, feed and succeed"),
        ("the US and us", "the US and User"),
        ("I saw The Rest of Us", "User saw The Rest of Us"),
        ("It was hard when I first moved", "It was hard when User first moved"),
    ],
)
def test_the_first_person_becomes_the_third(first: str, third: str):
    assert lookup("en").third_person(first) == third


@pytest.mark.parametrize(
    "first, third",
    [
        ("我妹妹住在北京", "用户的妹妹住在北京"),
        ("我们搬家了", "用户搬家了"),
        ("他说“我喜欢你”，我不信", "他说“我喜欢你”，用户不信"),
        ("我的猫很老呢", "用户的猫很老"),
    ],
)
def test_the_first_person_becomes_the_third_in_chinese(first: str, third: str):
    assert lookup("zh").third_person(first) == third


@pytest.mark.parametrize(
    "said, told",
    [
        ("We're a team of eleven.", "User is part of a team of eleven"),
        ("We are a family of four and live in Ulm.", "User is part of a family of four and lives in Ulm"),
        ("We got married in spring.", "User got married in spring"),
        ("We met Ana at a fair.", "User met Ana at a fair"),
        ("im a nurse from Leeds.", "User is a nurse from Leeds"),
        ("Ana stays with me at weekends.", "Ana stays with User at weekends"),
        ("I live in Portland, ME.", "User lives in Portland, ME"),
        ("Wir wohnen in Ulm und arbeiten bei der Bahn.", "User wohnt in Ulm und arbeitet bei der Bahn"),
        ("Den Garten brauchen wir für die Kinder.", "Den Garten braucht User für die Kinder"),
        ("Bald fangen wir mit dem Umbau an.", "Bald fängt User mit dem Umbau an"),
        ("Hab mir ein neues Rad gekauft.", "User hat sich ein neues Rad gekauft"),
        ("Ich bleibe, weil wir hier ein Haus haben.", "User bleibt, weil User hier ein Haus hat"),
        ("Wir zogen damals nach Ulm.", "User zog damals nach Ulm"),
        ("Meine Frau und ich haben zwei Kinder.", "Users Frau und User haben zwei Kinder"),
        ("Ich lächle gern und mag frische Säfte.", "User lächelt gern und mag frische Säfte"),
        ("我们组有十个人。", "用户的小组有十个人"),
        ("我们公司在上海。", "用户的公司在上海"),
        ("我们搬到了上海。", "用户搬到了上海"),
        ("我做了自我介绍。", "用户做了自我介绍"),
    ],
)
def test_what_is_said_of_several_is_told_of_the_user_alone_in_good_grammar(said: str, told: str):
    assert [fact.text for fact in find_candidates(Said("m1", said, AT))] == [told]


@pytest.mark.parametrize(
    "text",
    [
        "We're a family hotel with a garden.",
        "We're eleven people in the office.",
        "We met in 2015.",
        "We moved in together in March.",
        "We both work at the harbour.",
        "Four of us play chess.",
        "Wir sind alle per Du.",
        "Wir sind ein Team von elf.",
        "Wir haben uns in Rom kennengelernt.",
        "我们俩都喜欢爬山。",
        "我们是一个团队。",
        "我们大家都很累。",
    ],
)
def test_what_is_true_of_a_group_alone_is_not_told_of_the_user(text: str):
    assert find_candidates(Said("m1", text, AT)) == []


WORDS = st.lists(
    st.sampled_from(
        [
            "I",
            "i'm",
            "my",
            "we",
            "moved",
            "Rome",
            "and",
            "if",
            '"',
            "“",
            ",",
            ".",
            "?",
            "\n",
            "我",
            "搬",
            "昨天",
            "，",
            "'",
            "to",
            "is",
        ]
    )
).map(" ".join)


@given(st.one_of(st.text(), WORDS))
def test_no_string_raises_and_every_span_lies_in_it(text: str):
    facts = found(text)
    assert len(facts) <= MAX_FACTS
    for fact in facts:
        (entry,) = fact.provenance
        assert text[entry.start : entry.end].strip()
        assert fact.text
        assert 0 <= fact.importance <= 1


@pytest.mark.parametrize(
    "said, told",
    [
        ("I hate cilantro, remember that for recipes.", ["User hates cilantro"]),
        ("I do all my own servicing btw so give me the torque as well.", ["User does all their own servicing"]),
        ("I set mine on Thursday.", []),
        ("I got the blue ones.", []),
        ("I broke up with Callum. In a Lidl.", ["User broke up with Callum"]),
        ("I attended a one-day workshop on beekeeping.", ["User attended a one-day workshop on beekeeping"]),
    ],
)
def test_a_fact_is_understood_alone_and_holds_no_order(said: str, told: list[str]):
    assert [fact.text for fact in find_candidates(Said("m1", said, AT))] == told


@pytest.mark.parametrize(
    "said, home",
    [
        ("We moved to a flat in Halle last weekend, it's cheaper.", "Halle"),
        ("We moved out of our flat into a small house in Halle.", "Halle"),
        ("Wir sind in eine größere Wohnung in Halle gezogen.", "Halle"),
        ("We moved the meeting to a house in Halle.", ""),
        ("My office moved to a flat in Halle.", ""),
    ],
)
def test_a_move_to_a_flat_somewhere_fills_the_home(said: str, home: str):
    assert [fact.value for fact in find_candidates(Said("m1", said, AT)) if fact.slot == "home"] == [home] * bool(home)


@pytest.mark.parametrize(
    "said, told",
    [
        (
            "I'm planning a trip to Bari with friends, and I'm learning Italian with an app.",
            ["User is planning a trip to Bari with friends, and they are learning Italian with an app"],
        ),
        ("I prefer dark mode and I use Windows 11.", ["User prefers dark mode", "User uses Windows 11"]),
        (
            "My sister lives in Hamburg and my brother is a nurse.",
            ["User's sister lives in Hamburg", "User's brother is a nurse"],
        ),
        (
            "I bought a bike yesterday, and I sold my car last week.",
            [
                "User bought a bike yesterday (on 2026-05-05)",
                "User sold their car last week (in the week of 2026-04-27)",
            ],
        ),
        ("I live in Lyon and I work as a nurse.", ["User lives in Lyon", "User works as a nurse"]),
    ],
)
def test_clauses_of_one_sentence_are_one_fact_unless_each_counts_by_itself(said: str, told: list[str]):
    assert [fact.text for fact in join_clauses(said, found(said))] == told


def test_what_is_not_worth_keeping_by_itself_is_left_out_beside_what_is():
    facts = find_candidates(Said("m1", "I rowed at dawn. I own two oars. I sat down.", AT))
    assert choose_facts(facts, [0.9, 0.55, 0.45]) == [0, 1]
    assert choose_facts(facts, [0.45, 0.35, 0.1]) == []


@pytest.mark.requirement("T-02", "T-13")
@pytest.mark.parametrize(
    "said, told",
    [
        ("ok decided: we go with SumUp, starting June 1", "User goes with SumUp, starting June 1 (on 2026-06-01)"),
        ("Final decision: we're naming the project Heron.", "User is naming the project Heron"),
        ("Let's use ruff instead of flake8 from now on.", "User uses ruff instead of flake8 from now on"),
        ("Let's go with Hetzner because AWS costs more", "User is going with Hetzner because AWS costs more"),
        ("We're not going to support Windows 7 any more.", "User is not going to support Windows 7 any more"),
        ("Lesson learned: never migrate on a Friday.", "Lesson learned: never migrate on a Friday"),
        ("The fix was to raise the pool size to 50.", "The fix was to raise the pool size to 50"),
        ("Wir haben uns für Vaillant entschieden.", "User hat sich für Vaillant entschieden"),
    ],
)
def test_a_decision_or_lesson_is_kept_however_it_is_worded(said: str, told: str):
    facts = find_candidates(Said("m1", said, AT))
    assert [facts[place].text for place in choose_facts(facts, [0.1] * len(facts))] == [told]


@pytest.mark.parametrize(
    "said", ["Let's go with that", "Let's use the second one", "Let's go with option 2", "Let's use a friendlier tone"]
)
def test_a_choice_among_what_was_just_shown_is_no_decision(said: str):
    facts = find_candidates(Said("m1", said, AT))
    assert choose_facts(facts, [0.1] * len(facts)) == []


@pytest.mark.parametrize(
    "said, told, value",
    [
        ("Please always answer in short lists.", "User wants the assistant to always answer in short lists", "always"),
        ("Use metric units with me.", "User wants the assistant to always use metric units with them", "always"),
        ("From now on, write code in Rust.", "User wants the assistant to always write code in Rust", "always"),
        ("I'd like you to always cite your sources", "User wants the assistant to always cite its sources", "always"),
        (
            "Don't use emojis when you write to me.",
            "User wants the assistant to never use emojis when it writes to them",
            "never",
        ),
        ("Stop calling me Bob.", "User wants the assistant to never call them Bob", "never"),
        ("以后请用中文回答我", "用户希望助手始终用中文回答用户", "中文"),
        (
            "Antworte bitte immer auf Deutsch.",
            "User bittet den Assistenten: „Antworte bitte immer auf Deutsch“",
            "Deutsch",
        ),
    ],
)
def test_a_standing_order_to_the_assistant_is_a_preference_and_fills_a_slot(said: str, told: str, value: str):
    fact = find_candidates(Said("m1", said, AT))[0]
    assert (fact.text, fact.kind, fact.value) == (told, Kind.PREFERENCE, value)
    assert fact.slot.startswith(ORDER)
    assert read_attributes(said) == {fact.slot: value}


@pytest.mark.parametrize(
    "said",
    [
        "Can you always answer in German?",
        "Don't use any headings in this summary.",
        "Always preheat the oven before you bake.",
        "You are a pirate. Always answer in rhymes.",
        "Write me an essay about bees. From now on, use short sentences.",
        'The sign says "never use the lift".',
    ],
)
def test_an_order_for_one_task_is_none_for_good(said: str):
    assert not any(fact.slot.startswith(ORDER) for fact in find_candidates(Said("m1", said, AT)))
    assert read_attributes(said) == {}


@pytest.mark.parametrize("said", ["We moved", "I quit", "we have just left"])
def test_a_deed_without_an_object_says_nothing(said: str):
    assert find_candidates(Said("m1", f"{said}. So be it.", AT)) == []


def test_children_are_kept_and_an_emoticon_is_a_comma():
    assert [fact.text for fact in find_candidates(Said("m1", "We have two kids, Leo (7) and Mia (4).", AT))] == [
        "User has two kids, Leo (7) and Mia (4)"
    ]
    assert find_candidates(Said("m1", "Kuba quit :( now my sister Ola helps on Sundays", AT))[0].text == (
        "Kuba quit, now User's sister Ola helps on Sundays"
    )


def test_an_order_with_a_condition_is_recalled_and_not_in_every_prompt():
    said = "Always include dates when I ask about events."
    fact = find_candidates(Said("m1", said, AT))[0]
    assert fact.text == "User wants the assistant to always include dates when they ask about events"
    assert fact.slot.startswith(ORDER)
    assert read_attributes(said) == {}


@pytest.mark.parametrize(
    "said, told",
    [
        (
            "Since I've been living in Oslo on a work visa, I'm not sure if I need a vaccination.",
            ["User has been living in Oslo on a work visa"],
        ),
        ("But anyway, back to housing - I rent two rooms in Bergen.", ["User rents two rooms in Bergen"]),
        ("I've been into that genre lately.", []),
    ],
)
def test_a_fact_has_no_unsure_main_clause_no_link_to_the_talk_and_names_its_subject(said: str, told: list[str]):
    assert [fact.text for fact in find_candidates(Said("m1", said, AT))] == told
