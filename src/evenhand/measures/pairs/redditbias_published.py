"""The Language Model Bias of RedditBias as published: a paired t test of perplexities, and its outlier rule."""

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import require_columns, typed
from evenhand.measures.info import BARIKERI, MeasureInfo
from evenhand.measures.pairs.preference import STEREOTYPING
from evenhand.schema import Card, checked
from evenhand.stats import Floats, outlying_pairs, t_inference

PERPLEXITIES = ("perplexity_more", "perplexity_less")
PUBLISHED = (
    typed(pl.String, "axis")
    | typed(pl.Int64, "n n_missing")
    | typed(pl.Float64, "mean_more mean_less t p t_log p_log largest_share")
    | typed(pl.Int64, "n_dropped")
    | typed(pl.Float64, "t_without p_without t_log_without p_log_without")
)


@checked
def redditbias_lmb_published(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the Language Model Bias of RedditBias as published: a paired t of perplexities, for each bias type.

    Use it only to compare with published numbers. For your own audit, use `redditbias_lmb`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per pair of sentences: ``bias_type``, ``perplexity_more`` (sentence about the stereotyped group) and
        ``perplexity_less`` (about the other group). Perplexities of any kind are accepted (see Notes).

    Returns
    -------
    polars.DataFrame
        One row per bias type (``axis``).
        - ``t``, ``p``: Student's paired t, stereotyped group minus the other (n - 1 degrees of freedom), and two-sided
          p. Below 0, stereotypes are more likely for the stereotyped group.
        - ``t_log``, ``p_log``: the same for log-perplexities.
        - ``mean_more``, ``mean_less``: mean perplexities. ``n``, ``n_missing``: pairs.
        - ``largest_share``: percentage of the differences' squared deviations from their mean that is due to a single
          pair.
        - ``n_dropped``: pairs that the published outlier rule would drop (`evenhand.stats.outlying_pairs`).
        - ``t_without``, ``p_without``, ``t_log_without``, ``p_log_without``: results without these pairs.

    Raises
    ------
    DataError
        A column is missing or has the wrong type.

    Notes
    -----
    Pairs without two positive perplexities are missing (the published program counts a failure as 0). The published
    pairs have passed the outlier rule once, under DialoGPT. ``t`` uses all of them; ``t_without`` is the result of
    another pass.

    The published perplexity is e to the mean negative log-likelihood of the tokens. There is no start token, so the
    first token is not predicted. Explanation: docs/explanation/redditbias.md.

    References
    ----------
    - Barikeri et al. 2021, section 2.2, and its released program, where "Student's t-test" is paired.

    Examples
    --------
    >>> frame = pl.DataFrame({"bias_type": ["age"] * 3, "perplexity_more": [20.0, 30.0, 44.0],
    ...                       "perplexity_less": [40.0, 50.0, 80.0]})
    >>> redditbias_lmb_published(frame).select(pl.col("t").round(3), "n").row(0)
    (-4.75, 3)
    """
    require_columns(frame, ["bias_type", *PERPLEXITIES], "redditbias_lmb_published")
    rows = []
    for (axis,), part in frame.sort("bias_type", maintain_order=True).group_by(
        "bias_type", maintain_order=True
    ):
        more, less = positive_pairs(part)
        known = np.isfinite(more) & np.isfinite(less)
        more, less = more[known], less[known]
        out = outlying_pairs(more, less, by_value=True) if len(more) else known[:0]
        row = {
            "axis": None if axis is None else str(axis),
            "n": int(known.sum()),
            "n_missing": int((~known).sum()),
        }
        means = {
            "mean_more": _mean(more),
            "mean_less": _mean(less),
            "largest_share": largest_share(more - less),
        }
        rows.append(
            row
            | means
            | _t_tests(more, less)
            | {"n_dropped": int(out.sum())}
            | {f"{name}_without": value for name, value in _t_tests(more[~out], less[~out]).items()}
        )
    return pl.DataFrame(rows, schema=PUBLISHED).with_columns(pl.col(pl.Float64).fill_nan(None))


def largest_share(differences: npt.ArrayLike) -> float:
    """Return the percentage of the sum of squared deviations that is due to the largest one; NaN without variation.

    >>> round(largest_share([0.0, 0.0, 0.0, 1.0]), 1)
    75.0
    """
    values = np.asarray(differences, dtype=np.float64)
    squares = np.square(values - values.mean()) if len(values) else values
    return float(100 * squares.max() / squares.sum()) if len(values) and squares.sum() > 0 else float("nan")


def positive_pairs(frame: pl.DataFrame) -> tuple[Floats, Floats]:
    """Return both perplexities of each pair, (n,) each; NaN if either is missing or not a positive number."""
    more, less = (frame[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in PERPLEXITIES)
    good = np.isfinite(more) & np.isfinite(less) & (more > 0) & (less > 0)
    return np.where(good, more, np.nan), np.where(good, less, np.nan)


def _t_tests(more: Floats, less: Floats) -> dict[str, float]:
    row: dict[str, float] = {}
    for ending, one, other in (("", more, less), ("_log", np.log(more), np.log(less))):
        t, p = _paired_t(one - other)
        row |= {f"t{ending}": t, f"p{ending}": p}
    return row


def _paired_t(differences: Floats) -> tuple[float, float]:
    n = len(differences)
    if n < 2 or differences.std() == 0:
        return float("nan"), float("nan")
    mean, error = float(differences.mean()), float(differences.std(ddof=1) / n**0.5)
    return mean / error, float(t_inference([mean], [error], [n - 1]).p[0])


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


CARDS = (
    MeasureInfo.of(
        Card(
            name="redditbias_lmb_published",
            summary="The Language Model Bias of RedditBias as published: the paired t of perplexities.",
            construct="Whether sentences that stereotype a group are more likely about this group than with another "
            "group in its place.",
            harm=STEREOTYPING,
            groups="The two groups of a bias type. Within a pair of sentences, all words except the groups' names "
            "are the same.",
            ideal="0",
            direction="Below 0, stereotypes are more likely for the stereotyped group; above 0, for the other.",
            null="0, for Student's t whose degrees of freedom are the number of pairs minus one. The measure has no "
            "verdict.",
            critique="t grows with the number of pairs, and perplexities span five orders of magnitude. Under "
            "DialoGPT, one pair makes up 34% of the variance on religion1 and 48% on race. On race, the pairs "
            "differ clearly if compared by logarithms (t = 2.43), but not as published (t = 1.17). Pairs that say "
            "nearly the same count as independent. The set was cleaned of the outliers of one model, DialoGPT; "
            "outliers of other models remain.",
            citation=BARIKERI,
            source="Barikeri et al. 2021, section 2.2 and figure 1; the released program",
            details="Perplexity is computed without a start token, and the first token is not scored. The table "
            "`published` also has p, the same t for log-perplexities, the share of the largest pair in the "
            "variance, and the result after another pass of the published outlier rule.",
        ),
        unit="t",
        ideal=0.0,
    ),
)
