"""What every door must do alike, the part of files: taken in, looked at, removed. The files are in `papers`."""

from __future__ import annotations

from pathlib import Path

from mnemic.errors import InvalidInputError, NotFoundError
from tests.doors.scenarios import ANA, BORIS, OTHER_ORG, Ref, Scenario, Step

PAPERS = str(Path(__file__).with_name("papers"))
PLAN = b"---\ntitle: Plan\nauthor: Boris\nversion: 3\n---\n# Plan\n\nAna drinks coffee.\n"
DRINKS = {"topic": "drinks", "version": 2}
TEA = b"# Tea\n\nAna drinks smoked tea.\n"

DOCUMENTS = (
    Scenario(
        "a folder is planned, taken in, left alone, and found",
        (
            Step(
                "ingest",
                {"content": PAPERS, "source": "papers", "is_dry_run": True},
                expect={"counts": {"added": 3, "skipped": 1}, "is_dry_run": True, "chunks": 0},
            ),
            Step("documents.list", expect={"documents": []}),
            Step(
                "ingest",
                {"content": PAPERS, "source": "papers"},
                expect={
                    "counts": {"added": 2, "failed": 1, "skipped": 1},
                    "chunks": 2,
                    "files.0.source": "papers/.hidden.md",
                    "files.0.outcome": "skipped",
                    "files.0.reason": "it is hidden",
                    "files.1.outcome": "failed",
                    "files.3.source": "papers/tea.md",
                    "why_nothing": "",
                },
                save="report",
            ),
            Step(
                "ingest",
                {"content": PAPERS, "source": "papers"},
                expect={"counts": {"unchanged": 2, "failed": 1, "skipped": 1}, "files.2.outcome": "unchanged"},
            ),
            Step("recall", {"query": "smoked tea"}, expect={"hits.0.item.source": "papers/tea.md"}),
            Step("recall", {"query": "smoked tea"}, scope=BORIS, expect={"hits": []}),
        ),
    ),
    Scenario(
        "documents are listed, shown and removed, and nobody else's are found",
        (
            Step("ingest", {"content": PAPERS, "source": "papers"}, save="report"),
            Step(
                "documents.list",
                {"statuses": ["ready"], "limit": 1},
                expect={"documents.0.source": "papers/deep/note.txt", "after": Ref("report", "files.2.document_id")},
                save="page",
            ),
            Step(
                "documents.list",
                {"statuses": ["ready"], "after": Ref("page", "after")},
                expect={"documents.#": 1, "documents.0.source": "papers/tea.md", "after": None},
            ),
            Step("documents.list", {"under": "papers/deep/"}, expect={"documents.#": 1}),
            Step("documents.list", {"levels": ["org"]}, expect={"documents.#": 0}),
            Step(
                "documents.get",
                {"id": "papers/tea.md"},
                expect={"title": "Tea", "status": "ready", "level": "user", "owner": "ana", "chunks": 1},
                save="tea",
            ),
            Step("documents.text", {"id": Ref("tea")}, expect={"#": 55}),
            Step(
                "documents.passages",
                {"id": Ref("tea"), "first": 0, "count": 5},
                expect={"#": 1, "0.headings": ["Tea"], "0.start": 0, "0.document_id": Ref("tea")},
            ),
            Step("documents.get", {"id": Ref("tea")}, scope=BORIS, fails=NotFoundError),
            Step("documents.get", {"id": Ref("tea")}, scope=OTHER_ORG, fails=NotFoundError),
            Step("documents.delete", {"id": Ref("tea")}, scope=BORIS, fails=NotFoundError),
            Step(
                "documents.delete",
                {"id": "papers/tea.md", "reason": "old"},
                expect={"counts.documents": 1, "counts.chunks": 1},
            ),
            Step("documents.get", {"id": Ref("tea")}, fails=NotFoundError),
            Step("history", {"id": Ref("tea")}, expect={"1.action": "deleted", "1.reason": "old"}),
        ),
    ),
    Scenario(
        "one document is researched: without a model by its best passages, and nobody else's",
        (
            Step("ingest", {"content": TEA, "name": "tea.md", "source": "tea"}, save="report"),
            Step(
                "research",
                {"document": "tea", "question": "Which tea does Ana drink?"},
                expect={
                    "is_extractive": True,
                    "document_id": Ref("report", "files.0.document_id"),
                    "citations.#": 1,
                    "citations.0.number": 1,
                    "citations.0.quotes.0.start": 0,
                    "citations.0.quotes.0.end": 29,
                    "degraded": ["model: no language model is configured"],
                    "usage.calls": 0,
                },
            ),
            Step("research", {"document": "tea", "question": "Which tea?"}, scope=BORIS, fails=NotFoundError),
            Step("research", {"document": "no such", "question": "Which tea?"}, fails=NotFoundError),
            Step("research", {"document": "tea", "question": " "}, fails=InvalidInputError),
        ),
    ),
    Scenario(
        "knowledge of the org is found by its metadata, by every user and agent",
        (
            Step("ingest", {"content": PLAN, "name": "p.md", "source": "x" * 255, "level": "org", "metadata": DRINKS}),
            Step("remember", {"text": "Coffee costs two euros", "level": "org", "source": "menu", "metadata": DRINKS}),
            Step("remember", {"text": "Coffee is served until noon", "level": "org", "metadata": {"topic": "hours"}}),
            Step(
                "recall",
                {"query": "coffee", "filter": {"metadata": DRINKS}, "kinds": ["document"]},
                scope=BORIS,
                expect={
                    "hits.#": 1,
                    "hits.0.item.level": "org",
                    "hits.0.item.source": "x" * 255,
                    "hits.0.item.index": 0,
                    "hits.0.item.metadata.topic": "drinks",
                },
            ),
            Step("recall", {"query": "coffee", "filter": {"metadata": DRINKS}}, scope=BORIS, expect={"hits.#": 2}),
            Step(
                "list",
                {"filter": {"metadata.topic": "drinks"}},
                scope=BORIS,
                expect={"memories.#": 1, "memories.0.source": "menu", "memories.0.metadata": DRINKS},
            ),
        ),
    ),
    Scenario(
        "documents are found by their metadata, the caller's and the file's",
        (
            Step("ingest", {"content": PLAN, "name": "plan.md", "source": "plan", "metadata": {"team": "core"}}),
            Step("ingest", {"content": TEA, "name": "tea.md", "source": "tea", "metadata": {"team": "kitchen"}}),
            Step(
                "recall",
                {"query": "what does Ana drink?", "filter": {"metadata.team": "core"}},
                expect={"hits.#": 1, "hits.0.item.source": "plan", "hits.0.quote.text": "Ana drinks coffee."},
            ),
            Step(
                "recall",
                {"query": "what does Ana drink?", "filter": {"metadata.about.author": "Boris"}},
                expect={"hits.#": 1, "hits.0.item.source": "plan"},
            ),
            Step(
                "recall",
                {"query": "what does Ana drink?", "filter": {"metadata.about.version": {"gte": 3}}},
                expect={"hits.#": 1, "hits.0.item.metadata.team": "core", "hits.0.item.metadata.about.version": 3},
            ),
            Step("recall", {"query": "tea", "filter": {"source": "tea"}}, expect={"hits.0.item.source": "tea"}),
            Step("ingest", {"content": TEA, "name": "tea.md", "source": "tea"}, expect={"counts": {"unchanged": 1}}),
            Step(
                "ingest",
                {"content": TEA, "name": "tea.md", "source": "tea", "metadata": {"team": "core"}},
                expect={"counts": {"replaced": 1}},
            ),
            Step("documents.get", {"id": "tea"}, expect={"metadata.team": "core"}),
            Step(
                "ingest",
                {"content": TEA, "name": "x.md", "metadata": {"about": {"author": "me"}}},
                fails=InvalidInputError,
            ),
        ),
    ),
    Scenario(
        "bytes are taken in under a name, for the whole org when that is said",
        (
            Step(
                "ingest",
                {"content": TEA, "name": "tea.md", "source": "upload 7", "level": "org"},
                expect={"counts": {"added": 1}, "files.0.source": "upload 7"},
            ),
            Step("documents.get", {"id": "upload 7"}, scope=BORIS, expect={"level": "org", "title": "Tea"}),
            Step("documents.get", {"id": "upload 7"}, scope=OTHER_ORG, fails=NotFoundError),
            Step("ingest", {"content": TEA}, scope=ANA, fails=InvalidInputError),
            Step("ingest", {"content": "no/such/path"}, fails=InvalidInputError),
        ),
    ),
)
