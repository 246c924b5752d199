"""Asks research's model once per prompt and keeps the replies. Calls, tokens and time are reserved before use, so that
parallel calls and retries stay within the limits.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from mnemic import errors
from mnemic.engine.engine import Engine
from mnemic.engine.secrets import redact
from mnemic.model.chat import Completion, Prompt
from mnemic.model.document import Document, ResearchLimits, Step
from mnemic.model.scope import Partition
from mnemic.ports.models import Llm
from mnemic.text.narrative import tokens
from mnemic.text.research import again

ANSWER_SHARE = 4  # one part in four of the time is kept for combining and the answer
_MESSAGE_TOKENS = 8  # a chat template's frame around each message, with a margin


@dataclass(frozen=True, slots=True)
class Cost:
    """Calls and tokens."""

    calls: int = 0
    tokens: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens + other.tokens)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.calls - other.calls, self.tokens - other.tokens)

    def fits(self, limits: ResearchLimits) -> bool:
        """True if the cost is within the limits."""
        return self.calls <= limits.max_calls and self.tokens <= limits.max_tokens


class Budget:
    """The limits of one run, which starts now. Thread-safe."""

    def __init__(self, limits: ResearchLimits, call_timeout_s: float) -> None:
        self._limits = limits
        self._call_timeout_s = call_timeout_s
        self._end = time.monotonic() + limits.deadline_s
        self._spent = Cost()
        self._guard = threading.Lock()

    @property
    def spent(self) -> Cost:
        """Cost spent or reserved."""
        with self._guard:
            return self._spent

    def take(self, cost: Cost, ahead: Cost | None = None) -> bool:
        """Reserve a cost if `ahead`, the cost of later steps, still fits, and time for them if there are any."""
        with self._guard:
            if self.left_s(is_last=ahead is None) <= 0:
                return False
            total = self._spent + cost
            if not (total + (ahead or Cost())).fits(self._limits):
                return False
            self._spent = total
            return True

    def settle(self, reserved: Cost, completion: Completion | None) -> None:
        """Replace the reserved cost of a call by the actual one if the model reports it."""
        told = None if completion is None else completion.usage
        if told is None or not told.prompt_tokens:
            return
        with self._guard:
            self._spent += Cost(0, told.prompt_tokens + told.completion_tokens - reserved.tokens)

    def left_s(self, *, is_last: bool) -> float:
        """Seconds left. Except for the last step, the time kept for the answer is subtracted."""
        kept = 0.0 if is_last else min(self._limits.deadline_s / ANSWER_SHARE, self._call_timeout_s)
        return self._end - time.monotonic() - kept

    def timeout_s(self, *, is_last: bool) -> float:
        """Timeout of one call."""
        # a model takes no timeout of 0 or less
        return max(min(self._call_timeout_s, self.left_s(is_last=is_last)), 1e-3)


def cost_of(prompt: Prompt) -> Cost:
    """Maximum cost of one call."""
    asked = sum(tokens(message.content) + _MESSAGE_TOKENS for message in prompt.messages)
    return Cost(1, asked + prompt.max_tokens)


LONGEST_WAIT_S = 30.0  # for a server that asks to slow down
CHANGED = "the document was changed or removed during the research; try again"
UNREADABLE = "the model's reply could not be read"
TOO_LONG = "it is longer than the model's context"
_KEYS_A_QUERY = 500  # bounds the length of the statement
_log = logging.getLogger("mnemic.research")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Missed:
    """No answer, with the reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Wish(Generic[_T]):
    """A request to the model: prompt, key of the kept reply, and its reader (None: unusable). A retry needs `ahead` of
    the limits left; None: no later step.
    """

    key: str
    prompt: Prompt
    read: Callable[[Completion], _T | None]
    ahead: Cost | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """One owner's replies about one document. Thread-safe."""

    engine: Engine
    place: Partition
    document: Document
    llm: Llm
    budget: Budget

    def kept(self, keys: Sequence[str]) -> dict[str, Completion]:
        """The kept replies among these keys."""
        found: dict[str, Step] = {}
        with self.engine.store.read() as work:
            for first in range(0, len(keys), _KEYS_A_QUERY):
                found |= work.research.get(self.place, self.document, keys[first : first + _KEYS_A_QUERY])
        return {key: Completion(step.reply) for key, step in found.items()}

    def ask(self, wish: Wish[_T]) -> _T | Missed:
        """Ask the model; the limits must hold one call. Retries once, if they allow it, after a missing or unusable
        reply. Raises `UnavailableError` and `RateLimitedError` if both fail, `ConflictError` if the document changed;
        earlier replies are kept.
        """
        missed = Missed(UNREADABLE)
        for prompt in (wish.prompt, again(wish.prompt)):
            cost = cost_of(prompt)
            is_second = prompt is not wish.prompt
            if is_second and not self.budget.take(cost, wish.ahead):
                return Missed(f"{missed.reason}; the limits allow no second try")
            try:
                completion = self._reply(prompt, cost, is_last=wish.ahead is None)
            except (errors.TimedOutError, errors.BadReplyError) as error:
                missed = Missed(_describe_error(error))
            except errors.InvalidInputError:
                return Missed(TOO_LONG)
            except (errors.UnavailableError, errors.RateLimitedError) as error:
                if is_second:
                    raise
                missed = Missed(_describe_error(error))
                self._wait(error, is_last=wish.ahead is None)
            else:
                answer = wish.read(completion)
                if answer is not None:
                    self._keep(wish.key, completion)
                    return answer
                missed = Missed(UNREADABLE)
        return missed

    def asked_before(self, wish: Wish[_T]) -> _T | None:
        """The kept answer to the same request, or None."""
        completion = self.kept([wish.key]).get(wish.key)
        return None if completion is None else wish.read(completion)

    def _reply(self, prompt: Prompt, cost: Cost, *, is_last: bool) -> Completion:
        completion = None
        try:
            completion = self.llm.complete(replace(prompt, timeout_s=self.budget.timeout_s(is_last=is_last)))
            return completion
        finally:
            self.budget.settle(cost, completion)

    def _keep(self, key: str, completion: Completion) -> None:
        usage = completion.usage
        step = Step(
            key=key,
            reply=redact(self.engine, completion.text.encode(errors="replace").decode()).text,
            at=self.engine.clock.now(),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
        )
        with self.engine.store.write() as work:
            if not work.research.put(self.place, self.document, [step]):
                raise errors.ConflictError(CHANGED)

    def _wait(self, error: errors.BackendError, *, is_last: bool) -> None:
        wanted = error.retry_after_s if isinstance(error, errors.RateLimitedError) else None
        if wanted:
            threading.Event().wait(max(0.0, min(wanted, LONGEST_WAIT_S, self.budget.left_s(is_last=is_last))))


