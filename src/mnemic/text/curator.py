"""The curator's prompt for a day, and its rules without a model. Rules select the user's sentences that read like a
decision, solution, preference or insight and name a thing, reason or date. Their records have the form of a model's
reply and pass the same checks. Rules can neither reword nor judge, so they keep few.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mnemic.model.chat import Prompt, PromptMessage
from mnemic.model.item import Message, Role
from mnemic.text import sanitise
from mnemic.text.analyser import Analyser
from mnemic.text.gems import known_categories, reply_schema
from mnemic.text.languages import detect
from mnemic.text.narrative import ToldTurn, tokens, told
from mnemic.text.prompts import MAX_MESSAGE_CHARS, counted, language_of
from mnemic.text.prose import prose_parts
from mnemic.text.sentences import sentences
from mnemic.text.wordings import every_wording, wording

CURATOR_VERSION = "curator-2"  # in the provenance of gems; changes with any wording here
REPLY_TOKENS = 2048
PART_TOKENS = 6000  # maximum of a day in one prompt: models overlook the middle of longer ones
AROUND_TOKENS = 1200  # maximum of what came before a part, and of what was kept
TIMEOUT_S = 180.0
_SPARE_TOKENS = 64
_LINE_TOKENS = 20  # the markers of a block
_TEMPERATURE_STEP = 0.3


def message_chars(room: int) -> int:
    """Characters of a message to show, so that any message fits into a part of `room` tokens."""
    return max(40, min(MAX_MESSAGE_CHARS, room // 3))


def room_of(context_tokens: int) -> int:
    """Tokens of a day's part for a model with this context, which also holds question and reply."""
    return max(200, min(PART_TOKENS, _free(context_tokens) - around_tokens(context_tokens)))


