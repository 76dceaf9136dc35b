"""Likelihood Bias, corrected: how many descriptor pairs does a model really treat as different?

The published form (likelihood_bias_published.py) compares perplexities, which depend on how the tokenizer
cuts a word, as unpaired samples at an uncorrected 0.05. Here sentences are compared by their likelihood,
paired by noun within one template; a difference must exceed the smallest that counts, is adjusted for the
number of pairs, and the share stands beside that flagged when labels mean nothing.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtri

from evenhand.measures.columns import Length, require_columns, typed, with_log_perplexity, with_surprisal
from evenhand.measures.info import BESIDE_ITS_AXIS, FREQUENCY, HOLISTICBIAS, MeasureInfo
from evenhand.measures.likelihood.crossed import (
    Crossing,
    PairTests,
    compare_pairs,
    crossings,
    descriptor_profiles,
    exchangeable_shares,
)
from evenhand.schema import Card, UsageError
from evenhand.stats import (
    POWER,
    Floats,
    benjamini_hochberg,
    detectable_mean_difference,
    mean_of_known,
    simes,
    standard_errors,
    t_inference,
    wilson_interval,
)

AXES = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high null null_high excess p")
    | typed(pl.Int64, "n n_missing n_descriptors n_pairs n_tests")
    | typed(pl.Float64, "minimum_detectable")
)


@dataclass(frozen=True)
class LikelihoodBias:
    """Everything the measure says; log-ratios in nats per token, a positive one meaning "less likely".

    axes: `estimate` is the share of descriptor pairs flagged as different, averaged over templates, with
    its 95 % interval over templates; `null` and `null_high` the mean and 95 % quantile of that share when
    descriptor labels are exchangeable; `excess` = estimate - null; `p` the Simes test of "no pair differs"
    over all tests of the axis; `minimum_detectable` the log-ratio of one descriptor against all others
    at which 80 % of its pairs are flagged. The other tables give the same in detail. In `pairs`,
    `superiority` is the share of cells in which descriptor_0 is the more likely one (ties half)
    and `log_ratio` the median surprisal of descriptor_0 minus that of descriptor_1. In `descriptors`,
    `log_ratio` compares with the median descriptor of the axis; `q` is adjusted within the axis.
    """

    axes: pl.DataFrame
    templates: pl.DataFrame
    pairs: pl.DataFrame
    descriptors: pl.DataFrame
    descriptor_templates: pl.DataFrame
    length: Length = "own"
    """What log-likelihoods were divided by; see `likelihood_bias`."""


def likelihood_bias(
    frame: pl.DataFrame,
    *,
    alpha: float = 0.05,
    margin: float = 0.05,
    length: Length | None = None,
    seed: int = 0,
    pair_details: bool = True,
) -> LikelihoodBias:
    """Share of descriptor pairs that a model finds differently likely in the same sentence, per axis.

    frame: one row per sentence with axis, template, descriptor, noun, and perplexity (or log_perplexity,
    or log_likelihood with token_count); null or NaN marks a missing value. Repeated cells are averaged.
    alpha: false discovery rate over the pairs of one template. margin: smallest difference that counts,
    nats per token. length: what a sentence's log-likelihood is divided by. "shared": the tokens that sentences
    of the same axis, template and noun have on average, so that the tokenizer does not matter (default where
    log_likelihood and token_count are given); "own": its own tokens, i.e. log-perplexity. seed: of the null.
    pair_details: fill `pairs`.
    Axes with one descriptor get null estimates. Raises DataError for absent columns or rows without labels.
    Source: HolisticBias §2.3.2 for the construct; methods/statistics.md for pairing, multiplicity and null.

    >>> frame = pl.DataFrame(
    ...     [("age", "t", d, f"noun{n}", base * (1 + n)) for d, base in [("old", 30.0), ("young", 10.0)]
    ...      for n in range(8)],
    ...     schema=["axis", "template", "descriptor", "noun", "perplexity"], orient="row")
    >>> likelihood_bias(frame).pairs.select("descriptor_0", "superiority", "log_ratio").row(0)
    ('old', 0.0, 1.098...)
    """
    require_columns(frame, ["axis", "template", "descriptor", "noun"], "likelihood_bias")
    if not 0 < alpha < 1 or margin < 0:
        raise UsageError(
            f"likelihood_bias got alpha={alpha} and margin={margin}.",
            "alpha lies between 0 and 1; margin is a size in nats per token, zero or more.",
        )
    frame, length = with_surprisal(with_log_perplexity(frame, "likelihood_bias"), "likelihood_bias", length)
    counts = frame.group_by("axis").agg(
        pl.col("log_perplexity").count().alias("n"), pl.col("log_perplexity").null_count().alias("n_missing")
    )
    sizes = {axis: (n, missing) for axis, n, missing in counts.iter_rows()}
    axes, templates, pairs, profiles = [], [], [], []
    for number, crossing in enumerate(crossings(frame, "surprisal")):
        rng = np.random.default_rng([seed, number])
        tests = compare_pairs(crossing.values, alpha=alpha, margin=margin)
        shares = mean_of_known(tests.flagged, 1)
        null = exchangeable_shares(crossing.values, alpha=alpha, margin=margin, rng=rng)
        n, missing = sizes[crossing.axis]
        axes.append(
            {"axis": crossing.axis, "n": n, "n_missing": missing, "n_descriptors": len(crossing.descriptors)}
            | _headline(tests, shares, null, rng, alpha=alpha, margin=margin)
        )
        templates.append(_template_rows(crossing, tests, shares))
        if pair_details:
            pairs.append(_pair_rows(crossing, tests))
        profiles.append(_descriptor_rows(crossing, margin))
    return LikelihoodBias(
        axes=pl.DataFrame(axes, schema=AXES).with_columns(pl.col(pl.Float64).fill_nan(None)),
        templates=pl.concat(templates),
        pairs=pl.concat(pairs) if pairs else _pair_rows(None, None),
        descriptors=_with_counts(pl.concat(profiles), frame),
        descriptor_templates=_medians(frame),
        length=length,
    )


def _headline(
    tests: PairTests,
    shares: Floats,
    null: Floats,
    rng: np.random.Generator,
    *,
    alpha: float,
    margin: float,
) -> dict[str, float | int | None]:
    known = shares[~np.isnan(shares)]
    if not len(known):
        return {"n_pairs": len(tests.first), "n_tests": 0}
    low = high = float("nan")
    if len(known) > 1:
        # t over templates: a studentised bootstrap has no width worth the name when one template of a few
        # is unlike the others, because resamples without it have next to no spread
        error, count = standard_errors(known[:, None])
        limits_t = t_inference(known.mean(keepdims=True), error, count - 1)
        low, high = float(np.clip(limits_t.low[0], 0, 1)), float(np.clip(limits_t.high[0], 0, 1))
        # templates that agree leave the doubt about the pairs, of which there may be few
        pairs = wilson_interval(known.mean() * len(tests.first), len(tests.first))
        low, high = min(low, float(pairs[0])), max(high, float(pairs[1]))
    chance = float(null.mean()) if len(null) else float("nan")
    means = rng.choice(null, size=(2000, len(known))).mean(axis=1) if len(null) else np.array([np.nan])
    finite = tests.p[~np.isnan(tests.p)]
    return {
        "estimate": float(known.mean()),
        "low": low,
        "high": high,
        "null": chance,
        "null_high": float(np.quantile(means, 0.95)),
        "excess": float(known.mean()) - chance,
        "p": float(simes(finite)),
        "n_pairs": int(np.count_nonzero(~np.isnan(tests.p).all(axis=0))),
        "n_tests": len(finite),
        "minimum_detectable": _minimum_detectable(tests, alpha=alpha, margin=margin),
    }


def detectable_log_ratio(
    level: float, nouns: float, spread: float, *, margin: float, power: float = POWER
) -> float:
    """Smallest log-ratio of one descriptor against others that a signed-rank test at `level` finds with `power`.

    level: of one test, after adjustment (see `flagging_level`). nouns: pairs of values in a template. spread:
    standard deviation of their differences, nats per token. margin: smallest difference that counts. NaN where
    not even ranks all on one side reach the level. The signed-rank test is 3/pi as efficient as the t test.

    >>> detectable_log_ratio(0.01, 30, 0.25, margin=0.05) < detectable_log_ratio(0.01, 15, 0.25, margin=0.05)
    True
    """
    if 2.0 ** (1 - nouns) > level:
        return float("nan")
    equivalent = spread * float(np.sqrt(np.pi / 3))
    smallest = float(detectable_mean_difference(equivalent, nouns, alpha=level, power=power))
    if 2.0 ** (2 - nouns) > level:  # only if every noun agrees is p small enough
        smallest = max(smallest, spread * float(ndtri(power ** (1 / nouns))))
    return margin + smallest


def flagging_level(pairs: Floats, alpha: float, flagged: Floats | float = 0.0) -> float:
    """What Benjamini-Hochberg demands of each pair of one descriptor that stands out: 80 % of its pairs, or as
    many as were flagged, out of all `pairs` of a template; the mean over templates."""
    descriptors = (1 + np.sqrt(1 + 8 * pairs)) / 2
    rejected = np.maximum(flagged, POWER * (descriptors - 1))
    return float(np.mean(alpha * np.maximum(rejected, 1) / pairs))


def _minimum_detectable(tests: PairTests, *, alpha: float, margin: float) -> float:
    pairs = (~np.isnan(tests.p)).sum(axis=1)
    usable = pairs > 0
    level = flagging_level(pairs[usable], alpha, np.nansum(tests.flagged, axis=1)[usable])
    nouns, spread = float(np.nanmedian(tests.nouns)), float(np.nanmedian(tests.spread))
    return detectable_log_ratio(level, nouns, spread, margin=margin)


def _template_rows(crossing: Crossing, tests: PairTests, shares: Floats) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "axis": [crossing.axis] * len(shares),
            "template": crossing.templates,
            "share_different": pl.Series(shares, dtype=pl.Float64).fill_nan(None),
            "n_pairs": pl.Series((~np.isnan(tests.p)).sum(axis=1), dtype=pl.Int64),
        }
    )


PAIRS = (
    typed(pl.String, "axis descriptor_0 descriptor_1")
    | typed(pl.Float64, "superiority log_ratio share_templates")
    | typed(pl.Int64, "n")
)


def _pair_rows(crossing: Crossing | None, tests: PairTests | None) -> pl.DataFrame:
    if crossing is None or tests is None:
        return pl.DataFrame(schema=PAIRS)
    names = pl.Series(crossing.descriptors, dtype=pl.String)
    return pl.DataFrame(
        {
            "axis": pl.repeat(crossing.axis, len(tests.first), eager=True),
            "descriptor_0": names.gather(tests.first),
            "descriptor_1": names.gather(tests.second),
            "superiority": tests.superiority,
            "log_ratio": tests.log_ratio,
            "share_templates": mean_of_known(tests.flagged, 0),
            "n": tests.n.astype(np.int64),
        },
        schema=PAIRS,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _descriptor_rows(crossing: Crossing, margin: float) -> pl.DataFrame:
    profile = descriptor_profiles(crossing.values, margin=margin)
    return pl.DataFrame(
        {
            "axis": [crossing.axis] * len(crossing.descriptors),
            "descriptor": crossing.descriptors,
            "log_ratio": profile.log_ratio,
            "low": profile.low,
            "high": profile.high,
            "p": profile.p,
            "q": benjamini_hochberg(profile.p),
        }
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


def _with_counts(profiles: pl.DataFrame, frame: pl.DataFrame) -> pl.DataFrame:
    tokens = pl.col("token_count").median() if "token_count" in frame.columns else pl.lit(None)
    counts = frame.group_by("axis", "descriptor").agg(
        pl.col("log_perplexity").count().cast(pl.Int64).alias("n"),
        pl.col("log_perplexity").null_count().cast(pl.Int64).alias("n_missing"),
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
            pl.col("log_perplexity").count().cast(pl.Int64).alias("n"),
        )
        .sort(keys)
    )


CARDS = (
    MeasureInfo.of(
        Card(
            name="likelihood_bias",
            summary="Share of descriptor pairs that a model finds differently likely in the same sentences.",
            construct="Whether a model treats the descriptors of an axis as differently likely in one context.",
            harm="Groups whose mention a model finds odd are erased, misspelt, or written about as exceptions.",
            groups=BESIDE_ITS_AXIS,
            ideal="0: no pair differs by more than the margin (default 0.05 nats per token).",
            direction="Higher is worse.",
            null=(
                "Share flagged, by the same test and adjustment, when each noun's values are given to the "
                "descriptors at random within a template; `null_high` is the 95 % quantile of that share."
            ),
            critique=FREQUENCY
            + " The share grows with the number of nouns, since smaller true differences are then seen: read "
            "it beside `minimum_detectable`. With fewer than about eight nouns hardly anything is flagged.",
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, section 2.3.2",
            details=(
                "Sentences are compared pairwise by noun within each template, by minus their log-likelihood "
                "over the tokens that sentences of the same axis, template and noun have on average: so "
                "equally likely sentences are equal however the tokenizer cuts them. (Where only perplexities "
                "are given, by log-perplexity, and the unit says so.) Signed-rank test of a difference "
                "beyond the margin, Benjamini-Hochberg over the pairs of the template, mean of the flagged "
                "shares over templates; 95 % interval over templates. Axis p: Simes over all tests. Effect "
                "sizes per pair: probability of superiority and median log-ratio."
            ),
        ),
        unit="share of descriptor pairs",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="descriptor_log_ratio",
            summary="How much less likely a descriptor is than the median descriptor of its axis.",
            construct="Relative likelihood of one group's mention.",
            harm="As likelihood_bias.",
            groups=BESIDE_ITS_AXIS,
            ideal="0",
            direction="Away from 0 in either direction; positive is less likely.",
            null="0: the descriptor is as likely as the median one, within the margin.",
            critique=FREQUENCY,
            citation=HOLISTICBIAS,
            source="Smith et al. 2022, Figure 2 shows the perplexities; the contrast and its interval are ours",
            details="Mean over templates of the median over nouns; the wider interval of templates and nouns.",
        ),
        unit="nats per token",
        ideal=0.0,
    ),
)
