"""OAuth 2.1 for MCP over HTTP, for applications whose users cannot enter an API key, such as Claude.ai and ChatGPT.

The server publishes metadata (RFC 9728), and 401 responses link to it. Tokens are valid only for MCP. Either another
authorization server issues them as JWTs (`Issuer`), or this one does (`AuthorizationServer`): the user enters an API
key on its page, and the application gets tokens that act as that key.

An application registers itself (RFC 7591), but its id is its registration and nothing is stored, so strangers cannot
fill the store. A signature would protect nothing, because anyone may register. Users are protected because codes go
only to this machine and to `mcp.oauth.redirect-hosts`. All clients are public and use PKCE with S256.
"""

import hashlib
import json
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from html import escape
from http import HTTPStatus
from ipaddress import ip_address
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
from anyio.to_thread import run_sync
from mcp.server.auth import provider as sdk
from mcp.server.auth.handlers.authorize import AuthorizationHandler
from mcp.server.auth.handlers.metadata import MetadataHandler, ProtectedResourceMetadataHandler
from mcp.server.auth.handlers.register import RegistrationHandler
from mcp.server.auth.handlers.token import TokenHandler
from mcp.server.auth.middleware.client_auth import ClientAuthenticator
from mcp.server.auth.routes import build_resource_metadata_url
from mcp.server.auth.settings import ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken, ProtectedResourceMetadata
from pydantic import AnyHttpUrl, AnyUrl
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from mnemic.errors import ConfigError, ForbiddenError, UnauthorisedError, UnavailableError
from mnemic.model.records import ApiKey, Right, TokenKind
from mnemic.model.settings import OAuthSettings
from mnemic.web.gate import LOOPBACK, Caller, Gate
from mnemic.web.limits import BodyLimit, Bound
from mnemic.web.problems import ProblemError

