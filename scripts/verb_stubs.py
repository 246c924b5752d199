"""Writes the types of the facade for asyncio and of the remote client from the signatures of the library.

    python scripts/verb_stubs.py           print them
    python scripts/verb_stubs.py --write   keep them, after a change of a verb

Both are made when they are imported, which a type checker cannot follow. `tests/docs/test_reference.py` compares the
kept stubs with the signatures.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from mnemic.api.signatures import function_of
from mnemic.verbs import VERBS

SOURCE = Path(__file__).resolve().parent.parent / "src" / "mnemic"
PARTS = {
    "profile": "ProfileVerbs",
    "documents": "DocumentVerbs",
    "graph": "GraphVerbs",
    "tools": "ToolVerbs",
    "jobs": "JobVerbs",
    "keys": "KeyVerbs",
}


@dataclass
class Stub:
    """A module: how its classes are called and begin, and which of their answers differ."""

    path: Path
    head: str
    part: Callable[[str], str]
    main: str
    tail: str
    is_async: bool
    answers: Mapping[str, str] = field(default_factory=dict[str, str])


AIO = Stub(
    path=SOURCE / "aio.pyi",
    head="""from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from mnemic.api import Mnemic
from mnemic.config import Config

DEFAULT_THREADS: int
""",
    part=lambda name: f"Async{PARTS[name]}",
    main="""class AsyncMnemic(AbstractAsyncContextManager[AsyncMnemic]):
    def __init__(self, mnemic: Mnemic, *, threads: int = ...) -> None: ...
    @classmethod
    async def open(
        cls, store: str | Path | Config | None = None, *, actor: str = ..., threads: int = ...
    ) -> AsyncMnemic: ...
""",
    tail="""    @property
    def model(self) -> str | None: ...
    async def close(self) -> None: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
""",
    is_async=True,
    answers={"export": "builtins.list[str]", "chat_stream": "AsyncGenerator[ChatEvent]"},
)
CLIENT = Stub(
    path=SOURCE / "remote" / "client.pyi",
    head="""from contextlib import AbstractContextManager

from mnemic.aio import AsyncMnemic
from mnemic.remote.connection import Connection

def connect(url: str, key: str | None = None, *, timeout_s: float = ...) -> RemoteMnemic: ...
def connect_async(
    url: str, key: str | None = None, *, timeout_s: float = ..., threads: int = ...
) -> AsyncMnemic: ...
""",
    part=lambda name: f"Remote{name.capitalize()}",
    main="""class RemoteMnemic(AbstractContextManager[RemoteMnemic]):
    def __init__(self, connection: Connection) -> None: ...
""",
    tail="""    def close(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...
""",
    is_async=False,
)
STUBS = (AIO, CLIENT)


def stub_of(stub: Stub) -> str:
    """The whole module."""
    needed: dict[str, str] = {}
    bodies = [f"class {stub.part(name)}:\n{''.join(_methods(stub, f'{name}.', needed))}" for name in PARTS]
    owned = [f"    @property\n    def {name}(self) -> {stub.part(name)}: ...\n" for name in PARTS]
    bodies.append(stub.main + "".join(_methods(stub, "", needed)) + "".join(owned) + stub.tail)
    imports = "".join(f"{line}\n" for line in sorted(set(needed.values())))
    return _formatted(f"# Made by scripts/verb_stubs.py.\nimport builtins\n{imports}{stub.head}\n" + "\n".join(bodies))


def _methods(stub: Stub, group: str, needed: dict[str, str]) -> Iterator[str]:
    for verb in VERBS:
        if verb.name.startswith(group) and "." not in verb.name.removeprefix(group):
            yield _method(stub, verb.name, needed)


def _method(stub: Stub, verb: str, needed: dict[str, str]) -> str:
    """The signature of a verb as it stands in its source, and where the names in it come from."""
    function = inspect.unwrap(function_of(verb))
    tree, origins = _module(inspect.getsourcefile(function) or "", function.__module__)
    owner, _, name = function.__qualname__.partition(".")
    found = next(each for each in tree.body if isinstance(each, ast.ClassDef) and each.name == owner)
    node = next(each for each in found.body if isinstance(each, ast.FunctionDef) and each.name == name)
    answer = stub.answers.get(verb) or ast.unparse(node.returns or ast.Constant(None))
    for each in [*ast.walk(node.args), *ast.walk(ast.parse(answer))]:
        if (
            isinstance(each, ast.Name)
            and each.id in origins
            and needed.setdefault(each.id, origins[each.id]) != origins[each.id]
        ):
            raise ValueError(f"{each.id} means two things in the signatures of verbs")
    keyword = "async def" if stub.is_async else "def"
    return f"    {keyword} {name}({ast.unparse(node.args)}) -> {answer}: ...\n"


@cache
def _module(path: str, module: str) -> tuple[ast.Module, Mapping[str, str]]:
    """A source, and the line that imports each name that it knows."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    origins: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for each in node.names:
                told = each.name if each.asname is None else f"{each.name} as {each.asname}"
                origins[each.asname or each.name] = f"from {node.module} import {told}"
        names = [node.name] if isinstance(node, ast.ClassDef) else []
        names += [each.id for each in getattr(node, "targets", ()) if isinstance(each, ast.Name)]
        origins |= {name: f"from {module} import {name}" for name in names}
    return tree, origins


def _formatted(text: str) -> str:
    """As `ruff` sorts and formats it."""
    for command in (["check", "--select", "I,F401", "--fix"], ["format"]):
        line = [sys.executable, "-m", "ruff", *command, "--quiet", "--stdin-filename", str(AIO.path), "-"]
        text = subprocess.run(line, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the stubs, or keeps them with `--write`."""
    parser = argparse.ArgumentParser(description="The types of the verbs for asyncio and on a server.")
    parser.add_argument("--write", action="store_true", help="keep them beside their modules")
    is_kept = parser.parse_args(arguments).write
    for stub in STUBS:
        if is_kept:
            stub.path.write_text(stub_of(stub), encoding="utf-8")
        else:
            print(stub_of(stub), end="")


if __name__ == "__main__":
    main()
