"""Addresses and error messages shared by clients of OpenAI-compatible servers. No message quotes the key or a reply's
body, because servers repeat what they were sent.
"""

import email.utils
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit

from mnemic.errors import BackendError, BadReplyError, ConfigError, RateLimitedError, UnavailableError

OLLAMA_URL = "http://localhost:11434/v1"
"""Ollama's default address."""

FIRST_WAIT_S = 0.5
"""Wait before the first retry. Each later wait is twice as long, unless the server names its own."""

CONNECT_TIMEOUT_S = 5.0  # a running server answers in milliseconds; recall must not wait for one that is down

_TOO_LONG = re.compile(
    r"too (?:long|large|many tokens)|context (?:length|size|window)"
    r"|max(?:imum)? (?:context|input|sequence|tokens)|exceeds?\b.{0,40}\b(?:tokens|length|size)",
    re.IGNORECASE,
)
_REFUSALS = frozenset({400, 413, 422, 500})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class TooLongError(BackendError):
    """The server refused a text as too long. Never leaves the adapter, which cuts or refuses it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer other than 200: status, headers (case-insensitive), and the beginning of the body."""

    status: int
    headers: Mapping[str, str]
    said: str


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server of one part (`part`: "embedder" or "llm"). `base_url` ends in the version (`http://localhost:11434/v1`);
    `/v1` is added to a bare host. Raises `ConfigError` for an invalid URL, or one with a password.
    """

    part: str
    title: str
    base_url: str

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"the {self.part}'s base_url must look like {OLLAMA_URL}")
        if parts.username is not None or parts.password is not None:
            raise ConfigError(f"the {self.part}'s base_url must not contain a password; use api_key")

    def url(self, call: str) -> str:
        """The URL of a call, such as "embeddings"."""
        base = self.base_url.rstrip("/")
        return f"{base}/{call}" if urlsplit(base).path else f"{base}/v1/{call}"

    @property
    def is_loopback(self) -> bool:
        """True if the server is this machine. Then no proxy is used."""
        return urlsplit(self.base_url).hostname in _LOOPBACK

    @property
    def place(self) -> str:
        """The server's name in messages."""
        return f"the {self.title} server at {self.base_url}"

    def error(self, refusal: Refusal, model: str) -> BackendError | ConfigError:
        """Map a refusal to `ConfigError`, `TooLongError`, `RateLimitedError`, `UnavailableError` or `BadReplyError`."""
        status, said = refusal.status, refusal.said
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return ConfigError(f"{self.place} rejected the key ({status}); set api_key in the {self.part}'s options")
        if status in _REFUSALS and (status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or is_too_long(said)):
            return TooLongError(f"{self.place} rejected the input as too long ({status})")
        if status == HTTPStatus.NOT_FOUND:
            return ConfigError(
                f"{self.place} has no model {model!r}, or is a different kind of server (404){self._pull(said, model)}"
            )
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._busy(refusal)
        return BadReplyError(f"{self.place} returned status {status}{_code(said)}")

    def _busy(self, refusal: Refusal) -> BackendError:
        wish, is_limit = _retry_after_s(refusal.headers), refusal.status == HTTPStatus.TOO_MANY_REQUESTS
        if is_limit or wish is not None:
            return RateLimitedError(f"{self.place} is limiting requests ({refusal.status})", retry_after_s=wish)
        return UnavailableError(f"{self.place} failed ({refusal.status})")

    def _pull(self, said: str, model: str) -> str:
        is_ollama = "pull" in said or urlsplit(self.base_url).port == urlsplit(OLLAMA_URL).port
        return f": run `ollama pull {model}`" if is_ollama else f": check the {self.part}'s model and base_url"


def is_too_long(said: str) -> bool:
    """True if this error message is about the length of the input."""
    return _TOO_LONG.search(said) is not None


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The header `Retry-After` in seconds: a number, or a date relative to the server's `Date`."""
    wish = headers.get("Retry-After", "")
    if wish.isdigit():
        return float(wish)
    then, now = email.utils.parsedate_tz(wish), email.utils.parsedate_tz(headers.get("Date", ""))
    if then is None or now is None:
        return None
    return max(0.0, email.utils.mktime_tz(then) - email.utils.mktime_tz(now))


def _code(said: str) -> str:
    """The server's error code, if it is a single word and so cannot quote the input."""
    try:
        answer: Any = json.loads(said)
    except (ValueError, RecursionError):
        return ""
    error = cast("Mapping[str, object]", answer).get("error") if isinstance(answer, dict) else None
    code = cast("Mapping[str, object]", error).get("code") if isinstance(error, dict) else None
    return f" ({code})" if isinstance(code, str) and re.fullmatch(r"[a-z_]{3,40}", code) else ""
