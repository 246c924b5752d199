"""What users paste, invent or play is not about them: no fact, no profile line and no correction comes from it."""

from __future__ import annotations

import pytest

from mnemic.text.facts.corrections import takes_back
from mnemic.text.facts.find import read_attributes
from mnemic.text.facts.own_words import Scene, own_words
from mnemic.text.facts.statements import find_statements

FRIEND = (
    "Got this from a friend, help me reply warmly:\n\n"
    '"So big news, I just moved to Bristol! I work at the aquarium now. I\'m allergic to nuts, all of them."'
)
LETTER = (
    "hi, this is from my landlord, what does he want exactly? im moving out on the 30th\n\n"
    "Sehr geehrte Frau Keller,\n\nich bestätige Ihre Kündigung. Ich wohne jetzt in Bremen.\n\n"
    "Mit freundlichen Grüßen\nR. Hartwig"
)
STORY = (
    "hii im writing a story for school, can u fix the grammar\n\n"
    "I have kept the light for thirty years. My wife Sarla died in the flood.\n\nI live in Devgad."
)
BETWEEN = (
    "can u look at these lyrics my friend wrote:\n\nI left my heart in Porto rain\nI'm nineteen and plain\n\n"
    "is the rhythm ok, im on drums in our band"
)
TWO = (
    "My cousin is applying for a job. I'm an accountant. First the advert:\n\nNIGHT AUDITOR, Coral Bay Hotel.\n\n"
    "And his draft:\n\nDear Sir, I am a receptionist. I live in Voi with my mother."
)
NOTES = (
    "Summarize these for me in 5 bullets. I'm the Dana in the notes.\n\n"
    "WEEKLY SYNC\n- Pete: I'm moving to Tucson in December\n- Luis: out for six weeks"
)
RECIPE = (
    "I copied this from the internet, make it suit my wife Margaret please.\n\n"
    "GOLDEN DUMPLINGS\nMy nan made these in Ballarat.\nI'm a busy nurse so I freeze them."
)
GERMAN = (
    "Kannst du den Brief korrigieren? Er ist von meinem Sohn.\n\n"
    "Liebe Oma,\n\nich wohne jetzt in Kiel und bin Vegetarier.\n\nViele Grüße\nJonas"
)

PASTED = (FRIEND, LETTER, STORY, BETWEEN, TWO, NOTES, RECIPE, GERMAN)

OWN = (
    "I need some advice about my flat.\n\nI live in Leeds with two cats. I'm a nurse.\n\nWhat should I do?",
    "Here's my situation:\n\nI moved to Porto in May. I'm allergic to peanuts.",
    "A few things about me:\n\nI'm a baker. I live in Oslo.",
    "Can you check my plan?\n\nI run on Mondays and I swim on Fridays. My coach is called Ines.",
    'My gran always said "a watched pot never boils" and I agree. I live in Cork now.',
    "Thanks, that helps!\n\nBy the way, I moved to Lille and my new job is at a school.",
)


@pytest.mark.parametrize("text", PASTED)
def test_positions_stay_the_same(text: str) -> None:
    own = own_words(text)
    assert len(own) == len(text)
    assert all(mark in (" ", before) for mark, before in zip(own, text, strict=True))
    assert own != text


@pytest.mark.parametrize(
    "text, foreign",
    [
        (FRIEND, ("Bristol", "aquarium", "nuts")),
        (LETTER, ("Kündigung", "Bremen", "Hartwig")),
        (STORY, ("light", "Sarla", "Devgad")),
        (BETWEEN, ("Porto", "nineteen")),
        (TWO, ("AUDITOR", "receptionist", "Voi")),
        (NOTES, ("Tucson", "Luis")),
        (RECIPE, ("nan", "nurse")),
        (GERMAN, ("Kiel", "Vegetarier", "Jonas")),
    ],
)
def test_another_s_words_become_no_fact(text: str, foreign: tuple[str, ...]) -> None:
    told = " ".join(statement.text for statement in find_statements(text))
    assert not [word for word in foreign if word in told]
    assert not [word for word in foreign if word in str(read_attributes(text))]


@pytest.mark.parametrize(
    "text, own",
    [(LETTER, "moving out on the 30th"), (BETWEEN, "on drums"), (TWO, "an accountant"), (NOTES, "the Dana")],
)
def test_own_words_around_it_count(text: str, own: str) -> None:
    assert own in " ".join(statement.text for statement in find_statements(text))


@pytest.mark.parametrize("text", OWN)
def test_own_paragraphs_are_not_taken_for_another_s(text: str) -> None:
    assert own_words(text) == text


