"""The settings of the proxy."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """Where chats go, and what memory may do to them.

    `upstream`: the base URL of an OpenAI-compatible server, `…/v1`; None: the proxy answers that it has none. `api_key`
    is shown to it where the client's own is a key of Mnemic, or none. `user`: whose memory it is where nobody says and
    no key is needed. Memory that takes longer than `memory_timeout_s` is left out of that chat. `timeout_s`: between
    two pieces of an answer. `injects_context` False: nothing is put in front of the model, chats are still captured.
    """

    upstream: str | None = None
    api_key: str | None = field(default=None, repr=False)
    user: str = "default"
    memory_timeout_s: float = 2.0
    timeout_s: float = 600.0
    injects_context: bool = True
