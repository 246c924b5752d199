"""What every door must do alike: the graph."""

from __future__ import annotations

from mnemic.errors import ConflictError, InvalidInputError, NotFoundError
from tests.doors.scenarios import BORIS, OTHER_ORG, Ref, Scenario, Step

X_DEPENDS = Step("remember", {"text": "Project X depends on the Billing Service."}, save="first")
Y_GOVERNS = Step("remember", {"text": "The Billing Service is governed by Policy Y."}, save="second")
TWO_FACTS = "How does Project X relate to Policy Y?"

GRAPH = (
    Scenario(
        "a graph is read, listed and walked, and every step says which words say so",
        (
            X_DEPENDS,
            Y_GOVERNS,
            Step("graph.entities", expect={"nodes": [], "next": None}),
            Step("graph.extract", {"is_dry_run": True}, expect={"items": 2, "relations": 2, "is_dry_run": True}),
            Step("graph.entities", expect={"nodes.#": 0}),
            Step("graph.extract", expect={"items": 2, "mentions": 4, "relations": 2, "is_finished": True}),
            Step("graph.extract", expect={"items": 0}),
            Step(
                "graph.entities",
                {"limit": 2},
                expect={"nodes.#": 2, "nodes.0.name": "Billing Service", "nodes.0.mentions": 2, "next": "policy y"},
                save="page",
            ),
            Step("graph.entities", {"after": Ref("page", "next")}, expect={"nodes.#": 1, "nodes.0.type": "project"}),
            Step("graph.entities", {"query": "billing", "types": ["technology"]}, expect={"nodes.#": 1}),
            Step("graph.entities", {"query": "billing", "types": ["person"]}, expect={"nodes.#": 0}),
            Step(
                "graph.neighbours",
                {"name": "billing service"},
                expect={"start.name": "Billing Service", "nodes.#": 2, "edges.#": 2, "is_cut": False},
            ),
            Step("graph.neighbours", {"name": "Project X", "depth": 2, "types": ["DEPENDS_ON"]}, expect={"nodes.#": 1}),
            Step(
                "graph.overview",
                {"limit": 2},
                expect={"nodes.#": 2, "nodes.0.name": "Billing Service", "edges.#": 1, "is_cut": True},
            ),
            Step(
                "graph.path",
                {"source": "project x", "target": "Policy Y"},
                expect={
                    "nodes.#": 3,
                    "nodes.1.name": "Billing Service",
                    "edges.0.type": "DEPENDS_ON",
                    "edges.0.citations.0.item_id": Ref("first"),
                    "edges.0.citations.0.text": "Project X depends on the Billing Service",
                    "edges.1.type": "GOVERNED_BY",
                    "edges.1.citations.0.item_id": Ref("second"),
                },
            ),
            Step("graph.path", {"source": "project x", "target": "Policy Y", "max_hops": 1}, expect={"nodes": []}),
        ),
    ),
    Scenario(
        "a statement made three times is one edge that weighs one, and another wording adds one",
        (
            *(
                Step("capture", {"user": "Project X depends on the Billing Service.", "assistant": f"Noted {n}."})
                for n in range(3)
            ),
            X_DEPENDS,
            Step("graph.extract", expect={"is_finished": True}),
            Step("graph.neighbours", {"name": "Project X"}, expect={"edges.#": 1, "edges.0.weight": 1.0}),
            Step("remember", {"text": "Project X still depends on the Billing Service because of invoices."}),
            Step("graph.extract", expect={"items": 1}),
            Step(
                "graph.neighbours",
                {"name": "Project X"},
                expect={"edges.#": 1, "edges.0.weight": 2.0, "edges.0.type": "DEPENDS_ON"},
            ),
        ),
    ),
    Scenario(
        "a question that joins two facts is answered with both and the way between them",
        (
            X_DEPENDS,
            Y_GOVERNS,
            Step("recall", {"query": TWO_FACTS, "hops": 2}, expect={"paths": []}),
            Step("graph.extract", expect={"items": 2}),
            Step(
                "recall",
                {"query": TWO_FACTS, "hops": 2},
                expect={
                    "hits.#": 2,
                    "paths.#": 1,
                    "paths.0.nodes.1.name": "Billing Service",
                    "paths.0.edges.0.citations.0.item_id": Ref("first"),
                    "paths.0.edges.1.citations.0.item_id": Ref("second"),
                    "paths.0.edges.1.citations.0.text": "Billing Service is governed by Policy Y",
                },
            ),
            Step("recall", {"query": TWO_FACTS}, expect={"paths": []}),
            Step("recall", {"query": TWO_FACTS, "hops": 2}, scope=BORIS, expect={"hits": [], "paths": []}),
            Step("delete", {"id": Ref("second")}),
            Step("recall", {"query": TWO_FACTS, "hops": 2}, expect={"hits.#": 1, "paths.0.nodes.#": 2}),
        ),
    ),
    Scenario(
        "nobody else's graph is found, and what is deleted leaves it at once",
        (
            X_DEPENDS,
            Y_GOVERNS,
            Step("graph.extract", expect={"items": 2}),
            Step("graph.entities", scope=BORIS, expect={"nodes": []}),
            Step("graph.neighbours", {"name": "Policy Y"}, scope=BORIS, fails=NotFoundError),
            Step("graph.path", {"source": "Project X", "target": "Policy Y"}, scope=OTHER_ORG, fails=NotFoundError),
            Step("delete", {"id": Ref("second")}),
            Step("graph.neighbours", {"name": "Policy Y"}, fails=NotFoundError),
            Step("graph.neighbours", {"name": "Billing Service"}, expect={"nodes.#": 1}),
            Step("erase", expect={"counts.entities": 2}),
            Step("graph.entities", expect={"nodes": []}),
        ),
    ),
    Scenario(
        "what cannot be asked is refused",
        (
            X_DEPENDS,
            Step("graph.extract"),
            Step("graph.entities", {"types": ["planet"]}, fails=InvalidInputError),
            Step("graph.entities", {"limit": 0}, fails=InvalidInputError),
            Step("graph.neighbours", {"name": "Project X", "depth": 9}, fails=InvalidInputError),
            Step("graph.path", {"source": "Project X", "target": "Nobody"}, fails=NotFoundError),
            Step("graph.path", {"source": "Project X", "target": "X", "max_hops": 99}, fails=InvalidInputError),
            Step("graph.extract", {"levels": ["planet"]}, fails=InvalidInputError),
            Step("graph.extract", {"limit": 0}, fails=InvalidInputError),
            Step("recall", {"query": TWO_FACTS, "hops": 5}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "names of one person are merged, and a later message belongs to the merged one",
        (
            Step("remember", {"text": "John works at Acme."}),
            Step("remember", {"text": "John Smith lives in Paris."}),
            Step("graph.extract", expect={"items": 2}),
            Step(
                "graph.correct",
                {"name": "John", "merge_into": "John Smith", "reason": "they are one"},
                expect={"name": "John Smith", "type": "person", "other_names": ["John"], "mentions": 2},
            ),
            Step("remember", {"text": "John uses Redis."}),
            Step("graph.extract", expect={"items": 1}),
            Step("graph.neighbours", {"name": "john"}, expect={"start.name": "John Smith", "nodes.#": 3}),
            Step("graph.correct", {"name": "John Smith", "merge_into": "John"}, fails=ConflictError),
            Step("graph.correct", {"name": "John", "merge_into": "Paris"}, fails=ConflictError),
            Step("graph.neighbours", {"name": "John"}, scope=BORIS, fails=NotFoundError),
            Step("erase", expect={"counts.history": 4}),
            Step("history", {"id": "graph"}, fails=NotFoundError),
        ),
    ),
    Scenario(
        "an entity is renamed, retyped and removed, and the history says so",
        (
            X_DEPENDS,
            Step("graph.extract"),
            Step(
                "graph.correct",
                {"name": "Billing Service", "rename": "<b>Ledger</b>", "type": "organisation"},
                expect={"name": "<b>Ledger</b>", "type": "organisation", "other_names.0": "Billing Service"},
            ),
            Step("graph.entities", {"query": "ledger", "types": ["organisation"]}, expect={"nodes.#": 1}),
            Step(
                "graph.correct",
                {"name": "Project X", "relation": "depends_on", "target": "Billing Service", "is_removed": True},
                expect={"name": "Project X"},
            ),
            Step("graph.neighbours", {"name": "Project X"}, expect={"nodes": [], "edges": []}),
            Step("graph.correct", {"name": "Project X", "is_removed": True}, expect={"name": "Project X"}),
            Step("remember", {"text": "Project X depends on Redis."}),
            Step("graph.extract", expect={"items": 1}),
            Step("graph.neighbours", {"name": "Project X"}, fails=NotFoundError),
            Step("graph.entities", expect={"nodes.#": 2, "nodes.0.name": "<b>Ledger</b>", "nodes.1.name": "Redis"}),
            Step(
                "history",
                {"id": "graph"},
                expect={
                    "#": 3,
                    "0.action": "updated",
                    "0.before.name": "Billing Service",
                    "0.before.type": "technology",
                    "0.after.type": "organisation",
                    "2.action": "deleted",
                },
            ),
        ),
    ),
    Scenario(
        "a correction is undone, and the one before it",
        (
            X_DEPENDS,
            Step("graph.extract"),
            Step("graph.correct", {"name": "Project X", "rename": "Xylo"}),
            Step("graph.correct", {"name": "Xylo", "is_removed": True}),
            Step("graph.undo", {"name": "project x"}, expect={"#": 1, "0.name": "Xylo"}),
            Step("graph.undo", {"name": "Xylo"}, expect={"#": 1, "0.name": "Project X"}),
            Step("graph.undo", {"name": "Project X"}, fails=ConflictError),
            Step("graph.undo", {"name": "Xylo"}, scope=BORIS, fails=ConflictError),
        ),
    ),
    Scenario(
        "a correction that says nothing, or two things at once, is refused",
        (
            X_DEPENDS,
            Step("graph.extract"),
            Step("graph.correct", {"name": "Project X"}, fails=InvalidInputError),
            Step("graph.correct", {"name": "Nobody", "is_removed": True}, fails=NotFoundError),
            Step("graph.correct", {"name": "Project X", "type": "planet"}, fails=InvalidInputError),
            Step("graph.correct", {"name": "Project X", "rename": "?!"}, fails=InvalidInputError),
            Step("graph.correct", {"name": "Project X", "rename": "Y", "is_removed": True}, fails=InvalidInputError),
            Step("graph.correct", {"name": "Project X", "rename": "Billing Service"}, fails=ConflictError),
            Step(
                "graph.correct", {"name": "Project X", "relation": "USES", "is_removed": True}, fails=InvalidInputError
            ),
            Step(
                "graph.correct",
                {"name": "Project X", "relation": "USES", "target": "Billing Service", "is_removed": True},
                fails=NotFoundError,
            ),
        ),
    ),
)
