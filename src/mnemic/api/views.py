"""The verbs without their scope, awaited, or both: one line per verb, with the library's arguments and result.

A view calls a `Mnemic` or a group of its verbs. `ScopedMnemic` passes its scope to each call, `AsyncMnemic`
(`mnemic.aio`) runs each call on its threads. Signatures come from the library's methods, at run time and for type
checkers.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from functools import cache, partial, wraps
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from mnemic.api.arguments import SCOPE_HELP
from mnemic.api.parts import DocumentVerbs, GraphVerbs, JobVerbs, KeyVerbs, ProfileVerbs, ToolVerbs
from mnemic.api.verbs import MnemicVerbs
from mnemic.model.scope import DEFAULT_ORG, Scope
from mnemic.verbs import OTHER_NAMES

Bound = Literal["bound"]
Awaited = Literal["awaited"]
Both = Literal["bound and awaited"]
"""The ways of a view, for type checkers: without the scope, awaited, or both."""

_Way = TypeVar("_Way", bound=str)
_P = ParamSpec("_P")
_T = TypeVar("_T")
_Scoped = Callable[Concatenate[Any, Scope, _P], _T]
_Plain = Callable[Concatenate[Any, _P], _T]
_Awaited = Callable[_P, Coroutine[Any, Any, _T]]
_Streamed = _Awaited[_P, AsyncGenerator[_T]]
_Function_co = TypeVar("_Function_co", bound=Callable[..., Any], covariant=True)


class Named:
    """An object with verbs. An unknown name of another program raises an `AttributeError` that gives ours."""

    if not TYPE_CHECKING:  # a checker must find unknown names itself

        def __getattr__(self, name: str) -> Any:
            hint = f"; use {OTHER_NAMES[name]}" if name in OTHER_NAMES else ""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}", name=name, obj=self)


class View(Named, Generic[_Way]):
    """Verbs of `target()`, called with `scope` if there is one, on the threads of `runner` if there is one."""

    scope: Scope
    is_bound = is_awaited = False

    def __init__(self, target: Callable[[], Any], scope: Scope | None = None, runner: Any = None) -> None:
        self._target, self._runner = target, runner
        self.is_bound, self.is_awaited = scope is not None, runner is not None
        if scope is not None:
            self.scope = scope

    def __repr__(self) -> str:
        return f"{type(self).__name__}({getattr(self, 'scope', '')})"

    def _group(self, name: str) -> tuple[Callable[[], Any], Scope | None, Any]:
        return lambda: getattr(self._target(), name), getattr(self, "scope", None), self._runner


class Verb(Generic[_Function_co]):
    """A verb of the library, as a view has it."""

    def __init__(self, function: _Function_co) -> None:
        self._function = function

    if TYPE_CHECKING:  # the first that fits: scope left out, then streams, then everything else

        @overload
        def __get__(self: Verb[_Scoped[_P, _T]], owner: View[Bound], kind: Any) -> Callable[_P, _T]: ...
        @overload
        def __get__(self: Verb[_Plain[_P, _T]], owner: View[Bound], kind: Any) -> Callable[_P, _T]: ...
        @overload
        def __get__(self: Verb[_Scoped[_P, Generator[_T]]], owner: View[Both], kind: Any) -> _Streamed[_P, _T]: ...
        @overload
        def __get__(self: Verb[_Scoped[_P, Iterator[_T]]], owner: View[Both], kind: Any) -> _Awaited[_P, list[_T]]: ...
        @overload
        def __get__(self: Verb[_Scoped[_P, _T]], owner: View[Both], kind: Any) -> _Awaited[_P, _T]: ...
        @overload
        def __get__(self: Verb[_Plain[_P, Generator[_T]]], owner: View[Any], kind: Any) -> _Streamed[_P, _T]: ...
        @overload
        def __get__(self: Verb[_Plain[_P, Iterator[_T]]], owner: View[Any], kind: Any) -> _Awaited[_P, list[_T]]: ...
        @overload
        def __get__(self: Verb[_Plain[_P, _T]], owner: View[Any] | None, kind: Any) -> _Awaited[_P, _T]: ...

    def __get__(self, owner: View[Any] | None, kind: type[View[Any]]) -> Any:
        seen = kind if owner is None else owner
        verb = _make_verb(self._function, is_bound=seen.is_bound, is_awaited=seen.is_awaited)
        return verb if owner is None else MethodType(verb, owner)


@cache
def _make_verb(function: Callable[..., Any], *, is_bound: bool, is_awaited: bool) -> Callable[..., Any]:
    """Make the method of a view, with the signature and docstring of the library's."""
    name, signature = function.__name__, inspect.signature(function)
    takes_scope = is_bound and "scope" in signature.parameters

    def call(self: Any, *arguments: Any, **named: Any) -> Any:
        before = (self.scope,) if takes_scope else ()
        answer = getattr(self._target(), name)(*before, *arguments, **named)
        return [*answer] if is_awaited and name == "export" else answer

    async def wait(self: Any, *arguments: Any, **named: Any) -> Any:
        answer = await self._runner.run(partial(call, self, *arguments, **named))
        return self._runner.each(answer) if name == "chat_stream" else answer

    verb: Any = wraps(function)(wait if is_awaited else call)
    kept = [each for each in signature.parameters.values() if not (takes_scope and each.name == "scope")]
    verb.__doc__ = (verb.__doc__ or "").replace(f"{SCOPE_HELP}\n", "") if takes_scope else verb.__doc__
    verb.__signature__ = signature.replace(parameters=kept)
    return verb