def around_tokens(context_tokens: int) -> int:
    """Tokens for what came before a part, and for what was kept."""
    return min(AROUND_TOKENS, max(0, _free(context_tokens) - 200) // 4)


def _free(context_tokens: int) -> int:
    longest = max(tokens(text) for text in every_wording("curator.ask"))
    return context_tokens - reply_tokens(context_tokens) - longest - _SPARE_TOKENS


def reply_tokens(context_tokens: int) -> int:
    """Tokens left for the reply."""
    return min(REPLY_TOKENS, context_tokens // 4)


def curator_prompt(
    turns: Sequence[ToldTurn], context_tokens: int, tries: int = 0, around: Mapping[str, Sequence[str]] | None = None
) -> Prompt:
    """The prompt for what is worth keeping in a part of a day. More failed `tries` raise the temperature. `around`:
    lines by the name of their block, cut in front where they are too many.
    """
    language = language_of([counted(message) for turn in turns for message in turn.messages])
    blocks: list[str] = []
    for name, lines in (around or {}).items():
        own = [*lines]
        while own and sum(tokens(line) + 1 for line in own) > around_tokens(context_tokens) // 2 - _LINE_TOKENS:
            del own[0]
        blocks += [f"---BEGIN {name}---", *own, f"---END {name}---"] if own else []
    story = "\n".join([*blocks, told(turns, message_chars(room_of(context_tokens)))])
    order = wording(language, "curator.ask").replace("{categories}", wording(language, "curator.categories"))
    return Prompt(
        messages=(PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, story)),
        schema=reply_schema(),
        max_tokens=reply_tokens(context_tokens),
        temperature=round(_TEMPERATURE_STEP * tries, 1),
        timeout_s=TIMEOUT_S,
    )


RULES_VERSION = "gems-1"
MAX_GEMS = 5  # per day
ROOM_TOKENS = 60_000  # tokens that the rules read at once
KEPT = 1.0
HIGH = 1.6
CONFIDENCE = 0.6
MAX_CHARS = 300
MIN_TERMS = 3
_SAME = 0.6
_NEAR = 0.34
_NEAR_TURNS = 3
_analyser = Analyser()


@dataclass(frozen=True, slots=True)
class _Remark:
    """A sentence of the user that may be kept: its place, score and terms."""

    turn: ToldTurn
    message: Message
    text: str
    score: float
    categories: tuple[str, ...]
    terms: frozenset[str]


def gem_records(turns: Sequence[ToldTurn]) -> list[Mapping[str, object]]:
    """Records of the gems in some turns of a day, strongest first; at most 5."""
    groups: list[list[_Remark]] = []
    for remark in (remark for turn in turns for remark in _remarks(turn)):
        group = next((group for group in reversed(groups) if _belongs_to(group, remark)), None)
        if group is None:
            groups.append([remark])
        else:
            group.append(remark)
    groups = [group for group in groups if any(_is_specific(remark) for remark in group)]
    ranked = sorted(groups, key=lambda group: -max(remark.score for remark in group))
    return [_record(group, turns) for group in ranked[:MAX_GEMS]]


def _remarks(turn: ToldTurn) -> Iterator[_Remark]:
    for message in turn.messages:
        if message.role is not Role.USER:
            continue
        for text in _own_sentences(counted(message)):
            score, categories = _judge_sentence(text)
            terms = frozenset(_analyser.query_terms(text))
            if score >= KEPT and len(terms) >= MIN_TERMS:
                yield _Remark(turn, message, text, score, categories, terms)


def _own_sentences(text: str) -> Iterator[str]:
    """Sentences without code, questions, and orders to the model."""
    hostile = [finding.span for finding in sanitise.findings(text)]
    for shift, limit in prose_parts(text):
        for begin, stop in sentences(text[shift:limit]):
            start, end = shift + begin, shift + stop
            rules = detect(text[start:end]).gems
            line = " ".join(rules.opening.sub("", text[start:end].strip()).split())
            is_hostile = any(left < end and start < right for left, right in hostile)
            if line and len(line) <= MAX_CHARS and not is_hostile and not rules.asking.search(line):
                yield line


def _judge_sentence(text: str) -> tuple[float, tuple[str, ...]]:
    """How much a sentence is worth keeping, and its categories, strongest first."""
    rules = detect(text).gems
    cues = [cue for cue in rules.cues if cue.pattern.search(text)]
    has_reason, is_concrete = bool(rules.reason.search(text)), bool(rules.concrete.search(text))
    own = _own_cues(text)
    if not cues and not own:
        return 0.0, ()
    score = max([*(cue.weight for cue in cues), *(KEPT for _ in own)]) + 0.2 * (len(cues) + len(own) - 1)
    score += 0.5 * has_reason + 0.3 * is_concrete
    score -= 0.8 * bool(rules.passing.search(text)) + 0.6 * bool(rules.hanging.search(text))
    topics = [cue for cue in rules.topics if cue.pattern.search(text)]
    return score, tuple(dict.fromkeys([*own, *(cue.category for cue in (*cues, *topics))]))


def _own_cues(text: str) -> list[str]:
    """The categories that a sentence has by the lines of the file of prompts, such as "decision: we went with"."""
    lines = [line.partition(":") for words in every_wording("curator.cues") for line in words.splitlines()]
    pairs = [(category.strip(), words.strip().casefold()) for category, _, words in lines]
    return [each for each, words in pairs if words and words in text.casefold() and each in known_categories()]


def _is_specific(remark: _Remark) -> bool:
    """True for a sentence that names a thing, a reason or a date, and for an insight."""
    rules = detect(remark.text).gems
    says_why = rules.reason.search(remark.text) or rules.concrete.search(remark.text)
    return bool(says_why) or "insight" in remark.categories


def _belongs_to(group: Sequence[_Remark], remark: _Remark) -> bool:
    """True if the remark repeats the group, or adds to it a few turns later."""
    last = group[-1]
    shared = max(len(each.terms & remark.terms) / min(len(each.terms), len(remark.terms)) for each in group)
    is_near = (
        last.turn.conversation_id == remark.turn.conversation_id
        and remark.turn.number - last.turn.number <= _NEAR_TURNS
    )
    return shared >= (_NEAR if is_near else _SAME)


def _record(group: Sequence[_Remark], turns: Sequence[ToldTurn]) -> Mapping[str, object]:
    best = max(group, key=lambda remark: remark.score)
    neighbour = _find_neighbour(best, turns)
    reasons = [_third_person(remark.text) for remark in group if remark is not best and _gives_reason(remark.text)]
    if because := _find_reason(best):
        reasons.append(_third_person(because))
    before = {turn.number for turn in turns if neighbour and neighbour[0] in turn.messages}
    lines = [f"{remark.message.author}: {remark.text}" for remark in group]
    return {
        "gem": _third_person(best.text),
        "context": " ".join(dict.fromkeys(reasons)),
        "snippet": "\n".join([*([f"{neighbour[0].author}: {neighbour[1]}"] if neighbour else []), *lines]),
        "categories": list(dict.fromkeys(category for remark in group for category in remark.categories)),
        "importance": "high" if best.score >= HIGH else "medium",
        "confidence": CONFIDENCE,
        "source_turns": sorted({remark.turn.number for remark in group} | before),
    }


def _third_person(text: str) -> str:
    language = detect(text)
    for opening, begin in language.gems.said_as:
        if opening.match(text):
            return begin + language.third_person(opening.sub("", text))
    return language.begin(language.third_person(text))


def _find_reason(remark: _Remark) -> str:
    """Another sentence of the message that gives the reason; "" if the remark does itself, or none does."""
    for found in detect(remark.text).gems.reason.finditer(remark.text):
        if not remark.text[found.end() :].lstrip()[:1].isdigit():  # "since 2021" is a time
            return ""
    others = (text for text in _own_sentences(counted(remark.message)) if text != remark.text)
    return next((text for text in others if _gives_reason(text)), "")


def _gives_reason(text: str) -> bool:
    return detect(text).gems.reason.search(text) is not None


def _find_neighbour(remark: _Remark, turns: Sequence[ToldTurn]) -> tuple[Message, str] | None:
    """The sentence of the previous message that shares most with a remark, or None."""
    near = [
        message
        for turn in turns
        if turn.conversation_id == remark.turn.conversation_id and 0 <= remark.turn.number - turn.number <= 1
        for message in turn.messages
        if message.position < remark.message.position and message.role in (Role.USER, Role.ASSISTANT)
    ]
    if not near:
        return None
    text = counted(near[-1])
    found = [(len(remark.terms.intersection(_analyser.terms(text[a:b]))), text[a:b]) for a, b in sentences(text)]
    shared, line = max(found, key=lambda each: each[0], default=(0, ""))
    line = " ".join(line.split())
    return (near[-1], line) if shared and len(line) <= MAX_CHARS else None
