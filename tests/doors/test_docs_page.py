"""`/docs` in a real browser that can reach nothing but the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Route

from tests.doors.browser import WATCH, Site, chromium


@pytest.mark.requirement("P-18")
def test_the_page_of_the_description_asks_no_other_server_and_breaks_no_rule_of_its_own(tmp_path: Path):
    site = Site(tmp_path / "memory.db")
    elsewhere: list[str] = []

    def only_here(route: Route) -> None:
        if route.request.url.startswith((site.url, "data:")):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    try:
        with chromium() as browser:
            context = browser.new_context()
            context.add_init_script(WATCH)
            page = context.new_page()
            complaints: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.route("**/*", only_here)
            answer = page.goto(f"{site.url}/docs")
            assert answer is not None
            assert answer.status == 200
            assert page.locator("summary", has_text="/v1/recall").first.is_visible()
            assert page.evaluate("window.violations") == []
            policy = answer.headers["content-security-policy"]
            context.close()
    finally:
        site.close()
    assert (elsewhere, complaints) == ([], [])
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
