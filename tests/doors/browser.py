"""A real browser before a real server: the console as a person sees it."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, sync_playwright

from mnemic import Mnemic
from mnemic.adapters.observers.prometheus import PrometheusObserver
from mnemic.build import build
from mnemic.config import load_config
from mnemic.console.app import door as console_door
from mnemic.model.scope import Scope
from mnemic.rest.app import door as rest_door
from mnemic.web.doors import application
from mnemic.web.gate import Gate
from mnemic.web.limits import Limits
from mnemic.web.monitoring import Health, Metrics
from tests.doors.http_doors import Listening

ANA = Scope(user="ana", agent="jarvis")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
PATIENCE_MS = 20_000
WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  window.violations.push(event.violatedDirective + " " + event.blockedURI));
"""


@contextmanager
def chromium() -> Generator[Browser]:
    """The browser of this machine, or that of Playwright where it was installed."""
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=SWITCHES)
        yield browser
        browser.close()


class Site:
    """A store, and the server before it with the doors of console and REST."""

    def __init__(self, store: Path, limits: Limits | None = None, **parts: Any) -> None:
        observer = PrometheusObserver()
        self.parts = replace(build(load_config(str(store))), observer=observer, **parts)
        self.mnemic = Mnemic(self.parts)
        self.gate = Gate(self.mnemic, limits=limits or Limits(rate_per_s=0))
        doors = [console_door(self.mnemic, self.gate), rest_door(self.mnemic, self.gate)]
        self.app = application(doors, self.gate, Health(self.mnemic), Metrics(observer.registry))
        self._listening = Listening(self.app)
        self.url = self._listening.url

    def close(self) -> None:
        self._listening.close()
        self.gate.close()
        self.mnemic.close()


class Console:
    """One tab on the console. `complaints` keeps what the page complains of, and what it asks of other servers."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        self.url = url
        self.complaints: list[str] = []
        self._context = browser.new_context(
            viewport={"width": 1100, "height": 800}, locale="en-US", timezone_id="UTC", **options
        )
        self._context.add_init_script(WATCH)
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._watch)

    def open(self, place: str, scope: Scope | None = ANA) -> None:
        """Go to a page of the console, and wait until it shows all."""
        if scope is not None:
            parts = {"user": scope.user, "agent": scope.agent, "session": scope.session}
            chosen = {name: value for name, value in parts.items() if value is not None}
            self.page.goto(f"{self.url}/console/icon.svg")
            self.page.evaluate("(chosen) => sessionStorage.setItem('mnemic.scope', JSON.stringify(chosen))", chosen)
        self.page.goto(f"{self.url}/console/#/{place}")
        self.settle()

    def settle(self) -> None:
        """Wait until nothing is loading."""
        self.page.locator("main h1").first.wait_for()
        self.page.locator("[aria-busy]").first.wait_for(state="detached")

    def text(self) -> str:
        """What the page shows."""
        self.settle()
        return self.page.locator("main").inner_text()

    def press(self, name: str, within: Locator | None = None) -> None:
        """Press the button of this name: of a dialog, where one is open."""
        place = within or self._front()
        place.get_by_role("button", name=name, exact=True).click()

    def write(self, label: str, text: str) -> None:
        """Write into the field with this label: of a dialog, where one is open."""
        self._front().get_by_label(label, exact=True).and_(self.page.locator("input, textarea")).fill(text)

    def told(self, text: str) -> None:
        """Wait for a notice."""
        self.page.locator("#notices").get_by_text(text).first.wait_for()

    def see(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.page.locator("main").get_by_text(text).first.wait_for()

    def violations(self) -> list[str]:
        """What the policy of the page has refused."""
        return self.page.evaluate("() => window.violations")

    def close(self) -> None:
        self._context.close()

    def _front(self) -> Locator:
        return self.page.locator("main, dialog").last

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and "the server responded with a status of" not in message.text:
            self.complaints.append(message.text)

    def _watch(self, request: Request) -> None:
        if not request.url.startswith(f"{self.url}/"):
            self.complaints.append(f"asks {request.url}")
