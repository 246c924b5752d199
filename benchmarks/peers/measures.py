"""Measures one project. Each function starts its own processes and returns the numbers in a plain dict."""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.installing import Environment
from benchmarks.peers.process import OFFLINE, DiedError, Running
from mnemic.evaluation.dataset import Dataset, Ranking, percentile, score_run
from mnemic.evaluation.speed import GeneratedTexts

ANN, BOB = "ann", "bob"
HITS = 10
BATCH = 256
QUESTIONS, BOB_QUESTIONS, WARM_UP, SINGLES, FRESH, STARTS = 100, 20, 5, 50, 50, 5
INGEST_LIMIT_S = 900.0
KILL_ROUNDS, KILL_TEXTS, KILL_AFTER_ADDS = 20, 400, (3, 25)
WRITER_TEXTS = 100
FEATURE_TEXTS = 1_000
RARE_WORD = "QZX-48213"
RARE_TEXT = f"After the meeting about the summer party somebody closed {RARE_WORD}, and all went home."
KILL_VECTORS, SET_VECTORS = "kill", "set"
LARGE = 100_000
_IMPORTS = {
    "mnemic": "from mnemic import Mnemic",
    "fts5": "import sqlite3",
    "chroma": "import chromadb",
    "mem0": "import mem0",
    "langgraph_sqlite": "import langgraph.store.sqlite",
    "langgraph_memory": "import langgraph.store.memory",
    "mcp_memory": "import mcp_memory_service.storage.sqlite_vec",
    "mempalace": "import mempalace.palace, mempalace.searcher",
}
Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Subject:
    """A peer with its environment, a scratch folder, and the folder of all vectors made before."""

    name: str
    environment: Environment
    scratch: Path
    vectors: Path

    def running(self, folder: str, vectors: str | None) -> Running:
        """A worker on one of its stores, with the vectors of a folder of that name or with the model alone."""
        return Running(self.name, self.environment, self.scratch / folder, self.vectors / vectors if vectors else None)


