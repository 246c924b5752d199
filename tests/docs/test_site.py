"""The documentation site: every page has a place in it, and a link without a target stops the build.

`make site-check` builds it, and looks at it in a browser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from mnemic.config.keys import KEYS
from mnemic.verbs import PREFIX, ROUTES, VERBS
from scripts import build_site, site_pages


@pytest.fixture(scope="module")
def pages() -> build_site.Pages:
    return build_site.collect_pages()


def places(entries: Any) -> Iterator[str]:
    """The pages of a navigation."""
    for entry in cast("list[Any]", entries):
        if isinstance(entry, str):
            yield entry
        else:
            for below in cast("dict[str, Any]", entry).values():
                yield from places(below if isinstance(below, list) else [below])


@pytest.mark.requirement("P-51")
def test_every_page_of_the_documentation_is_in_the_navigation(pages: build_site.Pages, repository: Path):
    shown = set(places(build_site.arrange_pages(pages)))
    written = {build_site.place_of(str(path.relative_to(repository))) for path in (repository / "docs").rglob("*.md")}
    assert written - shown == set()
    assert {"index.md", "changelog.md", "examples/openai_chat.py.md", "decisions/0001-sync-core.md"} <= shown


def test_links_lead_to_pages_of_the_site(pages: build_site.Pages):
    assert "](how-to/run-a-server.md)" in pages.pages["pages.md"]
    assert "](../index.md)" in pages.pages["tutorial/first-steps.md"]
    assert "](results/peers.md)" in pages.pages["index.md"]


def test_a_link_without_a_target_stops_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("README.md", *build_site.PROJECT):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("# A page\n\n[gone](gone.md)\n")
    (tmp_path / "examples").mkdir()
    monkeypatch.setattr(build_site, "ROOT", tmp_path)
    with pytest.raises(build_site.DeadLinkError, match=r"README\.md: gone\.md"):
        build_site.collect_pages()


def test_a_built_page_may_load_nothing_from_elsewhere_and_link_to_nothing_missing(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<script src="https://host/x.js"></script><a href="b.html#no">b</a><a href="c.html">'
    )
    (tmp_path / "b.html").write_text('<h1 id="yes">b</h1>')
    assert list(build_site.check_links(tmp_path)) == [
        "a.html: loads https://host/x.js",
        "a.html: b.html#no names no heading",
        "a.html: c.html leads nowhere",
    ]


@pytest.mark.requirement("P-51")
def test_the_pages_from_code_have_every_verb_route_and_setting():
    python, settings = site_pages.write_python(), site_pages.write_settings()
    rest = site_pages.write_rest(site_pages.describe_rest())
    assert [verb.name for verb in VERBS if f"### `{verb.name}`\n" not in python] == []
    assert [verb.path for verb in ROUTES.values() if f"### {verb.method} {PREFIX}{verb.path}\n" not in rest] == []
    assert [key.path for key in KEYS if f"| `{key.path.rpartition('.')[2]}` |" not in settings] == []
    assert "| 429 | " in rest
    assert not re.search(r"<(?!br)\w+ object at", python)
