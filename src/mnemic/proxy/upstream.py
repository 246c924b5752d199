"""The server behind the proxy: what is sent to it of a request, and what is passed back of its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

import httpx2

from mnemic.model.proxy import ProxySettings
from mnemic.web.gate import LOOPBACK

CONNECT_TIMEOUT_S = 10.0
MAX_CONNECTIONS = 1000
OWN_KEY = "mn_"
VIA = "1.1 mnemic"
"""The header by which a proxy that was pointed at itself finds out."""

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
_NOT_SENT = _HOP | {"host", "content-length", "accept-encoding", "authorization", "cookie", "x-api-key", "expect"}
_NOT_RETURNED = _HOP | {"content-length", "content-encoding", "set-cookie", "date", "server"}


def open_upstream(settings: ProxySettings) -> httpx2.AsyncClient:
    """A client whose connections stay open between chats. Opens none yet."""
    return httpx2.AsyncClient(
        timeout=httpx2.Timeout(settings.timeout_s, connect=CONNECT_TIMEOUT_S),
        limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=100),
        follow_redirects=False,
        trust_env=urlsplit(settings.upstream or "").hostname not in LOOPBACK,
    )


def sent_headers(headers: Iterable[tuple[str, str]], settings: ProxySettings) -> dict[str, str]:
    """The headers of a request as the upstream gets them: without what is Mnemic's, with the key that is for it."""
    given = [(name.lower(), value) for name, value in headers]
    sent = {name: value for name, value in given if name not in _NOT_SENT and not name.startswith("mnemic-")}
    sent["accept-encoding"] = "identity"  # so that what goes by can be heard
    sent["via"] = VIA
    own = next((value for name, value in given if name == "authorization"), "")
    if own and not is_own_key(own):
        sent["authorization"] = own
    elif settings.api_key:
        sent["authorization"] = f"Bearer {settings.api_key}"
    return sent


def returned_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The headers of the upstream's answer as the client gets them."""
    return {name: value for name, value in headers if name.lower() not in _NOT_RETURNED}


def is_own_key(authorization: str) -> bool:
    """True for a key of Mnemic, which the upstream must never see."""
    value = authorization[len(_BEARER) :] if authorization.lower().startswith(_BEARER) else authorization
    return value.strip().startswith(OWN_KEY)


def failure(status: int, message: str, kind: str) -> tuple[int, Mapping[str, object]]:
    """An error in the form that clients of this protocol read."""
    return status, {"error": {"message": message, "type": kind, "param": None, "code": kind}}
