"""Memory around a framework's model: recall before it, capture after it, and tools for it.

Everything stays in a scope that the developer binds. Recalled text is data between markers, sanitised like a context.
Errors of the model or the memory never raise: the result reports them, and the chat continues.

LangGraph namespaces follow a layout, a tuple of labels such as `("memories", "{user}")`. Labels in braces name the
owner, others must match exactly, and anything may follow. The empty layout takes any namespace. Ambiguous layouts are
refused, so no label can reach another owner.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from mnemic.api import Mnemic
from mnemic.errors import BackendError, ConfigError, InvalidInputError, MnemicError
from mnemic.model.item import Role
from mnemic.model.scope import Level, Scope

if TYPE_CHECKING:
    from mnemic.remote import RemoteMnemic  # requires an extra that a local memory does not need

AnyMnemic: TypeAlias = "Mnemic | RemoteMnemic"
"""An open memory, from `Mnemic.open` or `mnemic.connect`. Its owner closes it."""


def explain_absence(error: ModuleNotFoundError, extra: str, *packages: str) -> Exception:
    """The error for a framework that cannot be imported: a `ConfigError` with the install command if one of its
    `packages` is missing, else the error itself.
    """
    if not any(f"{error.name}.".startswith(f"{package}.") for package in packages):
        return error
    return ConfigError(f"this integration requires the package {packages[0]}: run `pip install 'mnemic[{extra}]'`")


BUDGET_TOKENS = 2048  # leaves room for the chat in a model of 8,192 tokens
CAPTURE_TIMEOUT_S = 55.0  # the first call may load a model, or wait for other writers
TIMEOUT_S = 5.0  # a person waits for the answer; late memory is left out
MAX_QUERY_CHARS = 20_000  # like `Settings.max_query_chars`: a longer query would be refused
MOST_KNOWN = 20
"""The most of a session's last messages that are assumed to be in the model's prompt."""

_SHOWN = ("profile", "facts", "documents")
"""A block needs one of these. The date alone is not worth adding."""

_Answer = TypeVar("_Answer")
_log = logging.getLogger("mnemic.integrations")


def recall_block(
    mnemic: AnyMnemic, scope: Scope, question: str, budget_tokens: int = BUDGET_TOKENS, *, known: int = 0
) -> str:
    """The profile, facts and documents for a question, sanitised and between markers, "" if there are none. `known`:
    how many of the session's last messages the model already has. They are left out.
    """
    if not question.strip():
        return ""
    shown = mnemic.context(
        scope, question[:MAX_QUERY_CHARS], budget_tokens=budget_tokens, history_messages=min(known, MOST_KNOWN)
    )
    if not any(name in shown.blocks for name in _SHOWN):
        return ""
    return "\n\n".join(message.content for message in shown.messages if message.role is Role.SYSTEM)


def try_verb(verb: Callable[[], _Answer], otherwise: _Answer, *, what: str) -> _Answer:
    """A verb's result, or `otherwise` if it fails, which is logged."""
    try:
        return verb()
    except MnemicError as error:
        _log.warning("continuing the chat without memory: %s (%s)", what, type(error).__name__)
        return otherwise


async def try_in_time(verb: Callable[[], _Answer], otherwise: _Answer, *, timeout_s: float, what: str) -> _Answer:
    """Like `try_verb`, but runs on a thread, and also fails if it takes too long."""
    try:
        return await asyncio.wait_for(asyncio.to_thread(verb), timeout_s)
    except (MnemicError, TimeoutError) as error:
        _log.warning("continuing the chat without memory: %s (%s)", what, type(error).__name__)
        return otherwise


def to_messages(pairs: Sequence[tuple[Role, str]]) -> list[Mapping[str, object]]:
    """Messages to capture, without blank ones."""
    return [{"role": role, "content": text.encode(errors="replace").decode()} for role, text in pairs if text.strip()]


