"""Measures extraction with a strong model through files: writes the prompts of whole sessions, and reads its replies.

    python -m benchmarks.strong_extraction CORPUS OUT.jsonl --replies REPLIES.jsonl [--sessions A:B]
        [--most N] [--ask FILE]

Each message goes through the whole extraction. Its reply is found in REPLIES by the id of the message: one {"id",
"reply"} per line, with replies as JSON, as the prompt requests. A message without a reply produces no facts, and its
prompt is written to FILE. The memories are written to OUT, one per line, in the format of `mnemic eval extraction`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from mnemic.adapters.llms.registry import ScriptedLlm
from mnemic.adapters.observers.counters import CounterObserver
from mnemic.config import Config
from mnemic.engine.engine import Engine
from mnemic.evaluation import extraction
from mnemic.evaluation.dataset import CorpusRow, load_corpus
from mnemic.model.chat import Prompt

CONTEXT_TOKENS = 32_000


class ByFiles:
    """Answers each prompt from the replies; keeps the prompts that have none, and counts facts beyond the limit."""

    def __init__(self, rows: Sequence[CorpusRow], replies: Mapping[str, str], most: int) -> None:
        self._ids = {row.text.strip(): row.id for row in rows if row.role == "user"}
        self._replies, self._most = replies, most
        self.unanswered: list[tuple[str, str]] = []
        self.answered = self.beyond = 0

    def __call__(self, prompt: Prompt) -> str:
        """The reply to one prompt."""
        order, shown = (message.content for message in prompt.messages)
        _, marker, message = shown.partition("---BEGIN MESSAGE---\n")
        if not marker:
            return "none of this"  # whether two statements agree is left to the rules
        own = self._ids.get(message.removesuffix("\n---END MESSAGE---").strip(), "")
        if own not in self._replies:
            self.unanswered.append((own, f"{order}\n\n{shown}"))
            return "[]"
        self.answered += 1
        self.beyond += max(0, len(json.loads(self._replies[own])) - self._most)
        return self._replies[own]


def main() -> None:
    """Run the sessions asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--sessions", default=":")
    parser.add_argument("--most", type=int, default=3)
    parser.add_argument("--ask", type=Path)
    args = parser.parse_args()
    rows = load_corpus(args.corpus)
    first, _, last = args.sessions.partition(":")
    chosen = [*dict.fromkeys(row.session for row in rows)][int(first or 0) : int(last) if last else None]
    rows = [row for row in rows if row.session in chosen]
    lines: list[str] = args.replies.read_text(encoding="utf-8").splitlines() if args.replies.exists() else []
    replies = {row["id"]: json.dumps(row["reply"], ensure_ascii=False) for row in map(json.loads, lines)}
    model = ByFiles(rows, replies, args.most)

    observer = CounterObserver()

    def build(config: Config) -> Engine:
        parts = real_build(config)
        life = replace(parts.settings.life, facts_per_message=args.most)
        llm = ScriptedLlm(model, context_tokens=CONTEXT_TOKENS)
        return replace(parts, llm=llm, observer=observer, settings=replace(parts.settings, life=life))

    real_build = extraction.build
    with patch.object(extraction, "build", build):
        produced = extraction.run_extraction(rows)
    extraction.write_produced(args.out, produced)
    if args.ask is not None:
        args.ask.write_text("".join(f"##### {own}\n{text}\n\n" for own, text in model.unanswered), encoding="utf-8")
    verdicts = [
        (name, number) for (name, _), number in observer.counts.items() if name.startswith("mnemic.assimilate.")
    ]
    print(", ".join(f"{name.rpartition('.')[2]} {number}" for name, number in verdicts))
    unanswered, beyond = len(model.unanswered), model.beyond
    print(f"{model.answered} answered, {unanswered} not, {len(produced)} memories, {beyond} facts beyond the limit")


if __name__ == "__main__":
    main()
