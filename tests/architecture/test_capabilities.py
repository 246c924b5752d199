"""The six capabilities of a memory's life talk through events only: none reaches another by any chain of imports."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations

import grimp
import pytest

CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "failsafe of the window": (
        "mnemic.engine.window",
        "mnemic.adapters.windows.store",
        "mnemic.adapters.windows.redis",
    ),
    "summary buffer": ("mnemic.engine.summaries",),
    "consolidation": ("mnemic.engine.consolidate",),
    "profile": ("mnemic.engine.profile",),
    "decay and eviction": ("mnemic.engine.upkeep",),
    "reflection": ("mnemic.engine.reflect",),
}


@pytest.fixture(scope="module")
def imports() -> grimp.ImportGraph:
    return grimp.build_graph("mnemic", cache_dir=None)


def chains(imports: grimp.ImportGraph) -> list[tuple[str, ...]]:
    """Every shortest chain of imports from a module of one capability to a module of another."""
    pairs = [
        (importer, imported)
        for one, other in permutations(CAPABILITIES, 2)
        for importer in CAPABILITIES[one]
        for imported in CAPABILITIES[other]
    ]
    found = (imports.find_shortest_chain(importer=importer, imported=imported) for importer, imported in pairs)
    return [chain for chain in found if chain is not None]


@pytest.mark.requirement("D-01", "D-02")
def test_no_capability_reaches_another(imports: grimp.ImportGraph):
    assert {module for modules in CAPABILITIES.values() for module in modules} <= imports.modules
    assert chains(imports) == []


@pytest.mark.requirement("D-02")
def test_only_the_table_of_handlers_knows_who_answers_an_event(imports: grimp.ImportGraph):
    everyone = {module for modules in CAPABILITIES.values() for module in modules}
    publishers = imports.find_modules_that_directly_import("mnemic.engine.events") & everyone
    assert publishers == {"mnemic.engine.summaries"}
    assert "mnemic.engine.handlers" not in {
        name for module in everyone for name in imports.find_upstream_modules(module)
    }


def test_an_import_across_capabilities_is_found_however_long_its_way(imports: grimp.ImportGraph):
    imports.add_import(importer="mnemic.engine.digest", imported="mnemic.engine.summaries")
    try:
        assert ("mnemic.engine.reflect", "mnemic.engine.digest", "mnemic.engine.summaries") in chains(imports)
    finally:
        imports.remove_import(importer="mnemic.engine.digest", imported="mnemic.engine.summaries")
