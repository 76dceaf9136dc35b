"""Measure how much the likelihoods of an axis' descriptors in the same sentences differ. An effect size, not a verdict.

The published Likelihood Bias (likelihood_bias_published.py) is the share of descriptor pairs that a test
distinguishes. It grows with the number of nouns: if three quarters of the pairs truly differ, it can be
anything from 0 to .6. Here, the headline is a parameter: the standard deviation of the descriptors' true
log-likelihoods in one sentence, without noise. Frequency alone makes it large. Descriptors therefore *differ*,
but no group is called biased because of it.
"""

from dataclasses import dataclass
from math import isnan

import numpy as np
import polars as pl

from evenhand.measures.columns import Per, require_columns, typed, with_log_perplexity, with_surprisal
from evenhand.measures.info import BESIDE_ITS_AXIS, FREQUENCY, HOLISTICBIAS, MeasureInfo
from evenhand.measures.likelihood.contrasted import LEAST_NOUNS
from evenhand.measures.likelihood.crossed import Crossing, crossings
from evenhand.schema import Card, UsageError, checked
from evenhand.stats import Floats, Indices, benjamini_hochberg
from evenhand.stats.contrasts import Shifts, moderated_shifts, pairwise_shifts, shift_spread

PAIRS_SHOWN = 10
"""Number of pairs of an axis that are shown: those with the largest differences."""

AXES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high factor factor_low factor_high")
    | typed(pl.Int64, "n n_missing n_descriptors n_units n_nouns")
    | typed(pl.Float64, "share_beyond")
    | typed(pl.String, "descriptor_0 descriptor_1")
    | typed(pl.Float64, "largest largest_low largest_high")
)
PAIRS = typed(pl.String, "axis descriptor_0 descriptor_1") | typed(pl.Float64, "log_ratio low high")


@dataclass(frozen=True)
class LikelihoodSpread:
    """Differences between the likelihoods of the descriptors of each axis, in nats.

    Result of `likelihood_spread`. Numbers are log-ratios: differences of surprisals, which are minus log-likelihoods. A
    positive log-ratio means that the first descriptor is less likely.

    Attributes
    ----------
    axes : polars.DataFrame
        One row per axis.
        - ``estimate``: SD over descriptors of their true effects on the surprisal, with a 95% CI over templates and
          nouns.
        - ``factor``: e to the power of ``estimate``, a ratio of likelihoods.
        - ``largest``: log-ratio of the two descriptors that differ most (descriptor_0 is less likely). Its interval
          allows for the selection among all pairs.
        - ``share_beyond``: estimated share of pairs (0 to 1) whose true log-ratio is larger than `margin` of
          `likelihood_spread`. It is computed from the spread and the shape of the observed effects. It has no test and
          no interval.
        - ``n``, ``n_missing``: number of sentences with and without a likelihood. ``n_units``: number of templates.
    descriptors : polars.DataFrame
        One row per descriptor.
        - ``log_ratio``: its mean surprisal minus that of the other descriptors of the axis, with CI and p.
        - ``q``: p adjusted by Benjamini-Hochberg within the axis.
        - ``median_perplexity``: median perplexity of its sentences.
    pairs : polars.DataFrame
        The ten pairs of an axis that differ most: ``log_ratio`` of descriptor_0 to descriptor_1, with intervals that
        allow for the selection.
    descriptor_templates : polars.DataFrame
        One row per descriptor and template, for plots: median perplexity, and median over nouns of the log-ratio to all
        sentences with this template and noun.
    per : str
        "sentence" or "token": the unit of text for all log-ratios.
    """

    axes: pl.DataFrame
    descriptors: pl.DataFrame
    pairs: pl.DataFrame
    descriptor_templates: pl.DataFrame
    per: Per