AUTHORIZE, TOKEN, REGISTER, REVOKE = (f"/oauth/{name}" for name in ("authorize", "token", "register", "revoke"))
SERVER = "/.well-known/oauth-authorization-server"
GRANTS = ["authorization_code", "refresh_token"]
OPEN_PATHS = ("/oauth/", "/.well-known/oauth-")
MOST_ID_CHARS = 1500  # an id is part of an address, and every browser accepts addresses of 2,000 characters
MOST_NAME_CHARS = 60  # one line on the page
MOST_BODY_BYTES = 16 * 1024  # a registration or form has about 2 KB; each wrong element becomes a line of the response
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a public key. A shared secret or no signature is never accepted."""

LEEWAY_S, KEYS_TIMEOUT_S = 30, 5  # clocks differ a little; a slow issuer must not block other callers for long
PAGE = Path(__file__).with_name("consent.html")
_LOCAL_PORT = re.compile(r"^(http://(?:localhost|127\.0\.0\.1|\[::1\])):\d+(?=/|$)")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_Handle = Callable[[Request], Awaitable[Response]]


def routes(settings: OAuthSettings, gate: Gate, path: str) -> Sequence[Route]:
    """The OAuth routes. Also lets `gate` accept tokens at `path`. Raises `ConfigError`."""
    url = _check_url(settings.url or "", "mcp.oauth.url")
    resource = AnyHttpUrl(url + path)
    described = build_resource_metadata_url(resource)
    if settings.issuer:
        issuer = Issuer(settings, str(resource))
        gate.accept(path, issuer.check, str(described))
        servers, made = [settings.issuer], list[Route]()
    else:
        gate.accept(path, gate.tokens.check, str(described))
        servers, made = [url], AuthorizationServer(settings, gate, url, str(resource)).routes()
    told = {"resource": resource, "authorization_servers": servers, "resource_name": "Mnemic"}
    about = ProtectedResourceMetadata.model_validate(told)
    return [Route(urlsplit(str(described)).path, ProtectedResourceMetadataHandler(about).handle), *made]


def _check_url(url: str, name: str) -> str:
    """The address without a trailing slash. Raises `ConfigError` if it is unsafe or has a path."""
    parts = urlsplit(url.rstrip("/"))
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname))
    if not is_safe or not parts.hostname or parts.path or parts.query or parts.fragment or "@" in parts.netloc:
        raise ConfigError(f"{name} must be like https://memory.example.org (http only on localhost), not {url!r}")
    return url.rstrip("/")


def _is_loopback(host: str | None) -> bool:
    try:
        return host in LOOPBACK or ip_address(host or "").is_loopback
    except ValueError:
        return False


class Issuer:
    """Checks the JWT access tokens of another authorization server."""

    def __init__(self, settings: OAuthSettings, resource: str) -> None:
        if not settings.jwks_url:
            raise ConfigError(
                "mcp.oauth.issuer requires mcp.oauth.jwks-url: the jwks_uri in the issuer's "
                "/.well-known/openid-configuration"
            )
        self._keys = jwt.PyJWKClient(settings.jwks_url, timeout=KEYS_TIMEOUT_S)
        self._settings, self._audience = settings, settings.audience or resource

    def check(self, token: str) -> ApiKey:
        """The rights of the token's user, as a key for that user. Raises `UnauthorisedError` without details, and
        `UnavailableError` if the issuer's keys cannot be read.
        """
        asked = self._settings
        try:
            claims = jwt.decode(
                token,
                self._find_key(token),
                algorithms=ALGORITHMS,
                audience=self._audience,
                issuer=asked.issuer,
                leeway=LEEWAY_S,
                options={"require": ["exp", "iss", "aud", asked.user_claim]},
            )
        except jwt.PyJWTError as error:
            raise UnauthorisedError("the access token is invalid or expired") from error
        user = claims[asked.user_claim]
        if not isinstance(user, str) or not user.strip():
            raise UnauthorisedError("the access token has no user")
        name = hashlib.sha256(f"{asked.issuer} {user}".encode()).hexdigest()[:18]
        rights = frozenset((Right.READ, Right.WRITE))
        made = datetime.fromtimestamp(0, tz=UTC)
        return ApiKey(id=f"jwt-{name}", org=asked.org, secret_hash="", rights=rights, created_at=made, user=user)

    def _find_key(self, token: str) -> jwt.PyJWK:
        try:
            return self._keys.get_signing_key_from_jwt(token)
        except (jwt.PyJWKClientConnectionError, ValueError) as error:
            raise UnavailableError("the keys at mcp.oauth.jwks-url cannot be read") from error


class AuthorizationServer:
    """The built-in authorization server."""

    def __init__(self, settings: OAuthSettings, gate: Gate, url: str, resource: str) -> None:
        self.gate, self.url, self.resource = gate, url, resource
        self.hosts = frozenset(host.strip().lower() for host in settings.redirect_hosts.split(","))

    def routes(self) -> list[Route]:
        """Metadata, authorization, tokens, registration and revocation."""
        clients = Provider(self)
        registering = RegistrationHandler(clients, options=ClientRegistrationOptions(enabled=True)).handle
        exchanging = partial(self.exchange, TokenHandler(clients, ClientAuthenticator(clients)).handle)
        posts = {TOKEN: exchanging, REGISTER: registering, REVOKE: self.revoke}
        handlers = {AUTHORIZE: self.authorize, **{path: partial(self._limit, do) for path, do in posts.items()}}
        room = self.gate.limits.in_flight

        def bound(path: str) -> Bound:
            return Bound(BodyLimit(Route(path, handlers[path]).app, lambda _: MOST_BODY_BYTES), room)

        return [
            Route(SERVER, MetadataHandler(self._metadata()).handle),
            Route(AUTHORIZE, bound(AUTHORIZE), methods=["GET", "POST"]),
            *(Route(path, bound(path), methods=["POST"]) for path in posts),
        ]

    async def authorize(self, request: Request) -> Response:
        """Show the page that asks for a key, or redirect to the application after the form is sent."""
        self.gate.check_attempts(request)
        form = await request.form() if request.method == "POST" else None
        if form is not None and not self._is_own_page(request):
            raise ForbiddenError("the form was not sent from this server's page; start again in the application")
        asking = _Asking(self, request, str(form.get("key", "")).strip() if form and form.get("allow") else None)
        response = await AuthorizationHandler(asking).handle(request)
        if asking.refused is not None:
            raise asking.refused
        if asking.shown is not None:
            return self._page(*asking.shown, request.query_params if form is None else form, asking.mistake)
        if isinstance(response, RedirectResponse):  # RFC 9207: the application knows which server answered
            response.headers["location"] += "&" + urlencode({"iss": self.url})
            response.status_code = HTTPStatus.SEE_OTHER  # RFC 9700: browsers must not resend the form's key
        return response

    async def exchange(self, handle: _Handle, request: Request) -> Response:
        """Exchange a code or refresh token for tokens. Refuses another server's resource (RFC 8707)."""
        form = await request.form()
        if form.get("grant_type", GRANTS[0]) not in GRANTS:
            return _refuse("unsupported_grant_type", f"grant_type must be {' or '.join(GRANTS)}")
        if not all(not each or self.is_own(str(each)) for each in form.getlist("resource")):
            return _refuse("invalid_target", f"this server issues tokens only for {self.resource}")
        return await handle(request)

    def is_own(self, resource: str) -> bool:
        """True if this is the server's MCP address, with or without options."""
        return resource.partition("?")[0].rstrip("/") == self.resource

    async def revoke(self, request: Request) -> Response:
        """End the connection of a client's token (RFC 7009). Unknown tokens are ignored."""
        form = await request.form()
        if not form.get("token"):
            return _refuse("invalid_request", "the parameter token is missing")
        await run_sync(self.gate.tokens.revoke, str(form.get("client_id", "")), str(form["token"]))
        return Response(status_code=200)

    async def _limit(self, handle: _Handle, request: Request) -> Response:
        """Handle a request. Refused requests count towards the limit of their address."""
        self.gate.check_attempts(request)
        response = await handle(request)
        if response.status_code >= HTTPStatus.BAD_REQUEST:
            self.gate.check_attempts(request, take=1.0)
        return response

    def _is_own_page(self, request: Request) -> bool:
        """True if the form came from this server's page. Browsers send at least one of the headers."""
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site", "same-origin")
        return origin in (None, self.url) and site == "same-origin"

    def _metadata(self) -> OAuthMetadata:
        """The server's metadata (RFC 8414). Addresses are strings, because a URL object adds `/` to the issuer."""
        paths = {"authorization": AUTHORIZE, "token": TOKEN, "registration": REGISTER, "revocation": REVOKE}
        return OAuthMetadata.model_validate(
            {
                "issuer": self.url,
                **{f"{name}_endpoint": self.url + path for name, path in paths.items()},
                "response_types_supported": ["code"],
                "grant_types_supported": GRANTS,
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True,
            }
        )

    def _page(self, client: OAuthClientInformationFull, to: str, fields: Any, mistake: str) -> Response:
        """The page, with the request in hidden fields. Its policy allows only its own style, and a form to this server,
        which redirects to the application.
        """
        place, nonce = urlsplit(to), secrets.token_urlsafe(16)
        target = "http:" if "[" in place.netloc else f"{place.scheme}://{place.netloc}"  # policies do not support IPv6
        hidden = {name: value for name, value in fields.items() if name not in ("key", "allow", "deny")}
        inputs = (f'<input type="hidden" name="{escape(n)}" value="{escape(str(v))}">' for n, v in hidden.items())
        text = Template(PAGE.read_text(encoding="utf-8")).substitute(
            nonce=nonce,
            client=escape(client.client_name or "An application"),
            host=escape(place.hostname or ""),
            fields="".join(inputs),
            action=AUTHORIZE,
            mistake=f'<p role="alert">{escape(mistake)}</p>' if mistake else "",
        )
        policy = f"default-src 'none'; style-src 'nonce-{nonce}'; frame-ancestors 'none'; base-uri 'none'; "
        headers = {
            "Content-Security-Policy": f"{policy}form-action 'self' {target}",
            "Referrer-Policy": "same-origin",  # without a referrer, browsers would not name the form's origin
        }
        return HTMLResponse(text, 401 if mistake else 200, headers)


