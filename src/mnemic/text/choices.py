"""Finds choices in memories' texts, and words the general preference of many. "User and others decided to use
PostgreSQL for the shop" chooses PostgreSQL. Rejected, abandoned or merely considered things are no choices. Also holds
the model's prompts and readers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast

from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.item import Role
from mnemic.text import blocks
from mnemic.text.facts.find import terms_of
from mnemic.text.languages import Language, detect
from mnemic.text.normalise import late_pattern
from mnemic.text.replies import list_schema, object_schema, read_item, read_items, without_thoughts
from mnemic.text.sanitise import one_line, sanitise
from mnemic.text.wordings import wording

GENERAL_VERSION = "general-1"  # in the provenance of preferences; changes with any wording or rule here
MOST_TERMS = 6  # words; a longer thing is a story, not something to choose again
MAX_TEXT_CHARS = 300  # a choice or a preference is one or two sentences
TIMEOUT_S = 60.0  # a job waits for it, not a caller, so that a slow model may answer
REPLY_TOKENS = 256  # one sentence of JSON, with room for a model that explains itself

_TEXT = {"type": "string"}
_SCHEMA = object_schema(gem=_TEXT)


@dataclass(frozen=True, slots=True)
class Choice:
    """`key`: equal for equal choices. `who`, `verb` and `thing`: words for a sentence, "User", "chooses" and "Rust"."""

    key: str
    who: str
    verb: str
    thing: str
    language: Language


def choice_of(statement: str) -> Choice | None:
    """The choice that a statement in the third person names, or None. No string raises."""
    language = detect(statement)
    rules = language.choices
    if rules.refused.search(statement):
        return None
    for verb, rule in rules.rules:
        if (match := rule.match(statement)) is not None:
            thing = rules.article.sub("", rules.tail.sub("", match["thing"])).strip(" .,;:!。，；！")
            terms = terms_of(thing)
            if not 1 <= len(terms) <= MOST_TERMS:
                return None
            return Choice(f"{verb}: {' '.join(sorted(terms))}", match["who"], verb, thing, language)
    return None


def general_preference(choice: Choice, times: int, first: date, last: date) -> str:
    """The sentence that summarises choices between two days."""
    rules = choice.language.choices
    verb = rules.plural(choice.who, choice.verb)
    return rules.summary.format(who=choice.who, verb=verb, thing=choice.thing, times=times, first=first, last=last)


@dataclass(frozen=True, slots=True)
class Quality:
    """A reason shared by choices of different things: its name, a word for the things, and the sentence's language."""

    name: str
    things: str
    language: Language

    @property
    def key(self) -> str:
        """Equal for equal qualities."""
        return f"{QUALITY_KEY}{self.name}"


QUALITY_KEY = "quality: "
_NAMED = late_pattern(r"(?<=[\w,;:'\"(] )[A-Z][\w.+#-]+")


def is_choice(statement: str) -> bool:
    """True for a statement in the third person that the user chose, took or uses something."""
    language = detect(statement)
    rules = language.choices
    if language.user not in statement or rules.refused.search(statement):
        return False
    return rules.acts.search(statement) is not None or choice_of(statement) is not None


def qualities_of(statement: str) -> list[Quality]:
    """The qualities for which something was chosen, according to a statement in the third person."""
    language = detect(statement)
    rules = language.choices
    if not rules.shared or not is_choice(statement):
        return []
    topics = {cue.category for cue in language.gems.topics if cue.pattern.search(statement)}
    things = "tools" if _NAMED.search(statement) or "technical" in topics else "things"
    names = [name for name, rule in rules.qualities if rule.search(statement)]
    names += [match.group() for match in rules.compound.finditer(statement)]
    return [Quality(name, things, language) for name in dict.fromkeys(names)]


def named_things(statement: str) -> frozenset[str]:
    """The names in a statement, except its first word."""
    return frozenset(_NAMED.findall(statement)) - {detect(statement).user}


def shared_preference(quality: Quality, times: int, first: date, last: date) -> str:
    """The sentence about a quality for which many things were chosen between two days."""
    who = quality.language.user
    return quality.language.choices.shared.format(
        who=who, quality=quality.name, things=quality.things, times=times, first=first, last=last
    )


MOST_READ = 60  # maximum choices in one prompt


def traits_prompt(statements: Sequence[tuple[date, str]], language: blocks.Language) -> Prompt:
    """Ask a model, as the curator, for preferences that some numbered choices share."""
    numbered = enumerate(statements, start=1)
    lines = [f"{number}. {_shown(day, text)}" for number, (day, text) in numbered]
    return _prompt("shared", lines, language, _TRAITS, 2 * REPLY_TOKENS)


def read_traits(completion: Completion, count: int) -> list[tuple[str, tuple[int, ...]]]:
    """The preferences in a reply, each with the places (from 0) of its choices. Malformed ones are left out."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for item in read_items(without_thoughts(completion.text), _TRAITS_READ, most=MOST_TRAITS).items:
        text, lines = one_line(str(item["gem"])), item.get("lines")
        listed = cast("list[object]", lines) if isinstance(lines, list) else []
        places = sorted({each - 1 for each in listed if isinstance(each, int) and 1 <= each <= count})
        if 0 < len(text) <= MAX_TEXT_CHARS and places:
            found.append((text, tuple(places)))
    return found


def general_prompt(statements: Sequence[tuple[date, str]], language: blocks.Language) -> Prompt:
    """Ask a model, as the curator, for the one preference that several choices show."""
    lines = [_shown(day, text) for day, text in statements]
    return _prompt("general", lines, language, _SCHEMA, REPLY_TOKENS)


def _shown(day: date, text: str) -> str:
    return f"{day:%Y-%m-%d}: {one_line(sanitise(text))[:MAX_TEXT_CHARS]}"


def _prompt(
    name: str, lines: Sequence[str], language: blocks.Language, schema: Mapping[str, object], tokens: int
) -> Prompt:
    asked = PromptMessage(Role.SYSTEM, wording(language, f"choices.{name}"))
    messages = (asked, PromptMessage(Role.USER, "\n".join(lines)))
    return Prompt(messages=messages, schema=schema, max_tokens=tokens, timeout_s=TIMEOUT_S)


def read_general(completion: Completion) -> str:
    """The sentence in a reply, or ""."""
    if completion.finish is Finish.LENGTH:
        return ""
    found = [one_line(str(item["gem"])) for item in read_item(without_thoughts(completion.text), _SCHEMA).items]
    return next((text for text in found if 0 < len(text) <= MAX_TEXT_CHARS), "")


MOST_TRAITS = 10
_TRAITS = list_schema(
    object_schema(gem=_TEXT, lines={"type": "array", "items": {"type": "integer"}}), "preferences", MOST_TRAITS
)
_TRAITS_READ = object_schema(gem=_TEXT, lines={})