class Corpus:
    """The texts and questions of all runs, from one seed; no two texts are alike."""

    def __init__(self, sizes: Sequence[int]) -> None:
        generated = GeneratedTexts(seed=20)
        self.kill = list(generated.texts(KILL_ROUNDS * KILL_TEXTS))
        self.writers = [list(generated.texts(WRITER_TEXTS)) for _ in range(2)]
        self.singles = list(generated.texts(SINGLES))
        self.questions = generated.questions(QUESTIONS + BOB_QUESTIONS + WARM_UP)
        self.bob = list(generated.texts(LARGE // 10))
        self.ann = list(generated.texts(max(sizes)))
        self.sizes = sizes
        fresh = GeneratedTexts(seed=21)
        self.fresh_singles, self.fresh_questions = list(fresh.texts(FRESH)), fresh.questions(FRESH)

    def many(self) -> dict[str, list[str]]:
        """The texts whose vectors are made before, by folder: all but the fresh ones."""
        few = self.singles + self.questions
        folders = {speed_vectors(size): [*self.ann[:size], *self.bob[: size // 10], *few] for size in self.sizes}
        return {KILL_VECTORS: [*self.kill, *self.writers[0], *self.writers[1]], **folders}


def speed_vectors(size: int) -> str:
    """The folder of the vectors of one size."""
    return f"speed-{size}"


def speed(subject: Subject, corpus: Corpus, size: int) -> Numbers:
    """Ingest, search and single adds of one user with `size` texts beside another with a tenth of that.

    What the memory itself takes is measured with vectors made before and no model in the process: threads of the model
    go on spinning for a while after it has answered, which would be counted as the memory's.
    """
    ann, bob, folder = corpus.ann[:size], corpus.bob[: size // 10], f"speed-{size}"
    numbers: Numbers = {"size": size, "load": os.getloadavg()[0]}
    with subject.running(folder, speed_vectors(size)) as worker:
        worker.hear()
        numbers |= _ingested(worker, [(BOB, bob), (ANN, ann)])
        if "too_slow" in numbers:
            return numbers
        for question in corpus.questions[-WARM_UP:]:
            worker.ask(do="search", user=ANN, query=question, k=HITS)
        found = [worker.ask(do="search", user=ANN, query=q, k=HITS) for q in corpus.questions[:QUESTIONS]]
        others = corpus.questions[QUESTIONS : QUESTIONS + BOB_QUESTIONS]
        foreign = [worker.ask(do="search", user=BOB, query=q, k=HITS) for q in others]
        added = [worker.ask(do="add", user=ANN, text=text) for text in corpus.singles]
        worker.ask(do="search", user=ANN, query="the first text without a vector loads the model", k=HITS)
        embedded = [worker.ask(do="search", user=ANN, query=q, k=HITS) for q in corpus.fresh_questions]
        embedded_adds = [worker.ask(do="add", user=ANN, text=text) for text in corpus.fresh_singles]
        worker.ask(do="close")
    of_ann, of_bob = {*ann}, {*bob}
    numbers["leaks"] = sum(text not in of_ann for answer in found for text in answer["texts"])
    numbers["leaks"] += sum(text not in of_bob for answer in foreign for text in answer["texts"])
    numbers["hits"] = [statistics.mean(len(a["texts"]) for a in answers) for answers in (found, foreign)]
    numbers["search"] = {"whole": _spread(embedded)["ms"], **_spread(found)}
    numbers["add"] = {"whole": _spread(embedded_adds)["ms"], **_spread(added)}
    files = [path for path in (subject.scratch / folder).rglob("*") if path.is_file()]
    numbers["disk"] = sum(path.stat().st_blocks * 512 for path in files)
    with subject.running(folder, None) as worker:
        numbers["open_ms"] = worker.hear()["open_ms"]
        worker.ask(do="search", user=ANN, query=others[0], k=HITS)
        numbers["rss"] = worker.ask(do="rss")["bytes"]
    return numbers


def imported(subject: Subject) -> Numbers:
    """Medians over new processes of the peer's import, without what starting Python takes: elapsed and processor."""
    subject.scratch.mkdir(parents=True, exist_ok=True)
    settings = {**os.environ, **OFFLINE, "HOME": str(subject.scratch)}

    def took(code: str) -> tuple[float, float]:
        start, before = time.perf_counter(), os.times()
        subprocess.run([subject.environment.python, "-c", code], check=True, capture_output=True, env=settings)
        after = os.times()
        spent = after.children_user - before.children_user + after.children_system - before.children_system
        return (time.perf_counter() - start) * 1e3, spent * 1e3

    def median(code: str) -> list[float]:
        return [statistics.median(times) for times in zip(*(took(code) for _ in range(STARTS)), strict=True)]

    took(_IMPORTS[subject.name])
    (elapsed, processor), (least, least_processor) = median(_IMPORTS[subject.name]), median("pass")
    return {"ms": elapsed - least, "cpu_ms": processor - least_processor}


def killed(subject: Subject, corpus: Corpus) -> Numbers:
    """SIGKILL at a random moment of adding, again and again on one store; what was acknowledged must be found after."""
    acknowledged = lost = unopened = 0
    seen: list[str] = []
    chance = random.Random(7)  # noqa: S311 -- moments, not secrets
    for number in range(KILL_ROUNDS + 1):
        with subject.running("killed", KILL_VECTORS) as worker:
            try:
                worker.hear()
                lost += sum(not _is_found(worker, text) for text in seen)
            except DiedError:
                unopened += 1
                break
            acknowledged, seen = acknowledged + len(seen), []
            if number < KILL_ROUNDS:
                seen = _added_until_killed(worker, corpus.kill[number * KILL_TEXTS :][:KILL_TEXTS], chance)
    return {"acknowledged": acknowledged, "lost": lost, "unopened": unopened, "rounds": KILL_ROUNDS}


def two_writers(subject: Subject, corpus: Corpus) -> Numbers:
    """Two processes open one store and add at the same time; a third looks for what was acknowledged."""
    acknowledged: list[list[str]] = [[], []]
    refusals: list[str] = []

    def write(worker: Running, place: int) -> None:
        try:
            worker.hear()
            for text in corpus.writers[place]:
                worker.ask(do="add", user=ANN, text=text)
                acknowledged[place].append(text)
        except DiedError as error:
            refusals.append(str(error))

    with subject.running("writers", KILL_VECTORS) as first:
        first.hear()
        first.ask(do="close")
    with subject.running("writers", KILL_VECTORS) as one, subject.running("writers", KILL_VECTORS) as other:
        threads = [threading.Thread(target=write, args=(w, i)) for i, w in enumerate((one, other))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with subject.running("writers", KILL_VECTORS) as reader:
        reader.hear()
        kept = [text for texts in acknowledged for text in texts]
        missing = sum(not _is_found(reader, text) for text in kept)
    return {"acknowledged": len(kept), "missing": missing, "refusals": refusals, "wanted": 2 * WRITER_TEXTS}


def features(subject: Subject, corpus: Corpus) -> Numbers:
    """Is a rare word found among a thousand texts by itself, and may two users keep the same text?"""
    numbers: Numbers = {}
    with subject.running("features", speed_vectors(min(corpus.sizes))) as worker:
        worker.hear()
        for place in range(0, FEATURE_TEXTS, BATCH):
            worker.ask(do="add_many", user=ANN, texts=corpus.ann[:FEATURE_TEXTS][place : place + BATCH])
        worker.ask(do="add", user=ANN, text=RARE_TEXT)
        found = worker.ask(do="search", user=ANN, query=RARE_WORD, k=HITS)["texts"]
        numbers["rare_word_rank"] = found.index(RARE_TEXT) + 1 if RARE_TEXT in found else None
        try:
            worker.ask(do="add", user=BOB, text=RARE_TEXT)
            numbers["same_text"] = "kept" if _is_found(worker, RARE_TEXT, BOB) else "not found"
        except DiedError as error:
            numbers["same_text"] = f"refused: {error}"
    return numbers


def retrieval(subject: Subject, dataset: Dataset) -> Numbers:
    """R@10 and its kin, each group of the set being a user and each row the text `speaker: text`."""
    ids: dict[tuple[str, str], list[str]] = {}
    for row in dataset.corpus:
        ids.setdefault((row.group, spoken(row.speaker, row.text)), []).append(row.id)
    rankings: list[Ranking] = []
    with subject.running("retrieval", SET_VECTORS) as worker:
        worker.hear()
        for group in dict.fromkeys(row.group for row in dataset.corpus):
            texts = [text for of, text in ids if of == group]
            for place in range(0, len(texts), BATCH):
                worker.ask(do="add_many", user=group, texts=texts[place : place + BATCH])
        for question in dataset.questions:
            answer = worker.ask(do="search", user=question.group, query=question.text, k=HITS)
            found = [i for text in answer["texts"] for i in ids.get((question.group, text), ["?"])]
            rankings.append(Ranking(question.id, found, answer["ms"]))
    report = score_run(dataset, rankings)
    return {"n": report.overall.n, "foreign": report.foreign_ids, **report.overall.metrics}


def spoken(speaker: str | None, text: str) -> str:
    """What a peer is given of a row."""
    return f"{speaker}: {text}" if speaker else text


def _ingested(worker: Running, users: list[tuple[str, list[str]]]) -> Numbers:
    """Rows per second without embedding, or that the limit was passed."""
    start, spent, processor = time.perf_counter(), 0.0, 0.0
    for user, texts in users:
        for place in range(0, len(texts), BATCH):
            answer = worker.ask(do="add_many", user=user, texts=texts[place : place + BATCH])
            spent += answer["own_ms"] / 1e3
            processor += answer["own_cpu_ms"] / 1e3
            if time.perf_counter() - start > INGEST_LIMIT_S:
                return {"too_slow": True}
    return {"rows": sum(len(texts) for _, texts in users), "ingest_s": spent, "ingest_cpu_s": processor}


def _added_until_killed(worker: Running, texts: list[str], chance: random.Random) -> list[str]:
    """The texts acknowledged before the process was killed, at a random moment of the add after them."""
    seen: list[str] = []
    took = 0.0
    for text in texts[: chance.randint(*KILL_AFTER_ADDS)]:
        start = time.perf_counter()
        worker.ask(do="add", user=ANN, text=text)
        took = time.perf_counter() - start
        seen.append(text)
    worker.tell(do="add", user=ANN, text=texts[len(seen)])
    time.sleep(chance.random() * took)
    worker.stop()
    return seen


def _is_found(worker: Running, text: str, user: str = ANN) -> bool:
    return text in worker.ask(do="search", user=user, query=text, k=HITS)["texts"]


def _spread(answers: list[dict[str, Any]]) -> Numbers:
    """p50 and p95 in ms: in all, and of the processor outside the embedder."""
    return {
        name: [percentile([answer[name] for answer in answers], percent) for percent in (50, 95)]
        for name in ("ms", "own_cpu_ms")
    }
