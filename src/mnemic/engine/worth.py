"""Estimates how much facts and memories are worth keeping, from the vectors that the store keeps anyway."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mnemic.engine.engine import Engine
from mnemic.engine.indexing import ItemVectors, Layers, indexed_text
from mnemic.model.item import Fact, Memory
from mnemic.text.facts.worth import keep_probability, shipped_model


def estimate_worth(
    engine: Engine, items: Sequence[Fact | Memory], vectors: Sequence[ItemVectors | None], layers: Layers | None = None
) -> NDArray[np.float64]:
    """Probability that each item is worth keeping, `(n,)`, 0..1; extraction keeps from 0.5. `vectors`: each item's, one
    per space of the engine, or None. `layers`: features of new items from `fact_vectors`. Items without a vector of the
    shipped embedder are judged by their words alone, which is less certain.
    """
    texts, kinds = [item.text for item in items], [item.kind for item in items]
    column = next((place for place, each in enumerate(engine.embedders) if each.space.model == shipped_model()), None)
    if column is None:
        return keep_probability(texts, kinds)
    space = engine.embedders[column].space
    rows = np.zeros((len(items), space.dims), dtype=np.float32)
    for place, each in enumerate(vectors):
        row = None if not each else each[column]
        if row is not None:
            rows[place] = row
    shown = [(layers or {}).get(indexed_text(item)) for item in items]
    is_shown = all(each is not None for each in shown)
    return keep_probability(texts, kinds, rows, space, np.array(shown) if is_shown else None)