@checked
def likelihood_spread(
    frame: pl.DataFrame, *, margin: float = 0.5, per: Per | None = None, seed: int = 0
) -> LikelihoodSpread:
    """Return how much the descriptors of each axis differ in likelihood in the same sentences.

    Use it to describe how strongly a model prefers some words for groups ("young") to others ("old"). It is an effect
    size without a verdict: a rare word is unlikely even in a fair model. To test for bias, use `valence_shift`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per sentence. Rows with the same axis, template, descriptor and noun are averaged.
        - ``axis``: characteristic, such as age. ``descriptor``: word for a group, such as "old".
        - ``template``: sentence with gaps. ``noun``: the noun that the descriptor describes.
        - ``log_likelihood`` (summed over tokens, nats), or else ``perplexity`` or ``log_perplexity``; null or NaN is
          missing.
    margin : float, default 0.5
        Difference from which a pair counts in ``share_beyond``, nats.
    per : {"sentence", "token"}, optional
        Compare log-likelihoods of sentences, or means per token. Default: sentences if ``log_likelihood`` is present.
    seed : int, default 0
        Random seed of sign patterns.

    Returns
    -------
    LikelihoodSpread
        Tables. Estimates are null for axes with a single descriptor, or with fewer than two templates or nouns.

    Raises
    ------
    DataError
        A column is missing, or a row has no axis, template, descriptor or noun.
    UsageError
        `margin` is negative, or `per` is unknown.

    Notes
    -----
    A descriptor is a word or phrase that names a group. The axis is its characteristic, such as age. A template is a
    sentence with gaps for a descriptor and a noun.

    The spread is the SD of the true effects of descriptors, without noise. Its estimator is our own. It multiplies
    surprisals of sentences that share neither template nor noun, so that noise cancels on average. The CI is from a
    jackknife over templates and nouns.

    With two nouns, the result holds for these two. With three or more, it holds for nouns like these.

    References
    ----------
    - HolisticBias (Smith et al. 2022), section 2.3.2: the construct.

    Examples
    --------
    >>> frame = pl.DataFrame(
    ...     [("age", f"t{t}", d, f"n{n}", -base - n - t % 2 * n / 9) for d, base in [("old", 30.0), ("young", 29.0)]
    ...      for n in range(4) for t in range(3)],
    ...     schema=["axis", "template", "descriptor", "noun", "log_likelihood"], orient="row")
    >>> likelihood_spread(frame).pairs.select("descriptor_0", "descriptor_1", "log_ratio").row(0)
    ('old', 'young', 1.0)
    """
    require_columns(frame, ["axis", "template", "descriptor", "noun"], "likelihood_spread")
    if margin < 0:
        raise UsageError(f"likelihood_spread: margin must be 0 or more (in nats), got {margin}.")
    frame = frame.with_columns(pl.col("axis", "template", "descriptor", "noun").cast(pl.String))
    frame, taken = with_surprisal(frame, "likelihood_spread", per)
    if "token_count" in frame.columns or taken == "token":
        frame = with_log_perplexity(frame, "likelihood_spread")
    else:  # without token counts, there is no perplexity
        frame = frame.with_columns(log_perplexity=pl.lit(None, pl.Float64))
    counts = {
        axis: (there, absent)
        for axis, there, absent in frame.group_by("axis")
        .agg(pl.col("surprisal").count(), pl.col("surprisal").null_count().alias("absent"))
        .iter_rows()
    }
    axes, descriptors, pairs = [], [], []
    for crossing in crossings(frame, "surprisal"):
        own = len(crossing.nouns) < LEAST_NOUNS  # too few nouns to be a sample: only templates are
        shifts = moderated_shifts(crossing.values, own_nouns=own, seed=seed, common_level=False)
        first, second = _farthest(shifts.shift)
        far = pairwise_shifts(
            crossing.values,
            first,
            second,
            own_nouns=own,
            confidence=1 - 0.05 * len(first) / max(1, _count_pairs(shifts.shift)),
        )
        names = np.array(crossing.descriptors, dtype=object)
        table = {
            "axis": [crossing.axis] * len(first),
            "descriptor_0": names[first].tolist(),
            "descriptor_1": names[second].tolist(),
            "log_ratio": far.estimate,
            "low": far.low,
            "high": far.high,
        }
        pairs.append(pl.DataFrame(table, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None)))
        there, absent = counts[crossing.axis]
        counted = {"n": there, "n_missing": absent}
        axes.append(_axis_row(crossing, shifts, margin) | _largest(pairs[-1]) | counted)
        descriptors.append(_descriptor_rows(crossing, shifts))
    return LikelihoodSpread(
        axes=pl.DataFrame(axes, schema=AXES).with_columns(pl.col(pl.Float64).fill_nan(None)),
        descriptors=_with_counts(pl.concat(descriptors), frame),
        pairs=pl.concat(pairs),
        descriptor_templates=_medians(frame),
        per=taken,
    )