class Provider(sdk.OAuthAuthorizationServerProvider[sdk.AuthorizationCode, sdk.RefreshToken, sdk.AccessToken]):
    """Clients and tokens for the SDK's handlers."""

    def __init__(self, server: AuthorizationServer) -> None:
        self._server, self._tokens = server, server.gate.tokens

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Decode the client from its id. None if it is invalid."""
        try:
            name, *uris = json.loads(urlsafe_b64decode(f"{client_id}==")) if len(client_id) <= MOST_ID_CHARS else [""]
            client = _make_client(client_id, name, uris)
        except (ValueError, TypeError, RecursionError):
            return None
        return client if self._may_redirect(client) else None

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Encode the client's name and addresses as its id."""
        uris = [str(uri) for uri in client_info.redirect_uris or ()]
        if not self._may_redirect(client_info):
            hosts = ", ".join(sorted(self._server.hosts))
            raise sdk.RegistrationError(
                "invalid_redirect_uri",
                f"redirect_uris must be http on localhost, or https on {hosts}; this server's operator can add "
                "hosts to mcp.oauth.redirect-hosts",
            )
        name = _clean_name(client_info.client_name or "")
        made = urlsafe_b64encode(json.dumps([name, *uris], separators=(",", ":")).encode()).decode().rstrip("=")
        if len(made) > MOST_ID_CHARS:
            raise sdk.RegistrationError("invalid_client_metadata", "the redirect_uris are too long")
        for field, value in _make_client(made, name, uris).model_dump().items():
            setattr(client_info, field, value)

    def _may_redirect(self, client: OAuthClientInformationFull) -> bool:
        return bool(client.redirect_uris) and all(self._may_go(str(uri)) for uri in client.redirect_uris or ())

    def _may_go(self, uri: str) -> bool:
        parts = urlsplit(uri)
        if parts.fragment or "@" in parts.netloc:
            return False
        is_named = parts.scheme == "https" and (parts.hostname or "") in self._server.hosts
        return is_named or (parts.scheme == "http" and _is_loopback(parts.hostname))

    async def authorize(self, client: OAuthClientInformationFull, params: sdk.AuthorizationParams) -> str:
        """Always refused. `_Asking` overrides it."""
        del client, params
        raise sdk.AuthorizeError("server_error")

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> sdk.AuthorizationCode | None:
        """A client's valid code."""
        found = await run_sync(self._tokens.find, TokenKind.CODE, client.client_id, authorization_code)
        if found is None:
            return None
        asked = sdk.AuthorizationParams.model_validate_json(found.details)
        return sdk.AuthorizationCode(
            code=authorization_code,
            scopes=[],
            expires_at=float("inf"),  # `find` has compared it with the engine's clock
            client_id=client.client_id,
            code_challenge=asked.code_challenge,
            redirect_uri=asked.redirect_uri,
            redirect_uri_provided_explicitly=asked.redirect_uri_provided_explicitly,
        )

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: sdk.AuthorizationCode
    ) -> OAuthToken:
        """Exchange a code for tokens. Works once."""
        return await self._exchange(TokenKind.CODE, client, authorization_code.code)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> sdk.RefreshToken | None:
        """A client's valid refresh token."""
        found = await run_sync(self._tokens.find, TokenKind.REFRESH, client.client_id, refresh_token)
        return found and sdk.RefreshToken(token=refresh_token, client_id=client.client_id, scopes=[])

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: sdk.RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Exchange a refresh token for new tokens. Works once."""
        del scopes  # there are none: a token acts as its key
        return await self._exchange(TokenKind.REFRESH, client, refresh_token.token)

    async def _exchange(self, kind: TokenKind, client: OAuthClientInformationFull, token: str) -> OAuthToken:
        found = await run_sync(self._tokens.find, kind, client.client_id, token)
        if found is not None:
            self._server.gate.check_exchanges(found.connection)
            if made := await run_sync(self._tokens.exchange, found):
                return OAuthToken(access_token=made.access, expires_in=made.expires_s, refresh_token=made.refresh)
        raise sdk.TokenError("invalid_grant", "the code or token has already been used; connect again")


class _Asking(Provider):
    """One request for consent, with the key that the user entered. If `shown` is set afterwards, the page must be shown
    for this client and address, with `mistake` if there was one. Otherwise the request is answered.
    """

    def __init__(self, server: AuthorizationServer, request: Request, key: str | None) -> None:
        super().__init__(server)
        self._request, self._key = request, key
        self.shown: tuple[OAuthClientInformationFull, str] | None = None
        self.mistake = ""
        self.refused: ProblemError | None = None

    async def authorize(self, client: OAuthClientInformationFull, params: sdk.AuthorizationParams) -> str:
        """The application's address with a code. "" if the page must be shown."""
        if params.resource and not self._server.is_own(params.resource):
            raise sdk.AuthorizeError("invalid_target", f"this server issues tokens only for {self._server.resource}")
        if not _CHALLENGE.fullmatch(params.code_challenge):
            raise sdk.AuthorizeError("invalid_request", "code_challenge must be the SHA-256 of the verifier (S256)")
        if self._request.method == "POST" and self._key is None:
            raise sdk.AuthorizeError("access_denied", "the user declined")
        to = str(params.redirect_uri)
        self.shown = client, to
        if self._key is None:
            return ""
        try:
            key = await self._server.gate.check_key(self._request, self._key)
        except UnauthorisedError:
            self.mistake = "This API key is invalid, expired or revoked."
            return ""
        except ProblemError as error:
            self.refused = error
            return ""
        if not (key.user or key.agent) or Right.READ not in key.rights:
            self.mistake = "This key has no user or no read right. Create another: mnemic keys create --user NAME"
            return ""
        self.shown = None
        details = params.model_copy(update={"state": None}).model_dump_json()
        code = await run_sync(self._tokens.issue_code, key, client.client_id, details)
        self._server.gate.audit.note(Caller(key), "oauth consent", urlsplit(to).hostname or "")
        return sdk.construct_redirect_uri(to, code=code, state=params.state)


