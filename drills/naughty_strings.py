"""Passes unusual texts through every verb that accepts a text. They must come out unchanged.

The set is MNEMIC_DATA/injection/strings.jsonl.gz: texts that have broken other programs. In the library and on the
command line, each text is captured, remembered, written by an update and set in a profile. Then it is read by get,
list, history, recall, context, profile and export, and imported again. It must be returned character by character. A
text is only refused, with InvalidInputError, if it is blank or contains half a surrogate pair. On the command line,
this also applies to "-", which means standard input. The profile also refuses texts that are longer than a fact may be.
No verb may fail in another way. Each text that contains visible characters must be found if the query is the text
itself. As a user id, a text must either be accepted and keep its memories separate, or be refused with
InvalidInputError.

    MNEMIC_DATA=path/to/data python drills/naughty_strings.py [--every 4]

With `--every`, the command line, which opens the file again for each verb, only gets every nth text.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from drills.kit.memory import file_problems
from drills.kit.outcome import Outcome, options
from mnemic.engine.profile import MAX_VALUE_CHARS
from mnemic.errors import InvalidInputError, MnemicError
from mnemic.model.scope import Scope
from tests.doors.doors import AsyncDoor, CommandLineDoor, Door, LibraryDoor

MORE = (
    "half a pair \ud800",
    "\udfff",
    "nul \0 nul",
    "\x1b[31mred\x1b[0m",
    "e\u0301 and é",
    "line\r\nline",
    "long " * 4000,
)
COMMAND_LINE = "command line"
MORE_WORDS = " and more"
"""What an update adds: a sign behind it would say the same, and be refused as a duplicate."""

DOORS: Mapping[str, tuple[Callable[[str], Door], str]] = {
    "library": (LibraryDoor, "minilm"),
    "async": (AsyncDoor, "none"),
    COMMAND_LINE: (CommandLineDoor, "none"),
}


@dataclass(slots=True)
class StringDrill:
    """One door, and what happened to each text there."""

    name: str
    door: Door
    kept: dict[str, str] = field(default_factory=dict[str, str])
    counted: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])

    def run(self, texts: list[str]) -> None:
        """Every text through every verb, each in a memory of its own user. A crash is not caught: it ends the drill."""
        for number, text in enumerate(texts):
            scope = Scope(user=f"u{number}", session="s1")
            try:
                self._one(scope, text)
            except InvalidInputError as error:
                self.counted["refused"] += 1
                if text.strip() and _is_whole(text) and not (text == "-" and self.name == COMMAND_LINE):
                    self.problems.append(f"{self.name}, text {number}: refused: {error!s:.200}")
            except MnemicError as error:
                self.problems.append(f"{self.name}, text {number}: {type(error).__name__}: {error!s:.200}")

    def _one(self, scope: Scope, text: str) -> None:
        call = self.door.call
        memory: dict[str, Any] = call("remember", scope, {"text": text})
        turn: dict[str, Any] = call("capture", scope, {"messages": [{"role": "user", "content": text}]})
        other: dict[str, Any] = call("remember", scope, {"text": "begins with this"})
        call("update", scope, {"id": other["id"], "text": text + MORE_WORDS})
        facts = self._fact(scope, text)
        self._equal(scope, "remember", memory["text"], text)
        self._equal(scope, "capture", turn["messages"][0]["text"], text)
        self._equal(scope, "get", call("get", scope, {"id": memory["id"]})["text"], text)
        self._equal(scope, "get of a message", call("get", scope, {"id": turn["messages"][0]["id"]})["text"], text)
        listed = {m["text"] for m in call("list", scope, {})["memories"]}
        self._equal(scope, "list", listed, {text, text + MORE_WORDS})
        history = call("history", scope, {"id": other["id"]})
        self._equal(scope, "history", history[-1]["after"]["text"], text + MORE_WORDS)
        found = {entry["key"]: entry["value"] for entry in call("profile.all", scope, {})["static"]}
        self._equal(scope, "profile", found, facts)
        self._recall(scope, text, memory["id"])
        call("context", scope, {"query": text})
        call("context", scope, {"query": "what is odd?"})
        self._export(scope, text)
        self._as_an_id(scope, text)
        self.counted["unchanged"] += 1

    def _fact(self, scope: Scope, text: str) -> dict[str, str]:
        """The text as a fact of the profile, and what is there then; one that is too long has to be refused."""
        try:
            self.door.call("profile.set", scope, {"facts": {"odd": text}})
        except InvalidInputError:
            if len(text) <= MAX_VALUE_CHARS:
                raise
            return {}
        return {"odd": text}

    def _as_an_id(self, scope: Scope, text: str) -> None:
        """The text as the id of a user, whose memory nobody else sees, or which nobody can be called."""
        try:
            odd = Scope(org=f"odd {scope.user}", user=text)  # some texts are there twice
            self.door.call("remember", odd, {"text": f"of {scope.user}"})
        except InvalidInputError:
            self.counted["refused as an id"] += 1
            return
        listed = [m["text"] for m in self.door.call("list", odd, {})["memories"]]
        self._equal(scope, "list of an odd user", listed, [f"of {scope.user}"])
        self.counted["taken as an id"] += 1

    def _recall(self, scope: Scope, text: str, memory_id: str) -> None:
        found = self.door.call("recall", scope, {"query": text, "limit": 9})
        hits = {hit["item"]["id"]: hit["item"]["text"] for hit in found["hits"]}
        if memory_id not in hits and any(unicodedata.category(c)[0] in "LNPS" for c in text):
            self.problems.append(f"{self.name}, {scope.user}: is not found by itself: {text!r:.80}")
        elif memory_id in hits:
            self._equal(scope, "recall", hits[memory_id], text)

    def _export(self, scope: Scope, text: str) -> None:
        lines: list[str] = self.door.call("export", scope, {})
        other = Scope(user=f"copy of {scope.user}", session="s1")
        report = self.door.call("import_", other, {"text": "\n".join(lines)})
        if report["problems"]:
            self.problems.append(f"{self.name}, {scope.user}: import says {report['problems'][0]:.200}")
        taken = {m["text"] for m in self.door.call("list", other, {})["memories"]}
        self._equal(scope, "import", taken, {text, text + MORE_WORDS})
        again: list[str] = self.door.call("export", other, {})
        self._equal(scope, "export", sorted(_texts(again)), sorted(_texts(lines)))

    def _equal(self, scope: Scope, verb: str, found: object, wanted: object) -> None:
        if found != wanted:
            self.problems.append(f"{self.name}, {scope.user}: {verb} gives {found!r:.80} and not {wanted!r:.80}")


def main() -> int:
    """Exit code 1 when a text was changed, refused or fatal."""
    told = options(__doc__, every=1)
    texts = [*_strings(Path(os.environ["MNEMIC_DATA"]) / "injection" / "strings.jsonl.gz"), *MORE]
    facts: dict[str, object] = {"texts": len(texts)}
    problems: list[str] = []
    for name, (open_door, embedder) in DOORS.items():
        os.environ["MNEMIC_EMBEDDER"] = embedder
        with TemporaryDirectory() as folder:
            path = Path(folder) / "memory.db"
            run = StringDrill(name, open_door(str(path)))
            run.run(texts[:: told.every] if name == COMMAND_LINE else texts)
            run.door.close()
            problems += run.problems + file_problems(path)
        facts |= {f"{name} (embedder {embedder}): {what}": count for what, count in sorted(run.counted.items())}
    return Outcome(name="naughty_strings", about=__doc__ or "", facts=facts, problems=problems).told()


def _strings(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def _texts(lines: list[str]) -> list[str]:
    return [str(record.get("text") or record.get("value")) for record in map(json.loads, lines[1:])]


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
