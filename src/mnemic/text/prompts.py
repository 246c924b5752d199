"""Prompts for summaries and reflections, and readers of their replies. Prompts follow the language of the conversation:
Chinese for a Chinese one, else English. Messages are data between markers, one line each, and cannot forge the markers.
`PROMPT_VERSION` is in the provenance of the results; it changes with any wording here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from mnemic.errors import BadReplyError
from mnemic.model.chat import Completion, Finish, Prompt, PromptMessage
from mnemic.model.item import Message, Role
from mnemic.text import normalise as scripts
from mnemic.text.blocks import Language
from mnemic.text.normalise import late_pattern
from mnemic.text.replies import clean_text, read_item, without_thoughts
from mnemic.text.sanitise import one_line, sanitise
from mnemic.text.sentences import sentences
from mnemic.text.wordings import wording

PROMPT_VERSION = "prompt-1"
SUMMARY_WORDS = 60
SUMMARY_CHARACTERS = 100
"""Target length of a summary: English words, Chinese characters."""

REFLECTION_WORDS = 120  # twice a summary: it holds several
REFLECTION_CHARACTERS = 200  # twice a summary: it holds several
SUMMARY_LENGTH: Mapping[Language, int] = {"en": SUMMARY_WORDS, "zh": SUMMARY_CHARACTERS}
REFLECTION_LENGTH: Mapping[Language, int] = {"en": REFLECTION_WORDS, "zh": REFLECTION_CHARACTERS}
"""Target length of a reflection by language, in words or characters."""

MAX_MESSAGE_CHARS = 2000  # about 500 tokens, so that twenty messages fit a small context
MAX_TOOL_CHARS = 300  # limits of a message and of a tool's result shown to the model

MAX_REPLY_CHARS = 1000  # a longer summary is cut after its last whole sentence
REPLY_TOKENS = 1024  # room for models that think aloud before they answer
CUT_MARK = " […]"
STABLE_KEYS = ("name", "home", "job", "employer", "language", "birthday")
"""Profile keys that rarely change."""

REFLECTION_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "reflection": {"type": "string"},
        "profile": {"type": "object", "properties": {key: {"type": "string", "maxLength": 200} for key in STABLE_KEYS}},
    },
    "required": ["reflection"],
}

EPISODE_SEPARATOR = "\n---\n"
_BEGIN, _END = "---BEGIN CONVERSATION---", "---END CONVERSATION---"
_FORGED = late_pattern(
    r"(?<![-=_*#<\[])[-=_*#<\[]++\s*+(?:begin|end)[\s_-]++conversation\s*+[-=_*#>\]]*+", re.IGNORECASE
)
_HAN = late_pattern(f"[{scripts.HAN}]")
_KANA = late_pattern(f"[{scripts.KANA}]")
_SHOWN = (Role.USER, Role.ASSISTANT, Role.TOOL)
_FENCE = late_pattern(r"```\w*\n(.*?)\n?```", re.DOTALL)
_PREFACE = late_pattern(
    r"(?:(?:sure|certainly|of course|okay)[,.!][^\n:]{0,60}:\s+|here(?:'s| is)[^\n:]{0,60}:\s+"
    r"|\**(?:summary|摘要|总结)\**\s*[:：]\s*\**\s*|(?:好的[，,。！]\s*)?以下是[^\n：:]{0,30}[：:]\s*)",
    re.IGNORECASE,
)
_REFUSAL = late_pattern(
    r"(?:i'?m sorry|i am sorry|sorry[,.]|i can(?:no|')t|as an ai|i apologi[sz]e|please (?:provide|share)"
    r"|there is no (?:conversation|text)|i (?:do not|don't) (?:have|see)"
    r"|抱歉|对不起|很遗憾|我无法|作为(?:一个)?(?:AI|人工智能)|请提供)",
    re.IGNORECASE,
)
_CONTENT = late_pattern(r"\w")


def language_of(texts: Sequence[str]) -> Language:
    """Chinese if its characters dominate the texts without any Japanese; else English."""
    joined = "".join(texts)
    han, letters = len(_HAN.findall(joined)), sum(character.isalpha() for character in joined)
    return "zh" if han * 4 >= letters > 0 and len(_KANA.findall(joined)) * 10 < han else "en"


def counted(message: Message) -> str:
    """The part of a message that counts for a summary, from its start: none of the system's, little of a tool's."""
    if message.role not in _SHOWN:
        return ""
    return message.text[: MAX_TOOL_CHARS if message.role is Role.TOOL else MAX_MESSAGE_CHARS]


def speaker(message: Message) -> str:
    """The role, and the name if there is one."""
    return f"{message.role.value} ({message.name})" if message.name else message.role.value


def raw_lines(messages: Sequence[Message]) -> str:
    """Lines of the form `role: content`, verbatim but shortened."""
    return "\n".join(f"{speaker(message)}: {text}" for message in messages if (text := _show_message(message)))


def summary_prompt(messages: Sequence[Message], language: Language) -> Prompt:
    """The prompt for a short summary of "role: content" lines, one per message."""
    lines = [
        f"{_inline(speaker(message))}: {_inline(text)}" for message in messages if (text := _show_message(message))
    ]
    return _prompt(wording(language, "summary.ask").format(most=SUMMARY_LENGTH[language]), "\n".join(lines))


def reflection_prompt(episodes: Sequence[str], language: Language) -> Prompt:
    """The prompt for what many summaries, separated by dashes, say about their user; as JSON."""
    inside = EPISODE_SEPARATOR.join(_inline(episode) for episode in episodes)
    keys = wording(language, "reflection.and").join(STABLE_KEYS)
    order = wording(language, "reflection.ask").format(most=REFLECTION_LENGTH[language], keys=keys)
    return _prompt(order, inside, REFLECTION_SCHEMA)


def read_summary(completion: Completion) -> str:
    """The summary in a reply. Raises `BadReplyError` for one that is empty, cut, a refusal, or no summary."""
    text = _require_whole(completion)
    if (fenced := _FENCE.fullmatch(text)) is not None:
        text = fenced.group(1).strip()
    if text.startswith("{"):
        reading = read_item(text, {"properties": {"summary": {"type": "string"}}, "required": ["summary"]})
        text = str(reading.items[0]["summary"]) if reading.items else ""
    text = _PREFACE.sub("", text, count=1) if _PREFACE.match(text) else text
    return _require_useful(text.strip().strip('"“”').strip())


def read_reflection(completion: Completion) -> tuple[str, dict[str, str]]:
    """The reflection in a reply, and its proposals for the profile by key. Raises `BadReplyError` for a reply that is
    empty, cut, or not the requested JSON.
    """
    reading = read_item(_require_whole(completion), REFLECTION_SCHEMA)
    if not reading.items:
        why = reading.refused[0].reason if reading.refused else "it has no JSON object with a reflection"
        raise BadReplyError(f"the model did not return a valid reflection: {why}")
    item = reading.items[0]
    proposed = cast("Mapping[str, object]", item.get("profile") or {})
    return _require_useful(str(item["reflection"])), {key: str(value) for key, value in proposed.items()}


def _show_message(message: Message) -> str:
    text = counted(message)
    return text.strip() + (CUT_MARK if 0 < len(text) < len(message.text) else "")


def _require_whole(completion: Completion) -> str:
    if completion.finish is Finish.LENGTH:
        raise BadReplyError("the model's reply was cut off at its token limit")
    return clean_text(without_thoughts(completion.text))


def _require_useful(text: str) -> str:
    if not _CONTENT.search(text):
        raise BadReplyError("the model's reply is empty")
    if _REFUSAL.match(text) or _FORGED.search(text):
        raise BadReplyError("the model's reply is a refusal or a question, not a summary")
    if len(text) <= MAX_REPLY_CHARS:
        return text
    ends = [end for _, end in sentences(text) if end <= MAX_REPLY_CHARS]
    return text[: ends[-1]] if ends else text[:MAX_REPLY_CHARS].rstrip() + CUT_MARK


def _prompt(order: str, inside: str, schema: dict[str, object] | None = None) -> Prompt:
    framed = f"{_BEGIN}\n{inside}\n{_END}"
    messages = (PromptMessage(Role.SYSTEM, order), PromptMessage(Role.USER, framed))
    return Prompt(messages=messages, schema=schema, max_tokens=REPLY_TOKENS)


def _inline(text: str) -> str:
    return _FORGED.sub("[REDACTED]", one_line(sanitise(text)))