def _refuse(error: str, description: str) -> Response:
    return JSONResponse({"error": error, "error_description": description}, HTTPStatus.BAD_REQUEST)


class _Client(OAuthClientInformationFull):
    """A client whose programs on the user's own machine may listen on any free port (RFC 8252)."""

    def validate_redirect_uri(self, redirect_uri: AnyUrl | None) -> AnyUrl:
        known = {_LOCAL_PORT.sub(r"\1", str(uri)) for uri in self.redirect_uris or ()}
        if redirect_uri is not None and _LOCAL_PORT.sub(r"\1", str(redirect_uri)) in known:
            return redirect_uri
        return super().validate_redirect_uri(redirect_uri)


def _clean_name(name: str) -> str:
    """The name on one line. Invisible characters could reorder or hide the page's own text."""
    return " ".join("".join(each if each.isprintable() else " " for each in name).split())[:MOST_NAME_CHARS]


def _make_client(id: str, name: str, uris: Sequence[str]) -> OAuthClientInformationFull:
    """A public client. Raises `ValueError` for invalid addresses."""
    return _Client.model_validate(
        {
            "client_id": id,
            "client_name": _clean_name(str(name)),
            "redirect_uris": uris,
            "token_endpoint_auth_method": "none",
            "grant_types": GRANTS,
            "response_types": ["code"],
        }
    )