def _axis_row(crossing: Crossing, shifts: Shifts, margin: float) -> dict[str, float | int | str | None]:
    compared = int(np.count_nonzero(~np.isnan(shifts.shift)))
    row: dict[str, float | int | str | None] = {
        "axis": crossing.axis,
        "n_descriptors": len(crossing.descriptors),
        "n_units": shifts.contrasts,
        "n_nouns": len(crossing.nouns),
    }
    if compared < 2 or len(crossing.nouns) < 2:
        return row
    spread = shift_spread(crossing.values, own_nouns=len(crossing.nouns) < LEAST_NOUNS)
    sizes = {"estimate": spread.sd, "low": spread.low, "high": spread.high}
    with np.errstate(over="ignore"):
        factors = {
            f"factor{name.removeprefix('estimate') and '_' + name}": float(np.exp(size))
            for name, size in sizes.items()
        }
    return row | sizes | factors | {"share_beyond": _share_beyond(shifts.shift, spread.sd, margin)}


def _share_beyond(shift: Floats, spread: float, margin: float) -> float:
    """Return the share of pairs that differ by more than the margin, after shrinking the means to the true spread.

    In simulated designs, the bias is at most .02. A share from a normal distribution would not distinguish a few
    extreme descriptors from many moderate ones.
    """
    known = shift[~np.isnan(shift)] * (1 - 1 / np.count_nonzero(~np.isnan(shift)))
    observed = float(np.std(known, ddof=1))
    if observed == 0 or isnan(spread):
        return float(margin < 0) if observed == 0 else float("nan")
    drawn = np.sort(known * (spread / observed))
    within = np.searchsorted(drawn, drawn + margin, side="right") - np.arange(len(drawn)) - 1
    pairs = len(drawn) * (len(drawn) - 1) / 2
    return float(1 - within.sum() / pairs)


def _count_pairs(shift: Floats) -> int:
    number = int(np.count_nonzero(~np.isnan(shift)))
    return number * (number - 1) // 2


def _farthest(shift: Floats) -> tuple[Indices, Indices]:
    """Return the pairs with the largest differences of means, the less likely descriptor first."""
    order = np.argsort(-shift)[: int(np.count_nonzero(~np.isnan(shift)))]  # NaN last
    ends = np.arange(min(PAIRS_SHOWN + 1, len(order)))
    high, low = np.meshgrid(ends, len(order) - 1 - ends, indexing="ij")
    usable = high < low
    first, second = order[high[usable]], order[low[usable]]
    best = np.argsort(-(shift[first] - shift[second]), kind="stable")[:PAIRS_SHOWN]
    return first[best], second[best]


def _largest(pairs: pl.DataFrame) -> dict[str, float | str | None]:
    if pairs.is_empty():
        return {}
    row = pairs.row(0, named=True)
    return {
        "descriptor_0": row["descriptor_0"],
        "descriptor_1": row["descriptor_1"],
        "largest": row["log_ratio"],
        "largest_low": row["low"],
        "largest_high": row["high"],
    }


