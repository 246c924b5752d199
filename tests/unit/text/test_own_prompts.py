"""A person can edit what language models are asked: files of their own, checked, and named in what comes of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.adapters.indexes.scan import ScanIndex
from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.api import Mnemic
from mnemic.build import SystemClock
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.errors import ConfigError
from mnemic.model.scope import Scope
from mnemic.text.gems import known_categories
from mnemic.text.wordings import edition, shipped_file, use_prompts, wording

ANA = Scope(user="ana", session="s1")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The prompts as they are shipped, in a folder of a person's own."""
    folder, empty = tmp_path / "prompts", tmp_path / "empty"
    folder.mkdir()
    empty.mkdir()
    for language in ("en", "zh"):
        (folder / f"{language}.toml").write_text(shipped_file(language), encoding="utf-8")
    yield folder
    use_prompts(empty)


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "en.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_files_that_nobody_changed_are_the_shipped_ones(folder: Path):
    use_prompts(folder)
    assert edition() == ""


@pytest.mark.requirement("T-31", "P-44")
def test_an_edited_prompt_is_asked_and_its_version_is_in_the_provenance(folder: Path):
    edit(folder, "You keep notes about a user.", "You keep the log of a sailor.")
    Mnemic.open(Config(store="memory://", embedder="none", prompts=str(folder))).close()
    llm = ScriptedLlm([json.dumps([{"type": "FACT", "content": "User sails to Tiree"}])])
    with Mnemic(Engine(MemoryStore(), ScanIndex(), None, SystemClock(), CounterObserver(), llm=llm)) as mnemic:
        mnemic.capture(ANA, user="I sail to Tiree.")
        mnemic.work()
        (memory,) = mnemic.list(ANA).memories
    assert llm.prompts[0].messages[0].content.startswith("You keep the log of a sailor.")
    assert edition() != ""
    assert memory.provenance[0].version == f"scripted facts-2{edition()}"


def test_what_is_not_in_the_file_stays_as_it_is_shipped(folder: Path):
    (folder / "en.toml").write_text('[curator]\ncategories = "regatta, decision"\n', encoding="utf-8")
    (folder / "zh.toml").unlink()
    shipped = wording("en", "summary.ask")
    use_prompts(folder)
    assert wording("en", "summary.ask") == shipped
    assert known_categories()[:2] == ("regatta", "decision")


def test_categories_and_cues_of_a_person_keep_gems_without_a_model(folder: Path):
    told = "Yesterday we sailed around Tiree because the wind was strong."
    edit(folder, 'cues = ""', 'cues = "regatta: we sailed"')
    edit(folder, "architecture, workflow", "architecture, workflow, regatta")
    use_prompts(folder)
    with Mnemic.open(Config(store="memory://", embedder="none")) as mnemic:
        mnemic.capture(ANA, user=told, observed_at="2026-01-01T10:00:00Z")
        (day,) = mnemic.curate(ANA).days
    assert [(each.gem.categories, each.gem.snippet) for each in day.gems] == [(("regatta",), f"user: {told}")]


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("in at most {most} words. Keep", "in a few words. Keep", r"summary.ask .*\{most\}"),
        ("[summary]\nask", "[summary]\nasks", "summary.asks is unknown"),
        ("[summary]", "[summary", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_asked_is_refused_with_its_place(folder: Path, old: str, new: str, reason: str):
    edit(folder, old, new)
    with pytest.raises(ConfigError, match=reason):
        use_prompts(folder)
    assert edition() == ""


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(ConfigError, match="init --prompts"):
        use_prompts(tmp_path / "nowhere")
