"""Names open language models, configuration and doctor know them, and what is wrong is told with its remedy."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic import Mnemic
from mnemic.adapters.llms.llama_cpp import LlamaCppLlm, packaged_model
from mnemic.adapters.llms.openai import OpenAILlm
from mnemic.adapters.llms.registry import ScriptedLlm, open_llm
from mnemic.build import build
from mnemic.config import Config, load_config, resolve
from mnemic.errors import ConfigError
from mnemic.model.health import Condition, Finding
from mnemic.testing.chat_server import ChatReply, ChatServer
from mnemic.testing.llm_contract import ask

URL = "http://localhost:1/v1"


def test_names_open_language_models(tmp_path: Path):
    file = tmp_path / "small.gguf"
    file.write_bytes(b"")
    assert open_llm("ollama:qwen3:4b").name == "qwen3:4b"
    assert open_llm("openai:large", {"base_url": URL, "api_key": "k", "attempts": 1}).name == "large"
    assert open_llm("openai", {"base_url": URL, "model": "small", "context_tokens": 9}).capabilities.context_tokens == 9
    assert open_llm(f"llama-cpp:{file}").name == "small"
    assert open_llm("llama-cpp").capabilities.is_local


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("gpt", {}, "is unknown; use llama-cpp, ollama, openai or none"),
        ("scripted", {}, "is unknown"),
        ("openai:large", {}, "base_url"),
        ("openai", {"base_url": URL}, "requires a model"),
        ("ollama", {}, "requires a model"),
        ("ollama:x", {"colour": "red"}, "does not accept"),
        ("ollama:x", {"base_url": "localhost"}, "the llm's base_url"),
        ("llama-cpp:no-such-file.gguf", {}, "the file no-such-file.gguf does not exist"),
        ("llama-cpp", {"colour": "red"}, "does not accept"),
    ],
)
def test_a_name_or_option_that_cannot_be_is_told(name: str, options: dict[str, object], words: str):
    with pytest.raises(ConfigError, match=words):
        open_llm(name, options)


def test_a_file_that_is_no_model_is_told_at_the_first_prompt(tmp_path: Path):
    file = tmp_path / "letter.gguf"
    file.write_text("Dear Ana", encoding="utf-8")
    llm = LlamaCppLlm(str(file))
    with pytest.raises(ConfigError, match="is it a GGUF model"):
        llm.complete(ask("Tea?"))
    llm.close()


def test_a_packaged_model_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ConfigError, match="cannot be saved"):
        packaged_model(tmp_path / "file")


@pytest.mark.parametrize(
    "missing, name, extra", [("httpx2", "ollama:x", "openai"), ("xllamacpp", "llama-cpp", "llama-cpp")]
)
def test_a_missing_extra_is_answered_with_the_line_that_installs_it(missing: str, name: str, extra: str):
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        "from mnemic.adapters.llms.registry import open_llm\n"
        f"try: open_llm({name!r})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("ConfigError")
    assert f"pip install 'mnemic[{extra}]'" in run.stdout


def test_a_language_model_of_another_package_is_opened_by_its_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    metadata = tmp_path / "third_party-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(
        "[mnemic.llms]\ntheirs = third_party_llm:build\nbroken = nowhere:build\n", encoding="utf-8"
    )
    (tmp_path / "third_party_llm.py").write_text(
        "from mnemic.adapters.llms.registry import ScriptedLlm\n"
        "def build(model, options):\n    return ScriptedLlm(['tea'], name=model, **options)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert open_llm("theirs:large", {"context_tokens": 5}).name == "large"
    with pytest.raises(ConfigError, match="cannot load"):
        open_llm("broken")


class TestConfiguration:
    def test_the_configuration_names_the_language_model(self):
        config = Config(store="memory://", embedder="none", llm="openai:m", llm_options={"base_url": URL})
        assert isinstance(build(config).llm, OpenAILlm)
        assert build(Config(store="memory://", embedder="none")).llm is None

    def test_file_and_environment_name_it_and_its_key_is_masked(self, tmp_path: Path):
        file = tmp_path / "mnemic" / "config.toml"
        file.parent.mkdir()
        file.write_text('[llm]\nname = "openai"\noptions = { model = "m", api_key = "sk-1" }\n', encoding="utf-8")
        environment = {"XDG_CONFIG_HOME": str(tmp_path)}
        effective = resolve(environment=environment)
        assert (effective.config.llm, effective.config.llm_options) == ("openai", {"model": "m", "api_key": "sk-1"})
        (options,) = [value for value in effective.values if value.key == "llm.options"]
        assert options.shown == {"model": "m", "api_key": "***"}
        assert "sk-1" not in repr(effective.config)
        assert load_config(environment={**environment, "MNEMIC_LLM": "ollama:x"}).llm == "ollama:x"
        assert load_config(environment={}).llm == "none"


class TestDoctor:
    def found(self, **fields: object) -> Finding:
        with Mnemic.open(Config(store="memory://", embedder="none", **fields)) as mnemic:  # pyright: ignore[reportArgumentType] -- of the right types where it is called
            (finding,) = [finding for finding in mnemic.doctor().findings if finding.part == "llm"]
        return finding

    def test_none_is_fine(self):
        assert self.found() == Finding("llm", Condition.OK, "none: summaries and similar tasks use rules")

    def test_one_that_answers_is_told_with_its_time(self):
        with ChatServer(lambda _: "yes") as server:
            finding = self.found(llm="openai:m", llm_options={"base_url": server.url})
        assert (finding.condition, finding.message.startswith("m answers in ")) == (Condition.OK, True)

    def test_one_that_fails_is_told_with_its_error_and_what_happens_meanwhile(self):
        with ChatServer(lambda _: ChatReply(status=401)) as server:
            finding = self.found(llm="openai:m", llm_options={"base_url": server.url})
        assert finding.condition is Condition.BROKEN
        assert "rejected the key" in finding.message
        assert "rules" in finding.remedy


def test_closing_a_memory_closes_its_language_model():
    closed: list[bool] = []

    class Closing(ScriptedLlm):
        def close(self) -> None:
            closed.append(True)

    parts = replace(build(Config(store="memory://", embedder="none")), llm=Closing([]))
    Mnemic(parts).close()
    assert closed == [True]