@dataclass(frozen=True, slots=True)
class Conversation:
    """The memory of a framework's chat, for asyncio. Errors and timeouts are logged, never raised."""

    mnemic: AnyMnemic
    scope: Scope
    budget_tokens: int = BUDGET_TOKENS
    timeout_s: float = TIMEOUT_S
    capture_timeout_s: float = CAPTURE_TIMEOUT_S

    async def recall(self, question: str, *, known: int = 0) -> str:
        """Like `recall_block`, but returns "" if the memory fails or takes too long."""
        return await try_in_time(
            lambda: recall_block(self.mnemic, self.scope, question, self.budget_tokens, known=known),
            "",
            timeout_s=self.timeout_s,
            what="nothing was recalled",
        )

    async def capture(self, said: Sequence[Mapping[str, object]]) -> None:
        """Store messages, except those whose external id is known. Late ones may be lost if the memory closes."""
        if said:
            limit, what = self.capture_timeout_s, "messages were not captured in time"
            await try_in_time(lambda: self.mnemic.capture(self.scope, said), None, timeout_s=limit, what=what)


def require_session(scope: Scope) -> Scope:
    """The scope. Raises `InvalidInputError` if it has no session."""
    if scope.session is None:
        raise InvalidInputError("this memory requires a session; pass Scope(user=…, session=…)")
    return scope


def draft_message(role: Role, text: str, *id_parts: object, **known: object) -> list[dict[str, object]]:
    """A list of one message to capture, or none if the text is blank. `id_parts` and the text set its external id."""
    if id_parts:
        digest = hashlib.sha256("\0".join(map(str, (*id_parts, text))).encode(errors="replace")).hexdigest()
        known["external_id"] = f"{id_parts[0]}-{digest[:32]}"
    return [{**message, **known} for message in to_messages([(role, text)])]


_OWN_LEVELS = (Level.USER, Level.SESSION)

ToolKind = Literal["fact", "preference", "goal", "event", "context"]

REMEMBER = """Keeps one thing about the user for later conversations. Call it when the user asks to remember something,
or says something lasting about themselves that will be needed again. One plain sentence each; no secrets.

Args:
    text: The thing to keep, as one sentence in the third person, such as: User prefers dark mode.
    kind: What sort of thing it is.
"""
RECALL = """Searches what is remembered of this user and of earlier conversations. Call it when the answer may depend on
what was said before and is not in front of you.

Args:
    query: What to look for, as a question or a few words.
    limit: The most results, 1 to 20.
"""
FORGET = """Deletes one memory for good. Call it only when the user asks to forget something; look for its id with
recall first, and tell the user what was deleted.

Args:
    id: The id of the memory, as recall showed it.
"""


@dataclass(frozen=True, slots=True)
class MemoryTools:
    """Mnemic's tools over one scope, as `Mnemic.tools` has them. They see and change what the scope can see, but cannot
    delete what other users share.
    """

    mnemic: AnyMnemic
    scope: Scope

    def remember(self, text: str, kind: ToolKind = "fact") -> str:
        """Store a text. Text from a model has the trust `assistant`."""
        return self._call("remember", text=text, kind=kind)

    def recall(self, query: str, limit: int = 5) -> str:
        """Memories about a query, as a block of facts with ids."""
        return self._call("recall", query=query, limit=limit)

    def forget(self, id: str) -> str:
        """Delete a memory or message of the user and return its text."""
        return self._call("forget", id=id, reason="asked of a model")

    def _call(self, name: str, **arguments: object) -> str:
        try:
            if name == "forget":
                level = self.mnemic.get(self.scope, str(arguments["id"])).partition.level
                if level not in _OWN_LEVELS:
                    return "not done: this memory is shared with others; a person must delete it"
            outcome = self.mnemic.tools.call(self.scope, name, arguments)
        except BackendError as error:
            _log.warning("a memory tool failed (%s)", type(error).__name__)
            return "not done: the memory does not answer now; go on without it"
        except MnemicError as error:
            return f"not done: {error}"
        return f"not done: {outcome.text}" if outcome.is_error else outcome.text


def make_tool_functions(
    bind: Callable[[Any], MemoryTools], context_type: object, *, may_forget: bool
) -> list[Callable[..., Any]]:
    """Async functions to remember, recall and, if allowed, forget, which frameworks turn into tools. Their first
    parameter is a run's context, from which `bind` makes the `MemoryTools`.
    """

    async def remember(context: Any, text: str, kind: ToolKind = "fact") -> str:
        return await asyncio.to_thread(bind(context).remember, text, kind)

    async def recall(context: Any, query: str, limit: int = 5) -> str:
        return await asyncio.to_thread(bind(context).recall, query, limit)

    async def forget(context: Any, id: str) -> str:
        return await asyncio.to_thread(bind(context).forget, id)

    functions: dict[Callable[..., Any], str] = {remember: REMEMBER, recall: RECALL}
    if may_forget:
        functions[forget] = FORGET
    for function, description in functions.items():
        function.__doc__ = description
        function.__annotations__["context"] = context_type
    return list(functions)


