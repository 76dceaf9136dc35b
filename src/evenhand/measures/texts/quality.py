"""Text quality of continuations, to read with bias results: diversity, repetition, empty texts, refusals, fluency.

A mitigation that makes a model mumble, loop or stop answering lowers every toxicity rate. If a model stops
answering about some groups only, it shows here alone.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.measures.columns import (
    check_kinds,
    cluster_codes,
    cluster_column,
    require_columns,
    responses_once,
    typed,
)
from evenhand.measures.texts.distinct_grams import distinct_grams
from evenhand.measures.texts.parroting import refused
from evenhand.measures.texts.tokens import (
    FlatTexts,
    Grams,
    flat_texts,
    grams,
    longest_loop,
    repeated_share,
)
from evenhand.schema import DataError, ResponseError, UsageError, checked
from evenhand.stats import Codes, Floats, Interval, clustered_mean, clustered_proportion_interval

QUALITY = (
    typed(pl.String, "axis group measure")
    | typed(pl.Float64, "estimate low high")
    | typed(pl.Int64, "n n_missing")
)
SIZES = (1, 2, 3)
REPEATED = 4


@dataclass(frozen=True)
class TextQuality:
    """Text quality of responses, overall and by group.

    Result of `text_quality`. Read it next to bias results: a mitigation that makes a model loop or stop answering
    lowers every toxicity rate.

    Attributes
    ----------
    quality : polars.DataFrame
        Rows overall (axis and group null), then by group: one row per ``measure`` (see Notes), with its ``estimate``
        and 95% CI for clusters. ``n``, ``n_missing``: responses.

    Notes
    -----
    The measures are

    - empty_rate, refusal_rate: percentage of responses.
    - response_length: mean number of tokens (words and punctuation marks).
    - repetition: percentage of a text's 4-grams that occurred in it before, mean over texts of at least 4 tokens.
    - longest_loop: number of consecutive tokens that only repeat those just before, mean of the longest of each text.
    - distinct_1, _2, _3: percentage of distinct n-grams among all of the group's texts. There is no CI, because it
      depends on the amount of text.
    - distinct_1_at_budget, ...: the same for a fixed number of n-grams (the budget). It can be compared between groups
      and models. Null if there are fewer n-grams.
    - judge_perplexity: geometric mean of the column perplexity.
    - judge_perplexity_capped: arithmetic mean, in which larger values are set to the cap.
    """

    quality: pl.DataFrame


@checked
def response_qualities(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the quality of each response: empty, refused, length, repetition and longest_loop.

    Use it to test whether groups differ in quality: pass ``empty`` or ``refused`` as ``negative`` to `disparity` or
    `axis_rates`. For a summary, use `text_quality`.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response. Columns: ``continuation`` (the response; null: failed), optionally ``error`` (a code; a
        response with an error counts as failed).

    Returns
    -------
    polars.DataFrame
        One row per response, in the same order. All columns are null without a response. Exception: for the
        error "refused", ``refused`` is True and ``empty`` is False.
        - ``empty``, ``refused``: True or False.
        - ``length``: number of tokens (words and punctuation marks).
        - ``repetition``: proportion of 4-grams that occurred before. Null with fewer than 4 tokens.
        - ``longest_loop``: length in tokens of the longest passage that only repeats the tokens just before it.

    Raises
    ------
    DataError
        The column is missing or does not contain texts.

    Examples
    --------
    >>> response_qualities(pl.DataFrame({"continuation": [" yes yes yes", " ", None]})).select("empty", "length").rows()
    [(False, 3), (True, 0), (None, None)]
    """
    require_columns(frame, ["continuation"], "text_quality")
    return _qualities(frame, flat_texts(_continuations(frame)))


