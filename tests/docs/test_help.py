"""`help()` of every verb explains its arguments and errors, and shows an example that runs."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic import Mnemic
from mnemic.api import arguments
from mnemic.api.signatures import function_of, parameters_of
from mnemic.config import load_config
from mnemic.testing.chat_server import ChatServer
from mnemic.verbs import VERBS

NAMES = [verb.name for verb in VERBS]
EXAMPLES = Path(arguments.__file__).with_name("examples.txt").read_text(encoding="utf-8").strip().split("\n\n")
ASKS_A_MODEL = {"chat", "chat_stream", "ask", "research"}
WITHOUT_SCOPE = {
    "tools.list",
    "tools.add",
    "reembed",
    "backup",
    "restore",
    "work",
    "worker",
    "doctor",
    "users",
    "agents",
}


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Mnemic, Mnemic]]:
    """A memory without a language model and one with it. In each, ana has a conversation."""
    folder = tmp_path_factory.mktemp("help")
    with ChatServer(lambda _request: "Green tea.") as model:
        options = {"base_url": model.url, "model": "m", "attempts": 1}
        plain, other = load_config(str(folder / "plain.db")), load_config(str(folder / "model.db"))
        with_model = replace(other, llm="openai", llm_options=options)
        with Mnemic(plain, has_worker=False) as first, Mnemic(with_model, has_worker=False) as second:
            for opened in (first, second):
                opened.for_user("ana", session="monday").capture(user="I like green tea", assistant="Noted.")
            second.for_user("ana").ingest(b"# Lease\n\nThe rent is 900 euros.", name="lease.md")
            yield first, second


def documentation(name: str, *, is_bound: bool) -> str:
    """What `help()` shows of a verb of a memory, or of `for_user(...)`."""
    if not is_bound:
        return inspect.getdoc(function_of(name)) or ""
    with Mnemic("memory://") as opened:
        found: object = opened.for_user("ana")
        for part in name.split("."):
            found = getattr(found, part)
        return inspect.getdoc(found) or ""


@pytest.mark.requirement("P-49")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_bound", [False, True], ids=["Mnemic", "for_user"])
def test_the_help_of_a_verb_explains_every_argument_and_its_errors_and_has_an_example(name: str, is_bound: bool):  # noqa: FBT001 # a parameter of the test
    if is_bound and name in WITHOUT_SCOPE:
        return
    text = documentation(name, is_bound=is_bound)
    explained = re.findall(r"^    (\w+): \S", text.partition("\nArgs:\n")[2].partition("\nRaises:\n")[0], re.MULTILINE)
    expected = [each for each in parameters_of(name) if not (is_bound and each == "scope")]
    assert explained == expected
    assert re.search(r"^Raises:\n    \w+Error: \S", text, re.MULTILINE)
    assert text.count("\nExample:\n    >>> ") == 1


def test_every_verb_has_an_example_of_a_few_lines():
    assert sorted(block.split("\n", 1)[0] for block in EXAMPLES) == sorted(NAMES)
    assert [block for block in EXAMPLES if block.count("\n>>> ") > 4] == []


def test_every_example_prints_what_it_promises(
    memories: tuple[Mnemic, Mnemic], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.FAIL_FAST)
    parser, complaints = doctest.DocTestParser(), list[str]()
    for block in EXAMPLES:
        name, code = block.split("\n", 1)
        opened = memories[name in ASKS_A_MODEL]
        names = {"mnemic": opened, "ana": opened.for_user("ana")}
        runner.run(parser.get_doctest(f"{code}\n", names, name, None, None), out=complaints.append)
    assert "".join(complaints) == ""
    assert runner.summarize(verbose=False).attempted > len(NAMES)
