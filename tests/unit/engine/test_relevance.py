"""Every hit says how sure it is that it has to do with the question, and a question can ask for no less."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mnemic.api import Mnemic
from mnemic.config import Config, load_config
from mnemic.engine import recall
from mnemic.engine.context_silence import strong_enough
from mnemic.engine.engine import Engine
from mnemic.errors import InvalidInputError
from mnemic.model.candidates import Scale
from mnemic.model.item import Item
from mnemic.model.recall import Hit, Recall
from mnemic.model.scope import Scope, Visibility
from mnemic.ranking.silence import Prompt, Sight, certainty, is_about_user, judge
from mnemic_minilm import MODEL
from tests.unit.engine.kit import ANNA, WordEmbedder

FACTS = [
    "I moved to Hamburg in March 2025 and work as a carpenter.",
    "My daughter Lena is allergic to peanuts.",
    "We planned a trip to Norway for July.",
    "My bike was stolen last week at the station.",
    "I like Ethiopian coffee.",
]
ALLERGY = FACTS[1]
ABOUT_LENA = "What must Lena not eat?"
NO_QUESTION_OF_MEMORY = "Write a quicksort in Python."


@pytest.fixture
def real() -> Iterator[Mnemic]:
    """A memory with the shipped embedder, which is the one that relevance is calibrated for."""
    with Mnemic.open(Config(store="memory://", embedder="minilm")) as mnemic:
        mnemic.remember_many(ANNA, FACTS)
        yield mnemic


def relevances(found: Recall) -> list[float]:
    told = [hit.relevance for hit in found]
    assert None not in told
    return [value for value in told if value is not None]


def test_what_answers_a_question_is_relevant_and_what_is_found_for_a_task_is_not(real: Mnemic):
    answer = real.recall(ANNA, ABOUT_LENA).hits[0]
    assert answer.text == ALLERGY
    assert answer.relevance is not None
    assert answer.relevance > 0.9
    assert max(relevances(real.recall(ANNA, NO_QUESTION_OF_MEMORY))) < 0.3


def test_what_is_less_relevant_than_asked_for_is_left_out(real: Mnemic):
    every = real.recall(ANNA, ABOUT_LENA, limit=None)
    least = sorted(relevances(every))[-2]
    kept = real.recall(ANNA, ABOUT_LENA, limit=None, min_relevance=least)
    assert [hit.id for hit in kept] == [hit.id for hit in every if (hit.relevance or 0) >= least]
    assert len(kept) == 2


def test_the_limit_counts_only_what_is_relevant_enough(real: Mnemic):
    real.remember_many(ANNA, ["Lena must not eat nuts.", "Lena cannot eat peanut butter."])
    assert len(real.recall(ANNA, ABOUT_LENA, limit=3, min_relevance=0.8)) == 3


def test_where_nothing_is_relevant_enough_the_answer_is_background_as_ever(real: Mnemic):
    found = real.recall(ANNA, NO_QUESTION_OF_MEMORY, min_relevance=0.5)
    assert found.is_fallback
    assert all(hit.relevance is None for hit in found)


def test_a_context_leaves_out_passages_that_have_nothing_to_do_with_the_message(real: Mnemic):
    real.ingest(ANNA, b"# Handbook\n\nThe office opens at nine.\n", name="handbook.md")
    assert "documents" in real.context(ANNA, NO_QUESTION_OF_MEMORY, min_relevance=0.0).blocks
    assert "documents" not in real.context(ANNA, NO_QUESTION_OF_MEMORY).blocks
    assert "documents" not in real.context(ANNA, NO_QUESTION_OF_MEMORY, min_relevance=0.3).blocks
    assert "documents" in real.context(ANNA, "When does the office open?", min_relevance=0.3).blocks


def test_memories_and_passages_are_each_measured_against_their_own_kind(real: Mnemic):
    real.ingest(ANNA, b"# Handbook\n\nThe office opens at nine.\n", name="handbook.md")
    alone = {hit.id: hit.relevance for hit in real.recall(ANNA, ABOUT_LENA, kinds=["fact"], limit=None)}
    beside = {hit.id: hit.relevance for hit in real.recall(ANNA, ABOUT_LENA, limit=None)}
    assert beside.keys() > alone.keys()
    assert all(beside[known] == pytest.approx(relevance) for known, relevance in alone.items())


def test_by_similarity_alone_there_is_no_relevance_and_asking_for_both_is_refused(real: Mnemic):
    assert {hit.relevance for hit in real.recall(ANNA, ABOUT_LENA, min_similarity=0.1)} == {None}
    with pytest.raises(InvalidInputError, match="not both"):
        real.recall(ANNA, ABOUT_LENA, min_similarity=0.1, min_relevance=0.1)


@pytest.mark.parametrize("least", [-0.1, 1.1, "much", True])
def test_a_least_relevance_that_is_no_share_is_refused(real: Mnemic, least: float):
    with pytest.raises(InvalidInputError, match="min_relevance"):
        real.recall(ANNA, ABOUT_LENA, min_relevance=least)


def test_with_an_embedder_that_is_not_calibrated_nothing_is_told_and_nothing_left_out(mnemic: Mnemic):
    mnemic.remember(ANNA, "green tea")
    (hit,) = mnemic.recall(ANNA, "tea", min_relevance=1.0)
    assert hit.relevance is None


def test_a_calibrated_embedder_shows_relevance_in_its_own_space_alone(make_parts: Callable[..., Engine]):
    parts = make_parts(WordEmbedder())
    own = WordEmbedder().space.id
    for space, is_known in ((own, True), ("another", False)):
        settings = replace(parts.settings, scales={space: Scale(slope=0.5, shift=0.1)})
        mnemic = Mnemic(replace(parts, settings=settings))
        mnemic.remember(ANNA, "green tea")
        (hit,) = mnemic.recall(ANNA, "tea")
        assert (hit.relevance is not None) is is_known


@pytest.fixture
def words() -> Iterator[Mnemic]:
    """A memory that searches by words alone."""
    with Mnemic.open(Config(store="memory://", embedder="none")) as mnemic:
        mnemic.remember_many(ANNA, FACTS)
        yield mnemic


def test_by_words_alone_a_hit_that_shares_more_of_the_question_is_more_relevant(words: Mnemic):
    most, least = words.recall(ANNA, "Is Lena allergic to peanuts or to coffee?").hits
    assert (most.text, least.text) == (ALLERGY, FACTS[4])
    assert most.similarity is None
    assert (most.relevance or 0) > (least.relevance or 0) > 0


@pytest.mark.requirement("P-39")
@pytest.mark.parametrize(
    "prompt", [NO_QUESTION_OF_MEMORY, "Write a poem about coffee.", "What is the capital of Norway?"]
)
def test_by_words_alone_a_prompt_about_nobodys_life_gets_nothing(words: Mnemic, prompt: str):
    assert not words.context(ANNA, prompt).recall.hits


@pytest.mark.parametrize("prompt", ["What is Lena allergic to?", "When was my bike stolen?", "trip Norway"])
def test_by_words_alone_a_question_and_a_search_get_the_fact(words: Mnemic, prompt: str):
    assert words.context(ANNA, prompt).recall.hits


def test_until_their_vectors_come_memories_are_judged_by_words(make_parts: Callable[..., Engine]):
    mnemic = Mnemic(make_parts(None))
    mnemic.remember(ANNA, ALLERGY)
    later = Mnemic(make_parts(WordEmbedder()))
    assert later.recall(ANNA, "What is Lena allergic to?").hits[0].relevance is not None


def test_the_configured_least_relevance_holds_where_the_caller_names_none():
    told = {"MNEMIC_STORE": "memory://", "MNEMIC_EMBEDDER": "minilm", "MNEMIC_RECALL_MIN_RELEVANCE": "0.5"}
    config = load_config(environment=told)
    with Mnemic.open(config) as mnemic:
        mnemic.remember_many(ANNA, FACTS)
        assert mnemic.recall(ANNA, NO_QUESTION_OF_MEMORY).is_fallback
        assert not mnemic.recall(ANNA, NO_QUESTION_OF_MEMORY, min_relevance=0.0).is_fallback
        assert not mnemic.recall(ANNA, ABOUT_LENA, min_similarity=0.1).is_fallback


def test_why_not_says_that_a_memory_was_not_relevant_enough(real: Mnemic):
    bike = next(memory for memory in real.list(ANNA).memories if "bike" in memory.text)
    told = real.why_not(ANNA, bike.id, NO_QUESTION_OF_MEMORY, min_relevance=0.9, limit=None)
    assert (told.stage, "relevance" in told.reason) == ("threshold", True)


def test_a_user_whose_store_is_empty_is_told_nothing(real: Mnemic):
    assert len(real.recall(Scope(user="nobody"), ABOUT_LENA, min_relevance=0.5)) == 0


def test_what_is_not_relevant_enough_is_not_even_read(real: Mnemic, monkeypatch: pytest.MonkeyPatch):
    real.remember_many(ANNA, [f"Harbour report {n}: calm" for n in range(60)])
    read: list[str] = []
    whole = recall.rows_of

    def rows_of(parts: Engine, visible: Visibility, ids: Sequence[str]) -> dict[str, Item]:
        read.extend(ids)
        return whole(parts, visible, ids)

    monkeypatch.setattr(recall, "rows_of", rows_of)
    assert [hit.text for hit in real.recall(ANNA, ABOUT_LENA, min_relevance=0.9)] == [ALLERGY]
    assert len(set(read)) == 1


PERSON = [
    "User lives in Leeds.",
    "User speaks Polish with his mother.",
    "User speaks fluent Greek.",
    "User is learning Welsh.",
    "User is allergic to peanuts.",
    "User does not eat pork.",
    "User hates olives.",
    "User works as a plumber.",
]


@pytest.mark.parametrize(
    "question, places",
    [("Where do I live?", [0]), ("Which languages do I speak?", [1, 2, 3]), ("What should I not eat?", [4, 5, 6])],
)
def test_a_context_shows_one_fact_for_one_thing_and_all_where_several_are_asked_for(
    real: Mnemic, question: str, places: list[int]
):
    berta = Scope(user="berta")
    real.remember_many(berta, PERSON)
    real.remember(berta, "Travel policy: economy class below six hours.", level="org")
    shown = {hit.text for hit in real.context(berta, question).recall.hits}
    assert shown == {PERSON[place] for place in places}


def test_a_question_about_the_assistant_is_not_one_about_the_user(real: Mnemic):
    real.capture(ANNA, user="I speak Welsh and my version of the app is 2.4.", assistant="Good to know.")
    assert not real.context(ANNA, "Which languages do you speak?").recall.hits
    assert real.context(ANNA, "Which languages do I speak?").recall.hits


LEASE = """# Lease

