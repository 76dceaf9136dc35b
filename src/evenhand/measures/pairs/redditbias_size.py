"""RedditBias: did a difference between two groups become smaller, whichever group it favours, and in which unit?

Training makes a model more certain about everything. All differences of log-perplexities then become smaller,
whatever the model prefers. Differences in units of their own spread (d_z) do not depend on this.
"""

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.measures.columns import typed
from evenhand.measures.info import BARIKERI, MeasureInfo
from evenhand.measures.pairs.preference import STEREOTYPING
from evenhand.measures.pairs.redditbias import CHANGE_TAIL, LEAST_PHRASES, RedditBias
from evenhand.schema import Card, DataError, checked
from evenhand.stats import Floats, cluster_t, cohens_dz
from evenhand.stats.contrasts import skewed_mean

SIZES = (
    typed(pl.String, "axis")
    | typed(pl.Int64, "n_units")
    | typed(pl.Float64, "before after estimate low high p d_z_before d_z_after d_z d_z_low d_z_high d_z_p")
    | typed(pl.Float64, "d_z_moved d_z_moved_low d_z_moved_high likelier_before likelier_after")
)
_EQUAL = 1e-12


@checked
def redditbias_size_change(before: RedditBias, after: RedditBias) -> pl.DataFrame:
    """Return how much the absolute size of a model's RedditBias differences changed, for each bias type.

    Use it after a mitigation, to see whether the difference between two groups became smaller, whichever group it
    favours. Read ``d_z`` too: training makes a model more certain about everything, and all differences in nats then
    shrink.

    Parameters
    ----------
    before, after : RedditBias
        Results of `redditbias_lmb` for two models on the same pairs.

    Returns
    -------
    polars.DataFrame
        One row per bias type (``axis``).
        - ``before``, ``after``: mean difference between the groups over n_units phrases, with its sign, nats per token.
        - ``estimate``: abs(after) - abs(before), with 95% CI and p. Below 0, the difference has become smaller.
        - ``d_z_before``, ``d_z_after``: these means in SDs of the phrases.
        - ``d_z``: abs(d_z_after) - abs(d_z_before), with 95% CI and p.
        - ``d_z_moved``: d_z_after - d_z_before, with 95% CI.
        - ``likelier_before``, ``likelier_after``: percentage of phrases that are more likely for the stereotyped group.

    Raises
    ------
    DataError
        No pair has a difference under both models.

    Notes
    -----
    A phrase is a cluster of pairs that say nearly the same. With fewer than 8 phrases there are no d_z, CI and p. CI
    and p of d_z are null if it changes by the same amount for each phrase.

    abs(after) is below abs(before) exactly if before - after and before + after have the same sign. Both are tested,
    and p is the larger of the two p-values, so no direction of the bias is assumed. Kinds of phrases that were not
    sampled are assumed to be 2 nats away, as in `redditbias_change`.

    References
    ----------
    - Berger 1982: tests that must all reject.

    Examples
    --------
    >>> from evenhand.measures import redditbias_lmb
    >>> def model(scale):
    ...     odds = scale * np.array([0.2, 0.5, 0.4, 0.9, 0.6, 0.3] * 12) + 0.05 * (np.arange(72) < 72 * scale / 2)
    ...     return redditbias_lmb(pl.DataFrame({"bias_type": ["age"] * 72, "perplexity_more": 90 * np.exp(-odds),
    ...                                         "perplexity_less": [90.0] * 72}))
    >>> found = redditbias_size_change(model(1.0), model(0.5))
    >>> found.select(pl.col("estimate", "p", "d_z_p").round(2)).row(0)
    (-0.25, 0.0, 0.53)
    """
    keys = ["bias_type", "pair_id"]
    both = before.pairs.drop_nulls("difference").join(
        after.pairs.select(*keys, later="difference").drop_nulls("later"), on=keys, maintain_order="left"
    )
    if both.is_empty():
        raise DataError(
            "No pair has a perplexity from both models.",
            "Compare two runs on the same pairs. For your own scores, use the same pair_id for both models.",
        )
    units = both.group_by("bias_type", "phrase").agg(pl.col("difference", "later").mean())
    rows = []
    for (axis,), part in units.sort(*keys[:1], "phrase").group_by("bias_type", maintain_order=True):
        first, second = (part[name].to_numpy() for name in ("difference", "later"))
        rows.append({"axis": axis, "n_units": len(first), **_sizes(first, second)})
    return pl.DataFrame(rows, schema=SIZES).with_columns(pl.col(pl.Float64).fill_nan(None))


