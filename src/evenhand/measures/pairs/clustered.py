"""Preferences over correlated pairs: pairs that swap the same words form a cluster.

If a model knows one word of a swap better than the other, it prefers the same side in all pairs of that swap. Pairs are
therefore not independent, and swaps are the sampling units.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.stats.clusters import cluster_flip, correlation_within, smallest_flip_p, smallest_shift

PLANNED_CORRELATION = 0.05
"""Assumed correlation between pairs of sentences that swap the same words. Used before a run, or if a run cannot
estimate it.
"""
POINTS = 100.0
_PUNCTUATION = re.compile(r"[^\w\s]")

GROUPS = (
    typed(pl.String, "axis")
    | typed(pl.Float64, "estimate low high")
    | typed(pl.Int64, "n ties n_missing n_units")
    | typed(pl.Float64, "null null_low null_high p minimum_detectable correlation")
    | typed(pl.String, "obstacle")
)


def swapped_words(first: Sequence[str | None], second: Sequence[str | None]) -> list[str | None]:
    """Return the words in which the two sentences of each pair differ, in either order: the name of a swap.

    Case and punctuation are ignored.

    Parameters
    ----------
    first, second : sequence of str or None, length n
        The two sentences of each pair.

    Returns
    -------
    list of str or None, length n
        Names; None if a sentence is missing or the two have the same words.

    References
    ----------
    - `difflib.SequenceMatcher` over words, its differing stretches.

    Examples
    --------
    >>> swapped_words(["The old man sat.", "A young cat!"], ["The young man sat.", "A old cat."])
    ['old | young', 'old | young']
    """
    found = [differing_words(one, other) for one, other in zip(first, second, strict=True)]
    return [None if spans is None else " | ".join(sorted(spans)) for spans in found]


def stretches(one: str, other: str) -> tuple[list[str], list[str], Sequence[tuple[str, int, int, int, int]]]:
    """Return the words of two sentences, and difflib's equal and differing blocks; case and punctuation are ignored.

    >>> stretches("The old man", "the young man!")[2][1]
    ('replace', 1, 2, 1, 2)
    """
    a, b = (_PUNCTUATION.sub("", text.lower()).split() for text in (one, other))
    return a, b, SequenceMatcher(None, a, b).get_opcodes()


def differing_words(one: str | None, other: str | None) -> tuple[str, str] | None:
    """Return the words in which two sentences differ; None if one is missing or they have the same words.

    >>> differing_words("The old man sat.", "The young man sat.")
    ('old', 'young')
    """
    if one is None or other is None:
        return None
    a, b, codes = stretches(one, other)
    changed = [code for code in codes if code[0] != "equal"]
    spans = (
        " ".join(word for _, start, end, *_ in changed for word in a[start:end]),
        " ".join(word for *_, start, end in changed for word in b[start:end]),
    )
    return spans if changed else None


def once_each(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return one row per pair with an outcome; copies of a pair get their most common outcome.

    Parameters
    ----------
    pairs : polars.DataFrame
        Columns bias_type, pair (equal for copies), swap (null: the pair is its own cluster) and outcome (1, .5, 0 or
        null).

    Returns
    -------
    polars.DataFrame
        Columns bias_type, pair, swap and outcome.
    """
    known = pairs.filter(pl.col("outcome").is_not_null())
    return known.group_by("bias_type", "pair", maintain_order=True).agg(
        pl.coalesce("swap", "pair").first().alias("swap"),
        (0.5 + (pl.col("outcome").mean() - 0.5).sign() / 2).alias("outcome"),
    )


def clustered_groups(pairs: pl.DataFrame, *, level: float | None, seed: int) -> pl.DataFrame:
    """Return the `groups` table of PairScores, with swaps as clusters; the first row, over all types, is a description.

    `pairs` is as in `once_each`, `level` is the significance level of a type, and `seed` is for random signs and
    simulated data.
    """
    rows: list[dict[str, object]] = []
    whole = once_each(pairs.with_columns(bias_type=pl.lit(None, pl.String)))
    rows.append(_row(None, whole, _missing(pairs), level, seed) | dict.fromkeys(("p", "minimum_detectable")))
    rows[0]["obstacle"] = None
    by_type = once_each(pairs)
    for name in pairs["bias_type"].drop_nulls().unique().sort():
        here = pl.col("bias_type") == name
        rows.append(_row(name, by_type.filter(here), _missing(pairs.filter(here)), level, seed))
    return pl.DataFrame(rows, schema=GROUPS).with_columns(pl.col(pl.Float64).fill_nan(None))


