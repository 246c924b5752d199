"""Scores the entities and relations found in the prose of graph_prose.toml, by rules alone and with the parser,
and with types by the shipped embedder.

    python benchmarks/graph_prose.py [--show]

Entities are compared by name, relations by both names and type. `typed` is the share of the entities found whose type
is right. Late paragraphs were written when the rules were finished. With `--show`, misses are printed.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from mnemic.adapters.embedders.minilm import MinilmEmbedder
from mnemic.adapters.parsers import SpacyParser
from mnemic.errors import ConfigError
from mnemic.text.graph.find import Found, find
from mnemic.text.graph.names import name_key
from mnemic.text.graph.types import assign_types

SET = Path(__file__).with_name("graph_prose.toml")
_RELATION = re.compile(r"(.+) ([A-Z_]{4,}) (.+)")
Finder = Callable[[str], Found]


def main() -> int:
    """Print the scores of each half and language, with and without the parser."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--show", action="store_true")
    is_shown = arguments.parse_args().show
    paragraphs = tomllib.loads(SET.read_text(encoding="utf-8"))["paragraphs"]
    finders: dict[str, Finder] = {"rules": find}
    if parser := open_parser():
        finders["parser"] = lambda text: find(text, parser=parser)
    finders |= {f"{name}, typed": _typed(finder) for name, finder in finders.items()}
    print("| finder | paragraphs | entity P | R | F1 | typed | relation P | R | F1 |")
    print(f"|---|---|{'--:|' * 7}")
    for name, finder in finders.items():
        first = [p for p in paragraphs if not p.get("is_late")]
        groups = {
            f"{language}, {half}": [p for p in first[rest::2] if p["language"] == language]
            for half, rest in (("odd", 0), ("even", 1))
            for language in ("en", "zh")
        }
        for told, chosen in (groups | {"all 30": first, "late": [p for p in paragraphs if p.get("is_late")]}).items():
            print(f"| {name} | {told} | {' | '.join(score(chosen, finder, is_shown=is_shown))} |")
    return 0


def _typed(finder: Finder) -> Finder:
    """A finder whose names get types by the shipped embedder, as when the graph is built."""
    embedder = MinilmEmbedder()
    return lambda text: assign_types([text], [finder(text)], embedder, {})[0]


def open_parser() -> Any:
    """The parser of the extra `graph`, or None."""
    try:
        parser = SpacyParser()
        next(iter(parser.parse("Anna works at Acme.")))
    except ConfigError:
        return None
    return parser


def score(paragraphs: Sequence[Mapping[str, Any]], finder: Finder, *, is_shown: bool) -> list[str]:
    """Precision, recall and F1 of entities, the share with the right type, and those of relations."""
    entities, relations, typed = [0, 0, 0], [0, 0, 0], 0
    for paragraph in paragraphs:
        found = finder(paragraph["text"].strip())
        gold = {name_key(name): kind for name, kind in (each.split(" = ") for each in paragraph["entities"])}
        got = {named.key: named.type.value for named in found.names}
        wanted = {(name_key(a), kind, name_key(b)) for a, kind, b in map(_parts, paragraph["relations"])}
        stated = {(found.names[r.source].key, r.type, found.names[r.target].key) for r in found.relations}
        wanted, stated = ({_in_order(*each) for each in told} for told in (wanted, stated))
        for counts, right, told in ((entities, {*gold}, {*got}), (relations, wanted, stated)):
            for place, size in enumerate((len(right & told), len(told), len(right))):
                counts[place] += size
        typed += sum(gold[key] == got[key] for key in gold.keys() & got.keys())
        if is_shown:
            wrong = {key: (got[key], gold[key]) for key in gold.keys() & got.keys() if gold[key] != got[key]}
            print(
                paragraph["text"].strip()[:60],
                "\n  missed",
                {*gold} - {*got},
                "extra",
                {*got} - {*gold},
                "types",
                wrong,
            )
            print("  relations missed", wanted - stated, "\n  extra", stated - wanted)
    share = typed / max(entities[0], 1)
    return [*_rates(entities), f"{share:.2f}", *_rates(relations)]


def _in_order(a: str, kind: str, b: str) -> tuple[str, str, str]:
    """A relation that holds both ways in one order."""
    return (min(a, b), kind, max(a, b)) if kind in ("FAMILY_OF", "KNOWS") else (a, kind, b)


def _parts(relation: str) -> tuple[str, ...]:
    found = _RELATION.findall(relation)
    return found[0]


def _rates(counts: Sequence[int]) -> list[str]:
    right, told, wanted = counts
    precision, recall = right / max(told, 1), right / max(wanted, 1)
    return [f"{each:.2f}" for each in (precision, recall, 2 * precision * recall / max(precision + recall, 1e-9))]


if __name__ == "__main__":
    sys.exit(main())
