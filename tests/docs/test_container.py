"""The files of the container say what is there: extras, tracked files, variables and commands. No engine is needed."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from mnemic.cli.app import application
from mnemic.config.keys import KEYS, OTHER_VARIABLES
from mnemic.config.values import own_store

PAGE = "docs/how-to/run-in-a-container.md"
STANDARD = {"HOME", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}
VARIABLE = re.compile(r"\b(?:MNEMIC|PGVECTOR)_[A-Z_]+\b")
OF_COMPOSE = {"MNEMIC_PUBLISHED"}


@pytest.fixture
def dockerfile(repository: Path) -> str:
    text = (repository / "Dockerfile").read_text(encoding="utf-8")
    return re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))


@pytest.fixture
def compose(repository: Path) -> dict[str, Any]:
    return yaml.safe_load((repository / "compose.yaml").read_text(encoding="utf-8"))


def of(dockerfile: str, instruction: str) -> list[str]:
    return re.findall(rf"^{instruction} (.*)$", dockerfile, re.MULTILINE)


def variables() -> set[str]:
    return {name for key in KEYS for name in key.environment} | OTHER_VARIABLES


def set_by(dockerfile: str) -> dict[str, str]:
    """The variables of the image that runs, which is the last."""
    last = dockerfile.rpartition("\nFROM ")[2]
    return dict(word.split("=", 1) for line in of(last, "ENV") for word in shlex.split(line))


def refuse_unknown(arguments: list[str]) -> None:
    """Fails where the arguments of `mnemic` name no command, or an option that it does not have."""
    command: Any = typer.main.get_command(application())
    path = ["mnemic"]
    for word in arguments:
        below = getattr(command, "commands", None)
        if below is not None:
            assert word in below, f"{' '.join(path)} has no command {word}"
            command = below[word]
            path.append(word)
        elif word.startswith("-"):
            known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
            assert word in known, f"{' '.join(path)} has no option {word}"


def test_the_image_installs_extras_that_exist_and_can_serve(dockerfile: str, repository: Path):
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    (told,) = re.findall(r"^ARG EXTRAS=(.*)$", dockerfile, re.MULTILINE)
    assert set(told.split(",")) <= set(extras)
    assert "server" in told.split(",") or any("server" in each for name in told.split(",") for each in extras[name])


def test_the_image_copies_tracked_files_alone_and_the_build_is_given_no_other(dockerfile: str, repository: Path):
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True)
    tracked = set(listed.stdout.splitlines())
    tracked |= {path.split("/", 1)[0] for path in tracked}
    ignored = (repository / ".dockerignore").read_text(encoding="utf-8").splitlines()
    given = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        name for line in of(dockerfile, "COPY") if not line.startswith("--from") for name in shlex.split(line)[:-1]
    }
    assert "*" in ignored
    assert copied == given
    assert copied <= tracked


def test_the_image_keeps_its_store_in_the_volume_and_runs_as_nobody_special(dockerfile: str):
    (volume,) = of(dockerfile, "VOLUME")
    (user,) = of(dockerfile, "USER")
    told = set_by(dockerfile)
    assert own_store(told).startswith(f"{volume}/")
    assert told["HOME"] == volume
    assert int(user.split(":")[0]) > 0
    assert set(told) - STANDARD <= variables()
    assert of(dockerfile, "EXPOSE") == [told["MNEMIC_PORT"]]


def test_no_file_of_the_container_holds_a_secret(dockerfile: str, compose: dict[str, Any]):
    assert not re.search(r"^(ENV|ARG) .*(KEY|PASSWORD|TOKEN|SECRET)", dockerfile, re.MULTILINE)
    for service in compose["services"].values():
        for name, value in service["environment"].items():
            is_secret = name.endswith(("KEY", "PASSWORD", "TOKEN"))
            assert not is_secret or value == "${PGVECTOR_PASSWORD:-}", name


def test_compose_names_variables_options_and_volumes_that_there_are(compose: dict[str, Any]):
    mnemic, postgres = compose["services"]["mnemic"], compose["services"]["postgres"]
    assert set(mnemic["environment"]) <= variables()
    refuse_unknown(mnemic["command"])
    assert mnemic["read_only"]
    assert postgres["profiles"] == ["postgres"]
    for service in (mnemic, postgres):
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(compose["volumes"])
    assert {each["source"] for each in postgres["configs"]} == set(compose["configs"])


def test_a_port_is_published_to_this_machine_alone_unless_somebody_says_otherwise(compose: dict[str, Any]):
    (published,) = compose["services"]["mnemic"]["ports"]
    assert published == "${MNEMIC_PUBLISHED:-127.0.0.1:7700}:7700"


@pytest.mark.parametrize("file", [PAGE, "compose.yaml", "Dockerfile"])
def test_what_is_written_about_the_container_names_commands_and_variables_that_there_are(file: str, repository: Path):
    text = (repository / file).read_text(encoding="utf-8").replace("\\\n", " ")
    asked = [line.rpartition(" mnemic ")[2] for line in re.findall(r"(?:docker|podman) .* mnemic [a-z][^`\n]*", text)]
    for line in asked:
        arguments = shlex.split(line, comments=True)
        if arguments and arguments[0] != "-c":
            refuse_unknown(arguments)
    assert asked or file == "Dockerfile"
    assert set(VARIABLE.findall(text)) <= variables() | OF_COMPOSE
