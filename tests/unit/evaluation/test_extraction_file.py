"""An evaluation of extraction that is broken off goes on behind the last whole group, and only where it belongs."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import CorpusRow, read_json_lines
from mnemic.evaluation.extraction import ExtractionOptions, extract_by_group, run_extraction

PLAIN = ExtractionOptions(embedder="none")
CORPUS = [
    CorpusRow(id=f"{group}{n}", group=group, text=text, role="user", session="s", time=f"2026-03-0{n}")
    for group in ("ana", "boris", "cleo")
    for n, text in enumerate(("I moved to Porto last month.", "I work as a baker in town."), start=1)
]


class Watch:
    """A progress that notes the sessions that were done, and is interrupted at the end of the n-th."""

    def __init__(self, stops_at: int = 0) -> None:
        self.done: list[int] = []
        self._stops_at = stops_at

    def __call__(self, what: str, done: int, total: int) -> None:
        assert what == "extract"
        assert done <= total
        self.done.append(done)
        if len(self.done) == self._stops_at:
            raise KeyboardInterrupt


@pytest.mark.requirement("P-33")
def test_whole_groups_are_kept_and_the_rest_is_done_by_the_next_call(tmp_path: Path):
    path = tmp_path / "below" / "made.jsonl"
    with pytest.raises(KeyboardInterrupt):
        extract_by_group(CORPUS, PLAIN, path, Watch(3))
    assert not path.exists()
    with path.with_name(".made.jsonl.unfinished").open("a") as file:
        file.write('{"group": "cleo", "prod')  # cut off, as by a kill
    watch = Watch()
    produced = extract_by_group(CORPUS, PLAIN, path, watch)
    assert watch.done == [1]  # one session of the one group that was left
    assert sorted(each.text for each in produced) == sorted(each.text for each in run_extraction(CORPUS, PLAIN))
    assert {each.group for each in produced} == {"ana", "boris", "cleo"}
    assert [row["text"] for _, row in read_json_lines(path)] == [each.text for each in produced]
    assert [file.name for file in path.parent.iterdir()] == ["made.jsonl"]


@pytest.mark.requirement("P-33")
def test_another_corpus_begins_anew(tmp_path: Path):
    path = tmp_path / "made.jsonl"
    with pytest.raises(KeyboardInterrupt):
        extract_by_group(CORPUS, PLAIN, path, Watch(3))
    watch = Watch()
    extract_by_group(CORPUS[1:], PLAIN, path, watch)
    assert len(watch.done) == len({row.group for row in CORPUS})


def test_a_file_that_is_something_else_is_named(tmp_path: Path):
    (tmp_path / ".made.jsonl.unfinished").write_text("a letter\n", encoding="utf-8")
    with pytest.raises(InvalidInputError, match=r"made\.jsonl\.unfinished is not an unfinished evaluation"):
        extract_by_group(CORPUS, PLAIN, tmp_path / "made.jsonl")
