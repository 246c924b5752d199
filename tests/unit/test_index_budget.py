"""How much memory indexes may take where nobody says."""

from __future__ import annotations

from pathlib import Path

from mnemic.config.values import default_budget_mib


def test_indexes_may_take_an_eighth_of_what_a_container_may_use(tmp_path: Path):
    limit, none, strange = (tmp_path / name for name in ("limit", "none", "strange"))
    limit.write_text(f"{12 << 30}\n", encoding="ascii")
    none.write_text("max\n", encoding="ascii")
    strange.write_bytes(b"\xff")
    without = default_budget_mib([tmp_path / "nothing", none, strange])
    assert without == default_budget_mib([])
    assert default_budget_mib([none, limit]) == min(without, 12 * 1024 // 8)
    limit.write_text(f"{1 << 20}\n", encoding="ascii")
    assert default_budget_mib([limit]) == 1024
