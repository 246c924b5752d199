"""The public surface changes only on purpose: `make surface` writes it down, and the diff is reviewed."""

from __future__ import annotations

from scripts import public_surface


def test_the_public_surface_is_the_one_written_down():
    kept = public_surface.KEPT.read_text(encoding="utf-8")
    assert public_surface.surface() == kept, "meant? then: make surface"
