"""`/docs` in a real browser that can reach nothing but the server."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from playwright.sync_api import Route

from mnemic.rest.description import PAGE
from tests.doors.browser import WATCH, Site, chromium


@pytest.mark.requirement("P-18")
def test_the_page_shows_all_and_tries_a_request_and_asks_no_other_server(tmp_path: Path):
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
            context = browser.new_context(color_scheme="dark")
            context.add_init_script(WATCH)
            page = context.new_page()
            complaints: list[str] = []
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.route("**/*", only_here)
            answer = page.goto(f"{site.url}/docs")
            assert answer is not None
            assert answer.status == 200
            page.locator(".opblock").first.wait_for()
            ground = page.evaluate("getComputedStyle(document.querySelector('.swagger-ui')).backgroundColor")
            assert ground == "rgb(20, 23, 29)", "the page is as dark as the console"
            shown = page.locator(".opblock-summary-path").evaluate_all("(all) => all.map((one) => one.dataset.path)")
            described = page.evaluate("fetch('openapi.json').then((answer) => answer.json())")
            recall = page.locator(".opblock", has=page.locator('[data-path="/v1/recall"]'))
            recall.locator(".opblock-summary-control").click()
            recall.get_by_role("button", name="Try it out").click()
            recall.get_by_role("button", name="Execute").click()
            answered = recall.locator(".live-responses-table .response-col_status").last
            assert answered.inner_text().startswith("200")
            assert page.evaluate("window.violations") == []
            policy = answer.headers["content-security-policy"]
            context.close()
    finally:
        site.close()
    assert (elsewhere, complaints) == ([], [])
    assert set(shown) == set(described["paths"])
    assert len(shown) == sum(map(len, described["paths"].values()))
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_files_of_the_page_are_those_that_were_published():
    sums = [line.split() for line in (PAGE / "SHA256SUMS").read_text(encoding="utf-8").splitlines()]
    assert [name for _, name in sums] == ["swagger-ui-bundle.js", "swagger-ui.css"]
    for digest, name in sums:
        assert hashlib.sha256((PAGE / name).read_bytes()).hexdigest() == digest, name
