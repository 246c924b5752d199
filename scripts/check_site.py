"""Checks the built documentation site in a real browser, opened from disk without a network.

    make site-check              every page
    make site-check SAMPLE=6     the front page and a sample, as `make check` does

Each page is audited with axe-core in light and in dark mode; findings of impact serious or critical fail. A page that
asks another host for anything fails, and so does a search that does not find what it should.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page, Route, sync_playwright

SITE = Path(__file__).resolve().parent.parent / "build" / "site"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
SEARCHES = {"undo": "undo", "erase": "erase", "429": "429"}
"""Queries, each with a word that the first result must have."""

GRAVE = {"serious", "critical"}
ALWAYS = ("index.html", "tutorial/first-steps.html")
MODES: dict[Literal["light", "dark"], tuple[str, ...]] = {"light": (), "dark": ("color-contrast",)}
"""Colour schemes, each with the rules of axe-core that are checked in it. None: all."""

AUDIT = """(rules) => axe.run(document, {resultTypes: ["violations"], ...(rules.length ? {runOnly: rules} : {})})
  .then((found) => found.violations)"""
PATIENCE_MS = 60_000


def read_axe() -> str:
    """The source of axe-core, which the extra `docs` installs."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        sys.exit("axe-core is missing. Run: make site-check")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def choose_pages(sample: int) -> list[Path]:
    """Every page, or the important ones and a random sample of the rest."""
    pages = sorted(path for path in SITE.rglob("*.html") if path.name != "404.html")
    first = [SITE / name for name in ALWAYS]
    if not sample:
        return pages
    rest = [path for path in pages if path not in first]
    return first + random.sample(rest, min(max(sample - len(first), 0), len(rest)))


def audit_page(page: Page, path: Path, axe: str, rules: Sequence[str] = ()) -> Iterator[str]:
    """What is wrong with a page, one sentence each. `rules`: only these of axe-core."""
    page.goto(path.as_uri())
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate(AUDIT, list(rules))
    for each in found:
        if each["impact"] in GRAVE:
            node = each["nodes"][0]
            yield f"{each['id']} ({len(each['nodes'])} times): {node['html'][:150]} {node['failureSummary'][:200]}"
    if page.locator("pre code").count() and not page.locator("button.md-code__button").count():
        yield "code blocks have no copy button"


def search_site(page: Page, query: str, expected: str) -> Iterator[str]:
    """A complaint if the search of the front page does not find a word."""
    page.goto((SITE / "index.html").as_uri())
    page.keyboard.press("/")
    page.get_by_role("combobox", name="Search").fill(query)
    first = page.get_by_role("option").first
    first.wait_for()
    if expected not in first.inner_text().lower():
        yield f"the search for {query} shows first: {first.inner_text()[:100]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the site."""
    parser = argparse.ArgumentParser(description="Check the built documentation site in a browser.")
    parser.add_argument("--sample", type=int, default=0, metavar="PAGES", help="number of pages. Default: all")
    pages = choose_pages(parser.parse_args(arguments).sample)
    axe, started = read_axe(), time.monotonic()
    wrong: list[str] = []

    def note_error(error: object) -> None:
        wrong.append(f"script: {error}")

    def stay_on_disk(route: Route) -> None:
        if route.request.url.startswith(("file:", "data:", "blob:")):
            route.continue_()
        else:
            wrong.append(f"asks {route.request.url}")
            route.abort()

    with sync_playwright() as playwright:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        browser = playwright.chromium.launch(executable_path=program, args=SWITCHES)
        for mode, rules in MODES.items():
            page = browser.new_context(color_scheme=mode).new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.on("pageerror", note_error)
            page.route("**/*", stay_on_disk)
            for query, expected in SEARCHES.items() if mode == "light" else ():
                wrong += search_site(page, query, expected)
            for path in pages:
                wrong += [f"{path.relative_to(SITE)}, {mode}: {each}" for each in audit_page(page, path, axe, rules)]
            page.context.close()
        browser.close()
    print("\n".join(wrong) or f"{len(pages)} pages and {len(SEARCHES)} searches are right", end="")
    print(f" ({time.monotonic() - started:.0f} s)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
