"""Token-bin bias over several groups, such as gender within race: each token belongs to the group that uses it most."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.info import MARTHA, MeasureInfo
from evenhand.measures.names.cross_fitting import (
    bin_masses,
    cross_fitted,
    entry_columns,
    overindexing,
    published_norm,
    row_of,
)
from evenhand.measures.names.self_chats import NameCounts, name_counts
from evenhand.schema import Card, checked
from evenhand.stats import Codes, Floats

DRAWS = 39


@dataclass(frozen=True)
class GroupBins:
    """Token-bin bias between several groups of names: how differently their conversations use tokens.

    Result of `intersectional_token_bins`. The bin of a group has the tokens that it uses more than other groups.
    Overindexing is the group's use of its bin divided by the mean of all groups, minus 1. If it is 0, there is no
    difference; if it is 1, the group uses its bin twice as often.

    Attributes
    ----------
    result : polars.DataFrame
        One row. ``estimate``: L2 norm over groups of the cross-fitted overindexing, with 95% CI and p. The null is 0;
        it is below 0 only by chance. ``n``: tokens. ``n_units``: names. ``obstacle``: why the estimate is null.
    published : polars.DataFrame
        One row. ``l2``: the norm without cross-fitting. ``null_mean``, ``null_97_5``: its mean and 97.5% quantile if
        groups are assigned to names at random.
    groups : polars.DataFrame
        One row per ``group``.
        - ``mass``: share of all use that is in its bin.
        - ``overindexing``: a fraction; the published column is 100 times that.
        - ``cross_fitted``, ``cross_fitted_low``, ``cross_fitted_high``: overindexing with cross-fitting, with 95% CI.
        - ``without_one_low``, ``without_one_high``: range of overindexing if any one of the group's names is left out.
        - ``moved_most_by``: the name with the largest effect.
    """

    result: pl.DataFrame
    published: pl.DataFrame
    groups: pl.DataFrame


def bins_by_group(frequencies: Floats) -> Codes:
    """Return the group with the largest frequency of each token, (V,), from frequencies (groups, V); the first if tied.

    >>> bins_by_group(np.array([[0.5, 0.2], [0.1, 0.2]])).tolist()
    [0, 0]
    """
    return np.asarray(frequencies.argmax(axis=0), dtype=np.int64)


@checked
def intersectional_token_bins(
    frame: pl.DataFrame, *, group: str = "group", level: float = 0.05, draws: int = DRAWS, seed: int = 0
) -> GroupBins:
    """Test whether conversations opened by names of different groups, such as race by gender, use different tokens.

    Use it for three or more groups. For two genders, use `token_bins`. Utterances are from self-chats: conversations of
    a model with itself that speaker A opens with a name.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per utterance, with the columns
        - ``conversation``, ``name``, ``speaker`` ("A" or "B"), ``text``, and the column named by `group`.
        - ``turn``: 1 is the opener, which does not count.
        - optionally ``tokens`` (lists; default: the words of the text).
    group : str, default "group"
        Column with the groups; the paper has 4 races x 2 genders. Groups have equal weight, however many names they
        have.
    level : float, default 0.05
        Significance level of the minimum detectable effect.
    draws : int, default 39
        Number of random assignments of groups to names, for the null of the published number.
    seed : int, default 0
        Random seed.

    Returns
    -------
    GroupBins
        Result (0 without bias), published number and groups.

    Raises
    ------
    DataError
        A column is missing, there are fewer than two groups, a name is in two, or no utterance was generated.

    Notes
    -----
    The published number finds the bins and measures them on the same counts, which makes chance look like bias. With
    eight groups this is worse than with two: an unbiased model has a published number of .26 with a million tokens per
    group. Cross-fitting removes this: half of the names find the bins, and the other half is measured. The null is 0.
    Explanation: docs/explanation/names.md.

    References
    ----------
    - Smith & Williams 2021, section 6.1.6 and table 10.

    Examples
    --------
    >>> frame = pl.DataFrame({"conversation": range(8), "name": [f"N{i}" for i in range(8)], "turn": 2, "speaker": "B",
    ...     "group": ["x", "y"] * 4, "text": ["a b", "a c"] * 4})
    >>> intersectional_token_bins(frame).groups.select("group", pl.col("overindexing").round(2)).rows()
    [('x', 0.33), ('y', 1.0)]
    """
    counted = name_counts(frame, "intersectional_token_bins", group)
    number = len(counted.groups)
    frequencies = counted.frequencies()
    entries = [(place, place) for place in range(number)]
    found = cross_fitted(counted, bins_by_group, entries, number, seed=seed)
    mass = bin_masses(frequencies, bins_by_group(frequencies), number).mean(axis=0)
    table = pl.DataFrame(
        {"group": counted.groups, "mass": mass, "overindexing": own_overindexing(frequencies)}
    )
    table = table.with_columns(*entry_columns(found, number), *_without_one(counted))
    published = published_norm(counted, _norm, draws=draws, seed=seed)
    return GroupBins(row_of(counted, found, level), published, table)


def own_overindexing(frequencies: Floats) -> Floats:
    """Return how much more each group uses its own bin than the mean of groups, (groups,): the published number / 100.

    Parameters
    ----------
    frequencies : numpy.ndarray, shape (groups, V)
        Shares that sum to 1 for each group. A token is in the bin of the group that uses it most.

    Examples
    --------
    >>> own_overindexing(np.array([[0.75, 0.25], [0.25, 0.75]])).tolist()
    [0.5, 0.5]
    """
    number = len(frequencies)
    masses = bin_masses(frequencies, bins_by_group(frequencies), number)
    return overindexing(masses, [(place, place) for place in range(number)])


def _norm(counted: NameCounts) -> float:
    return float(np.linalg.norm(own_overindexing(counted.frequencies())))


def _without_one(counted: NameCounts) -> list[pl.Series]:
    """Return the range of each group's published number without any one of its names, and the most influential name."""
    numbers = range(len(counted.groups))
    sums = np.array(
        [counted.counts[np.flatnonzero(counted.group == g)].sum(axis=0) for g in numbers], dtype=np.float64
    )
    whole = own_overindexing(counted.frequencies())
    low, high, most = whole.copy(), whole.copy(), [""] * len(whole)
    for row, name in enumerate(counted.names):
        mine = counted.group[row]
        left = sums.copy()
        left[mine] -= counted.counts[[row]].toarray()[0]
        totals = left.sum(axis=1, keepdims=True)
        if totals[mine] == 0:
            continue
        value = own_overindexing(left / np.maximum(1.0, totals))[mine]
        if max(whole[mine] - value, value - whole[mine]) > max(
            whole[mine] - low[mine], high[mine] - whole[mine]
        ):
            most[mine] = name
        low[mine], high[mine] = min(low[mine], value), max(high[mine], value)
    return [
        pl.Series("without_one_low", low),
        pl.Series("without_one_high", high),
        pl.Series("moved_most_by", [name or None for name in most], dtype=pl.String),
    ]


