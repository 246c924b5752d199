"""What the documents print for a server works as printed: curl lines, Python over HTTP, the configuration of MCP."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

ROOT = Path(__file__).resolve().parents[2]
PRINTED = "http://127.0.0.1:7700"
BLOCK = re.compile(r"^```(bash|py|json)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = Path(sys.executable).parent
DOCUMENTS = ("README.md", "docs/how-to/run-a-server.md")


def blocks(document: str, language: str, holding: str) -> list[str]:
    """The blocks of a language that hold a text, in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language and holding in body]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose home is empty."""
    folders = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")
    return os.environ | dict.fromkeys(folders, str(tmp_path)) | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"}


@pytest.fixture
def url(home: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """The address of a `mnemic serve` on the embedded default."""
    server = subprocess.Popen(
        ["mnemic", "serve", "--port", "0"],
        env=home,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    told: list[str] = []
    for line in server.stdout:
        told.append(line)
        found = re.search(r"http://127\.0\.0\.1:\d+", line)
        if found:
            yield found.group()
            break
    else:
        pytest.fail("".join(told))
    server.send_signal(signal.SIGTERM)
    rest, _ = server.communicate(timeout=30)
    assert server.returncode == 0, rest


@pytest.mark.requirement("T-37")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_curl_and_python_lines_of_a_document_work_as_printed(
    document: str, url: str, home: dict[str, str], tmp_path: Path
):
    (tmp_path / "notes.md").write_text("# Editor\n\nThe editor is dark, says Ana, and so is the terminal.\n")
    shells, programs = blocks(document, "bash", "curl"), blocks(document, "py", "connect(")
    assert shells
    assert programs
    for body in shells:
        script = "set -e\n" + body.replace(PRINTED, url).replace("curl ", "curl --fail-with-body ")
        run = subprocess.run(
            ["bash", "-c", script], env=home, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
        assert "Ana prefers dark mode" in run.stdout
    for body in programs:
        command = [sys.executable, "-c", body.replace(PRINTED, url)]
        run = subprocess.run(command, env=home, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_mcp_configuration_of_the_readme_starts_a_server_that_clients_can_use(home: dict[str, str], tmp_path: Path):
    [body] = blocks("README.md", "json", "mcpServers")
    server = json.loads(body)["mcpServers"]["mnemic"]
    parameters = StdioServerParameters(command=server["command"], args=server["args"], env=home, cwd=tmp_path)

    async def ask() -> set[str]:
        async with Client(stdio_client(parameters)) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert {"remember", "recall", "forget"} <= anyio.run(ask)
