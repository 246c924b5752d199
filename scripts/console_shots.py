"""Makes screenshots of every page of the console on two stores, and reports text that is cut, overlaps or breaks.

    python scripts/console_shots.py                  all pages, into build/shots
    python scripts/console_shots.py graph timeline   only these pages
    python scripts/console_shots.py --write          the same, and refresh the pictures in docs

The stores are that of `mnemic demo`, and one of 5,000 messages with 2,000 memories. They are kept in build/shots until
this file changes. Each page is opened at 1440, 1024 and 390 pixels, in light and dark.
If axe-core is installed (by the extra `docs`), it checks each page in the widest and the narrowest window.
With --write, the six windows of a page become one sheet in docs/console-shots, in few colours. This needs Pillow.
Exits with 1 if a page complains, axe-core finds something, or a text cannot be read.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from playwright.sync_api import FloatRect

from mnemic import Mnemic, Scope
from mnemic.api.doors import acting_as
from mnemic.cli.tour import seed_demo
from tests.doors.browser import Console, Site, chromium

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "shots"
DOCUMENTS = ROOT / "docs" / "how-to"
SHEETS = ROOT / "docs" / "console-shots"
LAYOUT = (ROOT / "tests" / "doors" / "page_layout.js").read_text(encoding="utf-8")
WIDTHS = {1440: 900, 1024: 768, 390: 844}
SCHEMES = ("light", "dark")
AXE = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .map((each) => `${each.id}: ${each.nodes[0].target} (${each.nodes.length})`)"""
ANA = Scope(user="ana")
TODAY = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)
SHOWN = {
    "demo-home-1440-light": "console-home.png",
    "demo-search-1440-light": "console-search.png",
    "demo-prompt-1440-light": "console-prompt.png",
    "demo-timeline-1440-light": "console-timeline.png",
    "demo-turn-1440-light": "console-turn.png",
    "large-graph-1440-dark": "console-graph.png",
    "demo-timeline-390-dark": "console-phone.png",
}
"""Pictures in documents: as much of a page as a window shows."""

TALL = 4000
"""The most pixels of a page in a picture; a list goes on for longer."""

COLOURS, GAP = 128, 12
"""The commonest colours of a window, which its picture keeps, so that all sheets take 6 MB at most; and pixels between
two windows."""


TURNS_ASKED = (
    ("mcp", None, "When do I see my physiotherapist?", ""),
    ("proxy", "office", "What is 17 times 23?", "391."),
    ("proxy", "office", "Where do I live now, and who helped me move?", "In Porto. Your sister carried the piano."),
)
"""Prompts through several doors, and the answers that were captured."""


def list_words(text: str, between: str = " ") -> list[str]:
    """The words of a line."""
    return text.split(between)


RIVAL = "User lives in Coimbra"
"""A contradiction for the timeline and the review."""

FIRST = list_words(
    "Ada Bela Caio Dina Emil Fara Gil Hana Ivo Jara Kai Lena Milo Nora Otto Pia Quim Rosa Sven Tara Ugo Vera"
)
LAST = list_words(
    "Amaral Brandt Castro Duarte Ekman Falk Gomes Holm Iversen Jansen Kruse Lima Moreau Novak Olsen Prado"
)
WORKS = list_words("Acme Nordwind Farol Casa-Verde Solaris Tinta Brisa Marea Lumen Rota Orvalho Pedra Salina Vento")
PLACES = list_words(
    "Porto Lisbon Braga Bergen Malmo Ghent Utrecht Turin Graz Split Cork Vigo Nantes Leipzig Bremen Basel"
)
THINGS = list_words("a lamp, a desk, a kettle, a tent, a radio, a plant, a bell, a coat, a clock, a mirror", ", ")
DOINGS = (
    "I met {who} in {place} and we talked about {thing}.",
    "{who} asked whether {thing} from {work} is any good.",
    "On the way to {place} I forgot {thing} again.",
    "{who} wants to leave {work} and move to {place}.",
    "The train to {place} was late, so I called {who}.",
    "I think {work} should open an office in {place}.",
)
ANSWERS = ("That sounds like {who}.", "Is {place} far?", "I would ask {who}.", "How long did you stay in {place}?")
STATEMENTS = (
    "{who} works at {work}",
    "{who} lives in {place}",
    "{who} knows {other}",
    "{work} is located in {place}",
    "{who} manages {other}",
    "{who} likes {thing} from {place}",
)
MESSAGES, MEMORIES, TURNS = 5000, 2000, 20