@checked
def text_quality(
    frame: pl.DataFrame,
    *,
    cluster: str | None = None,
    budget: int = 1000,
    cap: float = 1000.0,
    seed: int = 0,
) -> TextQuality:
    """Return diversity, repetition, length, refusals and perplexity of responses, by group.

    Use it to check that a mitigation did not damage the texts. It also shows whether a model stops answering about some
    groups.

    Parameters
    ----------
    frame : polars.DataFrame
        One row per response. A response about two groups is two rows.
        - ``continuation``: the response; null is missing.
        - optionally ``axis`` and ``group``.
        - optionally ``error``: a code. "refused" is a refusal, any other code is a missing row.
        - optionally ``perplexity`` of the response under a judge model (above 0; null or NaN is missing).
    cluster : str, optional
        Column with the sampling unit. Default: ``prompt_id`` if present, otherwise each row.
    budget : int, default 1000
        Number of n-grams at which diversity is compared.
    cap : float, default 1000.0
        Perplexities above this are set to it for judge_perplexity_capped.
    seed : int, default 0
        Random seed of the bootstrap.

    Returns
    -------
    TextQuality
        Table of measures, overall and by group.

    Raises
    ------
    DataError
        A column is missing, or a perplexity is 0 or less.
    UsageError
        `budget` is below 1, or `cap` is not above 0.

    References
    ----------
    - Li et al. 2016: distinct-n.
    - Welleck et al. 2020: repetition.
    - ROBBIE (arXiv:2311.18140), appendix B.1.4: perplexity.

    Examples
    --------
    >>> frame = pl.DataFrame({"continuation": ["a b c d", "a b a b", ""], "perplexity": [10.0, 1000.0, None]})
    >>> table = text_quality(frame, budget=4).quality
    >>> dict(table.select("measure", pl.col("estimate").round(2)).rows())["judge_perplexity"]
    100.0
    """
    require_columns(frame, ["continuation"], "text_quality")
    if budget < 1 or not cap > 0:
        raise UsageError(
            f"text_quality: budget must be at least 1 and cap above 0 (usually 1000 each), got budget={budget}, "
            f"cap={cap}."
        )
    cluster = cluster_column(frame, cluster, "text_quality")
    numbered = frame.with_row_index("row").with_columns(_cluster=pl.Series(cluster_codes(frame, cluster)))
    flat = flat_texts(_continuations(frame))
    texts = _Texts(
        values=_values(frame, flat, cap),
        clusters=numbered["_cluster"].to_numpy(),
        grams=[_ByText.of(grams(flat, size), frame.height) for size in SIZES],
    )
    rows = _rows(None, None, texts, responses_once(numbered)["row"].to_numpy(), budget, seed)
    for (axis, group), places in _groups(numbered):
        rows += _rows(axis, group, texts, places, budget, seed)
    table = pl.DataFrame(rows, schema=QUALITY).with_columns(pl.col(pl.Float64).fill_nan(None))
    if "perplexity" not in frame.columns:
        table = table.filter(~pl.col("measure").str.starts_with("judge_perplexity"))
    return TextQuality(table)


@dataclass(frozen=True)
class _ByText:
    """n-grams sorted by text; text i has those from starts[i] to starts[i + 1]."""

    codes: Codes
    starts: Codes

    @classmethod
    def of(cls, ngrams: Grams, texts: int) -> "_ByText":
        return cls(ngrams.codes, np.searchsorted(ngrams.owner, np.arange(texts + 1)).astype(np.int64))

    def take(self, places: Codes) -> tuple[Codes, Codes]:
        """Return the n-grams of some texts, and the index of the text of each."""
        lengths = self.starts[places + 1] - self.starts[places]
        before = np.cumsum(lengths) - lengths
        index = np.arange(lengths.sum()) + np.repeat(self.starts[places] - before, lengths)
        return self.codes[index], np.repeat(np.arange(len(places)), lengths)


@dataclass(frozen=True)
class _Texts:
    """Values of each response by measure (NaN is missing), clusters and n-grams."""

    values: dict[str, Floats]
    clusters: Codes
    grams: list[_ByText]


_RATES = ("empty_rate", "refusal_rate")


def _continuations(frame: pl.DataFrame) -> pl.Series:
    if frame.schema["continuation"] not in (pl.String, pl.Null):
        raise DataError(
            "text_quality: the column continuation must contain text, but its type is "
            f"{frame.schema['continuation']}.",
            "Convert it first: pl.col('continuation').cast(pl.String).",
        )
    failed = pl.col("error").is_not_null() if "error" in frame.columns else pl.lit(False)
    return frame.select(pl.when(~failed).then(pl.col("continuation").cast(pl.String))).to_series()


def _qualities(frame: pl.DataFrame, flat: FlatTexts) -> pl.DataFrame:
    texts = _continuations(frame)
    present = texts.is_not_null()
    table = pl.DataFrame(
        {
            "empty": texts.str.strip_chars() == "",
            "refused": refused(texts),
            "length": pl.Series(flat.lengths),
            "repetition": pl.Series(repeated_share(grams(flat, REPEATED), frame.height)).fill_nan(None),
            "longest_loop": pl.Series(longest_loop(flat)),
        }
    ).with_columns(pl.when(present).then(pl.col("length", "repetition", "longest_loop")))
    if "error" in frame.columns:
        refused_by_service = (frame["error"] == ResponseError.REFUSED.value).fill_null(False)
        table = table.with_columns(
            pl.when(refused_by_service).then(True).otherwise("refused").alias("refused"),
            pl.when(refused_by_service).then(False).otherwise("empty").alias("empty"),
        )
    return table


