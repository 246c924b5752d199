"""A role play tells nothing of the user, in whichever run its messages are read."""

from mnemic import Mnemic, Scope

SCOPE = Scope(user="ana", session="play")
PLAY = [
    "Let's do a role play: you are a pirate and I'm your captain. I live in Tortuga.",
    "My name is Redmane and I work as a smuggler.",
    "I am allergic to parrots. My wife left me for a shark.",
    "ooc: I live in Leeds.",
]


def say(mnemic: Mnemic, text: str) -> None:
    mnemic.capture(SCOPE, user=text, assistant="Aye.")


def check(mnemic: Mnemic) -> None:
    told = " ".join(memory.text for memory in mnemic.list(SCOPE)) + str(mnemic.profile.get(SCOPE))
    assert "Leeds" in told
    assert not [word for word in ("Tortuga", "Redmane", "smuggler", "parrot", "shark") if word in told]


def test_a_role_play_read_at_once(mnemic: Mnemic) -> None:
    for text in PLAY:
        say(mnemic, text)
    mnemic.work()
    check(mnemic)


def test_a_role_play_read_message_by_message(mnemic: Mnemic) -> None:
    for text in PLAY:
        say(mnemic, text)
        mnemic.work()
    check(mnemic)