def tell_story(mnemic: Mnemic) -> None:
    """Fill a store as `mnemic demo` does, and add what the demo leaves for its visitors to do."""
    seed_demo(mnemic)
    mnemic.remember(ANA, RIVAL, trust="document", source="an old form", observed_at=TODAY - timedelta(days=10))
    mnemic.remember(ANA, "Thank you so much!")
    mnemic.capture(Scope(user="dora", session="gone"), user="I like rain", assistant="Noted.")
    mnemic.work()
    mnemic.erase(Scope(user="dora", session="gone"), level="session")
    ask_models(mnemic)


def ask_models(mnemic: Mnemic) -> None:
    """Record turns: what a model was shown before each answer."""
    for door, session, asked, answer in TURNS_ASKED:
        scope = Scope(user="ana", agent="jarvis", session=session)
        with acting_as("local", door):
            mnemic.context(scope, asked)
            if answer:
                mnemic.capture(scope, user=asked, assistant=answer)


def tell_much(mnemic: Mnemic) -> None:
    """Fill a store with 5,000 messages of a year in talks of 20, and 2,000 memories that name each other."""
    chance = random.Random(7)  # noqa: S311 -- the same store each time

    def say(sentences: tuple[str, ...]) -> str:
        names = [f"{chance.choice(FIRST)} {chance.choice(LAST)}" for _ in range(2)]
        places = {"place": chance.choice(PLACES), "work": chance.choice(WORKS), "thing": chance.choice(THINGS)}
        return chance.choice(sentences).format(who=names[0], other=names[1], **places)

    for talk in range(MESSAGES // TURNS):
        start = TODAY - timedelta(days=365 * (1 - talk * TURNS / MESSAGES), minutes=-chance.randrange(600))
        exchanges = [
            [
                {"role": "user", "content": say(DOINGS), "observed_at": start + timedelta(minutes=3 * at)},
                {"role": "assistant", "content": say(ANSWERS), "observed_at": start + timedelta(minutes=3 * at + 1)},
            ]
            for at in range(TURNS // 2)
        ]
        mnemic.capture_many(Scope(user="ana", session=f"talk-{talk:03}"), exchanges)
    texts = [*dict.fromkeys(say(STATEMENTS) for _ in range(MEMORIES * 2))][:MEMORIES]
    for at in range(0, len(texts), 500):
        days = [TODAY - timedelta(days=365 * (1 - (at + n) / MEMORIES)) for n in range(500)]
        drafts = [{"text": text, "observed_at": day} for text, day in zip(texts[at : at + 500], days, strict=True)]
        mnemic.remember_many(ANA, drafts)
    mnemic.graph.extract(ANA)
    ask_models(mnemic)


STORES = {"demo": tell_story, "large": tell_much}


def open_store(name: str) -> Path:
    """The file of a store, made when it is missing or made by another version of this file."""
    made = hashlib.sha256(Path(__file__).read_bytes().split(b"\nSTORES = ")[0]).hexdigest()[:8]
    path = FOLDER.relative_to(ROOT) / f"{name}-{made}.db"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        print(f"making the store {name}", flush=True)
        unfinished = path.with_suffix(".new.db")
        unfinished.unlink(missing_ok=True)
        with Mnemic.open(unfinished, has_worker=False) as mnemic:
            STORES[name](mnemic)
        unfinished.rename(path)
    return path


def pages_of(mnemic: Mnemic) -> dict[str, str]:
    """The address of every page by the name of its picture."""
    memories = mnemic.list(ANA, states=["superseded", "active"], limit=200).memories
    memory = next((each for each in memories if each.state == "superseded" and each.provenance), memories[0])
    sessions = [each.session for each in mnemic.sessions(ANA)]
    turn = next(each for each in mnemic.contexts(ANA).contexts if each.query.startswith("Where"))
    documents = mnemic.documents.list(ANA).documents
    named = mnemic.graph.entities(ANA, "Marta").nodes or mnemic.graph.entities(ANA).nodes
    plain = list_words(
        "conversations turns memories timeline review graph profile documents jobs health receipts settings design"
    )
    return {
        "home": "overview",
        **{name: name for name in plain},
        "conversation": f"conversations/{sessions[min(3, len(sessions) - 1)]}",
        "memory": f"item/{memory.id}",
        "turn": f"turns/{turn.id}",
        "search": "search?q=Where does Marta live",
        "prompt": "prompt?q=What could I cook for dinner tonight",
        "graph-name": f"graph?name={named[0].id}",
        **(
            {"document": f"documents/{documents[0].id}", "passage": f"documents/{documents[0].id}?at=0"}
            if documents
            else {}
        ),
    }


def read_axe() -> str:
    """The source of axe-core, or "" if it is not installed."""
    found = importlib.util.find_spec("axe_playwright_python")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8") if found and found.origin else ""


def shoot(names: list[str], shown: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Make the pictures of these pages (none: of all). Returns what is wrong with them, and the pages' names."""
    wrong: list[str] = []
    taken: list[str] = []
    for store in STORES:
        with closing(Site(open_store(store))) as site, chromium() as browser:
            pages = {"users": "overview"} | pages_of(site.mnemic)
            chosen = [each for each in pages if not names or each in names]
            taken += [f"{store}-{name}" for name in chosen]
            for name in FIRST:  # so that the overview shows usual times, not that of one cold recall
                site.mnemic.recall(ANA, f"Where does {name} live?")
            for scheme in SCHEMES:
                console = Console(browser, site.url, color_scheme=scheme)
                for name in chosen:
                    scope = Scope() if name == "users" else ANA
                    wrong += shoot_page(console, pages[name], scope, f"{store}-{name}", scheme, shown)
                wrong += console.complaints + console.violations()
                console.close()
    return wrong, taken


def shoot_page(
    console: Console, place: str, scope: Scope, name: str, scheme: str, shown: Mapping[str, str]
) -> Iterator[str]:
    """Make the pictures of a page at each width, and yield what is wrong with it."""
    for width, height in WIDTHS.items():
        picture = f"{name}-{width}-{scheme}"
        console.page.set_viewport_size({"width": width, "height": height})
        console.open(place, scope)
        high = console.page.evaluate("() => document.documentElement.scrollHeight")
        yield from (f"{picture}: {each}" for each in console.page.evaluate(LAYOUT))
        if width in (min(WIDTHS), max(WIDTHS)) and (source := read_axe()):
            console.page.evaluate(source)
            yield from (f"{picture}: axe-core: {each}" for each in console.page.evaluate(AXE))
        clip = FloatRect(x=0, y=0, width=width, height=min(high, TALL))
        console.page.screenshot(path=FOLDER / f"{picture}.png", clip=clip, full_page=True)
        if picture in shown:
            console.page.screenshot(path=DOCUMENTS / shown[picture])


def write_sheet(name: str) -> None:
    """Put the windows of a page side by side: light above dark, the widest first."""
    from PIL import Image

    rows: list[list[Picture]] = []
    for scheme in SCHEMES:
        windows = [Image.open(FOLDER / f"{name}-{width}-{scheme}.png").convert("RGB") for width in WIDTHS]
        high = max(WIDTHS.values())
        cut = [window.crop((0, 0, window.width, min(window.height, high))) for window in windows]
        rows.append([keep_colours(each) for each in cut])
    heights = [max(each.height for each in row) + GAP for row in rows]
    sheet = Image.new("RGB", (sum(WIDTHS) + GAP * (len(WIDTHS) + 1), sum(heights) + GAP), "grey")
    top = GAP
    for row, height in zip(rows, heights, strict=True):
        left = GAP
        for window in row:
            sheet.paste(window.convert("RGB"), (left, top))
            left += window.width + GAP
        top += height
    SHEETS.mkdir(exist_ok=True)
    sheet.save(SHEETS / f"{name}.webp", lossless=True, quality=90, method=5)


def keep_colours(picture: Picture) -> Picture:
    """A picture in its commonest colours; the others become the nearest of them. Pillow's own ways change tints."""
    from PIL import Image

    red, green, blue = np.moveaxis(np.asarray(picture).astype(np.int64), -1, 0)
    colours, places, counts = np.unique(red << 16 | green << 8 | blue, return_inverse=True, return_counts=True)
    channels = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=-1)
    kept = channels[np.argsort(-counts)[:COLOURS]]
    nearest = ((channels[:, None] - kept) ** 2).sum(axis=-1).argmin(axis=1)
    reduced = Image.fromarray(nearest.astype(np.uint8)[places.reshape(red.shape)])
    reduced.putpalette(kept.astype(np.uint8).tobytes())
    return reduced


def shrink_shown() -> None:
    """Reduce the colours of the pictures that documents show."""
    from PIL import Image

    for name in SHOWN.values():
        picture = Image.open(DOCUMENTS / name).convert("RGB")
        keep_colours(picture).save(DOCUMENTS / name, optimize=True)


def main() -> int:
    """Make the pictures, and print what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", help="pages, such as graph; default: all")
    parser.add_argument("--write", action="store_true", help="refresh the pictures in docs")
    given = parser.parse_args()
    os.chdir(ROOT)  # a page shows the path of its store
    wrong, taken = shoot(given.pages, SHOWN if given.write else {})
    if given.write:
        shrink_shown()
        for name in taken:
            write_sheet(name)
    wrong = sorted(set(wrong))
    print("\n".join(wrong) or "nothing is cut, overlaps or breaks inside a word")
    print("axe-core checked the pages" if read_axe() else "axe-core is not installed, so it checked nothing")
    print(f"pictures are in {FOLDER.relative_to(ROOT)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
