"""What an index is fed with: the searchable side of rows that changed since a version."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Change(NamedTuple):
    """The present searchable form of one item; `is_gone` means: forget it, the other fields say nothing.

    `kind` is the memory's kind, or "message". `terms` are blank-separated and made by the analyser. Times are
    microseconds since 1970-01-01 UTC. `vector` is `(dims,) float32`, L2-normalised, of the space asked for, or None;
    `further`: those of further spaces, in their order.
    `session`, `position`, `author` (the name, "" for none) and `role` are set for messages; `is_question` says that the
    text of a message ends with a question mark. `is_flagged`: a memory that has flags.

    A named tuple, since a process makes one of every row of a partition when it first asks for it: a frozen dataclass
    takes six times as long to make, and columns are made of tuples by one `zip`.
    """

    item_id: str
    is_gone: bool = False
    kind: str = ""
    is_active: bool = True
    terms: str = ""
    vector: NDArray[np.float32] | None = None
    private_agent: str | None = None
    importance: float = 0.5
    observed_at: int = 0
    expires_at: int | None = None
    session: str | None = None
    position: int = 0
    author: str = ""
    role: str = ""
    is_question: bool = False
    further: tuple[NDArray[np.float32] | None, ...] = ()
    is_flagged: bool = False
