"""The consent page in a real browser: it leads to the application, and other sites can neither frame nor submit it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from mnemic.mcp.oauth import AUTHORIZE
from tests.doors.browser import PATIENCE_MS
from tests.doors.oauth_site import Site

SUBMIT = "<script>document.forms[0].submit()</script>"
pytestmark = pytest.mark.timeout(300)


class Pages(ThreadingHTTPServer):
    """An application or another site. Responds with its page, and records the paths of requests."""

    def __init__(self, family: socket.AddressFamily, address: str) -> None:
        self.page, self.paths = "", list[str]()
        pages = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                pages.paths.append(self.path)
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(pages.page.encode())

            def log_message(self, *_: object) -> None: ...  # pyright: ignore[reportIncompatibleMethodOverride]

        self.address_family = family
        super().__init__((address, 0), Handler)
        self._thread = threading.Thread(target=self.serve_forever)
        self._thread.start()

    def server_close(self) -> None:
        self.shutdown()
        self._thread.join()
        super().server_close()


@pytest.fixture
def site(home: Path) -> Iterator[Site]:
    opened = Site(home / "memory.db")
    yield opened
    opened.close()


def ask(site: Site, callback: str) -> dict[str, str]:
    """The authorization request of an application with this address."""
    return site.request(client_id=site.register(callback).json()["client_id"], redirect_uri=callback)


@pytest.mark.parametrize(
    "family,address,host", [(socket.AF_INET, "127.0.0.1", "localhost"), (socket.AF_INET6, "::1", "[::1]")]
)
def test_the_page_leads_back_to_the_application(
    site: Site, browser: Browser, family: socket.AddressFamily, address: str, host: str
):
    with Pages(family, address) as application:
        base = f"http://{host}:{application.server_port}/"
        page = browser.new_page()
        page.goto(f"{site.url}{AUTHORIZE}?{urlencode(ask(site, f'{base}callback'))}")
        page.fill("#key", site.key.token)
        page.click("button[name=allow]")
        page.wait_for_url(f"{base}callback?code=**", timeout=PATIENCE_MS)
        page.close()
    assert any(path.startswith("/callback?code=mnc_") for path in application.paths)


@pytest.mark.parametrize("how", ["form", "form without a referrer", "frame"])
def test_another_site_connects_nobody(site: Site, browser: Browser, how: str):
    with Pages(socket.AF_INET, "127.0.0.1") as evil:
        asked = {**ask(site, f"http://localhost:{evil.server_port}/callback"), "key": site.key.token, "allow": "1"}
        fields = "".join(f'<input name="{name}" value="{escape(value)}">' for name, value in asked.items())
        form = f'<form method="post" action="{site.url}{AUTHORIZE}">{fields}</form>{SUBMIT}'
        evil.page = {
            "form": form,
            "form without a referrer": f'<meta name="referrer" content="no-referrer">{form}',
            "frame": f'<iframe src="{escape(f"{site.url}{AUTHORIZE}?{urlencode(asked)}")}"></iframe>',
        }[how]
        page = browser.new_page()
        told: list[str] = []
        page.on("console", lambda message: told.append(message.text))
        with page.expect_response(lambda response: AUTHORIZE in response.url) as answer:
            page.goto(f"http://localhost:{evil.server_port}/")
        assert answer.value.status == (200 if how == "frame" else 403)
        page.wait_for_load_state()
        if how == "frame":
            assert "frame-ancestors" in "".join(told)
        page.close()
    assert not [path for path in evil.paths if "code=" in path]
