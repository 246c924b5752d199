"""Writes the report of a fit: sets and licences, coefficients, results and results before, after and without parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.fit.beliefs import MEANS, PLAIN, ROUND
from benchmarks.fit.features import FEATURES
from benchmarks.fit.sets import SETS, BenchSet
from benchmarks.machine import provenance, table
from mnemic.evaluation.dataset import Report

Measure = Callable[[BenchSet, Mapping[str, float]], Report]

ABOUT = """# The fit of the coefficients

One linear score, one set of coefficients for every kind of data. How: listwise logistic likelihood, a temperature per
set, sets weighted alike, a penalty towards beliefs that have reasons (`benchmarks/fit/beliefs.py`), two decimals.
Fitted to are only sets under permissive or share-alike licences and dialogues generated here; the others are measured,
never fitted to. Of LongMemEval one half of the questions is fitted to and the other half measured; both search the same
sessions, so its other half is unseen questions, not unseen talk. The checking sets were in view while the features, the
generator and the recipe (losses as shares, LongMemEval in two haystacks) were settled; coefficients and the strength of
the prior come from the sets fitted to alone. All numbers re-score the features that recall computed; runs through the
public verbs gave the same on tc-event-memory, hotpotqa-100, beam, halumem, memdaily and longmemeval-pool, and within
0.1 point on locomo.
"""


@dataclass(frozen=True, slots=True)
class Fitted:
    """`weights`; the `strength` of the prior and how the strengths did; the weights without each set; `questions`."""

    weights: Mapping[str, float]
    strength: float
    by_strength: Mapping[float, float]
    left_out: Mapping[str, Mapping[str, float]]
    questions: Mapping[str, int]


def written(fitted: Fitted, measure: Measure) -> str:
    """The whole report as Markdown; `measure` gives the metrics of a set under some weights."""
    parts = [
        ABOUT,
        provenance("python benchmarks/fit/run.py"),
        f"## Sets and licences\n\n{_sets(fitted)}",
        f"## Coefficients\n\n{_coefficients(fitted)}",
        f"## Before and after\n\n{_before_and_after(fitted, measure)}",
        f"## One set left out\n\n{_left_out(fitted, measure)}",
        f"## One feature left out\n\n{_ablation(fitted, measure)}",
        f"## By category\n\n{_categories(fitted, measure)}",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _sets(fitted: Fitted) -> str:
    rows = [
        [
            each.name,
            each.licence,
            f"fitted to, {fitted.questions[each.name]} questions" if each.is_fitted else "measured",
        ]
        for each in SETS[:-2]
    ]
    return table(["set", "licence", "use"], rows)


def _coefficients(fitted: Fitted) -> str:
    rows = [
        [name, *(f"{weights.get(name, 0.0):.2f}" for weights in (MEANS, ROUND, fitted.weights))] for name in FEATURES
    ]
    strengths = ", ".join(f"{strength}: {value:.4f}" for strength, value in fitted.by_strength.items())
    return (
        f"{table(['feature', 'belief', 'round numbers', 'fitted'], rows)}\n\nStrength of the prior {fitted.strength}:"
        f" the firmest within a tenth of a point of the best mean of R@5 and R@10 on sets left out of the fit"
        f" ({strengths})."
    )


def _before_and_after(fitted: Fitted, measure: Measure) -> str:
    metrics = ("R@5", "R@10", "nDCG@10", "s_any@5", "s_R@5")
    titles = ["set", "n", "R@5", "R@10", "nDCG@10", "session any@5", "session R@5"]
    rows: list[list[str]] = []
    for each in SETS:
        reports = [measure(each, weights).overall for weights in (PLAIN, ROUND, fitted.weights)]
        cells = [
            " / ".join(f"{found.metrics[name]:.3f}" for found in reports) if name in reports[0].metrics else "–"
            for name in metrics
        ]
        rows.append([each.name, f"{reports[0].n:,}", *cells])
    return (
        "Sum of the standard scores of BM25 and the embedding / the round numbers before the fit (without `dated` and"
        " `assistant_asked`) / fitted. Half of the questions of the last two sets were fitted to.\n\n"
        f"{table(titles, rows)}"
    )


def _left_out(fitted: Fitted, measure: Measure) -> str:
    rows: list[list[str]] = []
    for each in SETS:
        if each.name in fitted.left_out:
            kinds = (MEANS, fitted.left_out[each.name], fitted.weights)
            found = [measure(each, weights).overall.metrics for weights in kinds]
            rows.append([each.name, *(f"{metrics['R@5']:.3f} / {metrics['R@10']:.3f}" for metrics in found)])
    titles = ["set", "beliefs alone", "fitted to the others", "fitted to all"]
    changes = [[name, *_row(fitted.left_out[name], FEATURES)] for name in fitted.left_out]
    return (
        "R@5 / R@10 of each set under coefficients that never saw it, nor a set that shares its questions.\n\n"
        f"{table(titles, rows)}\n\nThe coefficients without each set:\n\n{table(['without', *FEATURES], changes)}"
    )


def _row(weights: Mapping[str, float], names: Sequence[str]) -> list[str]:
    return [f"{weights[name]:.2f}" for name in names]


def _ablation(fitted: Fitted, measure: Measure) -> str:
    shown = [each for each in SETS[:-2] if each.dump not in ("cmrc2018", "drcd")]
    names = {each.name: "s_any@5" if each.name == "halumem" else "R@10" for each in shown}
    base = {each.name: measure(each, fitted.weights).overall.metrics[names[each.name]] for each in shown}
    rows: list[list[str]] = []
    for feature in FEATURES:
        without = {**fitted.weights, feature: 0.0}
        lost = [measure(each, without).overall.metrics[names[each.name]] - base[each.name] for each in shown]
        rows.append([feature, *(f"{100 * value:+.1f}" if abs(value) >= 0.0005 else "0" for value in lost)])  # noqa: PLR2004 -- what is shown as 0.0
    return (
        "Points of R@10 (HaluMem: session any@5) that change when the coefficient is 0 and the others stay.\n\n"
        f"{table(['feature', *(each.name for each in shown)], rows)}"
    )


def _categories(fitted: Fitted, measure: Measure) -> str:
    rows: list[list[str]] = []
    for each in SETS:
        if each.name in ("locomo", "beam", "longmemeval-pool"):
            before, after = (measure(each, weights).by_category for weights in (ROUND, fitted.weights))
            rows += [
                [f"{each.name}: {name}", str(found.n), *_pair(before[name].metrics, found.metrics)]
                for name, found in after.items()
            ]
    return f"Round numbers / fitted.\n\n{table(['category', 'n', 'R@5', 'R@10'], rows)}"


def _pair(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    return [f"{before[name]:.3f} / {after[name]:.3f}" for name in ("R@5", "R@10")]
