"""Generates dialogues from our own sentences and a seed, with questions whose answers are known. No free set has both.

There are two kinds. PEOPLE: two to four named speakers talk in several sessions, with short turns. Each thread has an
opening, questions by another speaker, and answers. Several speakers talk about the same topics, and some statements are
corrected later. ASSISTANT: one user mentions facts while asking for help, and an assistant gives long replies that
repeat them. Questions ask what a named person (or the user) said, usually in other words than the answer, and some have
several gold messages. `topics.txt` contains the sentences; `{a|b}` is a choice, and `@me` is the person that the
sentence is about.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

from mnemic.evaluation.dataset import CorpusRow, Dataset, LabelledQuestion

SEED = 20_261
PEOPLE_GROUPS, PEOPLE_SESSIONS, THREADS = 8, 14, 3
ASSISTANT_GROUPS, ASSISTANT_SESSIONS = 6, 60
TELLING_CHARS = 5
"""A detail that is repeated or asked for by its own words has at least so many characters."""

ADVICE_ASKED = 0.25
"""Of so many topics it is asked what the assistant advised; most questions are about what the user said."""

DATED = 0.12
"""So many questions about one message say when it was."""

_CHOICE = re.compile(r"\{([^{}]*)\}")

WORDED_ALIKE = 0.5
"""In so many threads the other speaker asks in the words of the later question, and so many questions take up a detail
in the words in which it was told.
"""

ASKED = 0.5
"""The share of what could be asked that is asked."""

NAMES = "Amara Boris Chiara Dmitri Elif Farid Greta Hiro Imani Jonas Keiko Leandro Marit Nadia Oskar Priya Rosa Zora"
GREETINGS = ("Hey @you, good to hear from you!", "Hi @you! How have you been?", "Morning, @you.", "@you, finally!")
GREETED = ("All fine here, @you.", "Busy, but well. And you?", "So good to talk, @you!", "Can not complain, thanks.")
REACTIONS = (
    "Oh wow, @you!",
    "That is great news.",
    "No way!",
    "Ha, that sounds like you, @you.",
    "I love that.",
    "Tell me more.",
    "That must have been something, @you.",
)
COMMENTS = (
    "I once tried something with {topic} myself, it did not end well.",
    "You always were the brave one, @you.",
    "My whole family talks about {topic} these days.",
    "I will think of you, @you.",
    "That made my day.",
    "Good for you! I could use a bit of that.",
    "Somebody at the office asked me about {topic} only yesterday.",
    "{detail}, really?",
    "I would never have thought of {detail}.",
    "{detail}! I have to tell my sister, @you.",
)
FILLERS = (
    "It has been raining here all week.",
    "Sorry for the late reply, by the way.",
    "I am on the train, so the line may drop.",
    "Anyway, that is how it goes.",
    "I have to think about it a bit more.",
    "The coffee here is terrible.",
)
THANKS = ("Thanks, @you!", "You are too kind, @you.", "We will see.", "I will send you a picture.", "Right?")
DETAILS = (
    "What did @me say about {detail}?",
    "When did @me mention {detail}?",
    "What did @me tell about {topic} and {detail}?",
)
DATES = ("in %B", "in %B %Y", "on %d %B %Y", "on %B %d, %Y")
RECALLED = ("@you, how is it going with the {topic}?", "Any news about the {topic}, @you?", "And the {topic}?")
CATEGORIES = {
    "hobby": "Which pastimes did @me talk about?",
    "sport": "Which sports did @me do?",
    "home": "Which troubles with house or car did @me have?",
    "work": "Which changes in working life did @me make?",
    "health": "Which health problems did @me have?",
    "family": "What happened in the family of @me?",
}
HELPED = (
    "Of course!",
    "Happy to help.",
    "Here are some ideas.",
    "Good question.",
    "Let us go through it step by step.",
)
ECHOES = ("You mentioned: {said}", "It sounds exciting: {said}", "Thank you for telling me. {said}")
CLOSINGS = (
    "Let me know if you would like more detail on any of these points about {topic}.",
    "Every situation is different, so adapt this to your own needs and to the time you have.",
    "Would you like me to put this into a list that you can print?",
    "I hope these thoughts on {topic} help you to take the next step with confidence.",
)
FOLLOW_UPS = ("Thanks, can you go on?", "And what else should I keep in mind?", "Can you make that shorter?")


class Cast(Enum):
    """Who talks."""

    PEOPLE = "people"
    ASSISTANT = "assistant"


@dataclass(slots=True)
class Topic:
    """What can be said about one thing; `tell` and `again` hold the sentences and the questions about them."""

    name: str
    category: str
    open: str = ""
    when: list[str] = field(default_factory=list[str])
    tell: list[tuple[str, str, list[str]]] = field(default_factory=list[tuple[str, str, list[str]]])
    again: tuple[str, list[str]] = ("", [])
    tasks: list[str] = field(default_factory=list[str])
    tips: list[str] = field(default_factory=list[str])
    advice: tuple[str, list[str]] = ("", [])


def dialogues(cast: Cast, seed: int = SEED) -> Dataset:
    """The set of this cast, the same for the same seed. Groups, sessions and roles are those of the neutral format."""
    rows: list[CorpusRow] = []
    asked: list[LabelledQuestion] = []
    for number in range(PEOPLE_GROUPS if cast is Cast.PEOPLE else ASSISTANT_GROUPS):
        draw = random.Random(f"{seed} {cast.value} {number}")  # noqa: S311 -- not for secrets, and the same every time
        talk = _Talk(f"{cast.value}-{number}", draw, topics())
        if cast is Cast.PEOPLE:
            talk.people()
        else:
            talk.assistant()
        rows += talk.rows
        asked += talk.asked
    return Dataset(tuple(rows), tuple(asked))


def topics() -> list[Topic]:
    """All that `topics.txt` holds."""
    found: list[Topic] = []
    for line in (Path(__file__).parent / "topics.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            name, category = line[2:].split(", ")
            found.append(Topic(name, category))
            continue
        key, _, text = line.partition(": ")
        parts = [part.strip() for part in text.split(" / ")]
        topic = found[-1]
        match key:
            case "open":
                topic.open = text
            case "when":
                topic.when = _forms(text)
            case "tell":
                topic.tell.append((parts[0], parts[1], _forms(parts[2])))
            case "again":
                topic.again = (parts[0], _forms(parts[1]))
            case "task":
                topic.tasks.append(text)
            case "tips":
                topic.tips = parts
            case _:
                topic.advice = (parts[0], _forms(parts[1]))
    return found


def _forms(text: str) -> list[str]:
    return [form.strip() for form in text.split("||")]


class _Talk:
    """One group while it is being made."""

    def __init__(self, group: str, draw: random.Random, known: Sequence[Topic]) -> None:
        self.group, self.draw, self.topics = group, draw, list(known)
        self.rows: list[CorpusRow] = []
        self.asked: list[LabelledQuestion] = []
        self._session, self._at = "", datetime(2024, 1, 5, 18, 30, tzinfo=UTC)
        self._opened: dict[tuple[str, str], list[str]] = {}
        self._detail = ""
        self._advised: dict[str, list[str]] = {}

    def people(self) -> None:
        """Sessions of threads; each pair of speaker and topic comes up once, and perhaps once more."""
        speakers = self.draw.sample(NAMES.split(), self.draw.choice((2, 2, 3, 4)))
        pairs = [(who, topic) for who in speakers for topic in self.topics]
        self.draw.shuffle(pairs)
        started: list[tuple[str, Topic]] = []
        for session in range(PEOPLE_SESSIONS):
            self._begin(session)
            host = self.draw.choice(speakers)
            self._greet(host, self._other(host, speakers))
            if started and self._is(0.7):
                who, topic = started.pop(self.draw.randrange(len(started)))
                self._return_to(who, self._other(who, speakers), topic)
            for _ in range(THREADS):
                if pairs:
                    who, topic = pairs.pop()
                    self._thread(who, self._other(who, speakers), topic)
                    started.append((who, topic))
        for (who, category), gold in self._opened.items():
            if len(gold) > 1 and category in CATEGORIES:
                self._ask([CATEGORIES[category]], gold, who)

    def assistant(self) -> None:
        """Sessions in which a user asks for help, and tells something in most of them."""
        facts = [(topic, told) for topic in self.topics for told in (*topic.tell, ("", *topic.again))]
        self.draw.shuffle(facts)
        for session in range(ASSISTANT_SESSIONS):
            self._begin(session)
            topic, (_, said, forms) = facts[session % len(facts)]
            is_told = session < len(facts) and self._is(0.8)
            opening = [self._chosen(topic.open)] * self.draw.randint(0, 1)
            fact = self._chosen(said) if is_told else ""
            parts = [self.draw.choice(topic.tasks), *opening, fact]
            asking = self._forms(topic, forms)
            asked = self._say("user", " ".join(part for part in parts if part))
            self._reply(topic, fact)
            if is_told:
                self._ask(asking, [asked], None)
            for _ in range(self.draw.randint(0, 2)):
                self._say("user", f"{self.draw.choice(FOLLOW_UPS)} {self.draw.choice(topic.tasks)}")
                self._reply(topic, "")
        for form, gold in self._advised.items():
            if self._is(ADVICE_ASKED):
                self._ask([form], gold, None)

    def _reply(self, topic: Topic, fact: str) -> None:
        parts = [self.draw.choice(HELPED)]
        if fact and self._is(0.7):
            parts.append(self.draw.choice(ECHOES).format(said=fact))
        tips = [f"{place}. {tip}" for place, tip in enumerate(self.draw.sample(topic.tips, 4), start=1)]
        advice, forms = topic.advice
        is_advised = self._is(0.25)
        closings = [closing.format(topic=topic.name) for closing in self.draw.sample(CLOSINGS, 2)]
        said = self._say("assistant", " ".join([*parts, *tips, *([self._chosen(advice)] * is_advised), *closings]))
        if is_advised:
            self._advised.setdefault(forms[0], []).append(said)

    def _thread(self, who: str, other: str, topic: Topic) -> None:
        opened = self._say(who, self._longer(self._chosen(topic.open)))
        self._opened.setdefault((who, topic.category), []).append(opened)
        self._ask(topic.when, [opened], who)
        for prompt, said, forms in self.draw.sample(topic.tell, self.draw.randint(2, len(topic.tell))):
            reaction = self.draw.choice(REACTIONS) if self._is(0.6) else ""
            asking = _about(self.draw.choice(forms), "you", "your") if self._is(WORDED_ALIKE) else prompt
            self._say(other, f"{reaction} {asking}".strip(), you=who)
            told = self._say(who, self._longer(self._chosen(said)))
            self._ask(self._forms(topic, forms), [told], who)
            if self._is(0.5):
                comments = COMMENTS if self._detail else COMMENTS[:-3]
                comment = self.draw.choice(comments).format(topic=topic.name, detail=self._detail)
                self._say(other, comment[:1].upper() + comment[1:], you=who)
                self._say(who, self.draw.choice(THANKS), you=other)

    def _return_to(self, who: str, other: str, topic: Topic) -> None:
        self._say(other, self.draw.choice(RECALLED).format(topic=topic.name), you=who)
        said, forms = topic.again
        told = self._say(who, self._longer(self._chosen(said)))
        self._ask(self._forms(topic, forms), [told], who)
        self._say(other, self.draw.choice(REACTIONS), you=who)

    def _forms(self, topic: Topic, forms: Sequence[str]) -> list[str]:
        """The questions about what was just told: as they stand, or by a detail of it."""
        if not (self._detail and self._is(WORDED_ALIKE)):
            return list(forms)
        return [form.format(topic=topic.name, detail=self._detail) for form in DETAILS]

    def _is(self, share: float) -> bool:
        return self.draw.random() < share

    def _greet(self, host: str, guest: str) -> None:
        self._say(host, self.draw.choice(GREETINGS), you=guest)
        self._say(guest, self.draw.choice(GREETED), you=host)

    def _begin(self, session: int) -> None:
        self._session = f"{self.group}/s{session}"
        self._at += timedelta(days=self.draw.randint(2, 9))

    def _say(self, who: str, text: str, you: str = "") -> str:
        self._at += timedelta(seconds=40)
        row = CorpusRow(
            id=f"{self.group}/m{len(self.rows)}",
            group=self.group,
            text=text.replace("@you", you),
            speaker=None if who in ("user", "assistant") else who,
            role=who if who in ("user", "assistant") else None,
            time=self._at.isoformat(),
            session=self._session,
        )
        self.rows.append(row)
        return row.id

    def _ask(self, forms: Sequence[str], gold: Sequence[str], who: str | None) -> None:
        if self._is(ASKED) or len(gold) > 1:
            form = self.draw.choice(forms)
            if len(gold) == 1 and not form.startswith("When") and self._is(DATED):
                form = f"{form[:-1]} {self._at:{self.draw.choice(DATES)}}?"
            self.asked.append(
                LabelledQuestion(
                    id=f"{self.group}/q{len(self.asked)}",
                    group=self.group,
                    text=_about(form, who or "I", f"{who}'s" if who else "my"),
                    gold=dict.fromkeys(gold, 1.0),
                )
            )

    def _other(self, who: str, speakers: Sequence[str]) -> str:
        return self.draw.choice([speaker for speaker in speakers if speaker != who])

    def _chosen(self, text: str) -> str:
        """The sentence with its choices made; `_detail` is then the longest of them, if it is one to speak about."""
        made = [self.draw.choice(found[1].split("|")) for found in _CHOICE.finditer(text)]
        self._detail = max(("", *(choice for choice in made if len(choice) >= TELLING_CHARS)), key=len)
        left = iter(made)
        return _CHOICE.sub(lambda _: next(left), text)

    def _longer(self, text: str) -> str:
        return f"{text} {self.draw.choice(FILLERS)}" if self._is(0.3) else text


def _about(question: str, who: str, whose: str) -> str:
    """The question about a named person, or with "I" in the mouth of the user, or with "you"."""
    text = re.sub(r"the ((?:(?!of )[\w-]+ ){1,4})of @me", lambda found: f"{whose} {found[1].strip()}", question)
    if who == "I":
        text = re.sub(r"\b(did|was|would|could|that|when) @me", r"\1 I", text).replace("@me", "me")
    return text.replace("@me", who)


def described(dataset: Dataset) -> Iterator[str]:
    """Its first question with its gold, for a reader who wants to see what such a set is like."""
    texts = {row.id: row.text for row in dataset.corpus}
    for question in dataset.questions:
        yield question.text
        yield from (f"    {texts[i]}" for i in question.gold)
