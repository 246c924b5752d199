"""The server behind the proxy: which headers are sent to it and passed back."""

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import httpx2

from mnemic.model.settings import ProxySettings
from mnemic.web.gate import LOOPBACK

CONNECT_TIMEOUT_S = 10.0  # twice that of recall's models: without this server there is no answer at all
MAX_CONNECTIONS = 1000  # bounds open files; more requests queue
OWN_KEY = "mn_"
VIA = "1.1 mnemic"
"""The header by which a proxy that points to itself is detected."""

_ANY_OWN_KEY = re.compile(rb"\bmn_[0-9a-f]{8,}_[0-9a-f]{32,}")
_NO_HEADER_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_BEARER = "bearer "
_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_NOT_SENT = _HOP | {
    "host",
    "content-length",
    "accept-encoding",
    "authorization",
    "cookie",
    "x-api-key",
    "expect",
    "via",
}
_KEYS = (b"authorization", b"x-api-key")
_NOT_RETURNED = _HOP | {"content-length", "set-cookie", "date", "server", "via"}
_OF_ITS_SITE = ("access-control-", "alt-svc", "clear-site-data", "mnemic-", "refresh", "strict-transport-security")
"""Headers about the upstream's own site or in Mnemic's name. They are dropped, so CORS stays off."""

SENT_ELSEWHERE = (301, 302, 303, 307, 308)
"""Redirects would make the client send its key to another server."""

LAST_STATUS = 599  # RFC 9110 defines no status above


def open_upstream(settings: ProxySettings) -> httpx2.AsyncClient:
    """A client with persistent connections, none open yet. Keeps no cookies: they could leak to another caller."""
    return httpx2.AsyncClient(
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        timeout=httpx2.Timeout(settings.timeout_s, connect=CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=100),
        follow_redirects=False,
        trust_env=urlsplit(settings.upstream or "").hostname not in LOOPBACK,
    )


def sent_headers(headers: Iterable[tuple[bytes, bytes]], key: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    """The request headers for the upstream, with its key and without Mnemic's. Bytes, as they need not be ASCII. `key`:
    the header and value for a client that sends none.
    """
    given = [(name.lower(), value) for name, value in headers if not _ANY_OWN_KEY.search(value)]
    sent = [(name, value) for name, value in given if _name(name) not in _NOT_SENT and not name.startswith(b"mnemic-")]
    sent += [(b"accept-encoding", b"identity"), (b"via", VIA.encode())]  # not compressed, so that it can be read
    own = [each for each in given if each[0] in _KEYS and each[1] and not is_own_key(each[1].decode("latin-1"))]
    name, value = key
    return [*sent, *(own or ([(name.encode(), value.encode())] if value else []))]


def returned_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The response headers for the client, in Latin-1."""
    return {
        _name(name): value.decode("latin-1")
        for name, value in headers
        if _name(name) not in _NOT_RETURNED
        and not _name(name).startswith(_OF_ITS_SITE)
        and not _NO_HEADER_VALUE.search(value)
    }


def _name(header: bytes) -> str:
    return header.decode("latin-1").lower()


def unusable(status: int) -> str:
    """Why a response with this status cannot be passed on, "" if it can."""
    if status in SENT_ELSEWHERE:
        return f"the server behind the proxy redirects ({status}); set proxy.upstream to the new address"
    return "" if HTTPStatus.OK <= status <= LAST_STATUS else f"the server behind the proxy returned status {status}"


def is_own_key(authorization: str) -> bool:
    """True for a Mnemic key, which the upstream must never see."""
    value = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else authorization
    return value.strip().startswith(OWN_KEY) or _ANY_OWN_KEY.search(authorization.encode(errors="replace")) is not None


def openai_failure(_status: int, message: str, kind: str) -> Mapping[str, object]:
    """An error in the format of OpenAI clients."""
    return {"error": {"message": message, "type": kind, "param": None, "code": kind}}


ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}


def anthropic_failure(status: int, message: str, kind: str) -> Mapping[str, object]:
    """An error in the format of Anthropic's clients."""
    other = "api_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    return {"type": "error", "error": {"type": ANTHROPIC_TYPES.get(status, other), "message": message, "kind": kind}}
