"""Measures the console in a browser on 5,000 messages and 2,000 memories. Writes results/console.md.

    python benchmarks/console.py [--rounds 7] [page …]

The store is the large one of scripts/console_shots.py. Server and browser share the machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import keep, provenance, table
from mnemic import Scope
from scripts.console_shots import ANA, open_store, pages_of
from tests.doors.browser import Console, Site, chromium

LIMIT_MS = {"first paint": 300, "interaction": 100}
OBSERVE = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
SETTLED = """() => new Promise((done) => {
  const look = () => (document.querySelector("main h1") && !document.querySelector("[aria-busy]")
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now())))
    : setTimeout(look, 2));
  look();
})"""
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
SENT = "() => performance.getEntriesByType('resource').filter((each) => each.name.includes('/v1/')).length"
QUIET_MS = 120  # the browser reports an event after the frame that shows it
ABOUT = """# Console

The console in Chromium without a graphics card, for one user with {messages:,} messages and {memories:,} memories:
median (maximum) of {rounds} rounds in milliseconds. `first paint` is the first contentful paint after the page is
opened, and `all shown` is when loading has finished. `processor` is the main thread's processor time until then, which
other load on the machine hardly changes. `longest` is the longest time from a key or a click to the frame that shows
its effect. The browser reports it in steps of 8 ms, and 0 means less than 16 ms. Limits: {paint} ms for the first paint
and {act} ms for an interaction.
"""


def press(*keys: str) -> Callable[[Console], None]:
    """Press keys one after the other."""

    def act(console: Console) -> None:
        for key in keys:
            console.page.keyboard.press(key)

    return act


def click(selector: str) -> Callable[[Console], None]:
    """Click the first element of this kind, at the place where a person would."""
    return lambda console: console.page.locator(selector).first.click()


INTERACTIONS: dict[str, tuple[str, str, Callable[[Console], None]]] = {
    "step through rows (j)": ("memories", "", press(*"jjjj")),
    "select a row": ("memories", "", click(".dense > li > input")),
    "select all rows": ("memories", "", click(".bulk > input")),
    "edit a row": ("memories", "", press("j", "e")),
    "open the palette": ("memories", "", press("Control+k")),
    "type in the palette": ("memories", "", press("Control+k", *"talk")),
    "list the keys (?)": ("memories", "", press("?")),
    "open another page": ("memories", "", click("#nav a[href^='#/graph']")),
    "move the slider": ("timeline", "#as_of", press("ArrowLeft", "ArrowLeft", "ArrowLeft")),
    "move the slider to the start": ("timeline", "#as_of", press("Home")),
    "open a day's messages": ("timeline", "", click(".day summary")),
    "show another column": ("memories", "details", click(".columns input[value=stored]")),
    "step through a conversation (j)": ("conversation", "", press(*"jjjj")),
    "choose a name": ("graph", "", click("svg.graph a circle")),
    "step through hits (j)": ("search", "", press(*"jjjj")),
    "move a turn's slider": ("turn", "#as_of", press("ArrowLeft", "ArrowLeft")),
}


def load(console: Console, meter: Any, place: str) -> tuple[float, float, float, int]:
    """First paint, the moment when all is shown, and the page's processor time, in milliseconds, and its requests."""
    console.page.goto(f"{console.url}/console/icon.svg")
    before = processor_ms(meter)
    console.page.goto(f"{console.url}/console/#/{place}", wait_until="commit")
    shown = console.page.evaluate(SETTLED)
    spent = processor_ms(meter) - before
    return console.page.evaluate(PAINT), shown, spent, console.page.evaluate(SENT)


def processor_ms(meter: Any) -> float:
    """The processor time of the page's main thread until now."""
    counted: dict[str, float] = {
        each["name"]: each["value"] for each in meter.send("Performance.getMetrics")["metrics"]
    }
    return counted["TaskDuration"] * 1000


def interact(console: Console, place: str, focus: str, act: Callable[[Console], None]) -> float:
    """The longest interaction in milliseconds."""
    console.page.goto("about:blank")
    console.open(place, None)
    console.page.wait_for_load_state("networkidle")
    if focus == "details":
        console.page.evaluate("() => document.querySelectorAll('main details').forEach((each) => (each.open = true))")
    elif focus:
        console.page.locator(focus).focus()
    console.page.wait_for_timeout(QUIET_MS)
    console.page.evaluate("() => { window.longest = 0; }")
    act(console)
    console.page.wait_for_timeout(QUIET_MS)
    return console.page.evaluate("() => window.longest")


def spread(times: list[float]) -> str:
    """Median and most."""
    return f"{statistics.median(times):.0f} ({max(times):.0f})"


def main() -> int:
    """Measure and write."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("pages", nargs="*", help="only these pages, without writing")
    arguments.add_argument("--rounds", type=int, default=7)
    chosen = arguments.parse_args()
    with closing(Site(open_store("large"))) as site, chromium() as browser:
        places = pages_of(site.mnemic)
        counted = site.mnemic.count(ANA)
        console = Console(browser, site.url)
        console.page.add_init_script(OBSERVE)
        console.open("overview", Scope(user="ana"))
        meter: Any = console.page.context.new_cdp_session(console.page)
        meter.send("Performance.enable", {"timeDomain": "threadTicks"})
        pages: list[list[str]] = []
        acts: list[list[str]] = []
        for name, place in places.items():
            if chosen.pages and name not in chosen.pages:
                continue
            load(console, meter, place)
            loads = [load(console, meter, place) for _ in range(chosen.rounds)]
            paints, shown, spent, sent = zip(*loads, strict=True)
            pages.append([name, spread([*paints]), spread([*shown]), spread([*spent]), str(sent[0])])
            print(pages[-1], flush=True)
        for name, (page, focus, act) in INTERACTIONS.items():
            if chosen.pages and page not in chosen.pages:
                continue
            times = [interact(console, places[page], focus, act) for _ in range(chosen.rounds)]
            acts.append([name, page, spread(times)])
            print(acts[-1], flush=True)
        complaints = console.complaints
    if not chosen.pages:
        about = ABOUT.format(
            messages=5000,
            memories=sum(counted.states.values()),
            rounds=chosen.rounds,
            paint=LIMIT_MS["first paint"],
            act=LIMIT_MS["interaction"],
        )
        first = table(["page", "first paint, ms", "all shown, ms", "processor, ms", "requests"], pages)
        second = table(["interaction", "page", "longest, ms"], acts)
        keep("console.md", f"{about}\n{provenance('python benchmarks/console.py')}\n\n{first}\n\n{second}\n")
    print("\n".join(complaints))
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
