"""`mnemic eval extraction`: what is run, what is written down, and what the scores say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemic.cli import main
from mnemic.errors import InvalidInputError
from mnemic.evaluation.dataset import CorpusRow, read_json_lines
from mnemic.evaluation.extraction import ExtractionOptions, Produced, run_extraction, write_produced
from mnemic.evaluation.extraction_score import GoldMemory, load_gold, score_extraction
from mnemic.evaluation.extraction_words import USER, bag, main_name, stem

CORPUS = [
    CorpusRow(id="c1", group="mia", session="s1", role="user", text="I live in Porto.", time="2026-01-01T10:00"),
    CorpusRow(id="c2", group="mia", session="s1", role="assistant", text="You love Rome.", time="2026-01-01T10:01"),
    CorpusRow(id="c3", group="mia", session="s2", role="user", text="I moved to Lisbon.", time="2026-03-01T10:00"),
    CorpusRow(id="c4", group="ben", session="s3", role="user", text="I have two parrots.", time="2026-03-01T10:00"),
]


def gold(number: int, text: str, **fields: Any) -> GoldMemory:
    return GoldMemory(id=f"g{number}", group="mia", session="s1", text=text, **fields)


def made(text: str, **fields: Any) -> Produced:
    return Produced(group="mia", session="s1", text=text, **fields)


class TestRun:
    def test_every_group_is_a_user_and_what_was_replaced_is_told(self):
        produced = run_extraction(CORPUS, ExtractionOptions(embedder="none"))
        rows = [(row.group, row.session, row.text, row.source_ids) for row in produced]
        assert rows == [
            ("mia", "s1", "User lives in Porto", ("c1",)),
            ("mia", "s2", "User moved to Lisbon", ("c3",)),
            ("ben", "s3", "User has two parrots", ("c4",)),
        ]
        assert [row.supersedes for row in produced] == [(), (produced[0].id,), ()]

    @pytest.mark.parametrize("name", ["made.jsonl", "made.jsonl.gz"])
    def test_a_file_of_what_was_made_is_read_as_it_was_written(self, tmp_path: Path, name: str):
        rows = [
            made("User lives in Porto", id="a", supersedes=("b",), source_ids=("c1",)),
            made("用户养猫", kind="fact"),
        ]
        write_produced(tmp_path / name, rows)
        written = [(row["text"], row.get("source_ids")) for _, row in read_json_lines(tmp_path / name)]
        assert written == [(row.text, list(row.source_ids) or None) for row in rows]

    @pytest.mark.requirement("P-31")
    @pytest.mark.parametrize("is_json", [True, False])
    def test_the_command_prints_the_scores(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_json: bool):
        fields = ("id", "group", "session", "role", "text", "time")
        lines = [json.dumps({name: getattr(row, name) for name in fields}) for row in CORPUS]
        (tmp_path / "corpus").write_text("\n".join(lines), encoding="utf-8")
        memory = {"id": "g1", "group": "mia", "session": "s1", "text": "User lives in Porto", "type": "home"}
        (tmp_path / "memories").write_text(json.dumps(memory), encoding="utf-8")
        files = ["--corpus", str(tmp_path / "corpus"), "--memories", str(tmp_path / "memories")]
        more = ["--json"] if is_json else []
        code = main(["eval", "extraction", *files, "--embedder", "none", "--produced", str(tmp_path / "p"), *more])
        out = capsys.readouterr().out
        assert code == 0
        assert len(list(read_json_lines(tmp_path / "p"))) == 3
        if is_json:
            assert json.loads(out)["recall"] == {"part": 1, "whole": 1}
        else:
            assert "recall                      1.000  (1 of 1)" in out
            assert "recall of home" in out


class TestScores:
    def test_a_memory_is_matched_once_and_its_second_match_is_a_duplicate(self):
        rows = [made("User lives in Porto"), made("User lives in old Porto"), made("User likes jazz")]
        report = score_extraction([gold(1, "User lives in Porto"), gold(2, "User has a cat")], rows)
        assert (report.recall.part, report.recall.whole) == (1, 2)
        assert report.precision.ratio == pytest.approx(1 / 3)
        assert report.lenient.part == 2
        assert report.duplicates.part == 1
        assert report.f1 == pytest.approx(0.4)

    def test_what_is_nearer_to_a_trap_matches_only_the_trap(self):
        memories = [gold(1, "User moved to Porto in May"), gold(2, "User moved to Rome in May", source="interference")]
        report = score_extraction(memories, [made("User moved to Rome in May")])
        assert report.recall.part == 0
        assert (report.interference.part, report.interference.whole, report.interference_rows) == (1, 1, 1)

    def test_a_trap_in_the_very_words_of_a_true_memory_is_left_out(self):
        memories = [gold(1, "User moved to Porto"), gold(2, "The user moved to Porto", source="interference")]
        assert score_extraction(memories, [made("User moved to Porto")]).interference.whole == 0

    def test_junk_is_told_by_its_reason(self):
        rows = [made("Hello!"), made("Thanks a million"), made("Do I like tea?"), made("Volcanoes erupt in Iceland")]
        report = score_extraction([gold(1, "User lives in Porto")], rows, CORPUS)
        assert report.junk == {"empty": 1, "thanks": 1, "question": 1, "ungrounded": 1}

    def test_an_update_is_right_when_it_names_what_it_replaces(self):
        memories = [
            gold(1, "User lives in Porto"),
            gold(2, "User lives in Lisbon now", replaces=(("User lives in Porto", None),)),
            gold(3, "User drives a red car", replaces=(("User drives a bike", None),)),
        ]
        rows = [
            made("User lives in Porto", id="a"),
            made("User lives in Lisbon now", id="b", supersedes=("a",)),
            made("User drives a red car", id="c", supersedes=("a",)),
        ]
        report = score_extraction(memories, rows)
        assert (report.updates.found, report.updates.marked) == (2, 2)
        assert (report.updates.right.part, report.updates.right.whole) == (1, 2)
        assert (report.reachable.right.part, report.reachable.right.whole) == (1, 1)

    def test_nothing_produced_scores_nothing(self):
        report = score_extraction([gold(1, "User lives in Porto")], [])
        assert (report.recall.ratio, report.precision.ratio, report.f1) == (0.0, None, 0.0)

    def test_gold_without_an_id_is_refused_with_its_line(self, tmp_path: Path):
        (tmp_path / "memories").write_text('{"group": "mia", "text": "x"}', encoding="utf-8")
        with pytest.raises(InvalidInputError, match="line 1"):
            load_gold(tmp_path / "memories")


class TestWords:
    def test_every_name_of_the_user_is_one_token(self):
        name = main_name(["Ola Berg likes tea", "Ola Berg has a cat"])
        assert name == ("Ola", "Berg")
        bags = {
            bag(text, name) for text in ("Ola Berg likes tea", "I like tea", "The user likes the tea", "Ola likes tea")
        }
        assert bags == {frozenset({USER, "like", "tea"})}

    def test_numbers_and_negations_are_kept(self):
        assert bag("It isn't 1,000 but 3.5") == {"not", "1000", "3.5"}

    @pytest.mark.parametrize(
        "word, stemmed",
        [
            ("is", "is"),
            ("possibly", "possibl"),
            ("technology", "technolog"),
            ("technologies", "technolog"),
            ("caresses", "caress"),
        ],
    )
    def test_stems_are_those_of_porters_own_program(self, word: str, stemmed: str):
        assert stem(word) == stemmed