class ProfileView(View[_Way]):
    """Like `ProfileVerbs`."""

    set = Verb(ProfileVerbs.set)
    get = Verb(ProfileVerbs.get)
    all = Verb(ProfileVerbs.all)
    format = Verb(ProfileVerbs.format)


class DocumentView(View[_Way]):
    """Like `DocumentVerbs`."""

    list = Verb(DocumentVerbs.list)
    get = Verb(DocumentVerbs.get)
    text = Verb(DocumentVerbs.text)
    passages = Verb(DocumentVerbs.passages)
    delete = Verb(DocumentVerbs.delete)


class GraphView(View[_Way]):
    """Like `GraphVerbs`."""

    entities = Verb(GraphVerbs.entities)
    overview = Verb(GraphVerbs.overview)
    neighbours = neighbors = Verb(GraphVerbs.neighbours)
    path = Verb(GraphVerbs.path)
    correct = Verb(GraphVerbs.correct)
    undo = Verb(GraphVerbs.undo)
    extract = Verb(GraphVerbs.extract)


class ToolView(View[_Way]):
    """Like `ToolVerbs`."""

    list = Verb(ToolVerbs.list)
    call = Verb(ToolVerbs.call)
    add = Verb(ToolVerbs.add)


class JobView(View[_Way]):
    """Like `JobVerbs`."""

    list = Verb(JobVerbs.list)
    retry = Verb(JobVerbs.retry)


class KeyView(View[_Way]):
    """Like `KeyVerbs`."""

    create = Verb(KeyVerbs.create)
    list = Verb(KeyVerbs.list)
    revoke = Verb(KeyVerbs.revoke)
    rotate = Verb(KeyVerbs.rotate)
    audit = Verb(KeyVerbs.audit)