def _values(frame: pl.DataFrame, flat: FlatTexts, cap: float) -> dict[str, Floats]:
    qualities = _qualities(frame, flat)
    values = {
        name: qualities[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        for name, column in (
            ("empty_rate", "empty"),
            ("refusal_rate", "refused"),
            ("response_length", "length"),
            ("repetition", "repetition"),
            ("longest_loop", "longest_loop"),
        )
    }
    check_kinds(frame, ["perplexity"], "text_quality")
    if "perplexity" in frame.columns:
        perplexity = frame["perplexity"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        perplexity = np.where(np.isfinite(perplexity), perplexity, np.nan)
        if np.any(perplexity <= 0):
            raise DataError(
                "text_quality: perplexities must be above 0, but one is 0 or negative.",
                "Mark failed rows as null or NaN.",
            )
        values["judge_perplexity"] = np.log(perplexity)
        values["judge_perplexity_capped"] = np.minimum(perplexity, cap)
    return values


def _groups(numbered: pl.DataFrame) -> list[tuple[tuple[str | None, str | None], Codes]]:
    keys = [name for name in ("axis", "group") if name in numbered.columns]
    if "group" not in keys:
        return []
    groups: list[tuple[tuple[str | None, str | None], Codes]] = []
    grouped = numbered.filter(pl.col("group").is_not_null()).group_by(keys).agg("row").sort(keys)
    for row in grouped.iter_rows(named=True):
        axis = str(row["axis"]) if row.get("axis") is not None else None
        groups.append(((axis, str(row["group"])), np.array(row["row"], dtype=np.int64)))
    return groups


def _rows(
    axis: str | None, group: str | None, texts: _Texts, places: Codes, budget: int, seed: int
) -> list[dict[str, object]]:
    name: dict[str, object] = {"axis": axis, "group": group}
    rows: list[dict[str, object]] = []
    clusters = texts.clusters[places]
    empty = texts.values["empty_rate"][places]
    for measure, values in texts.values.items():
        of_group = values[places]
        known = ~np.isnan(of_group)
        limits = _limits(measure, of_group[known], clusters[known], seed)
        scale = 100.0 if measure in (*_RATES, "repetition") else 1.0
        numbers = np.array([limits.estimate, limits.low, limits.high]) * scale
        if measure == "judge_perplexity":
            with np.errstate(over="ignore"):
                numbers = np.exp(numbers)
            numbers = np.where(np.isfinite(numbers), numbers, np.nan)
        row: dict[str, object] = dict(zip(("estimate", "low", "high"), numbers.tolist(), strict=True))
        # a text that is too short to repeat anything does not count as missing
        missing = int(np.isnan(empty).sum()) if measure == "repetition" else int((~known).sum())
        rows.append(name | {"measure": measure, "n": int(known.sum()), "n_missing": missing} | row)
    sizes: dict[str, object] = {"n": int((~np.isnan(empty)).sum()), "n_missing": int(np.isnan(empty).sum())}
    for size, by_text in zip(SIZES, texts.grams, strict=True):
        codes, owner = by_text.take(places)
        result = distinct_grams(codes, owner, clusters[owner], budget)
        rows.append(name | sizes | {"measure": f"distinct_{size}", "estimate": 100.0 * result.plain})
        limited = {"estimate": result.estimate, "low": result.low, "high": result.high}
        percent: dict[str, object] = {key: 100.0 * value for key, value in limited.items()}
        rows.append(name | sizes | {"measure": f"distinct_{size}_at_budget"} | percent)
    return rows


def _limits(measure: str, values: Floats, clusters: Codes, seed: int) -> Interval:
    """Return the mean over responses with an interval for clusters; that of rates is valid near 0 too."""
    if measure in _RATES and len(values):
        return clustered_proportion_interval(values, clusters)
    highest = 1.0 if measure == "repetition" else np.inf
    lowest = -np.inf if measure == "judge_perplexity" else 0.0  # the mean is over logarithms
    return clustered_mean(values, clusters, bounds=(lowest, highest), seed=seed)
