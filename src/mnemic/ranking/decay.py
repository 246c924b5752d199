"""How importance fades while a memory is not used.

Answers for the curve; when a memory was last used, and what its kind's half-life is, is the engine's to know.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mnemic.errors import InvalidInputError

HALF_LIFE_DAYS = 30.0
FLOOR = 0.05


def decayed(
    importance: ArrayLike, age_days: ArrayLike, half_life_days: ArrayLike = HALF_LIFE_DAYS, floor: ArrayLike = FLOOR
) -> NDArray[np.float32]:
    """Importance after `age_days` without access, `float32` in the shape the arguments broadcast to.

    importance * 0.5 ** (age_days / half_life_days), never below `floor` - but the floor only stops a fall: what was
    less important than the floor to begin with stays as it was and is never raised to it. Ages below 0 (a clock set
    back) count as 0. Half-life and floor may be one per item. Raises `InvalidInputError` for a half-life that is not
    positive, and for an age that is not a number.
    """
    start = np.asarray(importance, dtype=np.float64)
    age = np.asarray(age_days, dtype=np.float64)
    half_life = np.asarray(half_life_days, dtype=np.float64)
    if not (half_life > 0).all():
        raise InvalidInputError("a half-life must be more than 0 days")
    if np.isnan(age).any():
        raise InvalidInputError("an age in days must be a number")
    faded = start * np.exp2(-np.maximum(age, 0.0) / half_life)
    return np.maximum(faded, np.minimum(start, floor)).astype(np.float32)
