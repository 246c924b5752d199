"""What the hooks of coding assistants call: recalled before a prompt, captured after an answer.

A hook hands in what its program tells of an event; the answer is what the program reads on the standard output, "" for
nothing. Answers for reading the events of Claude Code and of the OpenClaw plugin that is beside this file, and the
transcripts of Claude Code; `mnemic hooks` is the door.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from mnemic.errors import InvalidInputError
from mnemic.integrations.memory import MOST_KNOWN, AnyMnemic, recall_block
from mnemic.model.document import MEBIBYTE
from mnemic.model.item import Role
from mnemic.model.scope import Scope

BUDGET_TOKENS = 1500  # fits the 10,000 characters that Claude Code shows, with headings
MAX_SHOWN_CHARS = 9_500
"""Claude Code puts no more than 10,000 characters of a hook before its model; of a longer text only the beginning."""

MAX_LINES_BYTES = 64 * MEBIBYTE  # of a transcript: bounds the memory of reading one
MAX_EXTERNAL_ID_CHARS = 200  # within the 255 of every id; the programs' own ids have 36
_COMPARED_MESSAGES = 200  # of the session's newest; older ones were captured by an earlier event
_BATCH_EXCHANGES = 200  # per request: bounds the time that one call takes
_COMMANDS = ("<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "Caveat: ")

Event = Mapping[str, Any]


def claude_code(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer a hook of Claude Code. The session is the event's where the scope names none.

    `UserPromptSubmit` is answered with what belongs to the prompt; any other event that names a transcript captures
    what is new in it: what the user typed and what the assistant answered, no tool calls, no sub-agents. Raises
    `InvalidInputError` for an event that is none, and the errors of the memory.
    """
    scope = _in_session(scope, event.get("session_id"))
    name = event.get("hook_event_name")
    if name == "UserPromptSubmit":
        told = _build_context(mnemic, scope, event.get("prompt"))
        output = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": told}}
        return json.dumps(output) if told else ""
    place = event.get("transcript_path")
    if not isinstance(name, str) or not isinstance(place, str) or not place:
        raise InvalidInputError("this is not an event of Claude Code: hook_event_name or transcript_path is missing")
    captured(mnemic, scope, read_transcript(Path(place).expanduser()))
    return ""