class ViewVerbs(View[_Way]):
    """The verbs that take a scope, and the groups."""

    capture = Verb(MnemicVerbs.capture)
    capture_many = Verb(MnemicVerbs.capture_many)
    complete = Verb(MnemicVerbs.complete)
    remember = Verb(MnemicVerbs.remember)
    remember_many = Verb(MnemicVerbs.remember_many)
    recall = Verb(MnemicVerbs.recall)
    context = Verb(MnemicVerbs.context)
    why_not = Verb(MnemicVerbs.why_not)
    get = Verb(MnemicVerbs.get)
    list = Verb(MnemicVerbs.list)
    count = Verb(MnemicVerbs.count)
    update = Verb(MnemicVerbs.update)
    pin = Verb(MnemicVerbs.pin)
    merge = Verb(MnemicVerbs.merge)
    undo = Verb(MnemicVerbs.undo)
    feedback = Verb(MnemicVerbs.feedback)
    delete = Verb(MnemicVerbs.delete)
    clear = Verb(MnemicVerbs.clear)
    history = Verb(MnemicVerbs.history)
    review = Verb(MnemicVerbs.review)
    trust = Verb(MnemicVerbs.trust)
    reject = Verb(MnemicVerbs.reject)
    run_file_command = Verb(MnemicVerbs.run_file_command)
    window = Verb(MnemicVerbs.window)
    messages = Verb(MnemicVerbs.messages)
    contexts = Verb(MnemicVerbs.contexts)
    sessions = Verb(MnemicVerbs.sessions)
    summarise = summarize = Verb(MnemicVerbs.summarise)
    end = Verb(MnemicVerbs.end)
    reflect = Verb(MnemicVerbs.reflect)
    extract = Verb(MnemicVerbs.extract)
    curate = Verb(MnemicVerbs.curate)
    consolidate = Verb(MnemicVerbs.consolidate)
    decay = Verb(MnemicVerbs.decay)
    evict = Verb(MnemicVerbs.evict)
    ingest = Verb(MnemicVerbs.ingest)
    research = Verb(MnemicVerbs.research)
    chat = Verb(MnemicVerbs.chat)
    chat_stream = Verb(MnemicVerbs.chat_stream)
    ask = Verb(MnemicVerbs.ask)
    export = Verb(MnemicVerbs.export)
    import_ = Verb(MnemicVerbs.import_)
    erase = Verb(MnemicVerbs.erase)
    receipts = Verb(MnemicVerbs.receipts)
    health = Verb(MnemicVerbs.health)

    @property
    def profile(self) -> ProfileView[_Way]:
        """Like `Mnemic.profile`."""
        return ProfileView(*self._group("profile"))

    @property
    def documents(self) -> DocumentView[_Way]:
        """Like `Mnemic.documents`."""
        return DocumentView(*self._group("documents"))

    @property
    def graph(self) -> GraphView[_Way]:
        """Like `Mnemic.graph`."""
        return GraphView(*self._group("graph"))

    @property
    def tools(self) -> ToolView[_Way]:
        """Like `Mnemic.tools`."""
        return ToolView(*self._group("tools"))

    @property
    def jobs(self) -> JobView[_Way]:
        """Like `Mnemic.jobs`."""
        return JobView(*self._group("jobs"))

    @property
    def keys(self) -> KeyView[_Way]:
        """Like `Mnemic.keys`."""
        return KeyView(*self._group("keys"))


class ScopedMnemic(ViewVerbs[Bound]):
    """The verbs of an open memory for one scope. Pass no scope: `ana.recall("home")`."""

    is_bound = True


class AsyncScopedMnemic(ViewVerbs[Both]):
    """Like `ScopedMnemic`, for asyncio."""

    is_bound = is_awaited = True


class Scoping(Named):
    """Binds a scope to the verbs of a memory."""

    def for_user(
        self, user: str | None = None, *, agent: str | None = None, session: str | None = None, org: str = DEFAULT_ORG
    ) -> ScopedMnemic:
        """Return the same verbs without the scope argument, for a user, agent or session, or a combination of them.

        Args:
            user: The user whose memory to use.
            agent: The agent that makes the requests.
            session: The conversation.
            org: The tenant. Default: default.
        """
        return ScopedMnemic(lambda: self, Scope(org=org, agent=agent, user=user, session=session))
