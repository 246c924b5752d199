"""Builds the documentation site from `docs/` into build/site. It works from disk: open build/site/index.html.

    make site

The pages are those of `docs/`, the README, the changelog, the programs of `examples/`, whatever else a page links to,
and three pages made from the code (`site_pages.py`). A link without a target stops the build. Nothing is loaded from
another host.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
SITE = BUILD / "site"
SOURCE = BUILD / "site-source"
CONFIGURATION = BUILD / "mkdocs.yml"
MAKES = "reference/python.md", "reference/rest.md", "reference/settings.md"
"""The pages that are made from the code."""

PLACES = {"README.md": "index.md", "docs/README.md": "pages.md"}
"""Where a page of the repository stands in the site, if not by the rule of `place_of`."""

PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "docs/status.md", "docs/design.md", "docs/scaling.md")
"""The pages of the last section, before results and decisions."""

LANGUAGES = {".py": "python", ".toml": "toml", ".yaml": "yaml", ".json": "json", ".sql": "sql"}
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))|`[^`\n]*`")
FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
LIST_AFTER_TEXT = re.compile(r"^((?![-*#|>]|\d+\. |\s).+)\n(?=(?:[-*]|1\.) )", re.MULTILINE)
"""Markdown's readers differ: to some, a list right after a line of text is a list."""


class DeadLinkError(Exception):
    """Links of pages that have no target."""


@dataclass
class Pages:
    """The pages of the site, collected from the repository by following links. `files` are copied as they are."""

    pages: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, Path] = field(default_factory=dict[str, Path])
    dead: list[str] = field(default_factory=list[str])

    def add(self, path: str) -> str:
        """Add a file or folder of the repository, and everything that it links to. Returns its place in the site."""
        place = place_of(path)
        if place in self.pages or place in self.files:
            return place
        source = ROOT / path
        if source.is_dir():
            self.pages[place] = ""
            self.pages[place] = self._list_folder(path, place)
        elif source.suffix == ".md":
            self.pages[place] = ""  # known from now on, so that pages may link to each other
            self.pages[place] = self._rewrite(source.read_text(encoding="utf-8"), path, place)
        elif source.suffix in {".png", ".webp", ".svg", ".css", ".js"}:
            self.files[place] = source
        else:
            text = source.read_text(encoding="utf-8")
            self.pages[place] = f"# {source.name}\n\n````{LANGUAGES.get(source.suffix, 'text')}\n{text}\n````\n"
        return place

    def _list_folder(self, path: str, place: str) -> str:
        listed = [each for each in sorted((ROOT / path).iterdir()) if each.suffix in {".md", ".py"}]
        targets = [self.add(f"{path.rstrip('/')}/{each.name}") for each in listed]
        lines = [f"- [{self.title(target)}]({_relative(target, place)})" for target in targets]
        return f"# {PurePosixPath(path).name.capitalize()}\n\n" + "\n".join(lines) + "\n"

    def _rewrite(self, text: str, path: str, place: str) -> str:
        """The text with its links as they are in the site."""
        parts = FENCE.split(text)
        for number in range(0, len(parts), 2):
            spaced = LIST_AFTER_TEXT.sub(r"\1\n\n", parts[number])
            parts[number] = LINK.sub(lambda found: self._relink(found, path, place), spaced)
        return "".join(parts)

    def _relink(self, found: re.Match[str], path: str, place: str) -> str:
        link = found[2] or ""
        if not link or "://" in link or link.startswith(("#", "mailto:")):
            return found[0]
        name, hash_, anchor = link.partition("#")
        target = os.path.normpath(f"{PurePosixPath(path).parent}/{name}")
        if not (ROOT / target).exists():
            self.dead.append(f"{path}: {link}")
            return found[0]
        return f"{found[1]}{_relative(self.add(target), place)}{hash_}{anchor}{found[3]}"

    def title(self, place: str) -> str:
        """The first heading of a page."""
        found = HEADING.search(self.pages.get(place, ""))
        return found[1].replace("`", "") if found else PurePosixPath(place).stem


def place_of(path: str) -> str:
    """Where a file of the repository stands in the site: `docs/` is its root, a program or a folder is a page."""
    if path in PLACES:
        return PLACES[path]
    inside = path.removeprefix("docs/").removeprefix("benchmarks/").rstrip("/")
    if (ROOT / path).is_dir():
        return f"{inside}/index.md"
    pure = PurePosixPath(inside)
    if pure.suffix in {".md", ".png", ".webp", ".svg", ".css", ".js"}:
        return str(pure.with_name(pure.name.lower()) if len(pure.parts) == 1 else pure)
    return f"{inside}.md"


def _relative(target: str, place: str) -> str:
    return os.path.relpath(target, PurePosixPath(place).parent)


def collect_pages() -> Pages:
    """Every page of the site but those made from the code. Raises `DeadLinkError`."""
    found = Pages()
    for path in ("README.md", "examples", *PROJECT):
        found.add(path)
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.is_file():
            found.add(str(path.relative_to(ROOT)))
    if found.dead:
        raise DeadLinkError("\n".join(found.dead))
    return found


