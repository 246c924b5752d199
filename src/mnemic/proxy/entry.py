"""Who may use the proxy: the gate says so, and while the store is away, what it said a short time ago counts."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable

from starlette.requests import HTTPConnection, Request

from mnemic.api import Mnemic
from mnemic.errors import BackendError
from mnemic.model.records import Right
from mnemic.proxy.upstream import is_own_key
from mnemic.web.gate import KEY_HEADER, Gate
from mnemic.web.scopes import Caller

REMEMBERED_S = 600.0
"""So long a caller who was let in is let in again without the store: a chat must not end because of its memory."""

MAX_REMEMBERED = 10_000


class Entry:
    """Lets callers in as the gate does. A bearer token that is no key of Mnemic is the upstream's, and no key here."""

    def __init__(self, mnemic: Mnemic, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._mnemic, self._gate, self._clock = mnemic, gate, clock
        self._known: OrderedDict[str, tuple[Caller, float]] = OrderedDict()

    async def admit(self, request: Request) -> Caller:
        """Who asks. Raises as the gate does, and `ForbiddenError` for a key without the right to read."""
        headers = [
            (name, value)
            for name, value in request.scope["headers"]
            if name != b"authorization" or is_own_key(value.decode("latin-1"))
        ]
        connection = HTTPConnection({**request.scope, "headers": headers})
        name = _name(connection)
        try:
            caller = await self._gate.admit(connection)
        except BackendError:
            known = self._remembered(name)
            if known is None:
                raise
            caller = known
        else:
            self._known[name] = caller, self._clock()
            self._known.move_to_end(name)
            while len(self._known) > MAX_REMEMBERED:
                self._known.popitem(last=False)
        caller.require(Right.READ)
        return caller

    def _remembered(self, name: str) -> Caller | None:
        """Who was let in so a short time ago, unless the key has ended since."""
        caller, at = self._known.get(name, (None, 0.0))
        if caller is None or self._clock() - at > REMEMBERED_S:
            return None
        ends = None if caller.key is None else caller.key.expires_at
        return None if ends is not None and ends <= self._mnemic.now else caller


def _name(connection: HTTPConnection) -> str:
    """What the gate decides by, as a hash: the keys that are shown, the host and the origin."""
    shown = [connection.headers.get(name, "") for name in ("authorization", KEY_HEADER, "host", "origin")]
    return hashlib.sha256("\0".join(shown).encode()).hexdigest()
