"""The fit: one linear score for all sets, by the likelihood that what is gold comes before what is not.

Of a question with scores s = t * (X w) and gold G the loss is the mean over g in G of -log(exp(s_g) / (exp(s_g) + sum
of exp(s_i) over what is not gold)); of a set it is the mean over its questions, as a share of what it is under the
prior, so that sets count alike, however hard they are. `t` > 0 is a temperature of the set alone: how sure a score can
be differs between kinds of data, and only the order counts, so the weight of `dense` is 1 and the others say how much
they count beside it. A penalty pulls the weights to a prior.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

ANCHOR = "dense"
MEMORY = 10
STEPS = 200
SMALLEST_GAIN = 1e-7
ARMIJO = 1e-4
BRIEFEST_STEP = 1e-8


@dataclass(frozen=True, slots=True)
class Judged:
    """One question to fit to: `features (n, f)`, and `is_gold (n,)`, of which at least one is true and one is not."""

    features: Doubles
    is_gold: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is believed of each weight without data; `strength` is the penalty on a squared deviation of one `width`.

    `signs`: +1, weights that may not be negative; -1, that may not be positive; 0, free.
    """

    means: Mapping[str, float]
    widths: Mapping[str, float]
    signs: Mapping[str, int]
    strength: float


def fit(sets: Sequence[Sequence[Judged]], names: Sequence[str], prior: Prior) -> dict[str, float]:
    """The weight of each name, `dense` 1. What ends on the wrong side of its sign is 0, and the rest fitted anew.

    The features of the questions have the columns `names`.
    """
    free = [name for name in names if name != ANCHOR]
    while True:
        found = _fitted(sets, names, free, prior)
        wrong = [name for name in free if found[name] * prior.signs.get(name, 0) < 0]
        if not wrong:
            return found
        free = [name for name in free if name not in wrong]


def _fitted(
    sets: Sequence[Sequence[Judged]], names: Sequence[str], free: Sequence[str], prior: Prior
) -> dict[str, float]:
    columns = [list(names).index(name) for name in free]
    means = np.array([prior.means[name] for name in free])
    widths = np.array([prior.widths[name] for name in free])
    stacks = [_Stack.of(judged) for judged in sets]
    scales = [1.0 / stack.least_loss(np.array([prior.means[name] for name in names])) / len(sets) for stack in stacks]
    base = np.zeros(len(names))
    base[list(names).index(ANCHOR)] = 1.0

    def loss(point: Doubles) -> tuple[float, Doubles]:
        weights = base.copy()
        weights[columns] = point[: len(free)]
        away = (point[: len(free)] - means) / widths
        value = prior.strength * float(away @ away)
        slope = np.zeros_like(point)
        slope[: len(free)] = 2.0 * prior.strength * away / widths
        for place, (stack, scale) in enumerate(zip(stacks, scales, strict=True), start=len(free)):
            each, by_weight, by_log_temperature = stack.loss(weights, float(np.exp(point[place])))
            value += each * scale
            slope[: len(free)] += by_weight[columns] * scale
            slope[place] += by_log_temperature * scale
        return value, slope

    point = minimised(loss, np.concatenate([means, np.zeros(len(stacks))]))
    weights = dict.fromkeys(names, 0.0) | {ANCHOR: 1.0}
    return weights | dict(zip(free, point[: len(free)].tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class _Stack:
    """The questions of a set one below the other; `starts` of each, `question (n,)` of each row, `shares (n,)`: 1 over
    the number of gold rows of the question where a row is gold, else 0.
    """

    features: Doubles
    starts: NDArray[np.intp]
    question: NDArray[np.intp]
    is_gold: NDArray[np.bool_]
    shares: Doubles

    @classmethod
    def of(cls, judged: Sequence[Judged]) -> _Stack:
        sizes = np.array([len(each.is_gold) for each in judged])
        return cls(
            features=np.concatenate([each.features for each in judged]),
            starts=np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp),
            question=np.repeat(np.arange(len(judged)), sizes),
            is_gold=np.concatenate([each.is_gold for each in judged]),
            shares=np.concatenate([each.is_gold / each.is_gold.sum() for each in judged]),
        )

    def least_loss(self, weights: Doubles) -> float:
        """The loss of these weights under the temperature that suits them best."""

        def of_temperature(point: Doubles) -> tuple[float, Doubles]:
            value, _, slope = self.loss(weights, float(np.exp(point[0])))
            return value, np.array([slope])

        return of_temperature(minimised(of_temperature, np.zeros(1)))[0]

    def loss(self, weights: Doubles, temperature: float) -> tuple[float, Doubles, float]:
        """The loss of the set, its slope by the weights, and that by the logarithm of the temperature."""
        scores = temperature * (self.features @ weights)
        highest = np.maximum.reduceat(scores, self.starts)[self.question]
        raised = np.exp(scores - highest)
        others = np.add.reduceat(np.where(self.is_gold, 0.0, raised), self.starts)[self.question]
        against = others / (others + raised)  # of a gold row: how likely it is that another comes first
        value = float(-(self.shares * np.log1p(-np.minimum(against, 1.0 - 1e-12))).sum())
        pulls = np.where(self.is_gold, self.shares * against, 0.0)
        weighted = np.where(self.is_gold, self.shares / (others + raised), 0.0)
        pushes = np.where(self.is_gold, 0.0, raised * np.add.reduceat(weighted, self.starts)[self.question])
        by_score = (pushes - pulls) / len(self.starts)
        slope = self.features.T @ by_score
        return value / len(self.starts), temperature * slope, float(by_score @ scores)


def minimised(function: Callable[[Doubles], tuple[float, Doubles]], start: Doubles) -> Doubles:
    """Where `function`, which answers its value and slope, is least: L-BFGS (Nocedal 1980) with halved steps."""
    point = start.astype(np.float64)
    value, slope = function(point)
    moves: list[tuple[Doubles, Doubles]] = []
    for _ in range(STEPS):
        direction = -_inverse_times(slope, moves)
        descent = float(slope @ direction)
        step = 1.0 if moves else min(1.0, 1.0 / max(float(np.abs(slope).sum()), BRIEFEST_STEP))
        after, after_slope = function(point + step * direction)
        while not after <= value + ARMIJO * step * descent and step > BRIEFEST_STEP:
            step /= 2.0
            after, after_slope = function(point + step * direction)
        if not after < value:
            return point
        moved, turned = step * direction, after_slope - slope
        if float(moved @ turned) > 0.0:
            moves = [*moves, (moved, turned)][-MEMORY:]
        gained = value - after
        point, value, slope = point + moved, after, after_slope
        if gained < SMALLEST_GAIN:
            return point
    return point


def _inverse_times(slope: Doubles, moves: Sequence[tuple[Doubles, Doubles]]) -> Doubles:
    """The slope times the inverse curvature that the last moves tell (the two-loop recursion)."""
    vector, factors = slope.copy(), list[float]()
    for moved, turned in reversed(moves):
        factors.append(float(moved @ vector) / float(moved @ turned))
        vector -= factors[-1] * turned
    if moves:
        moved, turned = moves[-1]
        vector *= float(moved @ turned) / float(turned @ turned)
    for (moved, turned), factor in zip(moves, reversed(factors), strict=True):
        vector += moved * (factor - float(turned @ vector) / float(moved @ turned))
    return vector
