"""What research may still cost: calls, tokens and time, reserved before they are spent, so that no limit is passed."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from mnemic.model.llm import Completion, Prompt
from mnemic.model.research import ResearchLimits
from mnemic.text.narrative import tokens

ANSWER_SHARE = 4
"""One part in so many of the time is set aside for combining and the answer."""

_MESSAGE_TOKENS = 8


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
        """True when the limits are not passed."""
        return self.calls <= limits.max_calls and self.tokens <= limits.max_tokens


class Budget:
    """The limits of one run, from now on. Safe to use from several threads."""

    def __init__(self, limits: ResearchLimits, call_timeout_s: float) -> None:
        self._limits = limits
        self._call_timeout_s = call_timeout_s
        self._end = time.monotonic() + limits.deadline_s
        self._spent = Cost()
        self._guard = threading.Lock()

    @property
    def spent(self) -> Cost:
        """What is spent or reserved."""
        with self._guard:
            return self._spent

    def take(self, cost: Cost, ahead: Cost | None = None) -> bool:
        """Reserve a cost, when `ahead` is left for what must follow, and, where something must, time for it."""
        with self._guard:
            if self.left_s(is_last=ahead is None) <= 0:
                return False
            total = self._spent + cost
            if not (total + (ahead or Cost())).fits(self._limits):
                return False
            self._spent = total
            return True

    def settle(self, reserved: Cost, completion: Completion | None) -> None:
        """After a call: what it cost takes the place of what was reserved, where the model told it."""
        told = None if completion is None else completion.usage
        if told is None or not told.prompt_tokens:
            return
        with self._guard:
            self._spent += Cost(0, told.prompt_tokens + told.completion_tokens - reserved.tokens)

    def left_s(self, *, is_last: bool) -> float:
        """Seconds that are left; unless it is the last thing to do, without those set aside for the answer."""
        kept = 0.0 if is_last else min(self._limits.deadline_s / ANSWER_SHARE, self._call_timeout_s)
        return self._end - time.monotonic() - kept

    def timeout_s(self, *, is_last: bool) -> float:
        """How long one call may take."""
        return max(min(self._call_timeout_s, self.left_s(is_last=is_last)), 1e-3)


def cost_of(prompt: Prompt) -> Cost:
    """What one call takes at most."""
    asked = sum(tokens(message.content) + _MESSAGE_TOKENS for message in prompt.messages)
    return Cost(1, asked + prompt.max_tokens)
