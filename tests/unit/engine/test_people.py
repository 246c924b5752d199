"""A fact about a person whom an earlier message names comes from both messages."""

from mnemic import Mnemic, Scope

SCOPE = Scope(user="ana", session="talk")
NAMED, TOLD = "My brother Neil called again.", "Such a day. He's allergic to penicillin and lives alone in Perth."


def say(mnemic: Mnemic, text: str, name: str | None = None) -> str:
    draft = {"role": "user", "content": text} | ({"name": name} if name else {})
    turn = mnemic.capture(SCOPE, [draft])
    mnemic.work()
    return turn.messages[0].id


def facts(mnemic: Mnemic) -> list[str]:
    return [memory.text for memory in mnemic.list(SCOPE) if "Perth" in memory.text]


def test_the_message_that_names_the_person_is_a_source() -> None:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        ids = {say(mnemic, NAMED), say(mnemic, TOLD)}
        (memory,) = [each for each in mnemic.list(SCOPE) if "Perth" in each.text]
        assert memory.text == "User's brother Neil is allergic to penicillin and lives alone in Perth"
        assert {entry.source_id for entry in memory.provenance} == ids


def test_a_short_clause_rests_on_the_words_that_name_its_person() -> None:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        say(mnemic, "I'm kinda bummed but my little sister Nadia is happy. She's 10.")
        assert "User's little sister Nadia is 10" in [memory.text for memory in mnemic.list(SCOPE)]


def test_the_name_goes_with_the_message_that_told_it() -> None:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        first = say(mnemic, NAMED)
        say(mnemic, TOLD)
        mnemic.delete(SCOPE, first)
        mnemic.work()
        assert not [memory for memory in mnemic.list(SCOPE) if "Neil" in memory.text]
        assert facts(mnemic) == ["User's brother is allergic to penicillin and lives alone in Perth"]


def test_another_speaker_s_brother_is_not_meant() -> None:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        say(mnemic, NAMED, name="Bo")
        say(mnemic, TOLD, name="Ana")
        assert not [text for text in facts(mnemic) if "Neil" in text]


def test_a_person_of_a_role_play_is_not_meant() -> None:
    with Mnemic.open("memory://", has_worker=False) as mnemic:
        say(mnemic, "Let's do a role play: you are a pirate and I'm your captain.")
        say(mnemic, "My brother Neil is a shark.")
        say(mnemic, f"ooc: thanks! {TOLD}")
        assert not [text for text in facts(mnemic) if "Neil" in text]