def planned_groups(pairs: pl.DataFrame, *, level: float, seed: int) -> pl.DataFrame:
    """Return what these pairs can detect, before a model is run.

    The columns are axis, n, n_units and minimum_detectable (points from 50). Pairs of one swap are assumed to have the
    correlation PLANNED_CORRELATION.

    Parameters
    ----------
    pairs : polars.DataFrame
        One row per pair with bias_type, pair and swap, as in `once_each`.
    level : float
        Significance level of a bias type.
    seed : int
        Random seed of the simulated data.
    """
    planned = once_each(pairs.with_columns(outcome=pl.lit(0.5)))
    rows = []
    for (name,), part in planned.group_by(["bias_type"], maintain_order=True):
        sizes = part.group_by("swap").len()["len"].to_numpy()
        reach = smallest_shift(sizes, level=level, correlation=PLANNED_CORRELATION, seed=seed)
        rows.append((name, part.height, len(sizes), 50 * reach))
    schema = {
        "axis": pl.String,
        "n": pl.Int64,
        "n_units": pl.Int64,
        "minimum_detectable": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None).sort("axis")


def flipped_row(sums: pl.DataFrame, *, null: float, level: float | None, seed: int) -> dict[str, object]:
    """Return estimate, interval, p and minimum detectable effect of clustered outcomes, in points (0 to 100).

    The result also has n_units, correlation (of directions within clusters) and obstacle.

    Parameters
    ----------
    sums : polars.DataFrame
        One row per cluster: total and size, and plus and minus (numbers of outcomes above and below `null`). Outcomes
        differ from `null` by at most 1/2 (preferences) or 1 (changes).
    null : float
        .5 for preferences between 0 and 1, 0 for changes between -1 and 1.
    level : float or None
        Significance level. None: a description without p, minimum detectable effect and obstacle.
    """
    sums = sums.sort("size", "total", "plus")
    size, plus, minus = (sums[name].to_numpy() for name in ("size", "plus", "minus"))
    bounds = (0.0, 1.0) if null else (-1.0, 1.0)
    flip = cluster_flip(sums["total"].to_numpy(), size, null=null, bounds=bounds, seed=seed)
    correlation = correlation_within(plus, minus)
    row: dict[str, object] = {
        "estimate": POINTS * flip.estimate,
        "low": POINTS * flip.low,
        "high": POINTS * flip.high,
        "n_units": flip.clusters,
        "null": POINTS * null,
        "correlation": correlation,
    }
    if level is None:
        return row
    if np.isnan(correlation):
        correlation = PLANNED_CORRELATION
    decided = float((plus + minus).sum() / size.sum())
    reach = smallest_shift(size, level=level, correlation=correlation, decided=decided, seed=seed)
    return row | {
        "p": flip.p,
        "minimum_detectable": POINTS * reach * (bounds[1] - null),
        "obstacle": _obstacle(flip.clusters, reach, level),
    }


def _obstacle(clusters: int, reach: float, level: float) -> str | None:
    if not np.isnan(reach):
        return None
    sets = f"{clusters} set{'' if clusters == 1 else 's'} of swapped words"
    if (least := smallest_flip_p(clusters)) > level:
        return f"With {sets}, p cannot be smaller than {least:.2g}, and {level:.2g} is required."
    return f"With {sets}, the power to detect even a preference in all pairs is below 80%."


def _missing(pairs: pl.DataFrame) -> int:
    return pairs["outcome"].null_count()


def _row(
    axis: str | None, items: pl.DataFrame, missing: int, level: float | None, seed: int
) -> dict[str, object]:
    base: dict[str, object] = {"axis": axis, "n": items.height, "n_missing": missing}
    if items.is_empty():
        return base | {"ties": 0, "n_units": 0}
    outcome = pl.col("outcome")
    sums = items.group_by("swap").agg(
        total=outcome.sum(),
        size=pl.len(),
        plus=(outcome > 0.5).sum().cast(pl.Int64),
        minus=(outcome < 0.5).sum().cast(pl.Int64),
    )
    decided = int((sums["plus"] + sums["minus"]).sum())
    # one independent fair Bernoulli trial per pair
    band = 1.959963984540054 * 50 * decided**0.5 / items.height
    found = flipped_row(sums, null=0.5, level=level, seed=seed)
    return base | found | {"ties": items.height - decided, "null_low": 50 - band, "null_high": 50 + band}