def side_by_side(following: Callable[[], Callable[[], _T] | None], parallel: int) -> Generator[_T]:
    """Yield results of `following`'s tasks as they end, at most `parallel` at once. It is called on this thread; None
    means no task now, or, with none running, no more. On an error or early end, running tasks are awaited.
    """
    if parallel == 1:
        while (task := following()) is not None:
            yield task()
        return
    with ThreadPoolExecutor(parallel, thread_name_prefix="mnemic-research") as pool:
        running: set[Future[_T]] = set()
        while True:
            while len(running) < parallel and (task := following()) is not None:
                running.add(pool.submit(copy_context().run, task))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                yield each.result()


def digest(llm: Llm, *texts: str) -> str:
    """Key of a request to a model."""
    told = hashlib.sha256()
    for text in (llm.name, *texts):
        data = text.encode(errors="surrogatepass")
        told.update(b"%d:" % len(data))
        told.update(data)
    return told.hexdigest()


def prompt_key(llm: Llm, prompt: Prompt) -> str:
    """Key of a whole prompt."""
    return digest(llm, str(prompt.max_tokens), *(message.content for message in prompt.messages))


def _describe_error(error: errors.BackendError) -> str:
    _log.info("a model call failed (%s)", type(error).__name__)
    return f"{type(error).__name__}: {error}"[:200]
