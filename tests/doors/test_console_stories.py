"""The web console by keyboard alone: what somebody wants to find out or do, from the first page to the last."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route

from mnemic.api.doors import acting_as
from mnemic.evaluation.embedders import SyntheticEmbedder
from mnemic.model.scope import Scope
from tests.doors.browser import ANA, Console, Site

AUDIT, LAYOUT = ((Path(__file__).parent / f"page_{name}.js").read_text("utf-8") for name in ("audit", "layout"))


@pytest.mark.requirement("P-27")
def test_keys_go_anywhere_and_walk_through_a_list(site: Site, console: Console):
    site.mnemic.remember_many(ANA, ["Ana likes tea", "Ana owns a boat", "Ana plays chess"])
    site.mnemic.remember(Scope(user="bob"), "Bob likes rain")
    console.open("overview")
    keys = console.page.keyboard
    keys.press("Control+k")
    keys.type("memor")
    keys.press("Enter")
    console.page.wait_for_function("() => document.activeElement.textContent === 'Memories'")
    console.see("Ana plays chess")
    focused = "() => document.activeElement.textContent"
    for key, text in (("j", "Ana plays chess"), ("j", "Ana owns a boat"), ("k", "Ana plays chess")):
        keys.press(key)
        assert console.page.evaluate(focused) == text
    keys.press("x")
    assert "chosen=" in console.page.url
    keys.press("Delete")
    console.told("1 memory will be permanently deleted")
    keys.press("z")
    console.see("Ana plays chess")
    keys.press("?")
    console.page.get_by_role("dialog", name="Keyboard shortcuts").get_by_text("next or previous row").wait_for()
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
    """Go somewhere else by the palette, and wait until that page shows all."""
    console.settle()
    left = console.page.query_selector("main h1")
    assert left
    console.page.keyboard.press("Control+k")
    console.page.get_by_role("option").first.wait_for()
    console.page.wait_for_load_state("networkidle")  # users and conversations are in the list
    console.page.keyboard.type(words)
    console.page.get_by_role("option", selected=True).get_by_text(words).wait_for()
    console.page.keyboard.press("Enter")
    left.wait_for_element_state("hidden")  # the next page replaces it
    console.settle()


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_why_the_assistant_said_lyon_and_what_it_says_after_a_correction(site: Site, console: Console):
    talk = Scope(user="ana", agent="jarvis", session="spring")
    site.mnemic.capture(talk, user="I live in Lyon", assistant="How nice.", observed_at="2026-05-01T12:00Z")
    site.mnemic.work()
    console.open("overview")
    keys = console.page.keyboard
    go(console, "prompt")
    console.see("What would a model receive?")
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
    console.see("What would a model receive?")
    console.page.get_by_label("Message").fill("Which city do I live in?")
    console.page.get_by_role("button", name="Show the prompt").press("Enter")
    prompt.get_by_text("User lives in Lille").first.wait_for()
    assert "User lives in Lyon" not in prompt.inner_text()


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_last_tuesdays_talk_is_found_read_and_erased_with_a_receipt(site: Site, console: Console):
    talks = (("one", "2026-05-12", "The plumber comes at nine"), ("two", "2026-05-15", "I like green tea"))
    for session, day, text in talks:
        at = f"{day}T12:00Z"
        site.mnemic.capture(Scope(user="ana", session=session), user=text, assistant="Noted.", observed_at=at)
    site.mnemic.remember(Scope(user="ana"), "Ana likes tea")
    console.open("overview", Scope(user="ana"))
    go(console, "tuesday")
    console.page.locator(".bubble.user").get_by_text("The plumber comes at nine").wait_for()
    console.page.get_by_role("button", name="Erase…").press("Enter")
    console.page.get_by_role("button", name="Erase permanently").press("Enter")
    receipt = console.page.get_by_role("dialog", name="Erased")
    receipt.get_by_text("Receipt", exact=True).wait_for()
    console.page.keyboard.press("Escape")
    console.settle()
    assert "plumber" not in console.text()
    assert "I like green tea" in console.text()
    (kept,) = site.mnemic.receipts(Scope(user="ana"))
    go(console, "receipts")
    console.see(kept.id)
    assert [each.session for each in site.mnemic.sessions(Scope(user="ana"))] == ["two"]


HOSTILE_NAME = "John <img src=x onerror=alert(1)>"


@pytest.mark.requirement("P-27", "P-62")
def test_a_story_two_johns_are_merged_renamed_and_one_mistake_is_removed(site: Site, console: Console):
    site.mnemic.remember_many(ANA, ["John works at Acme", "John Smith lives in Porto", "Acme uses Redis"])
    site.mnemic.graph.extract(ANA)
    console.open("overview")
    keys = console.page.keyboard
    go(console, "graph")
    john = console.page.get_by_role("link", name="John, person")
    john.press("Enter")
    about = console.page.get_by_role("complementary", name="Chosen name")
    about.get_by_role("link", name="John works at Acme").wait_for()
    about.get_by_role("button", name="Merge…").press("Enter")
    assert console.page.evaluate(AUDIT) == []
    keys.type("John Smith")
    keys.press("Enter")
    console.told("Merged")
    about.get_by_role("link", name="John Smith lives in Porto").wait_for()
    about.get_by_role("link", name="John works at Acme").wait_for()
    assert console.page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "John Smith, person"
    assert john.count() == 0
    keys.press("z")
    john.wait_for()
    about.get_by_role("button", name="Merge…").press("Enter")
    keys.type("John Smith")
    keys.press("Enter")
    john.wait_for(state="detached")

    about.get_by_role("button", name="Rename or change type…").press("Enter")
    keys.press("Control+a")
    keys.type(HOSTILE_NAME)
    keys.press("Enter")
    about.get_by_role("heading", name="John <img").wait_for()
    (node,) = site.mnemic.graph.entities(ANA, "john smith").nodes
    assert node.name == HOSTILE_NAME
    assert console.page.locator("main img").count() == 0
    assert console.page.evaluate(AUDIT) == []

    about.get_by_role("button", name="Remove: lives in Porto").press("Enter")
    console.told("Relation removed")
    about.get_by_role("link", name="John Smith lives in Porto").wait_for(state="detached")
    console.page.get_by_role("link", name="Redis, technology").press("Enter")
    about.get_by_role("button", name="Remove…").press("Enter")
    console.page.get_by_role("dialog").get_by_role("button", name="Remove").press("Enter")
    console.told("Removed")
    console.page.get_by_role("link", name="Redis, technology").wait_for(state="detached")
    site.mnemic.remember(ANA, "Redis is part of Acme")
    console.page.get_by_role("button", name="Update graph").press("Enter")
    console.told("1 item read")
    console.settle()
    assert "Redis" not in site.mnemic.graph.entities(ANA).nodes
    assert console.page.get_by_role("link", name="Redis, technology").count() == 0
    assert [entry.actor for entry in site.mnemic.history(ANA, "graph")] == ["local"] * 6


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_the_prompt_of_an_answer_then_and_after_a_correction(site: Site, console: Console):
    talk = Scope(user="ana", agent="jarvis", session="spring")
    asked = "Which city do I live in?"
    wrong = site.mnemic.remember(talk, "User lives in Lyon")
    with acting_as("local", "proxy"):
        site.mnemic.context(talk, asked)
        site.mnemic.capture(talk, user=asked, assistant="You live in Lyon.")
    console.open("overview")
    page = console.page
    assert "100 % received memory" in console.text()
    go(console, "conversations")
    page.get_by_role("link", name=asked).press("Enter")
    page.get_by_role("link", name="its prompt").press("Enter")
    then = page.get_by_role("region", name="In the original prompt")
    then.get_by_role("link", name="User lives in Lyon").wait_for()
    assert "% relevant" in then.inner_text()
    assert "through proxy" in console.text()
    talked = page.get_by_role("region", name="Conversation").locator(".bubble")
    assert [each.split("\n")[-1] for each in talked.all_inner_texts()] == [asked, "You live in Lyon."]
    assert talked.first.get_attribute("aria-current") == "true"
    then.get_by_role("link", name="User lives in Lyon").press("Enter")
    page.get_by_role("button", name="Edit", exact=True).press("Enter")
    page.get_by_role("dialog").get_by_label("Text", exact=True).fill("User lives in Lille")
    page.get_by_role("dialog").get_by_role("button", name="Save").press("Enter")
    console.told("Saved")
    page.go_back()
    again = page.get_by_role("region", name="Rebuilt prompt")
    again.get_by_role("region", name="Prompt").get_by_text("User lives in Lille").wait_for()
    assert "User lives in Lyon" not in again.get_by_role("region", name="Prompt").inner_text()
    page.get_by_label("Budget (tokens)").fill("16")
    page.get_by_label("Budget (tokens)").press("Enter")
    again.get_by_text("Only in the original prompt").wait_for()
    assert "budget=16" in page.url
    assert page.evaluate(AUDIT) == []
    site.mnemic.delete(talk, wrong.id)
    console.open(f"turns/{site.mnemic.contexts(talk).contexts[0].id}", None)
    console.see("An item that has since been erased.")


@pytest.mark.requirement("P-27", "P-63")
def test_a_story_a_turn_on_another_day_and_what_mnemic_knew_then(site: Site, console: Console):
    for day, home in (("2026-03-02", "Lisbon"), ("2026-06-01", "Porto")):
        site.mnemic.remember(ANA, f"Ana lives in {home}", observed_at=f"{day}T12:00Z", valid_from=f"{day}T12:00Z")
    site.mnemic.context(ANA, "Where does Ana live?")
    (turn,) = site.mnemic.contexts(ANA).contexts
    console.open("turns")
    console.page.get_by_role("link", name="Where does Ana live?").press("Enter")
    again = console.page.get_by_role("region", name="Rebuilt prompt")
    again.get_by_role("region", name="Prompt").get_by_text("Ana lives in Porto").wait_for()
    console.page.locator("#as_of").focus()
    console.page.keyboard.press("Home")
    console.see("What was true on Monday, March 2, 2026")
    again.get_by_role("region", name="Prompt").get_by_text("Ana lives in Lisbon").wait_for()
    assert again.get_by_text("not in the original prompt").count() == 1
    assert "Porto" in again.get_by_role("region", name="Sources").inner_text()
    assert "as_of=2026-03-02" in console.page.url
    console.page.locator("#known_at").focus()
    console.page.keyboard.press("Home")
    again.get_by_text("This message needs no memory").wait_for()
    console.page.reload()
    console.see("What Mnemic knew on Monday, March 2, 2026")
    assert [each.id for each in site.mnemic.contexts(ANA).contexts] == [turn.id], "a replay is not recorded"
    assert console.page.evaluate(LAYOUT) == []


@pytest.mark.requirement("P-63")
def test_turns_go_with_an_erasure_and_stay_with_their_user(site: Site, console: Console):
    for user in ("ana", "boris"):
        scope = Scope(user=user, session="one")
        site.mnemic.remember(scope, f"{user} likes tea")
        site.mnemic.context(scope, f"What does {user} like?")
    other = site.mnemic.contexts(Scope(user="boris")).contexts[0]
    console.open("turns", Scope(user="ana"))
    assert "What does ana like?" in console.text()
    assert "boris" not in console.text()
    console.open(f"turns/{other.id}", None)
    console.see("Turn not found")
    site.mnemic.erase(Scope(user="ana", session="one"), level="session")
    console.open("turns", Scope(user="ana"))
    console.see("No turns yet")


@pytest.mark.requirement("P-27")
def test_a_prompt_counts_as_loading_until_its_last_request_is_answered(site: Site, console: Console):
    site.mnemic.remember(ANA, "Ana likes tea")
    console.open("prompt?q=What does Ana like to drink?")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    console.page.route("**/recall*", hold)
    for budget in ("300", "400"):
        with console.page.expect_request("**/recall*"):
            console.write("Budget (tokens)", budget)
    answer = console.page.get_by_role("region", name="What the model receives")
    assert answer.get_attribute("aria-busy") == "true"
    held[-1].continue_()
    console.settle()
    console.page.unroute("**/recall*")
    held.clear()
    console.page.route("**/memories?*", hold)  # for the first day of the sliders
    with console.page.expect_request("**/recall*"):
        console.page.reload()
    while not held:  # it may come after the other
        console.page.wait_for_timeout(10)
    held[-1].continue_()
    console.settle()


@pytest.mark.requirement("P-27")
def test_an_event_in_the_timeline_is_cut_only_where_its_line_ends(site: Site, console: Console):
    met, signed = "Ana met Bob in the harbour of Porto, because he wanted to see the old boat", "Ana signed the lease"
    for day, text in (("2026-03-02", met), ("2026-10-01", signed)):
        site.mnemic.remember(ANA, text, kind="event", observed_at=f"{day}T12:00Z")
    is_cut = "texts => texts.map((text) => text.scrollWidth > text.clientWidth)"
    for width, cut in ((1440, [False, False]), (390, [False, True])):
        console.page.set_viewport_size({"width": width, "height": 900})
        console.open("timeline")
        texts = console.page.locator(".events .value")
        assert texts.all_inner_texts() == [signed, met]
        assert texts.evaluate_all(is_cut) == cut
        assert console.page.evaluate(LAYOUT) == []


@pytest.mark.requirement("P-27")
def test_the_history_counts_the_sources_that_a_repeated_fact_gains(site: Site, console: Console):
    for session in ("one", "two"):
        site.mnemic.capture(Scope(user="ana", session=session), user="I live in Porto", assistant="Noted.")
        site.mnemic.work()
    (memory,) = site.mnemic.list(ANA).memories
    console.open(f"item/{memory.id}")
    history = console.page.locator(".history")
    history.get_by_text("2 sources").wait_for()
    assert "source_id" not in history.inner_text()


@pytest.mark.requirement("P-27")
def test_columns_are_chosen_by_keys_named_for_screen_readers_and_kept(site: Site, console: Console):
    site.mnemic.remember(ANA, "Ana likes tea", source="a letter", observed_at="2026-05-01T12:00Z")
    site.mnemic.remember(ANA, "Ana owns a boat", source="a form")
    console.page.set_viewport_size({"width": 1024, "height": 768})
    console.open("memories")
    heads = console.page.locator(".heads")
    assert heads.inner_text().split() == ["memory", "kind", "importance", "said"]
    console.page.locator("summary", has_text="Columns").press("Enter")
    console.page.get_by_role("group", name="Columns").get_by_label("source").press("Space")
    console.page.get_by_role("group", name="Columns").get_by_label("importance").press("Space")
    assert heads.inner_text().split() == ["memory", "kind", "said", "source"]
    assert "columns=kind%2Csaid%2Csource" in console.page.url
    row = console.page.locator("main article", has_text="Ana likes tea")
    assert [cell.text_content() for cell in row.locator(".cell").all()][1:] == ["said May 1, 2026", "source a letter"]
    assert console.page.evaluate(AUDIT) == []
    assert console.page.evaluate(LAYOUT) == []
    console.page.keyboard.press("j")
    assert console.page.evaluate("() => document.activeElement.textContent") == "Ana owns a boat"
    console.open("memories", None)
    assert heads.inner_text().split() == ["memory", "kind", "said", "source"]
    console.open("memories?columns=stored", None)
    assert heads.inner_text().split() == ["memory", "stored"]
    console.page.set_viewport_size({"width": 390, "height": 844})
    assert "stored" in row.inner_text()
    assert console.page.evaluate(LAYOUT) == []


@pytest.mark.requirement("P-27")
def test_hits_without_relevance_have_the_width_of_the_others(tmp_path: Path, browser: Browser):
    with closing(Site(tmp_path / "other.db", embedder=SyntheticEmbedder())) as site:  # one that is not calibrated
        site.mnemic.remember(ANA, "Ana likes tea, and her sister likes coffee with a little milk")
        with closing(Console(browser, site.url)) as console:
            console.open("search?q=What does Ana like?")
            hit = console.page.locator(".hits > li")
            assert "relevant" not in hit.inner_text()
            assert hit.evaluate("(row) => row.querySelector('.entry').clientWidth > row.clientWidth / 2")


@pytest.mark.requirement("P-27")
def test_an_address_holds_whose_memory_it_shows(site: Site, console: Console):
    site.mnemic.remember(Scope(user="ana"), "Ana likes tea")
    site.mnemic.remember(Scope(user="bob"), "Bob likes rain")
    console.open("memories", Scope(user="ana"))
    assert console.page.url.endswith("#/memories?user=ana")
    console.page.get_by_label("User", exact=True).fill("bob")
    console.page.get_by_label("User", exact=True).press("Enter")
    console.see("Bob likes rain")
    assert console.page.url.endswith("#/memories?user=bob")
    with console.page.context.expect_page() as opened:
        console.page.get_by_role("link", name="Bob likes rain").click(modifiers=["ControlOrMeta"])
    other = opened.value
    other.locator("blockquote").get_by_text("Bob likes rain").wait_for()
    assert other.get_by_label("User", exact=True).input_value() == "bob"
    other.close()
    console.page.go_back()
    console.see("Ana likes tea")
    assert console.page.get_by_label("User", exact=True).input_value() == "ana"


@pytest.mark.requirement("P-27", "P-20")
def test_a_dropped_file_is_read_and_a_passage_marked_on_its_page(site: Site, console: Console):
    console.open("documents")
    dropped = console.page.evaluate_handle(
        """() => {
            const carried = new DataTransfer();
            const text = ["Heading words. ".repeat(400), "The rent is 900 euros.", "Closing words. ".repeat(400)];
            carried.items.add(new File([text.join("\\n\\n")], "lease.md", { type: "text/markdown" }));
            return carried;
        }"""
    )
    console.page.get_by_role("region", name="Upload").dispatch_event("drop", {"dataTransfer": dropped})
    console.told("Uploaded")
    console.page.get_by_role("link", name="lease").click()
    console.see("Passages")
    (document,) = site.mnemic.documents.list(ANA).documents
    (passage,) = [each for each in site.mnemic.documents.passages(ANA, document.id) if "rent" in each.text]
    console.open(f"item/{passage.id}", None)
    console.page.locator(".facts").get_by_role("link").press("Enter")
    sheet = console.page.get_by_role("article", name="The page")
    sheet.wait_for()
    assert sheet.locator("mark").inner_text() == passage.text
    assert sheet.locator("mark").bounding_box() is not None
    assert len(sheet.inner_text()) > len(passage.text)
    assert console.page.evaluate(AUDIT) == []
    console.page.get_by_role("link", name="All passages").press("Enter")
    console.see("Passages")
