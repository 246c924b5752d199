"""A framework that is not installed is explained by the line that installs it; and nobody pays for it before."""

from __future__ import annotations

import subprocess
import sys

import pytest

ABSENT = """
import sys
sys.modules["PACKAGE"] = None
from mnemic.errors import ConfigError
try:
    import mnemic.integrations.MODULE
except ConfigError as error:
    print(error)
"""
LOADED = """
import sys, mnemic, mnemic.cli, mnemic.integrations.hooks
older = ("langchain", "langgraph", "llama_index", "pydantic_ai", "agents", "langchain_core")
print([name for name in (*older, "autogen_core", "google.adk", "strands", "crewai") if name in sys.modules])
"""


@pytest.mark.requirement("P-29")
@pytest.mark.parametrize(
    "module, package, extra",
    [
        ("langchain", "langchain", "langchain"),
        ("langgraph", "langgraph", "langgraph"),
        ("llama_index", "llama_index", "llama-index"),
        ("pydantic_ai", "pydantic_ai", "pydantic-ai"),
        ("openai_agents", "agents", "openai-agents"),
        ("autogen", "autogen_core", "autogen"),
        ("google_adk", "google.adk", "google-adk"),
        ("google_adk", "google", "google-adk"),
        ("strands", "strands", "strands"),
        ("crewai", "crewai", "crewai"),
    ],
)
def test_an_absent_framework_is_explained_by_the_line_to_run(module: str, package: str, extra: str):
    program = ABSENT.replace("PACKAGE", package).replace("MODULE", module)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert f"run `pip install 'mnemic[{extra}]'`" in ran.stdout


def test_no_framework_is_imported_but_by_its_own_module():
    ran = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("module", ["langchain", "langgraph", "llama_index", "pydantic_ai", "openai_agents", "hooks"])
def test_a_memory_in_this_process_needs_no_client_of_the_server(module: str):
    blocked = "import sys; sys.modules['mnemic.remote.connection'] = None"
    program = f"{blocked}\nimport mnemic.integrations.{module}"
    subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