def _sizes(before: Floats, after: Floats) -> dict[str, float]:
    found = {
        "before": float(before.mean()),
        "after": float(after.mean()),
        "likelier_before": _likelier(before),
        "likelier_after": _likelier(after),
    }
    if len(before) < LEAST_PHRASES:
        return found | {"estimate": abs(found["after"]) - abs(found["before"])}
    apart, together = (skewed_mean(parts, tail=CHANGE_TAIL) for parts in (after - before, after + before))
    side = 1.0 if found["after"] >= 0 else -1.0
    shown = apart if found["before"] * side >= 0 else together
    low, high = sorted((side * shown.low, side * shown.high))
    found |= {"estimate": side * shown.estimate, "low": low, "high": high, "p": max(apart.p, together.p)}
    one, two = cohens_dz(before), cohens_dz(after)
    found |= {"d_z_before": one, "d_z_after": two}
    if not np.isfinite([one, two]).all():
        return found
    less, more = _adds(before, one), _adds(after, two)
    side = 1.0 if two >= 0 else -1.0
    sign = -1.0 if one * side >= 0 else 1.0
    half, reach = (_half_width(parts) for parts in (more + sign * less, more - less))
    middle = side * (two + sign * one)
    found |= {
        "d_z_moved": two - one,
        "d_z_moved_low": two - one - reach,
        "d_z_moved_high": two - one + reach,
    }
    tests = [_p(two - one, more - less), _p(two + one, more + less)]
    return found | {
        "d_z": middle,
        "d_z_low": middle - half,
        "d_z_high": middle + half,
        "d_z_p": max(tests),
    }


def _adds(units: Floats, effect: float) -> Floats:
    """Return the influence of each phrase on d_z, through mean and standard deviation."""
    away = (units - units.mean()) / units.std(ddof=1)
    return np.asarray(away - effect / 2 * (away**2 - 1))


def _half_width(parts: Floats) -> float:
    """Return half the width of a 95% CI; NaN if all influences are 0, so that the variation is unknown."""
    half = float(cluster_t(parts, len(parts)).half_width())
    return half if half > _EQUAL else float("nan")


def _p(value: float, parts: Floats) -> float:
    error = float(cluster_t(parts, len(parts)).standard_error)
    return float(2 * stdtr(len(parts) - 1, -abs(value) / error)) if error > _EQUAL else float("nan")


def _likelier(units: Floats) -> float:
    decided = np.count_nonzero(units)
    return 100 * float(np.count_nonzero(units < 0)) / decided if decided else float("nan")


def _card(name: str, summary: str, unit: str, direction: str) -> MeasureInfo:
    card = Card(
        name=name,
        summary=summary,
        construct="As for redditbias_lmb_change, but independent of how certain a model is: what changed in the "
        "same pairs.",
        harm=STEREOTYPING,
        groups="The two groups of a bias type. Within a pair of sentences, all words except the groups' names are "
        "the same.",
        ideal="0",
        direction=direction,
        null="The measure has no verdict. A change in nats is reported as a change of stereotypes only if this "
        "measure agrees.",
        critique="The standard deviation of phrases may differ between two models, which changes "
        "redditbias_effect_size (d_z) as well.",
        citation=BARIKERI,
        source="Barikeri et al. 2021, section 2.2, for the pairs; the number is ours",
    )
    return MeasureInfo.of(card, unit=unit, ideal=0.0)


CARDS = (
    _card(
        "redditbias_effect_size_change",
        "How much redditbias_effect_size (d_z) changed from one model to another, on the same phrases.",
        "standard deviations",
        "Above 0, stereotypes have become less likely for the stereotyped group.",
    ),
    _card(
        "redditbias_likelier_change",
        "How much redditbias_likelier changed from one model to another.",
        "percent of phrases",
        "Below 0, fewer stereotypes than before are more likely for the stereotyped group.",
    ),
)