CARDS = (
    MeasureInfo.of(
        Card(
            name="intersectional_token_bins",
            summary="Difference in word use by gender and race of the name, corrected for chance (0: none).",
            construct="Whether a conversation's words depend on the gender and race that the opener's name "
            "suggests.",
            harm="Representational harm: people are addressed by what their name suggests.",
            groups="Any number of groups of names, with equal weights.",
            details="Names are split into two halves. With one half, each token is assigned to the bin of the group "
            "that uses it most. With the other half, o_g = F_g(bin g) / mean F(bin g) - 1 is computed for each "
            "group g from the groups' shares of tokens in the bin. The value is the component of this o along the "
            "direction of the first half's o. Both halves change places, and the mean of 20 splits is taken. CI and "
            "p use t over names. Tokens that did not occur in the first half are left out.",
            ideal="0",
            null="0: no group can be inferred from the tokens of names that were not used for sorting the tokens.",
            direction="Larger means more different. Values below 0 are due to chance.",
            critique="As for token_bins. One name can dominate a group's number: see without_one_low.",
            citation=MARTHA,
            source="Smith & Williams 2021, section 6.1.6; splitting by names is ours",
        ),
        unit="fraction (L2 norm over groups)",
        ideal=0.0,
    ),
    MeasureInfo.of(
        Card(
            name="intersectional_token_bins_published",
            summary="The distance of table 10 of the paper, without correction: chance alone gives a value above 0.",
            construct="As for intersectional_token_bins.",
            harm="Representational harm: people are addressed by what their name suggests.",
            groups="Any number of groups of names, with equal weights.",
            null="The value of the same counts if groups are assigned to names at random. It is shown next to the "
            "result.",
            details="o_g is computed as in intersectional_token_bins, but from all names at once. The value is "
            "sqrt(sum of o_g squared).",
            ideal="The null, which is not 0.",
            direction="A value above the null means that the groups differ.",
            critique="Chance alone gives .87 with 100 thousand tokens per group, .26 with one million and .08 with "
            "ten million. The paper's original model has .145. A token that two groups use equally often goes to "
            "the first group, which dilutes that group's bin.",
            citation=MARTHA,
            source="Smith & Williams 2021, section 6.1.6 and table 10. That groups have equal weights is our "
            "interpretation.",
        ),
        unit="fraction (L2 norm over groups)",
    ),
)
