"""`ingest_path`: which files are read, what becomes of them, and what happens to the others."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.backends import Chunk, ChunkConfig, MemoryRegistry, chunk_text, ingest_path, inject_context
from mnemic.backends.primitive import install_line
from mnemic.errors import ConfigError, InvalidInputError
from mnemic.ports.files import Unreadable, UnreadableError
from tests.conformance import document_files as files

LONG = "\n\n".join(f"Paragraph {number} tells of the garden. " * 8 for number in range(40))


def put(folder: Path, **contents: str | bytes) -> None:
    """Files by name; `__` stands for a slash and `_DOT_` for a dot."""
    for name, content in contents.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


class TestFile:
    @pytest.mark.requirement("O-36", "O-38", "O-39", "O-40")
    @pytest.mark.parametrize(
        "name, kind", [("a.md", "markdown"), ("a.MDX", "markdown"), ("a.yaml", "code"), ("a.unheard", "text")]
    )
    def test_a_file_is_read_and_cut_as_the_text_it_holds(self, name: str, kind: str, tmp_path: Path):
        path = tmp_path / name
        path.write_text(LONG, encoding="utf-8")
        config = ChunkConfig(chunk_size=256, chunk_overlap=32)
        chunks = ingest_path(path, config)
        expected = chunk_text(LONG.strip(), source=str(path), config=config)
        assert [replace(chunk, metadata={}) for chunk in chunks] == expected
        assert {str(chunk.metadata) for chunk in chunks} == {f"{{'file_type': '{kind}'}}"}
        assert chunks.skipped == ()

    @pytest.mark.requirement("O-40")
    def test_the_path_may_be_a_text_and_the_sizes_those_of_the_default(self, tmp_path: Path):
        (tmp_path / "a.txt").write_text(LONG, encoding="utf-8")
        chunks = ingest_path(str(tmp_path / "a.txt"))
        assert [chunk.offset for chunk in chunks] == [chunk.offset for chunk in chunk_text(LONG)]
        assert isinstance(chunks, list)

    @pytest.mark.requirement("R-24")
    def test_a_note_that_is_too_short_for_a_chunk_is_one(self, tmp_path: Path):
        path = tmp_path / "note.txt"
        path.write_text("\nBuy tea.\n\nAnd honey.\n", encoding="utf-8")
        assert chunk_text("Buy tea.\n\nAnd honey.") == []
        (chunk,) = ingest_path(path)
        assert (chunk.content, chunk.source, chunk.index) == ("Buy tea.\n\nAnd honey.", str(path), 0)

    @pytest.mark.requirement("O-37", "O-42")
    def test_the_pages_of_a_pdf_are_joined_by_a_blank_line_and_counted(self, tmp_path: Path):
        path = tmp_path / "a.pdf"
        path.write_bytes(files.pdf(["The first page", "The second page", "The third page"]))
        (chunk,) = ingest_path(path)
        assert chunk.content == "The first page\n\nThe second page\n\nThe third page"
        assert chunk.metadata == {"file_type": "pdf", "page": 1, "last_page": 3}
        config = ChunkConfig(chunk_size=3, chunk_overlap=0, min_chunk_size=3)
        assert [chunk.metadata["page"] for chunk in ingest_path(path, config)] == [1, 2, 3]

    @pytest.mark.requirement("O-42")
    def test_without_the_extra_a_pdf_names_the_line_to_run_and_a_folder_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        put(tmp_path, a_DOT_pdf=files.pdf(["text"]), b_DOT_md="# Notes")
        monkeypatch.setitem(sys.modules, "pypdfium2", None)
        with pytest.raises(ConfigError) as refused:
            ingest_path(tmp_path / "a.pdf")
        assert install_line("memory-pdf") == "pip install 'mnemic[memory-pdf]'"
        assert install_line("memory-pdf") in str(refused.value)
        chunks = ingest_path(tmp_path)
        assert [chunk.content for chunk in chunks] == ["# Notes"]
        assert "memory-pdf" in chunks.skipped[0].reason

    @pytest.mark.requirement("R-24")
    @pytest.mark.parametrize(
        "name, data, reason",
        [
            ("a.txt", b"", Unreadable.EMPTY),
            ("a.md", b"  \n", Unreadable.EMPTY),
            ("a.pdf", b"%PDF-1.4 torn", Unreadable.BROKEN),
            ("a.bin", b"\x00\x01\x02\x03" * 100, Unreadable.UNKNOWN),
        ],
    )
    def test_a_file_that_gives_nothing_says_why(self, name: str, data: bytes, reason: Unreadable, tmp_path: Path):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(UnreadableError) as refused:
            ingest_path(tmp_path / name)
        assert refused.value.reason is reason

    def test_what_is_not_there_or_holds_secrets_is_refused(self, tmp_path: Path):
        with pytest.raises(InvalidInputError, match="gone"):
            ingest_path(tmp_path / "gone.md")
        with pytest.raises(InvalidInputError, match=r"os\.fsdecode"):
            ingest_path(bytes(tmp_path))  # pyright: ignore[reportArgumentType] -- is refused
        put(tmp_path, _DOT_env="TOKEN=1")
        with pytest.raises(InvalidInputError, match="secrets"):
            ingest_path(tmp_path / ".env")


class TestFolder:
    @pytest.mark.requirement("O-41")
    def test_folders_are_read_with_those_in_them_and_what_is_no_content_is_skipped(self, tmp_path: Path):
        put(
            tmp_path,
            a_DOT_md="# A",
            deep__er__b_DOT_py="x = 1",
            c_DOT_txt="See",
            _DOT_hidden_DOT_md="no",
            _DOT_git__config="no",
            _DOT_cache__x_DOT_md="no",
            node_modules__x_DOT_js="no",
            _DOT_venv__x_DOT_py="no",
            d_DOT_png=b"\x89PNG\r\n\x1a\n",
            e_DOT_mp3=b"ID3",
            f_DOT_zip=b"PK",
            g_DOT_pyc=b"\x00",
            h_DOT_mp4=b"\x00",
        )
        put(tmp_path / "__pycache__", x_DOT_py="no")
        chunks = ingest_path(tmp_path)
        sources = [Path(chunk.source).relative_to(tmp_path).as_posix() for chunk in chunks]
        assert sorted(sources) == ["a.md", "c.txt", "deep/er/b.py"]
        assert not any("no" in chunk.content for chunk in chunks)
        skipped = {Path(each.source).name: each.reason for each in chunks.skipped}
        names = {".hidden.md", ".git", ".cache", "node_modules", ".venv", "__pycache__"}
        assert names | {"d.png", "e.mp3", "f.zip", "g.pyc", "h.mp4"} == set(skipped)
        assert all(skipped.values())

    @pytest.mark.requirement("O-41")
    def test_one_file_that_cannot_be_read_does_not_stop_the_others(self, tmp_path: Path):
        put(tmp_path, a_DOT_pdf=b"%PDF-1.4 torn", b_DOT_md="# B")
        chunks = ingest_path(tmp_path)
        assert [chunk.content for chunk in chunks] == ["# B"]
        assert [Path(each.source).name for each in chunks.skipped] == ["a.pdf"]

    def test_an_empty_folder_gives_nothing(self, tmp_path: Path):
        assert ingest_path(tmp_path) == []


@pytest.mark.requirement("O-40", "O-46", "O-48")
def test_from_files_to_a_prompt(tmp_path: Path):
    put(tmp_path, flat_DOT_md="Her flat in Lisbon has a balcony.", news_DOT_txt="Interest rates were raised.")
    backend = MemoryRegistry.create("bm25")
    for chunk in ingest_path(tmp_path):
        assert isinstance(chunk, Chunk)
        backend.store(chunk.content, source=chunk.source, metadata=chunk.metadata)
    (system, _) = inject_context("Lisbon balcony. flat", [{"role": "user", "content": "?"}], backend)
    assert system["content"].endswith(f"\n\n[Source: {tmp_path}/flat.md] Her flat in Lisbon has a balcony.")
