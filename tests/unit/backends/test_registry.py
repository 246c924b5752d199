"""Backends by name: own, registered, announced by a package; and what is said when a name or package is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mnemic.adapters.extras import import_extra
from mnemic.backends import FACTS, MemoryBackend, MemoryRegistry, RetrievalResult
from mnemic.backends.hybrid import HybridBackend
from mnemic.backends.primitive import BackendFacts, join_facts
from mnemic.backends.sqlite import SqliteBackend
from mnemic.errors import ConfigError, UnsupportedError

FIVE = {"sqlite", "faiss", "colbert", "bm25", "hybrid"}


class Silent(MemoryBackend):
    """Keeps nothing."""

    def store(self, content: str, *, source: str = "", metadata: Mapping[str, Any] | None = None) -> str:
        del content, source, metadata
        return "1"

    def retrieve(self, query: str, *, top_k: int = 5, **kwargs: Any) -> list[RetrievalResult]:
        del query, top_k, kwargs
        return []

    def delete(self, doc_id: str) -> bool:
        del doc_id
        return False

    def clear(self) -> None:
        """There is nothing."""


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    before = set(MemoryRegistry.names())
    yield
    for name in set(MemoryRegistry.names()) - before:
        MemoryRegistry.unregister(name)


@pytest.mark.requirement("O-01")
@pytest.mark.parametrize("missing", ["store", "retrieve", "delete", "clear"])
def test_a_backend_without_one_of_the_four_verbs_cannot_be_made(missing: str):
    verbs = {name: vars(Silent)[name] for name in ("store", "retrieve", "delete", "clear") if name != missing}
    incomplete = type("Incomplete", (MemoryBackend,), verbs)
    with pytest.raises(TypeError, match=missing):
        incomplete()


@pytest.mark.requirement("O-06")
def test_a_result_is_a_slots_dataclass_with_these_defaults():
    result = RetrievalResult("text")
    assert (result.content, result.score, result.source, result.metadata) == ("text", 0.0, "", {})
    assert not hasattr(result, "__dict__")
    assert result.metadata is not RetrievalResult("text").metadata


@pytest.mark.requirement("O-07")
def test_there_are_five_backends(tmp_path: Path):
    assert set(MemoryRegistry.names()) >= FIVE
    for name in FIVE:
        options = {"db_path": tmp_path / "backend.db"} if name == "sqlite" else {}
        backend = MemoryRegistry.create(name, **options)
        assert backend.backend_id == name
        backend.close()


@pytest.mark.requirement("O-08", "O-12")
def test_sqlite_is_the_default_and_lies_in_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    backend = MemoryRegistry.create()
    assert isinstance(backend, SqliteBackend)
    assert backend.path == tmp_path / "mnemic" / "backend.db"
    assert backend.path.is_file()
    backend.close()


@pytest.mark.requirement("O-08")
def test_sqlite_needs_no_other_package(tmp_path: Path):
    program = (
        "import sys\n"
        "for name in ('faiss', 'rank_bm25', 'torch', 'transformers', 'onnxruntime'): sys.modules[name] = None\n"
        "from mnemic.backends import MemoryRegistry\n"
        f"backend = MemoryRegistry.create('sqlite', db_path={str(tmp_path / 'b.db')!r})\n"
        "backend.store('a flat in Lisbon')\n"
        "print(backend.retrieve('Lisbon')[0].content)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "a flat in Lisbon", run.stderr


@pytest.mark.requirement("O-50", "O-51")
def test_a_registered_class_is_created_by_its_name_and_gets_its_id_from_it():
    registered = MemoryRegistry.register("my-backend")(Silent)
    assert registered is Silent
    assert isinstance(MemoryRegistry.create("my-backend"), Silent)
    assert Silent.backend_id == "my-backend"
    Silent.backend_id = ""


@pytest.mark.requirement("O-50")
def test_a_name_belongs_to_one_class():
    MemoryRegistry.register("taken")(type("First", (Silent,), {}))
    for name in ("taken", "sqlite"):
        with pytest.raises(ConfigError, match="is already used"):
            MemoryRegistry.register(name)(type("Second", (Silent,), {}))
    with pytest.raises(ConfigError, match="has backend_id 'other'"):
        MemoryRegistry.register("this")(type("Third", (Silent,), {"backend_id": "other"}))
    with pytest.raises(ConfigError, match="must have a name"):
        MemoryRegistry.register(" ")


@pytest.mark.requirement("O-51")
def test_an_installed_package_announces_a_backend_by_an_entry_point(tmp_path: Path):
    (tmp_path / "their_package.py").write_text(
        "from mnemic.backends import MemoryBackend\n"
        "class Theirs(MemoryBackend):\n"
        "    backend_id = 'theirs'\n"
        "    def __init__(self, size=1): self.size = size\n"
        "    def store(self, content, *, source='', metadata=None): return '1'\n"
        "    def retrieve(self, query, *, top_k=5, **kwargs): return []\n"
        "    def delete(self, doc_id): return False\n"
        "    def clear(self): pass\n",
        encoding="utf-8",
    )
    about = tmp_path / "their_package-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1\n", encoding="utf-8")
    points = "[mnemic.backends]\ntheirs = their_package:Theirs\nbroken = their_package:Nothing\n"
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from mnemic.backends import MemoryRegistry\n"
        "backend = MemoryRegistry.create('theirs', size=3)\n"
        "print(backend.backend_id, backend.size, 'theirs' in MemoryRegistry.names())\n"
        "try: MemoryRegistry.create('broken')\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.split() == ["theirs", "3", "True", "ConfigError"], run.stderr


def test_an_unknown_name_is_answered_with_the_nearest_ones():
    with pytest.raises(ConfigError, match="did you mean sqlite"):
        MemoryRegistry.create("sqllite")
    with pytest.raises(ConfigError, match="did you mean faiss"):
        MemoryRegistry.create("FAISS-cpu")
    with pytest.raises(ConfigError, match="use one of bm25, colbert"):
        MemoryRegistry.create("qqqq")


def test_an_option_that_a_backend_does_not_take_is_refused():
    with pytest.raises(ConfigError, match=r"'bm25' does not accept these options.*db_path"):
        MemoryRegistry.create("bm25", db_path="x")


@pytest.mark.requirement("O-60")
@pytest.mark.parametrize(
    "name, module, extra", [("faiss", "faiss", "memory-faiss"), ("colbert", "torch", "memory-colbert")]
)
def test_a_missing_package_is_answered_with_the_line_that_installs_it(
    name: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError) as raised:
        MemoryRegistry.create(name).store("text")
    assert f"pip install 'mnemic[{extra}]'" in str(raised.value)


def test_a_package_that_lacks_a_part_of_its_own_is_no_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "half_installed.py").write_text("import no_such_part", encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ModuleNotFoundError):
        import_extra("half_installed", "memory-faiss")


@pytest.mark.requirement("O-59")
def test_the_comparison_of_the_backends_is_data():
    assert {name for name, facts in FACTS.items() if facts.can_use_gpu} == {"faiss", "colbert"}
    assert {name: (facts.quality, facts.speed) for name, facts in FACTS.items()} == {
        "sqlite": ("very good", "fast"),
        "bm25": ("fair", "fast"),
        "faiss": ("good", "moderate"),
        "colbert": ("very good", "slower"),
    }
    hybrid = join_facts(FACTS["sqlite"], FACTS["faiss"])
    assert (hybrid.quality, hybrid.speed) == ("very good", "moderate")
    assert set(FACTS) | {"hybrid"} == FIVE


@pytest.mark.requirement("O-60")
def test_every_extra_of_a_backend_is_in_the_package_with_what_it_brings(repository: Path):
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    for facts in FACTS.values():
        for package in facts.packages:
            (line,) = (line for line in text.splitlines() if line.startswith(f"{facts.extra} = "))
            assert f'"{package}>=' in line
    assert FACTS["sqlite"].extra == FACTS["bm25"].extra == ""
    assert FACTS["faiss"].install_line == "pip install 'mnemic[memory-faiss]'"


@pytest.mark.requirement("O-60")
def test_a_hybrid_needs_and_keeps_what_its_two_parts_do(tmp_path: Path):
    def hybrid(sparse: str, dense: str) -> BackendFacts:
        parts = [
            MemoryRegistry.create(name, **({"db_path": tmp_path / str(place)} if name == "sqlite" else {}))
            for place, name in enumerate((sparse, dense))
        ]
        backend = HybridBackend(*parts)
        backend.close()
        return backend.facts

    both = hybrid("sqlite", "faiss")
    assert (both.packages, both.can_use_gpu, both.is_durable) == (("faiss-cpu",), True, False)
    assert both.install_line == "pip install 'mnemic[memory-faiss]'"
    heavy = hybrid("faiss", "colbert")
    assert heavy.packages == ("faiss-cpu", "torch", "transformers")
    assert heavy.install_line == "pip install 'mnemic[memory-faiss,memory-colbert]'"
    plain = hybrid("sqlite", "sqlite")
    assert (plain.packages, plain.can_use_gpu, plain.is_durable, plain.install_line) == ((), False, True, "")


def test_a_backend_that_cannot_save_says_so(tmp_path: Path):
    for verb in (Silent().save, Silent().load):
        with pytest.raises(UnsupportedError):
            verb(tmp_path / "saved")