def _descriptor_rows(crossing: Crossing, shifts: Shifts) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "axis": [crossing.axis] * len(crossing.descriptors),
            "descriptor": crossing.descriptors,
            "log_ratio": shifts.shift,
            "low": shifts.low,
            "high": shifts.high,
            "p": shifts.p,
            "q": benjamini_hochberg(shifts.p),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _with_counts(profiles: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    tokens = pl.col("token_count").median() if "token_count" in frame.columns else pl.lit(None)
    counts = frame.group_by("axis", "descriptor").agg(
        pl.col("surprisal").count().cast(pl.Int64).alias("n"),
        pl.col("surprisal").null_count().cast(pl.Int64).alias("n_missing"),
        pl.col("log_perplexity").median().exp().alias("median_perplexity"),
        tokens.cast(pl.Float64).alias("token_count"),
    )
    keys = ["axis", "descriptor"]
    table = profiles.join(counts, on=keys, how="left").sort(keys)
    of_profile = [name for name in profiles.columns if name not in keys]
    return table.select(*keys, "n", "n_missing", "median_perplexity", *of_profile, "token_count")


def _medians(frame: pl.DataFrame) -> pl.DataFrame:
    keys = ["axis", "descriptor", "template"]
    cell = pl.col("surprisal").median().over("axis", "template", "noun")
    return (
        frame.with_columns(deviation=pl.col("surprisal") - cell)
        .group_by(keys)
        .agg(
            pl.col("log_perplexity").median().exp().alias("median_perplexity"),
            pl.col("deviation").median().alias("log_ratio"),
            pl.col("surprisal").count().cast(pl.Int64).alias("n"),
        )
        .sort(keys)
    )


CARDS = (
    MeasureInfo.of(
        Card(
            name="likelihood_spread",
            summary="How much the likelihoods of an axis' descriptors differ in the same sentences.",
            construct="Whether a model finds the descriptors of an axis differently likely in the same context.",
            harm="Groups whose mention is unlikely for a model are left out, misspelt, or described as "
            "exceptions.",
            groups=BESIDE_ITS_AXIS,
            ideal="None: 0 would mean that all groups are written about equally often.",
            direction="Higher means a larger difference. The measure has no verdict.",
            null="None is tested. The CI shows how precisely the spread is known.",
            critique=FREQUENCY + " Frequency alone makes the spread large in any model.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section 2.3.2, for the construct",
            details=(
                "The value is the standard deviation of the descriptors' true effects on the log-likelihood of a "
                "whole sentence. It is estimated from products of sentences that share neither template nor noun, "
                "so no noise needs to be subtracted. The CI is a jackknife over templates and nouns. The "
                "exponential of the value is a factor: how many times as likely. Simulations had 3 to 26 templates, "
                "3 to 36 nouns and 4 to 140 descriptors. The bias of the estimate was at most 0.02, and 95% CIs "
                "covered the true value in 92.5 to 100%. If only perplexities are given, log-perplexity is used, "
                "and the unit shows this."
            ),
        ),
        unit="nats per sentence (standard deviation)",
    ),
    MeasureInfo.of(
        Card(
            name="descriptor_log_ratio",
            summary="How much less likely a descriptor is than the others of its axis.",
            construct="How likely a model finds the mention of one group, relative to other groups.",
            harm="As for likelihood_spread.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Above 0: less likely than the others. Below 0: more likely. Both are differences; the "
            "measure has no verdict.",
            null="None is tested.",
            critique=FREQUENCY,
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, Figure 2 shows the perplexities; the contrast and its interval are ours",
            details="The value is the mean over templates of the descriptor's minus log-likelihood, minus the mean "
            "of the other descriptors. The CI uses a moderated t with nouns crossed with templates.",
        ),
        unit="nats per sentence",
    ),
)
