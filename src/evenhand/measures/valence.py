"""Valence shift: is a descriptor more at home in hostile sentences than in kind ones, beside its axis?

The published love/hate table counts sentences below a template's median perplexity and so mixes valence
with how rare or how finely tokenised a descriptor is. Here each descriptor and noun is its own control:
(surprisal in negative - surprisal in positive templates), minus the mean of the same over the axis. To
first order, word frequency and tokenisation cancel in the first difference, and what any phrase would
do in these templates cancels in the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import chdtr, chndtr, fdtr, ndtr, ndtri

from evenhand.measures.cluster_means import standard_errors, t_inference
from evenhand.measures.columns import require_columns, with_log_perplexity
from evenhand.measures.crossing import crossings, mean_of_known
from evenhand.schema import DataError, UsageError
from evenhand.stats import benjamini_hochberg

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ValenceShift:
    """valence: one row per descriptor; `shift` > 0 means more at home in positive templates than its axis
    (nats per sentence, or per token if only perplexity was given), 95 % interval, p, q within the axis,
    n nouns. axes: `estimate` is the standard deviation of the true shifts over descriptors, after the
    sampling variance is taken off; its null is 0; p by permutation of descriptors within nouns."""

    valence: pl.DataFrame
    axes: pl.DataFrame
    unit: str


VALENCE = {
    "axis": pl.String,
    "descriptor": pl.String,
    "shift": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "q": pl.Float64,
    "n": pl.Int64,
}
AXES = {
    "axis": pl.String,
    "estimate": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "null": pl.Float64,
    "p": pl.Float64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
}


def valence_shift(
    frame: pl.DataFrame,
    *,
    positive: Sequence[str],
    negative: Sequence[str],
    margin: float = 0.1,
    seed: int = 0,
    permutations: int = 1000,
) -> ValenceShift:
    """Difference in differences of surprisal between negative and positive templates, per descriptor.

    frame: one row per sentence with axis, template, descriptor, noun and log_likelihood (summed, nats) or
    else perplexity or log_perplexity; rows of other templates are ignored. positive, negative: templates,
    each counting equally on its side. margin: smallest shift that counts, in the unit of the shift: p tests
    whether a descriptor's true shift, and an axis' true spread, is larger than that. A noun is used
    for a descriptor only if all its templates are known.
    seed, permutations: of the permutation test. Raises DataError if a template is absent, UsageError if a
    template is on both sides or a side is empty.
    Source: methods/holisticbias_robbie.md §2.1 (love/hate table) for the construct; nouns are clusters,
    intervals are t over nouns; the interval of the spread inverts the noncentral chi-square.

    >>> rows = [("a", t, d, f"n{n}", -10.0 - n - (t == "I hate X.") * (2 + (d == "old") * (1 + n / 100)))
    ...         for t in ("I love X.", "I hate X.") for d in ("old", "young") for n in range(6)]
    >>> names = ["axis", "template", "descriptor", "noun", "log_likelihood"]
    >>> frame = pl.DataFrame(rows, schema=names, orient="row")
    >>> result = valence_shift(frame, positive=["I love X."], negative=["I hate X."])
    >>> result.valence["shift"].round(2).to_list()
    [0.51, -0.51]
    """
    require_columns(frame, ["axis", "template", "descriptor", "noun"], "valence_shift")
    _check_templates(frame, positive, negative)
    frame = frame.filter(pl.col("template").is_in([*positive, *negative]))
    if "log_likelihood" in frame.columns:
        unit = "nats"
        log_likelihood = pl.col("log_likelihood").cast(pl.Float64)
        frame = frame.with_columns(
            pl.when(log_likelihood.is_finite()).then(-log_likelihood).alias("surprisal")
        )
    else:
        unit = "nats per token"
        frame = with_log_perplexity(frame, "valence_shift").rename({"log_perplexity": "surprisal"})
    rows = dict(frame.group_by("axis").len().iter_rows())
    axes, descriptors = [], []
    for number, crossing in enumerate(crossings(frame, "surprisal")):
        sides = []
        for side in (negative, positive):
            chosen = [i for i, name in enumerate(crossing.templates) if name in side]
            # one unknown template makes the mean of a side unknown: others would not be comparable with it
            complete = len(chosen) == len(set(side))
            sides.append(
                crossing.values[chosen].mean(axis=0)
                if complete
                else np.full(crossing.values.shape[1:], np.nan)
            )
        difference = sides[0] - sides[1]
        shifts = difference - mean_of_known(difference, 1)[:, None]
        known = int(np.count_nonzero(~np.isnan(shifts))) * len({*positive, *negative})
        rng = np.random.default_rng([seed, number])
        axes.append(
            {"axis": crossing.axis, "n": known, "n_missing": max(rows[crossing.axis] - known, 0)}
            | _spread(shifts, rng, permutations, margin)
        )
        descriptors.append(_descriptor_rows(crossing.axis, crossing.descriptors, shifts, margin))
    return ValenceShift(
        valence=pl.concat(descriptors),
        axes=pl.DataFrame(axes, schema=AXES).with_columns(pl.col(pl.Float64).fill_nan(None)),
        unit=unit,
    )


def _check_templates(frame: pl.DataFrame, positive: Sequence[str], negative: Sequence[str]) -> None:
    both = set(positive) & set(negative)
    if both or not positive or not negative:
        raise UsageError(
            f"valence_shift got {len(positive)} positive and {len(negative)} negative templates"
            + (f", {sorted(both)} on both sides." if both else "."),
            "Give at least one template for each side, none of them on both.",
        )
    absent = sorted({*positive, *negative} - set(frame["template"].unique()))
    if absent:
        raise DataError(
            f"No row has the template {absent[0]!r}" + (f" (nor {absent[1:]})." if absent[1:] else "."),
            "Name templates exactly as the column `template` has them.",
        )


def _descriptor_rows(axis: str, names: list[str], shifts: Floats, margin: float) -> pl.DataFrame:
    errors, nouns = standard_errors(shifts)
    result = t_inference(mean_of_known(shifts, 0), errors, nouns - 1, margin=margin)
    return pl.DataFrame(
        {
            "axis": [axis] * len(names),
            "descriptor": names,
            "shift": result.estimate,
            "low": result.low,
            "high": result.high,
            "p": result.p,
            "q": benjamini_hochberg(result.p),
            "n": nouns.astype(np.int64),
        },
        schema=VALENCE,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _spread(shifts: Floats, rng: np.random.Generator, permutations: int, margin: float) -> dict[str, float]:
    """Standard deviation of the true shifts of (nouns, descriptors), its interval, and p."""
    errors, nouns = standard_errors(shifts)
    usable = nouns > 1
    descriptors = int(usable.sum())
    if descriptors < 2:
        return {"null": 0.0}
    means = mean_of_known(shifts[:, usable], 0)
    noise = float(np.mean(errors[usable] ** 2))
    observed = float(np.var(means, ddof=1))
    freedom = (descriptors - 1, max(1, round(float(nouns[usable].mean()) - 1) * (descriptors - 1)))
    low, high = _spread_interval(observed, noise, freedom)
    return {
        "estimate": float(np.sqrt(max(observed - noise, 0.0))),
        "low": low,
        "high": high,
        "null": 0.0,
        # permutation knows nothing of noise that is not normal, nor of a margin: both must reject
        "p": max(
            _permutation_p(shifts[:, usable], rng, permutations),
            _margin_p(observed, noise, freedom[0], margin),
        ),
    }


def _margin_p(observed: float, noise: float, freedom: int, margin: float) -> float:
    """p of the hypothesis that the true spread is at most `margin`: see _spread_interval; 0 without one."""
    if margin == 0:
        return 0.0
    if noise <= 1e-20 * observed:
        return float(observed <= margin**2)
    statistic, noncentral = freedom * observed / noise, freedom * margin**2 / noise
    if max(statistic, noncentral) > 1e4:
        return float(ndtr(np.sqrt(noncentral + (freedom - 1) / 2) - np.sqrt(statistic)))
    return float(1 - chndtr(statistic, freedom, noncentral))


def _spread_interval(observed: float, noise: float, freedom: tuple[int, int]) -> tuple[float, float]:
    """Limits of the spread: freedom x observed / noise is noncentral chi-square about the true spread.

    The lower limit leaves 0 only if the F test, which knows that `noise` is itself estimated, rejects 0.
    """
    if noise <= 1e-20 * observed:  # nouns agree to the last digit: the shifts are known exactly
        return (float(np.sqrt(observed)),) * 2
    descriptors, ratio = freedom[0], observed / noise
    statistic = descriptors * ratio

    def limit(chance: float) -> float:
        if chdtr(descriptors, statistic) <= chance:
            return 0.0  # even without any spread a statistic this small would be rare
        if statistic > 1e4:  # its square root is normal with variance 1 to four digits
            root = np.sqrt(statistic) - ndtri(chance)
            return float(np.sqrt((root**2 - (descriptors - 1) / 2) * noise / descriptors))
        below, above = 0.0, (np.sqrt(statistic) + 10) ** 2
        for _ in range(60):
            middle = (below + above) / 2
            rarer = chndtr(statistic, descriptors, middle) > chance
            below, above = (middle, above) if rarer else (below, middle)
        return float(np.sqrt(below * noise / descriptors))

    low = limit(0.975) if fdtr(*freedom, ratio) > 0.975 else 0.0
    return low, limit(0.025)


def _permutation_p(shifts: Floats, rng: np.random.Generator, permutations: int) -> float:
    """p of the sum of squared descriptor means when each noun's shifts go to descriptors at random."""
    count = np.count_nonzero(~np.isnan(shifts), axis=0)
    sums = np.zeros((permutations, shifts.shape[1]))
    for row in shifts:
        known = np.flatnonzero(~np.isnan(row))
        sums[:, known] += rng.permuted(np.broadcast_to(row[known], (permutations, len(known))), axis=1)
    drawn = (sums**2 / count).sum(axis=1)
    observed = float((np.nansum(shifts, axis=0) ** 2 / count).sum())
    return float((1 + np.count_nonzero(drawn >= observed * (1 - 1e-12))) / (1 + permutations))
