"""Chat messages of any make: mappings, or objects with `role` and `content`; read, copied and made, never changed."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, TypeVar, cast

from mnemic.errors import InvalidInputError

Message = TypeVar("Message")
_SYSTEM_ROLES = ("system", "developer")
"""What names the message that sets the rules: some models call it the developer's."""


def with_system_text(messages: Sequence[Message], text: str) -> list[Message]:
    """A new list in which the text stands in a system message: at the end of a copy of the first one, else in one of
    its own before all others, made like the first message (a dict where there is none).

    The other messages are the very objects of the input. Raises `InvalidInputError` for a message without a role, for
    content that is neither text nor a list of parts, and for a class of messages that takes no `role` and `content`.
    """
    roles = [_role(message) for message in messages]
    first = next((place for place, role in enumerate(roles) if role in _SYSTEM_ROLES), None)
    if first is None:
        return [_made_like(messages[0] if messages else None, text), *messages]
    held = messages[first]
    return [*messages[:first], _with_content(held, _joined(_field(held, "content"), text)), *messages[first + 1 :]]


def _field(message: object, name: str) -> Any:
    if isinstance(message, Mapping):
        fields = cast("Mapping[str, object]", message)
        if name in fields:
            return fields[name]
    else:
        made: Any = message
        if hasattr(made, name):
            return getattr(made, name)
    raise InvalidInputError(f"a message needs a {name}; this one has none: {type(cast('object', message)).__name__}")


def _role(message: object) -> str:
    role = _field(message, "role")
    return str(role.value if isinstance(role, Enum) else role).lower()


def _joined(content: object, text: str) -> object:
    """The content with the text after it; lists of parts get one more part."""
    if content is None or content == "":
        return text
    if isinstance(content, str):
        return f"{content}\n\n{text}"
    if isinstance(content, list | tuple):
        return [*cast("Sequence[object]", content), {"type": "text", "text": text}]
    raise InvalidInputError(f"a system message holds text or a list of parts, not {type(content).__name__}")


def _with_content(message: Message, content: object) -> Message:
    """A copy with other content."""
    held: Any = message
    if isinstance(message, dict):
        copied = copy.copy(held)
        copied["content"] = content
        return copied
    if isinstance(message, Mapping):
        return cast("Message", {**held, "content": content})
    if dataclasses.is_dataclass(message):
        return dataclasses.replace(held, content=content)
    for method in ("model_copy", "_replace"):
        if hasattr(held, method):
            change = {"content": content}
            return held.model_copy(update=change) if method == "model_copy" else held._replace(**change)
    copied = copy.copy(held)
    try:
        copied.content = content
    except AttributeError as error:
        raise InvalidInputError(
            f"a copy of this message does not take other content: {type(message).__name__}"
        ) from error
    return copied


def _made_like(example: Message | None, text: str) -> Message:
    """A system message of the kind of the example."""
    if example is None or isinstance(example, Mapping):
        return cast("Message", {"role": "system", "content": text})
    role = _field(example, "role")
    try:
        system: object = type(role)("system") if isinstance(role, Enum) else "system"
        return cast("Any", type(example))(role=system, content=text)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"no system message can be made as {type(example).__name__}(role=…, content=…); begin with one of your own"
        ) from error