@pytest.mark.parametrize("text", ["", " " * 100, "\n \n" * 50, ":\n" * 60, '"' * 80, "a" * 100])
def test_no_text_raises(text: str) -> None:
    assert len(own_words(text)) == len(text)


def test_a_pasted_text_ends_nothing() -> None:
    pasted = "My sister wrote this, what does she mean?\n\nDear Lena,\n\nwe split up in May.\n\nxx Mia"
    assert takes_back("We split up in May.")
    assert not takes_back(pasted)


def test_of_a_dictated_message_only_clear_clauses_count() -> None:
    said = (
        "hey um so basically im on the road so sorry if this comes out weird and my doctor she says my pressure is one "
        "fifty over ninety five um and I dont eat pork and I go back on the third no wait thats election day"
    )
    told = [statement.text for statement in find_statements(said)]
    assert "I dont eat pork" in told
    assert not [text for text in told if "no wait" in text or len(text.split()) > 22]


def test_a_dictated_clause_that_goes_on_is_told_up_to_its_first_link() -> None:
    said = (
        "okay so I drive a reefer truck to Atlanta and my doctor doctor pacheco she says my blood pressure is too high "
        "again this weak so whats that about and I said the cuff is fine"
    )
    assert "I drive a reefer truck to Atlanta" in [statement.text for statement in find_statements(said)]


@pytest.mark.parametrize(
    "text, foreign, own",
    [
        ("Suppose I live in Berlin and work as a nurse, what visa do I need? I'm a baker in Leeds.", "nurse", "baker"),
        ("asking for a friend: I'm addicted to nicotine gum", "nicotine", ""),
        ("translate to Spanish: I have a dog called Max and I live in Madrid", "Madrid", ""),
        ("I have a sister in Rome. My paladin says: I live in a swamp and hate elves", "swamp", "sister"),
        ("I dreamt I was a dentist. I had no shoes. In real life I am a vet in Cork.", "shoes", "vet"),
        ("I love getting up at four, just kidding. I own a bakery in Ghent.", "four", "bakery"),
        (
            "Angenommen, ich wohne in Wien und habe zwei Kinder, was zahle ich? Ich bin Bäcker in Graz.",
            "Wien",
            "Bäcker",
        ),
        ("how about\n\nI killed my love in May\nwe sat by the side\nI drink to this day\nand hide", "love", ""),
        ("Übersetzung ins Englische: Ich habe einen Hund und wohne in Kiel", "Kiel", ""),
    ],
)
def test_what_is_made_up_becomes_no_fact(text: str, foreign: str, own: str) -> None:
    told = " ".join(statement.text for statement in find_statements(text))
    assert foreign not in told
    assert own in told


@pytest.mark.parametrize(
    "text",
    [
        "Suppose I should tell you I'm diabetic, type 1, since I was nine.",
        "Imagine my surprise: I got the job!! I start at the pharmacy in Leeds on the 3rd.",
        "I'm writing a novel about a vet. I live in Cork.",
        "act as a tax adviser. I'm self-employed and earn about 60k.",
        "I play a nurse in our theatre group. I live in Cork.",
        "pretend to be my boss. I've been doing two jobs since Karen left.",
        "Angenommen haben sie mich jetzt doch: ab Mai bin ich Lehrerin in Fürth.",
        "Unser Rollenspielabend ist am Freitag. Ich wohne in Fürth.",
    ],
)
def test_what_only_looks_made_up_counts(text: str) -> None:
    assert own_words(Scene().follow(text)) == text


@pytest.mark.parametrize(
    "turns, own",
    [
        (
            [
                "I'm a porter. Let's do a role play: you are a pirate and I'm your captain.",
                "I lost my leg to a shark.",
                "ooc: my lad Theo is seven",
                "I fear parrots.",
            ],
            ["I'm a porter.", "", "ooc: my lad Theo is seven", "I fear parrots."],
        ),
        (
            ["stay in character until I say BELAY", "I fear parrots", "My ship. BELAY I'm a porter"],
            ["", "", "I'm a porter"],
        ),
        (["*leans in* I have a letter", "I am being followed", "ok stop. I'm a vet"], ["", "", "ok stop. I'm a vet"]),
        (["Rollenspiel: ich bin Patient", "Ich rauche", "Danke, ich bin Ärztin"], ["", "", "Danke, ich bin Ärztin"]),
    ],
)
def test_a_role_play_is_followed_over_messages(turns: list[str], own: list[str]) -> None:
    scene = Scene()
    followed = [scene.follow(turn) for turn in turns]
    assert [text.strip() for text in followed] == own
    assert [len(text) for text in followed] == [len(turn) for turn in turns]
