"""The web console by keyboard alone: what somebody wants to find out or do, from the first page to the last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from mnemic.model.scope import Scope
from tests.doors.browser import ANA, Console, Site

AUDIT = (Path(__file__).parent / "page_audit.js").read_text(encoding="utf-8")


@pytest.fixture
def console(browser: Browser, site: Site) -> Iterator[Console]:
    opened = Console(browser, site.url)
    yield opened
    assert opened.complaints == []
    assert opened.violations() == []
    opened.close()


@pytest.mark.requirement("P-27")
def test_keys_go_anywhere_and_walk_through_a_list(site: Site, console: Console):
    site.mnemic.remember_many(ANA, ["Ana likes tea", "Ana owns a boat", "Ana plays chess"])
    site.mnemic.remember(Scope(user="bob"), "Bob likes rain")
    console.open("overview")
    keys = console.page.keyboard
    keys.press("Control+k")
    keys.type("memor")
    keys.press("Enter")
    console.see("Ana plays chess")
    focused = "() => document.activeElement.textContent"
    for key, text in (("j", "Ana plays chess"), ("j", "Ana owns a boat"), ("k", "Ana plays chess")):
        keys.press(key)
        assert console.page.evaluate(focused) == text
    keys.press("x")
    assert "chosen=" in console.page.url
    keys.press("Delete")
    console.told("1 memory will be deleted for good")
    keys.press("z")
    console.see("Ana plays chess")
    keys.press("?")
    console.page.get_by_role("dialog", name="Keys").get_by_text("next and previous row").wait_for()
    assert console.page.evaluate(AUDIT) == []
    keys.press("Escape")
    keys.press("Control+k")
    keys.type("does ana sail")
    keys.press("Enter")
    console.see("Search")
    assert "q=does+ana+sail" in console.page.url
    keys.press("Control+k")
    keys.type("bob")
    console.page.get_by_role("option", name="user bob").wait_for()
    assert console.page.evaluate(AUDIT) == []
    keys.press("Enter")
    console.see("Bob likes rain")


def go(console: Console, words: str) -> None:
    """Go somewhere by the palette."""
    console.settle()
    console.page.keyboard.press("Control+k")
    console.page.get_by_role("option").first.wait_for()
    console.page.keyboard.type(words)
    console.page.get_by_role("option", selected=True).get_by_text(words).wait_for()
    console.page.keyboard.press("Enter")


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_why_the_assistant_said_lyon_and_what_it_says_after_a_correction(site: Site, console: Console):
    talk = Scope(user="ana", agent="jarvis", session="spring")
    site.mnemic.capture(talk, user="I live in Lyon", assistant="How nice.", observed_at="2026-05-01T12:00Z")
    site.mnemic.work()
    console.open("overview")
    keys = console.page.keyboard
    go(console, "prompt")
    console.see("What would a model be told?")
    console.page.get_by_label("Message").focus()
    keys.type("Which city do I live in?")
    console.page.get_by_role("button", name="Show the prompt").press("Enter")
    prompt = console.page.get_by_role("region", name="Prompt", exact=True)
    prompt.get_by_text("Lyon").first.wait_for()
    source = console.page.get_by_role("region", name="Sources").get_by_role("link", name="User lives in Lyon")
    source.first.press("Enter")
    console.page.get_by_role("region", name="Provenance").get_by_role("link", name="I live in Lyon").wait_for()
    console.page.get_by_role("button", name="Edit", exact=True).press("Enter")
    console.page.get_by_role("dialog").get_by_label("Text", exact=True).fill("User lives in Lille")
    keys.press("Tab")
    console.page.get_by_role("dialog").get_by_role("button", name="Save").press("Enter")
    console.told("Saved")
    go(console, "prompt")
    console.see("What would a model be told?")
    console.page.get_by_label("Message").fill("Which city do I live in?")
    console.page.get_by_role("button", name="Show the prompt").press("Enter")
    prompt.get_by_text("User lives in Lille").first.wait_for()
    assert "User lives in Lyon" not in prompt.inner_text()


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_an_old_talk_is_found_read_and_erased_with_a_receipt(site: Site, console: Console):
    for session, text in (("tuesday", "The plumber comes at nine"), ("friday", "I like green tea")):
        site.mnemic.capture(Scope(user="ana", session=session), user=text, assistant="Noted.")
    site.mnemic.remember(Scope(user="ana"), "Ana likes tea")
    console.open("overview", Scope(user="ana"))
    go(console, "plumber")
    console.page.locator(".bubble.user").get_by_text("The plumber comes at nine").wait_for()
    console.page.get_by_role("button", name="Erase…").press("Enter")
    console.page.get_by_role("button", name="Erase for good").press("Enter")
    receipt = console.page.get_by_role("dialog", name="Erased")
    receipt.get_by_text("Receipt", exact=True).wait_for()
    console.page.keyboard.press("Escape")
    console.settle()
    assert "plumber" not in console.text()
    assert "I like green tea" in console.text()
    (kept,) = site.mnemic.receipts(Scope(user="ana"))
    go(console, "receipts")
    console.see(kept.id)
    assert [each.session for each in site.mnemic.sessions(Scope(user="ana"))] == ["friday"]