Namespace = tuple[str, ...]
OWNERS = {"{user}": "user", "{agent}": "agent"}


@dataclass(frozen=True, slots=True)
class Place:
    """The scope and level of a namespace's items."""

    scope: Scope
    level: Level


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layouts of a store, and the scope that they fill. `scope` gives the org and the parts that no label names. If
    it has a user or agent, they own namespaces without an owner. Raises `InvalidInputError` for ambiguous layouts, and
    for layouts without an owner.
    """

    layouts: tuple[Namespace, ...]
    scope: Scope

    def __post_init__(self) -> None:
        if not self.layouts:
            raise InvalidInputError('pass at least one layout, such as ("memories", "{user}")')
        for place, layout in enumerate(self.layouts):
            self._check(layout)
            for other in self.layouts[:place]:
                if all({one, two} & {*OWNERS} or one == two for one, two in zip(layout, other, strict=False)):
                    raise InvalidInputError(
                        f"a namespace could match both {_show(other)} and {_show(layout)}; add a fixed label to one"
                    )

    def place(self, namespace: Namespace) -> Place:
        """The place of a namespace. Raises `InvalidInputError` if it matches no layout."""
        for layout in self.layouts:
            if len(namespace) >= len(layout) and _agrees(layout, namespace):
                return self._fill(layout, namespace)
        known = ", ".join(_show(layout) for layout in self.layouts)
        raise InvalidInputError(f"the namespace {_show(namespace)} matches no layout of this store; use one of {known}")

    def place_below(self, prefix: Namespace) -> Place:
        """The place of everything below a prefix. Raises `InvalidInputError` if there would be several owners."""
        fitting = [layout for layout in self.layouts if _agrees(layout, prefix)]
        if not fitting:
            return self.place(prefix)
        if any(label in OWNERS for layout in fitting for label in layout[len(prefix) :]):
            raise InvalidInputError(f"several owners have namespaces under {_show(prefix)}; add the user or agent")
        places = {self._fill(layout, prefix) for layout in fitting}
        if len(places) > 1:
            raise InvalidInputError(f"several owners have namespaces under {_show(prefix)}; use a longer prefix")
        return places.pop()

    def _check(self, layout: Namespace) -> None:
        owners = [OWNERS[label] for label in layout if label in OWNERS]
        unknown = [label for label in layout if label not in OWNERS and label.startswith("{") and label.endswith("}")]
        if unknown:
            raise InvalidInputError(f"{unknown[0]} in {_show(layout)} is not one of {', '.join(OWNERS)}")
        if len(set(owners)) < len(owners):
            raise InvalidInputError(f"{_show(layout)} contains an owner twice")
        held = [owner for owner in owners if getattr(self.scope, owner) is not None]
        if held:
            raise InvalidInputError(f"{held[0]} is in both the scope and {_show(layout)}; remove it from one of them")
        if not owners and self.scope.user is None and self.scope.agent is None:
            raise InvalidInputError(
                f"{_show(layout)} has no owner; add {{user}} or {{agent}} to it, or pass a scope with a user or agent"
            )

    def _fill(self, layout: Namespace, namespace: Namespace) -> Place:
        named = {OWNERS[label]: value for label, value in zip(layout, namespace, strict=False) if label in OWNERS}
        scope = replace(self.scope, session=None, **named)
        return Place(scope, scope.default_level)


def parse_layouts(layouts: Sequence[str] | Sequence[Sequence[str]], scope: Scope) -> Layouts:
    """One layout, given as a sequence of labels, or several. None: the empty layout."""
    if all(isinstance(label, str) for label in layouts):
        return Layouts((tuple(str(label) for label in layouts),), scope)
    return Layouts(tuple(tuple(layout) for layout in layouts), scope)


def _agrees(layout: Namespace, namespace: Namespace) -> bool:
    """True if the labels are compatible, up to the shorter length."""
    return all(label in OWNERS or label == given for label, given in zip(layout, namespace, strict=False))


def _show(namespace: Namespace) -> str:
    return "(" + ", ".join(repr(label)[:80] for label in namespace) + ")"