The rent is 840 pounds a month. Small repairs up to 75 pounds are paid by the tenant.
The boiler is serviced by the landlord every October.
"""


def test_a_question_to_a_document_gets_the_passage_and_one_about_the_user_does_not(real: Mnemic, tmp_path: Path):
    berta = Scope(user="berta")
    real.remember_many(berta, ["User lives in Lisbon.", "User works as a night nurse."])
    (tmp_path / "lease.md").write_text(LEASE)
    real.ingest(berta, tmp_path)
    shown = real.context(berta, "Who pays for small repairs?").blocks
    assert "75 pounds" in shown["documents"]
    assert "facts" not in shown
    shown = real.context(berta, "Where do I live?").blocks
    assert "Lisbon" in shown["facts"]
    assert "documents" not in shown


@pytest.mark.requirement("J-31", "R-43")
def test_a_question_asked_six_times_pushes_its_answer_out_of_nothing(real: Mnemic):
    berta = Scope(user="berta", session="now")
    for n in range(6):
        real.capture(
            Scope(user="berta", session=f"s{n}"), user="Where do I live?", assistant="You have not told me yet."
        )
    real.remember(berta, "User moved to Lisbon last month.")
    talk = Scope(user="berta", session="talk")
    real.capture(talk, user="My aunt collects old maps of Bohemia.", assistant="What a fine hobby!")
    assert real.recall(berta, "Where do I live?").hits[0].text == "User moved to Lisbon last month."
    facts = real.context(berta, "Where do I live?").blocks["facts"]
    assert "Lisbon" in facts
    assert "Where do I live?" not in facts
    assert "Bohemia" not in facts


@pytest.mark.requirement("P-41")
def test_a_recall_reads_the_users_name_as_the_user(real: Mnemic):
    berta = Scope(user="berta")
    real.remember_many(berta, ["User's sister Marta lives in Braga.", "User lives in Porto.", "User likes green tea."])
    best = real.recall(berta, "Where does Berta live?").hits[0]
    assert best.text == "User lives in Porto."
    assert best.relevance is not None
    assert best.relevance > 0.9
    why = real.why_not(berta, best.id, "Where does Berta live?")
    assert why.rank == 1


@pytest.mark.requirement("P-42")
@pytest.mark.parametrize("question", ["Where do I live?", "Where does Berta live?"])
def test_a_move_is_found_by_the_question_and_the_old_home_is_not(real: Mnemic, question: str):
    berta = Scope(user="berta")
    for session, said in (
        ("s1", "I live in Lisbon."),
        ("s2", "Last week I moved to Porto."),
        ("s3", "My aunt Ida sings."),
    ):
        real.capture(Scope(user="berta", session=session), user=said, assistant="Noted.")
        real.work()
    found = [hit.text for hit in real.recall(berta, question)]
    assert any("moved to Porto" in text for text in found)
    assert not any("Lisbon" in text for text in found)
    assert "Lisbon" not in real.context(berta, question).text
    past = [
        hit.text for hit in real.recall(berta, question, known_at=real.list(berta, states=["superseded"])[0].created_at)
    ]
    assert any("Lisbon" in text for text in past)


def test_a_message_stays_unless_it_says_little_but_what_was_superseded(real: Mnemic):
    berta, asked = Scope(user="berta"), "Where do I live?"
    long = (
        "I live in Lisbon. The kitchen has blue tiles from the old market, my piano barely fits through the door, and"
        " the neighbour below practises the tuba from six to eight."
    )
    for session, said in (("s1", "I live in Lisbon."), ("s2", long), ("s3", "Last week I moved to Porto.")):
        real.capture(Scope(user="berta", session=session), user=said, assistant="Noted.")
        real.work()
    hits = real.recall(berta, asked, limit=3).hits
    assert len(hits) == 3
    assert [hit.text for hit in hits if "Lisbon" in hit.text] in ([], [long])
    talk = real.messages(Scope(user="berta", session="s1"), in_session=True).messages
    outdated = next(message for message in talk if message.role == "user")
    assert real.why_not(berta, outdated.id, asked).stage == "state"


def test_many_messages_that_a_fact_supersedes_are_left_out_at_once(real: Mnemic, monkeypatch: pytest.MonkeyPatch):
    berta = Scope(user="berta")
    for number in range(12):
        real.capture(Scope(user="berta", session=f"s{number}"), user="I live in Lisbon.", assistant="Noted.")
    real.work()
    real.capture(Scope(user="berta", session="new"), user="Last week I moved to Porto.", assistant="Noted.")
    real.work()
    passes, look = Counter[str](), recall.hits_of

    def counted(*parts: Any) -> tuple[Hit, ...]:
        passes["hits_of"] += 1
        return look(*parts)

    monkeypatch.setattr(recall, "hits_of", counted)
    hits = real.recall(berta, "Where do I live?", limit=2).hits
    assert not any("Lisbon" in hit.text for hit in hits)
    assert passes["hits_of"] == 2


def test_messages_that_confirm_a_fact_are_not_outdated(real: Mnemic):
    berta = Scope(user="berta")
    for n, said in enumerate(("I live in Porto.", "I'm based in Porto.", "My home is in Porto.")):
        real.capture(Scope(user="berta", session=f"s{n}"), user=said, assistant="Noted.")
        real.work()
    assert len(real.recall(berta, "Where do I live?", kinds=["message", "fact"]).hits) >= 4


def test_a_text_is_fully_similar_to_itself_though_it_is_in_the_first_person(real: Mnemic):
    real.remember(ANNA, "Where do I keep my red bicycle?")
    (hit,) = real.recall(ANNA, "Where do I keep my red bicycle?", min_similarity=0.999)
    assert hit.similarity == pytest.approx(1.0, abs=1e-4)


def test_asking_again_makes_the_answer_no_less_relevant(real: Mnemic):
    berta, asked = Scope(user="berta"), "Where do I live?"
    real.remember_many(berta, ["User lives in Lisbon with their dog Pip.", "User's aunt collects old maps."])
    real.capture(Scope(user="berta", session="first"), user="It rained all day.", assistant="What a pity!")
    before = relevances(real.recall(berta, asked))[0]
    for n in range(6):
        real.capture(Scope(user="berta", session=f"s{n}"), user=asked, assistant="You have not told me yet.")
    again = real.recall(berta, asked)
    assert again.hits[0].text == "User lives in Lisbon with their dog Pip."
    assert relevances(again)[0] == pytest.approx(before, abs=0.15)


@pytest.mark.requirement("J-32", "R-42")
@pytest.mark.parametrize("prompt", ["", "   ", "What do you know about me?"])
def test_a_blank_prompt_and_one_about_the_user_get_background_of_the_user_alone(real: Mnemic, prompt: str):
    berta = Scope(user="berta", agent="jarvis")
    real.remember(berta, "User likes green tea.", importance=0.9)
    real.remember(berta, "Answers like a pirate.", level="agent", importance=0.9)
    found = real.context(berta, prompt).recall
    assert found.is_fallback
    assert [hit.text for hit in found.hits] == ["User likes green tea."]


@pytest.mark.requirement("J-32", "R-42")
@pytest.mark.parametrize(
    "prompt, is_general",
    [
        ("What do you know about me?", True),
        ("hi, what do you remember about me so far?", True),
        ("Tell me about myself", True),
        ("who am i", True),
        ("Was weißt du über mich?", True),
        ("你知道我什么？", True),
        ("What do you know about me and dogs?", False),
        ("What did Ana say about me?", False),
        ("Who am I meeting tomorrow?", False),
    ],
)
def test_only_a_prompt_with_a_subject_of_its_own_is_answered_by_a_near_hit(prompt: str, *, is_general: bool):
    assert is_about_user(prompt, best=0.9) is is_general
    assert is_about_user(prompt, best=0.1)


@pytest.mark.requirement("N-16", "R-41")
def test_caps_on_levels_hold_exactly_in_a_context_beside_eighty_like_messages(real: Mnemic):
    now = Scope(user="berta", agent="jarvis", session="now")
    for level in ("session", "user", "agent", "org"):
        real.remember_many(
            now, [{"text": f"note {n} of the {level} on travel costs", "level": level} for n in range(12)]
        )
    real.capture_many(
        Scope(user="berta", session="old"), [[{"role": "user", "content": f"travel costs {n}"}] for n in range(80)]
    )
    caps = {"session": 10, "user": 5, "agent": 3, "org": 5}
    shown = [hit.item.partition.level.value for hit in real.context(now, "travel costs", limits=caps).recall.hits]
    assert {level: shown.count(level) for level in caps} == caps
    assert set(caps) <= {hit.item.partition.level.value for hit in real.context(now, "travel costs").recall.hits}


@pytest.mark.requirement("N-43")
def test_the_four_levels_feed_one_context(real: Mnemic):
    now = Scope(user="berta", agent="jarvis", session="now")
    real.remember(now, "User likes tea.")
    real.remember(now, "Refunds take 14 days.", level="org")
    real.remember(now, "Persona: answers like a pirate.", level="agent")
    real.remember(now, "This session plans a trip to Oslo.", level="session")
    facts = real.context(now, "Plan my trip with tea, ask about refunds and your persona").blocks["facts"]
    places = [facts.index(word) for word in ("pirate", "Refunds", "Oslo", "tea")]
    assert places == sorted(places)


def test_a_fact_is_left_out_where_a_message_answers_far_better(real: Mnemic):
    real.remember(ANNA, "User is an aunt")
    real.capture(replace(ANNA, session="cats"), user="I live in Lyon with my husband and our two cats, Mio and Fynn.")
    shown = [hit.text for hit in real.context(ANNA, "How many cats do I have?").recall]
    assert any("Mio and Fynn" in text for text in shown)
    assert "User is an aunt" not in shown


def test_a_fact_that_may_have_replaced_what_a_message_said_stays_beside_it(real: Mnemic):
    bea = Scope(user="bea", session="s1")
    real.capture(bea, user="Hi! I'm Bea and I live in Lyon.")
    real.capture(bea, user="We moved to Lille.")
    real.remember(bea, "User is an aunt")
    real.work()
    sure = {"Hi! I'm Bea and I live in Lyon.": 0.999, "User moved to Lille": 0.3, "User is an aunt": 0.3}
    (said,) = (message for message in real.messages(bea).messages if "Lyon" in message.text)
    found = [*real.recall(bea, "home?", limit=20), Hit(said, 1.0, 0.5, ())]
    hits = [replace(hit, relevance=sure[hit.text]) for hit in found if hit.text in sure]
    assert {hit.text for hit in strong_enough(hits, "home?")} == {*sure} - {"User is an aunt"}


def test_a_message_of_no_relevance_is_left_out_however_much_room_there_is(real: Mnemic):
    real.capture(ANNA, user="I live in Lyon.")
    (said,) = real.messages(ANNA).messages
    none, little = (replace(Hit(said, 1.0, 0.5, ()), relevance=relevance) for relevance in (0.004, 0.02))
    assert [*strong_enough([none, little], "Where is my bike?")] == [little]


def test_small_talk_stands_in_no_context_beside_the_fact_that_answers(real: Mnemic):
    real.capture(replace(ANNA, session="tea"), user="Good morning! Will it rain today?", assistant="Clear all day.")
    real.capture(replace(ANNA, session="tea"), user="Thanks! See you tomorrow.", assistant="Bye!")
    assert [hit.text for hit in real.context(ANNA, "Where do I live?").recall] == [FACTS[0]]


def test_a_recall_says_how_many_rows_its_hits_are_the_best_of(real: Mnemic):
    assert real.recall(ANNA, ABOUT_LENA, limit=2).searched == len(FACTS)
    assert real.context(ANNA, ABOUT_LENA).recall.searched == len(FACTS)
    assert real.recall(ANNA, " ").searched == 0


def test_the_same_likeness_tells_less_the_more_rows_were_searched():
    near = [Sight(relevance=0.3, cosine=0.35, text="We painted the shed.")]
    prompt = Prompt(text="Which paint lasts outdoors?", vector=np.zeros(384, dtype=np.float32), searched=20)
    few, many = (certainty(judge(MODEL), replace(prompt, searched=rows), near) for rows in (20, 50_000))
    assert many < 0.5 * few


def test_thanks_are_less_relevant_than_a_message_as_near_that_tells_something(real: Mnemic):
    scope = Scope(user="bo", session="s1")
    real.capture(scope, user="Thanks, Lena!", assistant="You are welcome.")
    told = "Lena, the daughter of my sister, came to us on Sunday and could not eat the cake because of the peanuts."
    real.capture(scope, user=told, assistant="Poor girl.")
    hits = {hit.text: hit for hit in real.recall(Scope(user="bo"), "What about Lena?", kinds=("message",))}
    assert next(each.points for each in hits["Thanks, Lena!"].contributions if each.feature == "brief") < -2
    assert next(iter(hits)) == told


@pytest.mark.parametrize("prompt", ["How is Fynn?", "Is Fynn better?"])
def test_a_short_question_about_somebody_by_name_gets_what_was_said_of_him(real: Mnemic, prompt: str):
    said = "Fynn is ill and had to go to the vet"
    real.capture(replace(ANNA, session="vet"), user=said, assistant="I hope it is nothing serious.")
    assert said in [hit.text for hit in real.context(ANNA, prompt).recall]
    assert not real.context(ANNA, "How are you?").recall.hits


def test_a_short_message_that_answers_stands_before_a_fact_that_does_not(real: Mnemic):
    bea = Scope(user="bea")
    real.remember(bea, "Keeps bees")
    real.capture(replace(bea, session="boat"), user="I sold the boat and bought a kayak")
    first = real.recall(bea, "which vessel does she own now?")[0]
    assert first.text == "I sold the boat and bought a kayak"
    assert "beside_facts" in {each.feature for each in first.contributions}
    assert real.recall(bea, "what about bees?")[0].text == "Keeps bees"
