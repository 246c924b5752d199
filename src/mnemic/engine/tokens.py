"""OAuth tokens of API keys.

A token has the form `mn<kind>_<connection>_<secret>`. The store keeps only its SHA-256. A token acts as its key, so it
ends with the key and has the key's scope. Codes and refresh tokens work once. If one is used again, it was stolen or a
response was lost, so all tokens of its connection are removed and the user has to connect again.
"""

import hashlib
import secrets
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from mnemic.engine.access import ID_BYTES, MAX_TOKEN_CHARS, SECRET_BYTES
from mnemic.engine.engine import Engine
from mnemic.errors import UnauthorisedError
from mnemic.model.records import ApiKey, KeptToken, TokenKind

LIFETIMES = {
    TokenKind.CODE: timedelta(minutes=2),  # a browser follows one redirect; RFC 6749 allows ten minutes
    TokenKind.ACCESS: timedelta(hours=1),  # short, in case one is stolen
    TokenKind.REFRESH: timedelta(days=30),  # unused: each exchange issues a new one
}
PREFIXES = {TokenKind.CODE: "mnc", TokenKind.ACCESS: "mna", TokenKind.REFRESH: "mnr"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """New tokens of a connection. The access token is valid for `expires_s` seconds."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)
    expires_s: int


class Tokens:
    """Issues, exchanges and checks OAuth tokens."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def issue_code(self, key: ApiKey, client: str, details: str) -> str:
        """Create a code for a client that may act as `key`. `details` is stored with the code."""
        now, connection = self._engine.clock.now(), secrets.token_hex(ID_BYTES)
        row, code = _make(key, TokenKind.CODE, connection, hash_text(client), now)
        with self._engine.store.write() as work:
            work.tokens.forget(now)
            work.tokens.add([replace(row, details=details)])
        return code

    def find(self, kind: TokenKind, client: str, token: str) -> KeptToken | None:
        """The client's valid code or refresh token, or None. A token that was used before ends its connection."""
        if len(token) > MAX_TOKEN_CHARS or not token.startswith(f"{PREFIXES[kind]}_"):
            return None
        found, key = self._read(token)
        if found is None:
            connection = token.split("_")[1]
            with self._engine.store.read() as work:  # strangers must not occupy the store's writer
                is_known = work.tokens.has(connection)
            if is_known:
                with self._engine.store.write() as work:
                    work.tokens.end(connection)
        return found if found and key and found.client == hash_text(client) else None

    def exchange(self, old: KeptToken) -> Pair | None:
        """Replace a code or refresh token with new tokens. None if it has just been used, which ends the connection."""
        now = self._engine.clock.now()
        with self._engine.store.write() as work:
            key = work.keys.get(old.key_id)
            if key is None or not key.is_valid(now) or not work.tokens.remove(old.org, old.hash):
                work.tokens.end(old.connection)
                return None
            kinds = (TokenKind.ACCESS, TokenKind.REFRESH)
            made = [_make(key, kind, old.connection, old.client, now) for kind in kinds]
            work.tokens.forget(now)
            work.tokens.add([row for row, _ in made])
        (access, token), (_, refresh) = made
        return Pair(access=token, refresh=refresh, expires_s=int((access.expires_at - now).total_seconds()))

    def check(self, token: str) -> ApiKey:
        """The key that an access token acts as. Raises `UnauthorisedError` without details."""
        found, key = self._read(token) if len(token) <= MAX_TOKEN_CHARS else (None, None)
        if found is None or key is None or found.kind is not TokenKind.ACCESS:
            raise UnauthorisedError("the access token is invalid, expired or revoked")
        return key

    def revoke(self, client: str, token: str) -> None:
        """Remove all tokens of the connection of a client's token. Does nothing if there is none."""
        with self._engine.store.read() as work:  # strangers must not occupy the store's writer
            found = work.tokens.get(hash_text(token))
        if found is not None and found.client == hash_text(client):
            with self._engine.store.write() as work:
                work.tokens.end(found.connection)

    def _read(self, token: str) -> tuple[KeptToken | None, ApiKey | None]:
        """The unexpired token and its valid key. Looked up by hash, so timing reveals nothing about the token."""
        now = self._engine.clock.now()
        with self._engine.store.read() as work:
            found = work.tokens.get(hash_text(token))
            if found is None or found.expires_at <= now:
                return None, None
            key = work.keys.get(found.key_id)
        return found, key if key and key.is_valid(now) else None


def hash_text(text: str) -> str:
    """SHA-256 in hex, under which a token or a client is stored."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def _make(key: ApiKey, kind: TokenKind, connection: str, client: str, now: datetime) -> tuple[KeptToken, str]:
    """A row and its token, which expires no later than its key."""
    token = f"{PREFIXES[kind]}_{connection}_{secrets.token_hex(SECRET_BYTES)}"
    end = min(filter(None, (now + LIFETIMES[kind], key.expires_at, key.revoked_at)))
    row = KeptToken(
        hash=hash_text(token),
        kind=kind,
        connection=connection,
        org=key.org,
        key_id=key.id,
        client=client,
        expires_at=end,
    )
    return row, token
