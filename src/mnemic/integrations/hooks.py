"""Hooks of coding assistants: recall before a prompt, capture after an answer. A hook gets the program's event and
returns the text for its standard output, or "". Parses the events of five programs, and Claude Code's transcripts.
OpenClaw needs the plugin in this folder. The command is `mnemic hooks`.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from mnemic.errors import InvalidInputError
from mnemic.integrations.attempts import find_attempts
from mnemic.integrations.memory import MOST_KNOWN, AnyMnemic, recall_block
from mnemic.model.document import MEBIBYTE
from mnemic.model.item import Role
from mnemic.model.scope import PROJECT_PREFIX, Scope

BUDGET_TOKENS = 1500  # fits the 10,000 characters that Claude Code shows, with headings
MAX_SHOWN_CHARS = 9_500
"""Claude Code passes at most 10,000 characters of a hook to its model, and of a longer text only the beginning."""

MAX_LINES_BYTES = 64 * MEBIBYTE  # per transcript: bounds the memory of reading one
MAX_EXTERNAL_ID_CHARS = 200  # within the 255 of every id; the programs' own ids have 36
_COMPARED_MESSAGES = 200  # of the session's newest; older ones were captured by an earlier event
_BATCH_EXCHANGES = 200  # per request: bounds the duration of one call
_FOLDERS = {"claude-code": "CLAUDE_PROJECT_DIR"}  # variables, because an event's folder changes with `cd`
_COMMANDS = ("<command-name>", "<command-message>", "<local-command-", "<bash-input>", "<bash-stdout>", "Caveat: ")

_OPENING = "What is known about this project, its decisions and commands, and the user's preferences?"

Event = Mapping[str, Any]


def claude_code(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer a hook of Claude Code. The session is the event's unless the scope names one.

    `UserPromptSubmit` returns the memory for the prompt. Any other event with a transcript captures its new messages:
    what the user typed and the assistant answered, without tool calls and sub-agents. It also stores attempts, in the
    event's project (see `mnemic.integrations.attempts`). Raises `InvalidInputError` for an invalid event, and the
    memory's errors.
    """
    scope = _in_session(scope, event.get("session_id"))
    name = event.get("hook_event_name")
    if name == "UserPromptSubmit":
        return _answer_prompt(mnemic, scope, event)
    place = event.get("transcript_path")
    if not isinstance(name, str) or not isinstance(place, str) or not place:
        raise InvalidInputError("this is not a Claude Code event: hook_event_name or transcript_path is missing")
    entries = _read_entries(Path(place).expanduser())
    messages = _read_messages(entries)
    if fresh := captured(mnemic, scope, messages):
        known = {each["external_id"] for each in messages[:-fresh]}
        after = max((at for at, each in enumerate(entries) if _external_id(each) in known), default=-1)
        _remember_attempts(mnemic, scope, find_attempts(entries, after))
    return ""