def openclaw(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer the plugin of OpenClaw. The session is the event's where the scope names none.

    `before_prompt_build` is answered with `{"prependContext": …}`; `agent_end` captures what was said since the
    messages that are known. Raises `InvalidInputError` for any other event, and the errors of the memory.
    """
    scope = _in_session(scope, event.get("session"))
    name = event.get("event")
    if name == "before_prompt_build":
        told = _build_context(mnemic, scope, event.get("prompt"))
        return json.dumps({"prependContext": told}) if told else ""
    messages = event.get("messages")
    if name != "agent_end" or not isinstance(messages, list):
        raise InvalidInputError("this is not an event of the OpenClaw plugin, such as before_prompt_build or agent_end")
    captured(mnemic, scope, _select_messages(cast("list[object]", messages)))
    return ""


HOOKS: Mapping[str, Callable[[AnyMnemic, Scope, Event], str]] = {"claude-code": claude_code, "openclaw": openclaw}
"""What answers the hooks of each program."""


def read_transcript(file: Path) -> list[dict[str, object]]:
    """What was said in a transcript of Claude Code, as messages to capture, in order; lines that cannot be read are
    left out. Raises `InvalidInputError` for a file that cannot be read, or takes more than 64 MiB.
    """
    try:
        if file.stat().st_size > MAX_LINES_BYTES:
            raise InvalidInputError(f"the transcript is larger than {MAX_LINES_BYTES:,} bytes")
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise InvalidInputError(f"the transcript cannot be read: {error.strerror}") from error
    messages = (_entry(line) for line in lines if line.strip())
    return [message for message in messages if message is not None]


def captured(mnemic: AnyMnemic, scope: Scope, messages: Sequence[Mapping[str, object]]) -> int:
    """Capture what stands behind the last message that the session knows by its external id, and say how many.

    So a hook costs what is new, and calling it again changes nothing.
    """
    known = {each.external_id for each in mnemic.window(scope, limit=_COMPARED_MESSAGES, include_closed=True)}
    last = max((place for place, each in enumerate(messages) if each["external_id"] in known), default=-1)
    fresh = [each for each in messages[last + 1 :] if each["external_id"] not in known]
    for batch in _exchanges(fresh):
        mnemic.capture_many(scope, batch)
    return len(fresh)


def _build_context(mnemic: AnyMnemic, scope: Scope, prompt: object) -> str:
    """What belongs to a prompt, within what the programs show."""
    words = prompt if isinstance(prompt, str) else ""
    clean = words.encode(errors="replace").decode()
    budget = BUDGET_TOKENS
    while len(told := recall_block(mnemic, scope, clean, budget, known=MOST_KNOWN)) > MAX_SHOWN_CHARS:
        budget //= 2
        if not budget:
            return ""
    return told


def _in_session(scope: Scope, session: object) -> Scope:
    if scope.session is not None:
        return scope
    if not isinstance(session, str) or not session:
        raise InvalidInputError("the event has no session")
    return replace(scope, session=session)


def _exchanges(messages: Sequence[Mapping[str, object]]) -> Iterator[list[list[Mapping[str, object]]]]:
    """Exchanges, each from a message of the user to before the next, some at a time."""
    batch: list[list[Mapping[str, object]]] = []
    for message in messages:
        if message["role"] is Role.USER and len(batch) >= _BATCH_EXCHANGES:
            yield batch
            batch = []
        if message["role"] is Role.USER or not batch:
            batch.append([])
        batch[-1].append(message)
    if batch:
        yield batch


def _entry(line: str) -> dict[str, object] | None:
    """A line of a transcript of Claude Code as a message; None for entries that are not messages."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    entry = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kind, said = entry.get("type"), entry.get("message")
    if kind not in ("user", "assistant") or not isinstance(said, dict):
        return None
    if entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary"):
        return None
    text, uid = _text(cast("dict[str, object]", said).get("content")), entry.get("uuid")
    is_command = kind == "user" and text.lstrip().startswith(_COMMANDS)
    if is_command or not text.strip() or not isinstance(uid, str) or not 0 < len(uid) <= MAX_EXTERNAL_ID_CHARS:
        return None
    message: dict[str, object] = {"role": Role(kind), "content": text, "external_id": f"claude-code-{uid}"}
    at = entry.get("timestamp")
    return message | ({"observed_at": at} if _is_time(at) else {})


def _select_messages(messages: Sequence[object]) -> list[dict[str, object]]:
    """The messages of the user and the assistant among those that OpenClaw tells of: known by when they were said and
    their words, or by how often the same was said before.
    """
    spoken: list[dict[str, object]] = []
    seen: Counter[str] = Counter()
    for each in messages:
        message = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        text, role = _text(message.get("content")), message.get("role")
        if role not in ("user", "assistant") or not text.strip():
            continue
        digest = hashlib.sha256(f"{role}\0{text}".encode()).hexdigest()[:32]  # 128 bits: no two messages share an id
        at = message.get("timestamp")
        seen[digest] += 1
        which = at if isinstance(at, int | float | str) and not isinstance(at, bool) else seen[digest]
        spoken.append(
            {"role": Role(role), "content": text, "external_id": f"openclaw-{which}-{digest}"[:MAX_EXTERNAL_ID_CHARS]}
        )
    return spoken


def _text(content: object) -> str:
    """A content, or the texts among its parts; half characters count as unknown ones."""
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    texts = [cast("dict[str, object]", part).get("text") if isinstance(part, dict) else part for part in parts]
    joined = "\n".join(text for text in texts if isinstance(text, str))
    return joined.replace("\0", "").encode(errors="replace").decode()


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
