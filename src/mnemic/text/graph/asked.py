"""Names that a question may hold, whichever way they are written in it.

Answers for what could be a name; whether anybody is called so, the graph knows.
"""

from __future__ import annotations

from collections.abc import Collection

from mnemic.text import scripts, stopwords
from mnemic.text.graph.names import name_key
from mnemic.text.late_pattern import late_pattern

MOST_WORDS = 7
MOST_TOKENS = 80
"""Of a longer question its first words are looked at."""

_ALONE = scripts.UNSEGMENTED
_TOKEN = late_pattern(f"[{_ALONE}]|[^\\W{_ALONE}](?:[^\\s{_ALONE}]*[^\\W{_ALONE}])?[+#]{{0,2}}")
_IS_ALONE = late_pattern(f"[{_ALONE}]")


def possible_names(question: str) -> dict[str, list[tuple[int, int]]]:
    """Every run of up to `MOST_WORDS` words of a question as the key of a name, with where it stands: characters from,
    to. One stop word, and one character of Chinese and the like, is no name. No string raises.
    """
    tokens = [(match.start(), match.end(), match.group()) for match in _TOKEN.finditer(question)][:MOST_TOKENS]
    found: dict[str, list[tuple[int, int]]] = {}
    for first, (start, _, word) in enumerate(tokens):
        for last in range(first, min(first + MOST_WORDS, len(tokens))):
            end = tokens[last][1]
            says_nothing = word.casefold() in stopwords.ENGLISH or bool(_IS_ALONE.match(word))
            key = "" if first == last and says_nothing else name_key(question[start:end])
            if key:
                found.setdefault(key, []).append((start, end))
    return found


def told_names(possible: dict[str, list[tuple[int, int]]], known: Collection[str]) -> list[str]:
    """Those of the possible names that are known, in the order of the question, without one that is but a part of a
    longer one wherever it stands.
    """
    spans = {key: possible[key] for key in known if key in possible}
    every = [span for found in spans.values() for span in found]

    def is_part(span: tuple[int, int]) -> bool:
        return any(a <= span[0] and span[1] <= b and (a, b) != span for a, b in every)

    kept = [key for key, found in spans.items() if not all(is_part(span) for span in found)]
    return sorted(kept, key=lambda key: (spans[key][0], key))
