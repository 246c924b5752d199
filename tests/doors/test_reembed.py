"""`reembed` through the doors, with the real offline model: killed, interrupted, gone on with, gone back from."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mnemic_minilm
from mnemic import Mnemic, Scope
from mnemic.cli import failures
from mnemic.config import Config
from mnemic.errors import ConfigError
from mnemic.remote import connect
from tests.doors.doors import run
from tests.doors.http_doors import Listening, Served
from tests.doors.test_cli_life import drawn

PROGRAM = str(Path(sys.executable).with_name("mnemic"))
ANA = Scope(user="ana")
THINGS = ["Her bicycle has a flat tyre", "The dentist is on Tuesday", "The ferry to Lisbon leaves at nine"]
MANY = 700


@pytest.fixture(autouse=True)
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of these tests, set in the environment."""
    path = home / "memory.db"
    monkeypatch.setenv("MNEMIC_STORE", str(path))
    return path


def opened(store: Path, **changes: Any) -> Mnemic:
    return Mnemic.open(Config(store=str(store), **changes))


def shortened(home: Path) -> list[str]:
    """The option for a configuration whose minilm reads fewer tokens, which is a space of its own."""
    file = home / "shorter.toml"
    file.write_text('[embedder]\nname = "minilm"\noptions = { max_tokens = 64 }\n', encoding="utf-8")
    return ["--config", str(file)]


def answer(*words: str) -> Any:
    code, out, err = run([*words, "--json"], [])
    assert code == 0, err
    return json.loads(out)


