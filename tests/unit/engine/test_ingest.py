"""Files taken in: added, replaced whole, left alone, failed with a reason, gone and removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mnemic.adapters.detectors.rules import open_detector
from mnemic.api import Mnemic
from mnemic.engine.engine import Engine
from mnemic.errors import ConfigError, InvalidInputError, NotFoundError
from mnemic.model.document import DocumentStatus, Outcome
from mnemic.model.item import Chunk, Trust
from mnemic.model.scope import Level, Scope
from mnemic.ports.store import Store
from mnemic.testing.observation import state_of
from mnemic.text.chunking import ChunkConfig
from tests.unit.engine.ingest_kit import chunks, documents, outcomes, put, reading
from tests.unit.engine.kit import ANNA, BERT, Clock, WordEmbedder

TEA = "# Tea\n\nAnna drinks smoked tea.\n\n## Water\n\nBoil it once.\n"
PLAN = "The plan.\n\npassword = hunter2-Xk29fQz81mLw\n\nThe end."


@pytest.fixture
def mnemic(parts: Engine) -> Mnemic:
    return Mnemic(reading(parts), actor="tester")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    put(folder, {"tea.md": TEA, "deep/code.py": "def boil():\n    return 100\n", "note.txt": "Buy milk."})
    return folder


def test_a_folder_is_taken_in_and_each_passage_is_a_stretch_of_its_document(mnemic: Mnemic, papers: Path):
    report = mnemic.ingest(ANNA, papers)
    assert outcomes(report) == {"code.py": "added", "note.txt": "added", "tea.md": "added"}
    assert (report.counts, report.why_nothing, report.is_dry_run) == ({"added": 3}, "", False)
    found = documents(mnemic)
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(found, DocumentStatus.READY)
    assert report.chunks == sum(each.chunks for each in found.values())
    assert report.characters == sum(each.characters for each in found.values())
    for name, document in found.items():
        text = mnemic.documents.text(ANNA, document.id)
        assert [text[chunk.start : chunk.end] for chunk in chunks(mnemic, name)] == [
            chunk.text for chunk in chunks(mnemic, name)
        ]


@pytest.mark.requirement("J-45")
def test_a_passage_knows_its_document_its_place_and_how_long_it_is(mnemic: Mnemic, papers: Path):
    mnemic.ingest(ANNA, papers / "tea.md", config=ChunkConfig(12, 0, 1))
    document = documents(mnemic)["tea.md"]
    first, second = chunks(mnemic, "tea.md")
    assert (document.title, document.media_type, document.level) == ("Tea", "text/markdown", Level.USER)
    assert [heading.title for heading in document.headings] == ["Tea", "Water"]
    assert (first.document_id, first.index, first.page, first.token_count) == (document.id, 0, None, 6)
    assert (first.headings, second.headings) == (("Tea",), ("Tea", "Water"))
    assert (second.index, second.text, second.source) == (1, "## Water\n\nBoil it once.", document.source)
    assert second.trust is Trust.DOCUMENT
    hits = mnemic.recall(ANNA, "boil water").hits
    assert isinstance(hits[0].item, Chunk)
    assert hits[0].item.id == second.id


def test_what_is_unchanged_is_left_alone_and_what_has_changed_is_replaced_whole(
    mnemic: Mnemic, papers: Path, store: Store
):
    mnemic.ingest(ANNA, papers)
    before, was = state_of(store), documents(mnemic)["tea.md"]
    again = mnemic.ingest(ANNA, papers)
    assert again.counts == {"unchanged": 3}
    assert again.why_nothing == "nothing was stored: 3 unchanged"
    assert state_of(store) == before
    put(papers, {"tea.md": "# Coffee\n\nAnna has changed her mind.\n"})
    report = mnemic.ingest(ANNA, papers)
    assert outcomes(report) == {"code.py": "unchanged", "note.txt": "unchanged", "tea.md": "replaced"}
    now = documents(mnemic)["tea.md"]
    assert (now.id, now.title, now.created_at) == (was.id, "Coffee", was.created_at)
    assert [chunk.text for chunk in chunks(mnemic, "tea.md")] == ["# Coffee\n\nAnna has changed her mind."]
    assert not [hit for hit in mnemic.recall(ANNA, "smoked tea").hits if "smoked" in hit.item.text]
    assert [entry.action.value for entry in mnemic.history(ANNA, now.id)] == ["created", "updated"]


@pytest.mark.requirement("P-19")
def test_a_dry_run_changes_nothing_and_the_deed_is_what_it_said(mnemic: Mnemic, papers: Path, store: Store):
    put(papers, {".env": "x=1", "old.md": "Old words."})
    mnemic.ingest(ANNA, papers / "old.md")
    put(papers, {"old.md": "New words."})
    before = state_of(store)
    planned = mnemic.ingest(ANNA, papers, is_dry_run=True)
    assert state_of(store) == before
    assert planned.is_dry_run
    done = mnemic.ingest(ANNA, papers)
    told = [(file.source, file.outcome, file.reason) for file in planned.files]
    assert told == [(file.source, file.outcome, file.reason) for file in done.files]
    assert done.counts == planned.counts == {"added": 3, "replaced": 1, "skipped": 1}


def test_a_file_that_cannot_be_read_fails_with_the_reason_and_the_others_go_on(mnemic: Mnemic, papers: Path):
    put(papers, {"broken.pdf": b"%PDF-1.4 nothing", "blank.md": " \n\n "})
    report = mnemic.ingest(ANNA, papers)
    assert report.counts == {"added": 3, "failed": 2}
    failed = documents(mnemic)["broken.pdf"]
    assert failed.status is DocumentStatus.FAILED
    assert "cannot be read as PDF" in failed.reason
    assert failed.reason in [file.reason for file in report.files]
    assert (failed.chunks, failed.characters, failed.sha256) == (0, 0, "")


def test_a_document_that_fails_the_second_time_keeps_what_it_had(mnemic: Mnemic, papers: Path):
    mnemic.ingest(ANNA, papers)
    was, passages = documents(mnemic)["tea.md"], chunks(mnemic, "tea.md")
    put(papers, {"tea.md": b"\x00\x01\x02" * 999})
    report = mnemic.ingest(ANNA, papers / "tea.md")
    assert outcomes(report) == {"tea.md": "failed"}
    now = documents(mnemic)["tea.md"]
    assert (now.status, now.sha256, now.chunks) == (DocumentStatus.FAILED, was.sha256, was.chunks)
    assert chunks(mnemic, "tea.md") == passages
    assert mnemic.recall(ANNA, "smoked tea").hits
    put(papers, {"tea.md": TEA})
    assert outcomes(mnemic.ingest(ANNA, papers / "tea.md")) == {"tea.md": "replaced"}
    assert documents(mnemic)["tea.md"].reason == ""


@pytest.mark.requirement("R-24")
def test_a_small_note_is_one_passage_however_it_is_cut(mnemic: Mnemic, papers: Path):
    for chunking in ("structure", "sentences", "paragraphs"):
        report = mnemic.ingest(ANNA, papers / "note.txt", chunking=chunking, config=ChunkConfig())
        assert (report.counts, report.chunks) == ({"added": 1} if chunking == "structure" else {"replaced": 1}, 1)
        assert [chunk.text for chunk in chunks(mnemic, "note.txt")] == ["Buy milk."]


@pytest.mark.requirement("R-24")
def test_an_ingest_that_stored_nothing_says_so_and_why(mnemic: Mnemic, tmp_path: Path):
    put(tmp_path, {"empty/.gitkeep": "", "pictures/a.png": "x", "pictures/b.png": "x", "bad/a.pdf": b"%PDF-"})
    (tmp_path / "bare").mkdir()
    assert mnemic.ingest(ANNA, tmp_path / "bare").why_nothing == "the folder contains no files"
    told = mnemic.ingest(ANNA, tmp_path / "pictures").why_nothing
    assert told == "nothing was stored: 2 skipped (its name suggests that it is a picture)"
    assert mnemic.ingest(ANNA, tmp_path / "empty").why_nothing == "nothing was stored: 1 skipped (it is hidden)"
    assert mnemic.ingest(ANNA, tmp_path / "bad").why_nothing.startswith("nothing was stored: 1 failed (")


@pytest.mark.requirement("R-01")
def test_an_overlap_that_is_not_below_the_size_is_refused_clearly(mnemic: Mnemic, papers: Path):
    with pytest.raises(InvalidInputError, match="chunk_overlap is 64 but must be at least 0 and below chunk_size, 64"):
        mnemic.ingest(ANNA, papers, config=ChunkConfig(64, 64, 1))
    assert documents(mnemic) == {}


@pytest.mark.requirement("N-39", "R-39")
def test_sizes_follow_the_call_then_the_configuration_then_what_was_measured(
    parts: Engine, papers: Path, make_parts: Callable[..., Engine]
):
    put(papers, {"long.txt": " ".join(f"word{n}." for n in range(1200))})
    long = papers / "long.txt"
    asked = Mnemic(reading(parts), actor="tester")
    assert asked.ingest(ANNA, long).chunks == 10
    assert asked.ingest(ANNA, long, config=ChunkConfig(600, 0, 1)).chunks == 2
    settings = replace(parts.settings, chunk_size=512, chunk_overlap=50)
    configured = Mnemic(reading(replace(make_parts(None), settings=settings)), actor="tester")
    assert outcomes(configured.ingest(ANNA, long)) == {"long.txt": "replaced"}
    assert [(chunk.token_count) for chunk in chunks(configured, "long.txt")] == [512, 512, 276]
    assert outcomes(configured.ingest(ANNA, long)) == {"long.txt": "unchanged"}


def test_bytes_are_taken_in_under_the_name_they_are_given(mnemic: Mnemic):
    report = mnemic.ingest(ANNA, TEA.encode(), name="tea.md", source="upload:7")
    assert outcomes(report) == {"upload:7": "added"}
    assert mnemic.documents.get(ANNA, "upload:7").media_type == "text/markdown"
    assert outcomes(mnemic.ingest(ANNA, TEA.encode(), name="tea.md", source="upload:7")) == {"upload:7": "unchanged"}
    assert outcomes(mnemic.ingest(ANNA, b"words", name="a.txt")) == {"a.txt": "added"}
    with pytest.raises(InvalidInputError, match="bytes require a name"):
        mnemic.ingest(ANNA, b"words")


def test_a_source_of_ones_own_stands_for_the_path(mnemic: Mnemic, papers: Path, tmp_path: Path):
    mnemic.ingest(ANNA, papers, source="handbook/")
    sources = [document.source for document in mnemic.documents.list(ANNA).documents]
    assert sources == ["handbook/deep/code.py", "handbook/note.txt", "handbook/tea.md"]
    papers.rename(tmp_path / "moved")
    assert mnemic.ingest(ANNA, tmp_path / "moved", source="handbook").counts == {"unchanged": 3}


def test_a_file_that_is_gone_is_told_and_removed_when_that_is_asked(mnemic: Mnemic, papers: Path):
    put(papers.parent, {"papers-other/x.md": "Elsewhere."})
    mnemic.ingest(ANNA, papers)
    mnemic.ingest(ANNA, papers.parent / "papers-other")
    (papers / "tea.md").unlink()
    report = mnemic.ingest(ANNA, papers)
    assert report.counts == {"unchanged": 2, "vanished": 1}
    assert "tea.md" in documents(mnemic)
    assert mnemic.ingest(ANNA, papers, is_pruning=True, is_dry_run=True).counts == {"unchanged": 2, "removed": 1}
    assert mnemic.ingest(ANNA, papers, is_pruning=True).counts == {"unchanged": 2, "removed": 1}
    assert sorted(documents(mnemic)) == ["code.py", "note.txt", "x.md"]
    assert not [hit for hit in mnemic.recall(ANNA, "smoked tea").hits if "smoked" in hit.item.text]


def test_what_is_left_out_by_now_is_not_taken_for_gone(mnemic: Mnemic, papers: Path):
    mnemic.ingest(ANNA, papers)
    put(papers, {".gitignore": "deep/\nnote.txt\n"})
    assert mnemic.ingest(ANNA, papers, is_pruning=True).counts == {"unchanged": 1, "skipped": 3}
    assert sorted(documents(mnemic)) == ["code.py", "note.txt", "tea.md"]


def test_the_same_bytes_in_two_files_are_two_documents_and_the_report_says_so(mnemic: Mnemic, papers: Path):
    put(papers, {"zz-copy.md": TEA})
    report = mnemic.ingest(ANNA, papers)
    same = {file.source.rpartition("/")[2]: file.same_as for file in report.files}
    assert same["zz-copy.md"] == (papers / "tea.md").as_posix()
    assert same["tea.md"] is None
    assert documents(mnemic)["zz-copy.md"].id != documents(mnemic)["tea.md"].id


def test_a_file_that_vanishes_while_the_others_are_read_fails(mnemic: Mnemic, papers: Path):
    def progress(done: int, _total: int, _source: str) -> None:
        if not done:
            (papers / "tea.md").unlink(missing_ok=True)

    put(papers, {f"{n:03}.txt": f"Words {n}." for n in range(80)})
    report = mnemic.ingest(ANNA, papers, progress=progress)
    assert report.counts == {"added": 82, "failed": 1}
    assert documents(mnemic)["tea.md"].reason == "tea.md cannot be read: No such file or directory"


def test_progress_tells_files_done_of_files_in_all(mnemic: Mnemic, papers: Path):
    told: list[tuple[int, int, str]] = []
    mnemic.ingest(ANNA, papers, progress=lambda done, total, source: told.append((done, total, source)))
    assert [(done, total) for done, total, _ in told] == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert told[0][2].endswith("/note.txt")
    assert told[-1][2] == ""


@pytest.mark.requirement("N-13")
def test_documents_of_the_org_are_seen_by_all_its_users_and_only_when_said(mnemic: Mnemic, papers: Path):
    mnemic.ingest(ANNA, papers / "tea.md", level="org")
    mnemic.ingest(ANNA, papers / "note.txt")
    assert sorted(documents(mnemic, BERT)) == ["tea.md"]
    assert documents(mnemic, BERT)["tea.md"].level is Level.ORG
    assert documents(mnemic, Scope(org="other", user="anna")) == {}
    with pytest.raises(NotFoundError):
        mnemic.documents.get(BERT, documents(mnemic)["note.txt"].id)


def test_documents_of_one_agent_are_not_seen_by_another(mnemic: Mnemic, papers: Path):
    mnemic.ingest(ANNA, papers / "tea.md", is_private=True)
    mnemic.ingest(ANNA, papers / "tea.md")
    assert len(mnemic.documents.list(ANNA).documents) == 2
    other = replace(ANNA, agent="friday")
    assert [document.private_agent for document in mnemic.documents.list(other).documents] == [None]
    with pytest.raises(InvalidInputError, match="requires an agent"):
        mnemic.ingest(Scope(user="anna"), papers, is_private=True)


def test_a_file_that_holds_a_secret_is_refused_or_kept_without_it(parts: Engine, papers: Path):
    mnemic = Mnemic(reading(parts, detector=open_detector("rules")), actor="tester")
    put(papers, {"plan.txt": PLAN})
    (report,) = mnemic.ingest(ANNA, papers / "plan.txt").files
    assert report.outcome is Outcome.FAILED
    assert report.reason.startswith("it contains a secret (password) in line 3; remove it")
    assert mnemic.documents.text(ANNA, report.source) == ""
    (report,) = mnemic.ingest(ANNA, papers / "plan.txt", secrets="redact").files
    assert (report.outcome, report.reason) == (Outcome.ADDED, "secrets were replaced: password")
    text = mnemic.documents.text(ANNA, report.source)
    assert "hunter2" not in text
    assert "[REDACTED: password]" in text
    assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks(mnemic, "plan.txt"))
    assert [entry.reason for entry in mnemic.history(ANNA, report.document_id or "")] == [
        "secrets were replaced: password"
    ]


def test_headings_and_pages_move_with_what_was_taken_out_before_them(parts: Engine, papers: Path):
    mnemic = Mnemic(reading(parts, detector=open_detector("rules")), actor="tester")
    put(papers, {"plan.md": f"{PLAN}\n\n# After it\n\nWords.\n"})
    mnemic.ingest(ANNA, papers / "plan.md", secrets="redact")
    text, document = mnemic.documents.text(ANNA, str(papers / "plan.md")), documents(mnemic)["plan.md"]
    assert text[document.headings[0].offset :].startswith("# After it")


def test_without_an_embedder_that_answers_documents_are_found_by_words_and_vectors_follow(
    make_parts: Callable[..., Engine], papers: Path, store: Store
):
    embedder = WordEmbedder(is_broken=True)
    mnemic = Mnemic(reading(make_parts(embedder)), actor="tester")
    report = mnemic.ingest(ANNA, papers)
    assert (report.counts, report.needs_vectors) == ({"added": 3}, True)
    assert mnemic.recall(ANNA, "smoked tea").hits
    embedder.is_broken = False
    mnemic.work()
    with store.read() as work:
        counts = work.partitions.count(ANNA.visibility.partitions)
    assert (counts["chunks"], counts["vectors"]) == (3, 3)


def test_vectors_of_many_small_files_are_made_once_each_and_stored_with_them(
    make_parts: Callable[..., Engine], papers: Path, clock: Clock, store: Store
):
    embedder = WordEmbedder()
    mnemic = Mnemic(reading(make_parts(embedder)), actor="tester")
    put(papers, {f"n{n}.txt": f"Number {n} is a number." for n in range(70)})
    report = mnemic.ingest(ANNA, papers)
    assert (report.counts, report.needs_vectors, report.at) == ({"added": 73}, False, clock.now())
    assert len(embedder.calls) == 73
    with store.read() as work:
        assert work.partitions.count(ANNA.visibility.partitions)["vectors"] == 73


def test_documents_are_listed_in_pages_by_status_and_by_folder(mnemic: Mnemic, papers: Path):
    put(papers, {"broken.pdf": b"%PDF-"})
    mnemic.ingest(ANNA, papers, source="p")
    first = mnemic.documents.list(ANNA, limit=2)
    rest = mnemic.documents.list(ANNA, limit=2, after=first.after)
    assert [each.source for each in (*first.documents, *rest.documents)] == [
        "p/broken.pdf",
        "p/deep/code.py",
        "p/note.txt",
        "p/tea.md",
    ]
    assert rest.after is None
    assert [each.source for each in mnemic.documents.list(ANNA, statuses=["failed"]).documents] == ["p/broken.pdf"]
    assert [each.source for each in mnemic.documents.list(ANNA, under="p/deep/").documents] == ["p/deep/code.py"]
    assert mnemic.documents.list(ANNA, levels=["org"]).documents == ()
    for wrong in ({"limit": 0}, {"statuses": ["erased"]}, {"statuses": ["lost"]}, {"levels": ["moon"]}):
        with pytest.raises(InvalidInputError):
            mnemic.documents.list(ANNA, **wrong)  # pyright: ignore[reportArgumentType] -- wrong on purpose
    with pytest.raises(NotFoundError):
        mnemic.documents.list(ANNA, after="nothing")


def test_a_deleted_document_is_gone_with_all_it_had_and_may_come_again(mnemic: Mnemic, papers: Path, store: Store):
    mnemic.ingest(ANNA, papers / "tea.md")
    document, passage = documents(mnemic)["tea.md"], chunks(mnemic, "tea.md")[0]
    with pytest.raises(NotFoundError):
        mnemic.documents.delete(BERT, document.id)
    receipt = mnemic.documents.delete(ANNA, document.source, reason="wrong file")
    assert receipt.counts == {"documents": 1, "history": 1, "chunks": 1}
    for verb in (mnemic.documents.get, mnemic.documents.text, mnemic.documents.passages, mnemic.documents.delete):
        with pytest.raises(NotFoundError):
            verb(ANNA, document.id)
    with store.read() as work:
        assert work.documents.chunks(ANNA.visibility, [passage.id]) == []
    assert mnemic.recall(ANNA, "smoked tea").hits == ()
    last = mnemic.history(ANNA, document.id)[-1]
    assert (last.action.value, last.reason, last.after) == ("deleted", "wrong file", {})
    assert outcomes(mnemic.ingest(ANNA, papers / "tea.md")) == {"tea.md": "added"}
    assert documents(mnemic)["tea.md"].id != document.id


def test_a_mnemic_without_files_or_readers_says_so(parts: Engine, papers: Path):
    bare = Mnemic(parts, actor="tester")
    with pytest.raises(ConfigError, match="cannot read files"):
        bare.ingest(ANNA, papers)
    assert [file.reason for file in bare.ingest(ANNA, b"words", name="a.txt").files] == [
        "this Mnemic instance has no file readers"
    ]


def test_arguments_that_cannot_be_are_refused_and_nothing_is_stored(mnemic: Mnemic, papers: Path):
    for wrong in (
        {"level": "moon"},
        {"chunking": "slices"},
        {"secrets": "keep"},
        {"is_dry_run": "yes"},
        {"config": (160, 40)},
        {"sources": "x"},
        {"source": " "},
    ):
        with pytest.raises(InvalidInputError):
            mnemic.ingest(ANNA, papers, **wrong)  # pyright: ignore[reportArgumentType] -- wrong on purpose
    for content in (papers / "nothing", 7, "a\0b"):
        with pytest.raises(InvalidInputError):
            mnemic.ingest(ANNA, content)  # pyright: ignore[reportArgumentType] -- wrong on purpose
    assert documents(mnemic) == {}