def openclaw(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer OpenClaw's plugin. The session is the event's unless the scope names one. `before_prompt_build` returns
    `{"prependContext": …}`. `agent_end` captures the messages after the known ones. Raises `InvalidInputError` for any
    other event, and the memory's errors.
    """
    scope = _in_session(scope, event.get("session"))
    name = event.get("event")
    if name == "before_prompt_build":
        told = _build_context(mnemic, scope, event.get("prompt"))
        return json.dumps({"prependContext": told}) if told else ""
    messages = event.get("messages")
    if name != "agent_end" or not isinstance(messages, list):
        raise InvalidInputError("this is not an OpenClaw plugin event such as before_prompt_build or agent_end")
    captured(mnemic, scope, _select_messages(cast("list[object]", messages)))
    return ""


def codex(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer a Codex hook. `UserPromptSubmit` returns memory and captures the prompt; `Stop` captures the answer."""
    scope = _in_session(scope, event.get("session_id"))
    answer = _answer_prompt(mnemic, scope, event) if event.get("hook_event_name") == "UserPromptSubmit" else ""
    said = ((Role.USER, event.get("prompt")), (Role.ASSISTANT, event.get("last_assistant_message")))
    _capture_said(mnemic, scope, f"codex-{event.get('turn_id')}", said)
    return answer


def gemini_cli(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer a Gemini CLI hook. `BeforeAgent` returns memory for the prompt. `AfterAgent` captures both texts."""
    scope = _in_session(scope, event.get("session_id"))
    if event.get("hook_event_name") == "BeforeAgent":
        return _answer_prompt(mnemic, scope, event)
    said = ((Role.USER, event.get("prompt")), (Role.ASSISTANT, event.get("prompt_response")))
    _capture_said(mnemic, scope, f"gemini-cli-{event.get('timestamp')}", said)
    return ""


def cursor(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """Answer a Cursor hook. `sessionStart` returns memory, because Cursor cannot add context to a prompt.
    `beforeSubmitPrompt` and `afterAgentResponse` capture the messages.
    """
    scope = _in_session(scope, event.get("conversation_id") or event.get("session_id"))
    if event.get("hook_event_name") == "sessionStart":
        told = _build_context(mnemic, scope, _OPENING)
        return json.dumps({"additional_context": told}) if told else ""
    said = ((Role.USER, event.get("prompt")), (Role.ASSISTANT, event.get("text")))
    _capture_said(mnemic, scope, f"cursor-{event.get('generation_id')}", said)
    return ""


HOOKS: Mapping[str, Callable[[AnyMnemic, Scope, Event], str]] = {
    "claude-code": claude_code,
    "openclaw": openclaw,
    "codex": codex,
    "gemini-cli": gemini_cli,
    "cursor": cursor,
}
"""The hook handler of each program."""


def find_folder(program: str, event: Event) -> Path | None:
    """The folder in which an assistant works. None if the event names none, and for OpenClaw's own workspace, whose
    messages are about the user.
    """
    roots = event.get("workspace_roots")
    opened = cast("list[object]", roots)[0] if program == "cursor" and isinstance(roots, list) and roots else None
    stated = os.environ.get(_FOLDERS.get(program, ""), "") or opened or event.get("cwd")
    if not isinstance(stated, str) or "\0" in stated or not Path(stated).is_absolute():
        return None
    return None if program == "openclaw" and ".openclaw" in Path(stated).parts else Path(stated)


def read_transcript(file: Path) -> list[dict[str, object]]:
    """The messages of a Claude Code transcript in order, ready to capture. Joins successive lines of one answer. Skips
    unreadable lines. Raises `InvalidInputError` if the file is unreadable or larger than 64 MiB.
    """
    return _read_messages(_read_entries(file))


def _read_entries(file: Path) -> list[dict[str, Any]]:
    try:
        if file.stat().st_size > MAX_LINES_BYTES:
            raise InvalidInputError(f"the transcript is larger than {MAX_LINES_BYTES:,} bytes")
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise InvalidInputError(f"the transcript cannot be read: {error.strerror}") from error
    return [entry for line in lines if line.strip() and (entry := _parse(line)) is not None]


def _read_messages(entries: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    messages: list[dict[str, object]] = []
    last = None
    for message, answer in map(_read_entry, entries):
        if message is None:
            continue
        if answer is not None and answer == last:
            messages[-1]["content"] = f"{messages[-1]['content']}\n{message['content']}"
        else:
            messages.append(message)
        last = answer
    return messages


def captured(mnemic: AnyMnemic, scope: Scope, messages: Sequence[Mapping[str, object]]) -> int:
    """Capture the messages after the last one that the session knows by external id. Returns their number. So a hook
    pays only for new messages, and repeating it changes nothing.
    """
    known = {each.external_id for each in mnemic.window(scope, limit=_COMPARED_MESSAGES, include_closed=True)}
    last = max((place for place, each in enumerate(messages) if each["external_id"] in known), default=-1)
    fresh = [each for each in messages[last + 1 :] if each["external_id"] not in known]
    for batch in _exchanges(fresh):
        mnemic.capture_many(scope, batch)
    return len(fresh)


def _remember_attempts(mnemic: AnyMnemic, scope: Scope, attempts: Sequence[str]) -> None:
    is_private = scope.agent is not None and scope.agent.startswith(PROJECT_PREFIX)
    common = {"kind": "attempt", "source": "claude-code", "trust": "tool", "is_private": is_private, "importance": 0.5}
    if attempts:
        mnemic.remember_many(scope, [{"text": text, **common} for text in attempts])


def _answer_prompt(mnemic: AnyMnemic, scope: Scope, event: Event) -> str:
    """The memory for the event's prompt and the note for the user, in Claude Code's format."""
    told = _build_context(mnemic, scope, event.get("prompt"))
    specific = {"hookEventName": event["hook_event_name"], "additionalContext": told}
    output = {"hookSpecificOutput": specific} if told else {}
    shown = {"systemMessage": f"Mnemic: {event['note']}"} if event.get("note") else {}
    return json.dumps({**output, **shown}) if told or shown else ""


def _capture_said(mnemic: AnyMnemic, scope: Scope, turn: str, said: Sequence[tuple[Role, object]]) -> None:
    """Capture the texts of one turn. Raises `InvalidInputError` if there are none."""
    texts = [(role, clean) for role, text in said if (clean := _text(text).strip())]
    if not texts:
        raise InvalidInputError("the event has nothing to capture")
    digests = [hashlib.sha256(text.encode()).hexdigest()[:32] for _, text in texts]
    ids = [f"{turn[:100]}-{role.value}-{digest}" for (role, _), digest in zip(texts, digests, strict=True)]
    pairs = zip(texts, ids, strict=True)
    captured(mnemic, scope, [{"role": role, "content": text, "external_id": each} for (role, text), each in pairs])


def _build_context(mnemic: AnyMnemic, scope: Scope, prompt: object) -> str:
    """The memory for a prompt, within the programs' size limit."""
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
    """Exchanges in batches. Each starts with a message of the user and ends before the next."""
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


def _parse(line: str) -> dict[str, Any] | None:
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _external_id(entry: Mapping[str, Any]) -> str:
    return f"claude-code-{entry.get('uuid')}"


def _read_entry(entry: Mapping[str, Any]) -> tuple[dict[str, object] | None, object]:
    """A Claude Code transcript line as a message, or None if it is not one, and the id of its answer."""
    kind, said = entry.get("type"), entry.get("message")
    if kind not in ("user", "assistant") or not isinstance(said, dict):
        return None, None
    if entry.get("isSidechain") or entry.get("isMeta") or entry.get("isCompactSummary"):
        return None, None
    said = cast("dict[str, object]", said)
    text, uid = _text(said.get("content")).strip(), entry.get("uuid")
    is_command = kind == "user" and text.lstrip().startswith(_COMMANDS)
    if is_command or not text or not isinstance(uid, str) or not 0 < len(uid) <= MAX_EXTERNAL_ID_CHARS:
        return None, None
    message: dict[str, object] = {"role": Role(kind), "content": text, "external_id": _external_id(entry)}
    at = entry.get("timestamp")
    return message | ({"observed_at": at} if _is_time(at) else {}), said.get("id") if kind == "assistant" else None


def _select_messages(messages: Sequence[object]) -> list[dict[str, object]]:
    """The messages of user and assistant in an OpenClaw event. Their ids come from time and text, or from the number of
    earlier equal messages.
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
        external_id = f"openclaw-{which}-{digest}"[:MAX_EXTERNAL_ID_CHARS]
        spoken.append({"role": Role(role), "content": text.strip(), "external_id": external_id})
    return spoken


def _text(content: object) -> str:
    """The text of a content or of its parts. Lone surrogates are replaced."""
    parts = cast("list[object]", content) if isinstance(content, list) else [content]
    texts = [cast("dict[str, object]", part).get("text") if isinstance(part, dict) else part for part in parts]
    joined = "\n".join(text for text in texts if isinstance(text, str))
    return joined.replace("\0", "").encode(errors="replace").decode()


def _is_time(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False