def arrange_pages(found: Pages) -> list[object]:
    """The navigation: tutorial, how-to, reference, explanation, decisions, project."""
    places = [place for place in found.pages if place not in {"index.md", "pages.md"}]

    def below(folder: str, first: Sequence[str] = ()) -> list[object]:
        inside = sorted(
            (each for each in places if each.startswith(f"{folder}/")), key=lambda each: (each not in first, each)
        )
        return [{found.title(each): each} for each in inside if not each.endswith("index.md")]

    guides: list[object] = []
    listed = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for group in re.split(r"^## ", listed, flags=re.MULTILINE)[1:]:
        named: list[str] = re.findall(r"\]\((how-to/[\w-]+\.md|adding-a-backend\.md)\)", group)
        if named:
            guides.append({group.splitlines()[0]: [{found.title(each): each} for each in dict.fromkeys(named)]})
    project = [{found.title(place_of(path)): place_of(path)} for path in PROJECT]
    return [
        {"Start": ["index.md", *below("tutorial"), {"Examples": ["examples/index.md", *below("examples")]}]},
        {"How-to": [{"All pages": "pages.md"}, *guides]},
        {"Reference": [*below("reference", MAKES), {found.title("glossary.md"): "glossary.md"}]},
        {"Explanation": below("explanation")},
        {"Decisions": below("decisions")},
        {"Project": [*project, {"Results": below("results")}]},
    ]


def write_source() -> Pages:
    """Write the pages and the configuration of the site into `SOURCE`."""
    from scripts import site_pages

    found = collect_pages()
    description = site_pages.describe_rest()
    made = site_pages.write_python(), site_pages.write_rest(description), site_pages.write_settings()
    found.pages |= dict(zip(MAKES, made, strict=True))
    shutil.rmtree(SOURCE, ignore_errors=True)
    for place, text in found.pages.items():
        target = SOURCE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for place, path in found.files.items():
        target = SOURCE / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    described = SOURCE / "reference" / "openapi.json"
    described.write_text(json.dumps(description, indent=1, ensure_ascii=False), encoding="utf-8")
    CONFIGURATION.write_text(json.dumps(configure(found), indent=1), encoding="utf-8")
    return found


def configure(found: Pages) -> dict[str, object]:
    """The configuration of the generator, which reads JSON as YAML."""
    palette = [
        {"media": f"(prefers-color-scheme: {mode})", "scheme": scheme, "primary": "indigo", "accent": "indigo"}
        | {"toggle": {"icon": icon, "name": f"Switch to {other} mode"}}
        for mode, scheme, icon, other in (
            ("light", "default", "lucide/sun", "dark"),
            ("dark", "slate", "lucide/moon", "light"),
        )
    ]
    features = ["content.code.copy", "navigation.tabs", "navigation.footer", "navigation.top", "search.highlight"]
    return {
        "site_name": "Mnemic",
        "site_description": "Long-term memory for AI assistants, in one file.",
        "docs_dir": SOURCE.name,
        "site_dir": SITE.name,
        "theme": {"name": "material", "font": False, "features": features, "palette": palette},
        "plugins": ["search", "offline"],
        "extra": {"polyfills": ["assets/iframe-worker.js"], "generator": False},
        "extra_css": ["assets/site.css"],
        "extra_javascript": ["assets/tables.js"],
        "nav": arrange_pages(found),
        "markdown_extensions": [
            "tables",
            "attr_list",
            {"toc": {"permalink": True, "toc_depth": 3}},
            "pymdownx.superfences",
            {"pymdownx.highlight": {"pygments_lang_class": True}},
            "pymdownx.inlinehilite",
        ],
    }


class _Targets(HTMLParser):
    """What a built page links to and loads, and the ids that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in {"script", "img", "iframe", "link"}:
            self.loads += [given[name] for name in ("src", "href") if given.get(name)]


def check_links(site: Path) -> Iterator[str]:
    """Dead links and files of other hosts in the built pages, one sentence each."""
    read: dict[Path, _Targets] = {}
    for path in sorted(site.rglob("*.html")):
        read[path] = _Targets()
        read[path].feed(path.read_text(encoding="utf-8"))
    for path, targets in read.items():
        if path.name == "404.html":
            continue  # its links start at the root of a server
        shown = path.relative_to(site)
        yield from (f"{shown}: loads {each}" for each in targets.loads if urlsplit(each).netloc)
        for link in (*targets.links, *targets.loads):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{shown}: {link} leads nowhere"
            elif parts.fragment and target in read and unquote(parts.fragment) not in read[target].ids:
                yield f"{shown}: {link} names no heading"


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(description="Build the documentation site into build/site.")
    parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))
    try:
        found = write_source()
    except DeadLinkError as error:
        print(f"Dead links:\n{error}", file=sys.stderr)
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(CONFIGURATION)]
    run = subprocess.run(command, cwd=BUILD, check=False)
    if run.returncode:
        return run.returncode
    wrong = list(check_links(SITE))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(f"{len(found.pages)} pages. Open {SITE / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
