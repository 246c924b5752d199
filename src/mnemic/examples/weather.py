"""An example of a tool that asks a server over HTTP: the weather. Off unless a base URL is configured.

The server answers `GET BASE_URL/CITY?format=j1` as wttr.in does: JSON with `current_condition`, a list whose first
entry holds `temp_C`, `FeelsLikeC`, `humidity`, `windspeedKmph` and `weatherDesc` (a list with `value`).
"""

import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

from mnemic.adapters.extras import import_extra
from mnemic.errors import BadReplyError, ConfigError, InvalidInputError, NotFoundError, UnavailableError
from mnemic.model.document import MEBIBYTE

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = MEBIBYTE  # of an answer: a forecast takes a few KiB
MAX_CITY_CHARS = 100  # the longest name of a place has 85 letters


class Weather:
    """Asks one server. Safe to use from several threads."""

    def __init__(self, base_url: str, *, timeout_s: float = 10.0) -> None:
        """Opens no connection. Raises `ConfigError` for an address that cannot be, and without the extra `openai`."""
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"tools.weather.base-url must be an http address, not {base_url!r}")
        self._url = base_url.rstrip("/")
        self._http = import_extra("httpx2", "openai")
        self._client: httpx2.Client = self._http.Client(timeout=timeout_s, follow_redirects=False)

    def weather(self, city: str) -> str:
        """Tells the weather of now in a city: temperature, sky, wind and humidity. Call it when somebody asks about the
        weather somewhere, or what to wear or do outside.

        Args:
            city: The city by its name, such as Lisbon.
        """
        name = " ".join(city.split())
        if not name.strip("./\\") or len(name) > MAX_CITY_CHARS:
            raise InvalidInputError(f"'city' must be the name of a city, at most {MAX_CITY_CHARS} characters")
        return f"{name}: {_describe(self._ask_service(name))}"

    def _ask_service(self, city: str) -> object:
        try:
            with self._client.stream("GET", f"{self._url}/{quote(city, safe='')}", params={"format": "j1"}) as response:
                if response.status_code == HTTPStatus.NOT_FOUND:
                    raise NotFoundError(f"the weather service has no city named {city!r}")
                if response.status_code != HTTPStatus.OK:
                    raise UnavailableError(f"the weather service returned status {response.status_code}")
                body = b""
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > MAX_BYTES:
                        raise BadReplyError("the weather service's response is too large")
        except self._http.HTTPError as error:
            raise UnavailableError(f"the weather service is not responding ({type(error).__name__})") from error
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise BadReplyError("the weather service's response is not JSON") from error


def _describe(answer: object) -> str:
    try:
        now = cast("Any", answer)["current_condition"][0]
        temperature = float(now["temp_C"])
        sky = str(now["weatherDesc"][0]["value"]).strip()[:60]
        rest = [
            (label, float(now[key]), unit)
            for label, key, unit in (
                ("feels like", "FeelsLikeC", " °C"),
                ("wind", "windspeedKmph", " km/h"),
                ("humidity", "humidity", " %"),
            )
            if key in now
        ]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BadReplyError("the weather service's response has an unknown format") from error
    return ", ".join([f"{temperature:g} °C", sky, *(f"{label} {value:g}{unit}" for label, value, unit in rest)])