@pytest.mark.requirement("P-14", "P-33")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_process_that_is_ended_in_the_middle_loses_nothing_and_the_next_goes_on(store: Path, number: signal.Signals):
    with opened(store, embedder="none") as bare:
        bare.remember_many(ANA, [f"{n}: {THINGS[n % 3]}, said the {n}th neighbour" for n in range(MANY)])
    watched, theirs = pty.openpty()
    environment = os.environ | {"COLUMNS": "200"}
    process = subprocess.Popen([PROGRAM, "reembed"], stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
    os.close(theirs)
    err, is_ended = b"", False
    for part in drawn(watched):
        err += part
        if not is_ended and re.search(rb"[1-9]\d*/%d" % MANY, err):  # the bar has moved: a batch is in
            process.send_signal(number)
            is_ended = True
    code = process.wait()
    kept = answer("reembed", "--dry-run")["spaces"][0]["vectors"]
    assert 64 <= kept < MANY, err
    if number == signal.SIGINT:
        assert code == failures.INTERRUPTED, err
        assert b"run the same command again" in err
        assert re.search(rb"interrupted at [1-9]\d* of 700 vectors", err)
    report = answer("reembed")
    assert (report["filled"], report["spaces"][0]["vectors"]) == (MANY - kept, MANY)


@pytest.mark.requirement("P-14", "N-33")
def test_minilm_is_found_again_as_the_embedder_before_and_gone_back_to(home: Path, store: Path):
    with opened(store) as mnemic:
        mnemic.remember_many(ANA, THINGS)
    question = ["recall", "when does she see somebody about her teeth?", "--user", "ana"]
    shorter = shortened(home)
    first = {hit["item"]["text"]: hit["score"] for hit in answer(*question)["hits"]}
    assert next(iter(first)) == THINGS[1]
    during = {hit["item"]["text"]: hit["score"] for hit in answer(*question, *shorter)["hits"]}
    assert during == pytest.approx(first)
    code, out, _ = run(["doctor", *shorter], [])
    assert code == failures.UNEXPECTED
    assert "0 of 3 items have a vector, 0%" in out
    assert "run `mnemic reembed`" in out
    code, out, err = run(["reembed", "--dry-run", *shorter], [])
    assert "3 texts to embed, about 86 characters and" in out
    code, out, err = run(["reembed", *shorter], [])
    assert (code, "all-MiniLM-L6-v2: 3 of 3 items have a vector (100%)" in out) == (0, True)
    assert "kept 3 vectors from other embedders as a fallback; use --prune to remove them" in err
    assert answer(*question, *shorter)["hits"][0]["item"]["text"] == THINGS[1]
    assert answer("reembed")["filled"] == 0
    assert answer(*question)["hits"][0]["score"] == pytest.approx(first[THINGS[1]])
    report = answer("reembed", "--prune", *shorter)
    assert (sum(report["removed"].values()), report["kept"]) == (3, {})
    assert answer("reembed")["filled"] == 3


@pytest.mark.requirement("P-14")
def test_an_embedder_before_that_is_not_minilm_as_it_comes_is_named(store: Path):
    with opened(store, embedder_options={"max_tokens": 64}) as mnemic:
        mnemic.remember_many(ANA, THINGS)
    question = "when does she see somebody about her teeth?"
    with opened(store) as mnemic:
        found = mnemic.recall(ANA, question)
        assert all(part.feature != "dense" or not part.points for hit in found for part in hit.contributions)
        told = [finding for finding in mnemic.doctor().findings if finding.part == "spaces"]
        assert "are not searched" in told[0].message
        assert "embedder.previous" in told[0].remedy
    named = {"embedder_previous": "minilm", "embedder_previous_options": {"max_tokens": 64}}
    with opened(store, **named) as mnemic:
        assert mnemic.recall(ANA, question).hits[0].text == THINGS[1]
    with opened(store, embedder_previous="nobody-knows-it") as mnemic:
        assert mnemic.recall(ANA, "dentist").hits[0].text == THINGS[1]


@pytest.mark.requirement("P-14", "P-35")
def test_a_server_embeds_anew_for_its_operator_and_tells_how_far_it_is(store: Path):
    with opened(store, embedder="none") as bare:
        bare.remember_many(ANA, THINGS)
    served = Served(str(store))
    listening = Listening(served.app)
    try:
        with connect(listening.url, served.token("default")) as remote:
            plan = remote.reembed(is_dry_run=True)
            assert plan.estimate is not None
            assert (plan.is_dry_run, plan.estimate.texts) == (True, 3)
            reached: list[tuple[int, int]] = []
            report = remote.reembed(progress=lambda done, total: reached.append((done, total)))
            assert (report.filled, report.spaces[0].share) == (3, 1.0)
            assert reached == [(0, 3), (3, 3)]
    finally:
        listening.close()
        served.close()


@pytest.mark.requirement("P-20")
def test_doctor_names_the_command_that_calibrates_an_embedder_and_is_content_afterwards(
    store: Path, home: Path, monkeypatch: pytest.MonkeyPatch
):
    folder = mnemic_minilm.model_path().parent
    monkeypatch.setenv("MNEMIC_EMBEDDER", f"onnx:{folder}")
    monkeypatch.setenv("MNEMIC_EMBEDDER_SCALES", str(home / "kept" / "scales.json"))
    opened(store).close()
    assert "to do: run `mnemic calibrate`" in run(["doctor"], [])[1]
    code, out, _ = run(["calibrate"], [])
    assert (code, "of related pairs are closer together" in out) == (0, True)
    (kept,) = json.loads((home / "kept" / "scales.json").read_text()).values()
    assert kept["slope"] == pytest.approx(1.0, abs=0.1)
    assert "relevance" not in run(["doctor"], [])[1]
    with Mnemic.open() as mnemic:
        mnemic.remember(ANA, THINGS[0])
        assert mnemic.recall(ANA, "flat tyre")[0].relevance is not None
    monkeypatch.setenv("MNEMIC_EMBEDDER", "minilm")
    assert "Nothing to do" in run(["calibrate"], [])[1]


def test_a_file_of_scales_that_cannot_be_read_is_named(home: Path, monkeypatch: pytest.MonkeyPatch):
    (home / "scales.json").write_text("[1]")
    monkeypatch.setenv("MNEMIC_EMBEDDER_SCALES", str(home / "scales.json"))
    code, _, err = run(["calibrate"], [])
    assert (code, "scales.json cannot be read" in err) == (failures.exit_code(ConfigError("")), True)
