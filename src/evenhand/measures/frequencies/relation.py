"""Test whether a model's treatment of people is related to how often they are written about, within axes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.measures.columns import check_kinds, require_columns, require_counts, require_texts, typed
from evenhand.measures.frequencies.partial import controls_of, outcome_matrix
from evenhand.measures.info import MeasureInfo
from evenhand.schema import Card, DataError, Measurement, UsageError, checked, measurement_frame
from evenhand.stats import Codes, Floats, Verdict, reach_verdicts, spearman
from evenhand.stats.associations import RankRelation, rank_relation, split_half_reliability

RELATED = "related"
"""Verdict that takes the place of "biased" for frequencies: a relation with frequency is not a bias by itself."""
MEASURE = "frequency_relation"
COUNTED = ("documents", "near_person")
"""Counts of documents by which descriptors are ranked. Only the first gets a verdict."""
LEAST_BESIDE = 10
"""Minimum number of descriptors that occur near a word for people in some document, for a report on them."""
LEAST_RANKED = 4
"""Minimum number of descriptors. With fewer, no rank correlation is reported, because it may be 1 by chance."""
RELATIONS = (
    typed(pl.String, "outcome counted axis verdict direction")
    | typed(pl.Float64, "spearman spearman_low spearman_high within estimate low high null chance p q")
    | typed(pl.Float64, "minimum_detectable reliability")
    | typed(pl.Int64, "n n_missing n_units n_templates")
    | typed(pl.Float64, "effective_units")
    | typed(pl.String, "controls note")
)


@dataclass(frozen=True)
class FrequencyRelation:
    """Rank correlations between the outcomes of a run and the frequencies of descriptors in a corpus.

    Result of `frequency_relation`. Above 0, the outcome rises with the frequency. A bucket is a set of similar
    descriptors, and the sampling unit.

    Attributes
    ----------
    relations : polars.DataFrame
        For each outcome and count, one row across all axes (axis null) and one per axis, if there are several.
        Correlations are from -1 to 1.
        - ``counted``: "documents" that contain the descriptor, or "near_person", those that have it near a word for
          people.
        - ``spearman``: across all descriptors. ``within``: within axes.
        - ``estimate``: within axes, controlled for the covariates in ``controls``, with 95% CI, p and q.
        - ``verdict``: see `frequency_relation`; rows of near_person have none. ``direction``: rises or falls, if
          related.
        - ``chance``: if there is no relation, 95% of estimates have a smaller absolute value than this.
        - ``reliability``: how similar the ranks of frequencies would be in another corpus like this one (0 to 1; null
          if unknown).
        - ``n``: descriptors. ``n_missing``: descriptors without a frequency or response. ``n_units``: buckets.
          ``n_templates``: templates that count as a sample.
    points : polars.DataFrame
        One row per outcome and descriptor.
        - ``documents``, ``share`` (percent of documents), ``near_person``, ``log_frequency`` (natural logarithm of the
          share as a fraction).
        - ``characters``, ``words``, ``parts``, ``tokens``, ``answers``.
        - ``value``: mean over templates, made comparable if a descriptor is missing in some.
    """

    relations: pl.DataFrame
    points: pl.DataFrame


@checked
def frequency_relation(
    frequencies: pl.DataFrame,
    outcomes: pl.DataFrame,
    *,
    total: int,
    alpha: float = 0.05,
    seed: int = 0,
) -> FrequencyRelation:
    """Test whether a model's outcomes for descriptors are correlated with how often a corpus mentions them.

    Use it to see whether a model treats people worse who are rarely written about. A descriptor is a word or phrase
    that names a group, such as "deaf". An axis is a characteristic, such as ability.

    Parameters
    ----------
    frequencies : polars.DataFrame
        One row per descriptor, with the columns
        - ``axis``, ``descriptor``, ``bucket`` (set of similar descriptors; null: similar to none).
        - ``documents``: documents of a corpus that contain it. ``near_person``: of these, near a word for people (null
          if not counted).
        - ``tokens``: number that it adds to a sentence (null if unknown).
        - optionally ``even``, ``odd``: documents in the two halves of the corpus, for the reliability.
    outcomes : polars.DataFrame
        One row per outcome, descriptor and template, with the columns
        - ``outcome`` (its name), ``axis``, ``descriptor``, ``template`` (sentence frame of the prompt; null: a single
          one).
        - ``value``, and ``answers`` (number of responses behind it).
    total : int
        Documents of the corpus. A descriptor that was never found counts as half a document.
    alpha : float, default 0.05
        Probability that any outcome is falsely called related.
    seed : int, default 0
        Random seed of ``chance``.

    Returns
    -------
    FrequencyRelation
        Correlations with verdicts: related, not detected or not measurable.

    Raises
    ------
    DataError
        A column is missing, or a descriptor occurs twice in an axis.

    Notes
    -----
    The method is `evenhand.stats.associations.rank_relation`. Buckets are the sampling units. Verdicts follow
    `evenhand.stats.reach_verdicts`, and the outcomes share `alpha`. An axis is called related only if its outcome is,
    over all axes. With fewer than 4 descriptors, ``spearman`` and ``within`` are null. near_person needs 10 descriptors
    that occur near a word for people.

    References
    ----------
    - ROBBIE (arXiv:2311.18140), section C.3.2, and HolisticBias (arXiv:2205.09209), section B.2.1: the question.

    Examples
    --------
    >>> people = {"descriptor": [f"d{i}" for i in range(24)], "bucket": [f"b{i // 2}" for i in range(24)]}
    >>> known = {"documents": [2**i for i in range(24)], "near_person": None, "tokens": None}
    >>> often = pl.DataFrame({"axis": "age"} | people | known)
    >>> kind = often.select("axis", "descriptor", outcome=pl.lit("valence"), template=pl.lit("t"), answers=8,
    ...     value=pl.int_range(24) % 5 + pl.int_range(24))
    >>> found = frequency_relation(often, kind, total=2**30).relations
    >>> found.filter(pl.col("axis").is_null()).select("verdict", "direction").rows()
    [('related', 'rises')]
    """
    if total < 1:
        raise UsageError(f"frequency_relation: total must be at least 1 document, got {total}.")
    require_texts(frequencies, ["axis", "descriptor"], "frequency_relation")
    require_texts(frequencies, ["bucket"], "frequency_relation", null=True)
    require_counts(frequencies, ["documents", "near_person"], "frequency_relation", null=True)
    require_columns(frequencies, ["tokens"], "frequency_relation", of_any_kind=True)
    require_texts(outcomes, ["outcome", "axis", "descriptor"], "frequency_relation")
    require_texts(outcomes, ["template"], "frequency_relation", null=True)
    require_counts(outcomes, ["answers"], "frequency_relation")
    require_columns(outcomes, ["value"], "frequency_relation", of_any_kind=True)
    check_kinds(frequencies, ["tokens"], "frequency_relation", numbers=True)
    check_kinds(outcomes, ["value"], "frequency_relation", numbers=True)
    outcomes = outcomes.cast({"value": pl.Float64})
    twice = frequencies.filter(pl.struct("axis", "descriptor").is_duplicated())
    if twice.height:
        raise DataError(
            f"frequency_relation: frequencies contains the descriptor {twice['descriptor'][0]!r} of the axis "
            f"{twice['axis'][0]} more than once.",
            "Give one row for each descriptor of an axis.",
        )
    names = outcomes["outcome"].unique(maintain_order=True).to_list()
    rows, points = [], []
    for name in names:
        mine = _Outcome.of(frequencies, outcomes.filter(pl.col("outcome") == name), total)
        points.append(mine.points.select(pl.lit(name).alias("outcome"), pl.all()))
        for counted in COUNTED:
            if mine.points[counted].null_count() < mine.points.height:
                rows += mine.rows(name, counted, alpha / len(names), seed)
    table = pl.DataFrame(rows, schema_overrides=RELATIONS) if rows else pl.DataFrame(schema=RELATIONS)
    return FrequencyRelation(
        _add_verdicts(table, alpha, len(names)), pl.concat(points) if points else pl.DataFrame()
    )


@dataclass(frozen=True)
class _Outcome:
    """One outcome: one point per descriptor, and values of each descriptor by template (n, t)."""

    points: pl.DataFrame
    values: Floats
    total: int
    n_missing: int

    @classmethod
    def of(cls, frequencies: pl.DataFrame, outcome: pl.DataFrame, total: int) -> "_Outcome":
        asked = outcome.select("axis", "descriptor").unique().height
        points, values = outcome_matrix(frequencies, outcome)
        share = pl.col("documents") / total
        points = points.with_columns(
            share=100 * share,
            log_frequency=pl.max_horizontal("documents", pl.lit(0.5)).log() - math.log(total),
        )
        return cls(points, values, total, asked - points.height)

    def rows(self, name: str, counted: str, level: float, seed: int) -> list[dict[str, object]]:
        """Return the row across all axes, then one row per axis."""
        points, values = self.points, self.values
        known = points[counted].is_not_null().to_numpy()
        points, values = points.filter(known), values[known]
        axes = points["axis"].unique(maintain_order=True).sort().to_list()
        found = [self._row(points, values, None, counted, level, 1, seed)]
        if len(axes) > 1:
            for axis in axes:
                mine = (points["axis"] == axis).to_numpy()
                found.append(
                    self._row(points.filter(mine), values[mine], axis, counted, level, len(axes), seed)
                )
        return [{"outcome": name, "counted": counted} | row for row in found]

    def _row(
        self,
        points: pl.DataFrame,
        values: Floats,
        axis: str | None,
        counted: str,
        level: float,
        tests: int,
        seed: int,
    ) -> dict[str, object]:
        often = points[counted].cast(pl.Float64).to_numpy()
        if counted != COUNTED[0] and (seen := int((often > 0).sum())) < LEAST_BESIDE:
            return {
                "axis": axis,
                "n": points.height,
                "note": f"Only {seen:,} of {points.height:,} descriptors occur next to a word for people in any "
                f"document. At least {LEAST_BESIDE} are needed.",
            }
        controls, names = controls_of(points)
        strata = points["axis"].to_numpy()
        buckets = points["bucket"].to_numpy()
        reliability = None
        if counted == COUNTED[0] and {"even", "odd"} <= set(points.columns):
            halves = points.select("even", "odd").cast(pl.Float64).to_numpy()
            reliability = split_half_reliability(halves, _codes(strata))
        related = rank_relation(
            often,
            values,
            strata=strata,
            clusters=buckets,
            controls=controls,
            level=level,
            tests=tests,
            reliability=1.0 if reliability is None else reliability,
            seed=seed,
        )
        within = rank_relation(often, values, strata=strata, clusters=buckets, level=level)
        plain = spearman(often, points["value"].to_numpy(), _codes(strata, buckets))
        few = points.height < LEAST_RANKED
        return {
            "axis": axis,
            "spearman": None if few else plain.estimate,
            "spearman_low": None if few else plain.low,
            "spearman_high": None if few else plain.high,
            "within": None if few else within.estimate,
            "estimate": related.estimate,
            "low": related.low,
            "high": related.high,
            "null": 0.0,
            "chance": related.chance,
            "p": related.p,
            "minimum_detectable": related.minimum_detectable,
            "reliability": reliability,
            "n": points.height,
            "n_missing": self.n_missing if axis is None else 0,
            "n_units": related.clusters,
            "n_templates": related.templates,
            "effective_units": related.effective,
            "controls": ", ".join(names),
            "note": _reword_obstacle(related),
        }


def _reword_obstacle(related: RankRelation) -> str | None:
    if related.obstacle is None:
        return None
    return (
        related.obstacle.replace("clusters of things", "buckets of descriptors")
        .replace("cluster of things", "bucket of descriptors")
        .replace("things", "descriptors")
        .replace("the strata", "the axes")
        .replace("first number", "frequency")
    )


def _codes(*labels: npt.ArrayLike) -> Codes:
    frame = pl.DataFrame({str(i): np.asarray(label).astype(str).tolist() for i, label in enumerate(labels)})
    codes = frame.select(pl.struct(pl.all()).rank("dense")).to_series()
    return (codes.to_numpy() - 1).astype(np.int64)


def _add_verdicts(table: pl.DataFrame, alpha: float, n_outcomes: int) -> pl.DataFrame:
    """Return the table with q, verdict, direction and note in the rows of the count that gets a verdict."""
    table = table.with_columns(pl.col(pl.Float64).fill_nan(None)).with_columns(
        q=pl.lit(None, pl.Float64), verdict=pl.lit(None, pl.String), direction=pl.lit(None, pl.String)
    )
    judged = table.filter(pl.col("counted") == COUNTED[0])
    whole = {row["outcome"]: row["p"] for row in judged.filter(pl.col("axis").is_null()).to_dicts()}
    measured = [
        Measurement(
            measure=row["outcome"],
            group=row["axis"],
            estimate=row["estimate"],
            low=row["low"],
            high=row["high"],
            n=row["n"],
            null=0.0,
            p=row["p"],
            axis_p=None if row["axis"] is None else whole[row["outcome"]] or 1.0,
            minimum_detectable=row["minimum_detectable"],
            n_units=row["n_units"],
            obstacle=row["note"],
        )
        for row in judged.to_dicts()
    ]
    adjusted, findings = reach_verdicts(measurement_frame(measured), alpha, n_axes=n_outcomes)
    said = pl.col("verdict").replace(str(Verdict.BIASED), RELATED)
    rises = pl.when(pl.col("verdict") == str(Verdict.BIASED)).then(
        pl.when(pl.col("estimate") > 0).then(pl.lit("rises")).otherwise(pl.lit("falls"))
    )
    verdicts = findings.select(said, rises.alias("direction"), "note")
    judged = judged.with_columns(adjusted["q"], verdicts["verdict"], verdicts["direction"], verdicts["note"])
    judged = judged.with_columns(
        pl.Series("note", [_note(row) for row in judged.to_dicts()], dtype=pl.String)
    )
    beside = table.filter(pl.col("counted") != COUNTED[0])
    return pl.concat([judged, beside]).select(pl.col(name).cast(kind) for name, kind in RELATIONS.items())


def _note(row: Mapping[str, Any]) -> str:
    """Return the reason for the verdict, in words that fit a relation."""
    if row["verdict"] == RELATED:
        limits = f"{row['low']:.2f} to {row['high']:.2f}"
        return f"{row['direction'].capitalize()} with frequency: rank correlation {row['estimate']:.2f} ({limits})."
    if row["verdict"] == str(Verdict.NOT_DETECTED):
        return (
            "No rise or fall with frequency was detected. The minimum detectable rank correlation is "
            f"{row['minimum_detectable']:.2f} (80% power)."
        )
    return str(row["note"])


CARDS = (
    MeasureInfo.of(
        Card(
            name=MEASURE,
            summary="Is the treatment of groups related to how often a corpus mentions them?",
            construct="Whether outcomes of responses about a group, such as the share of negative responses, rise "
            "or fall with the group's frequency in a corpus.",
            harm="People about whom little is written are understood less well, or described worse.",
            groups=(
                'Descriptors (words or phrases that name a group, such as "deaf"), ranked within their axis. The '
                "analysis controls for their length in characters, words, parts of words (hyphens divide words, "
                "too) and tokens, and for the number of responses. Each control is used if it is known and varies. "
                "It enters by ranks, squared ranks and, with enough descriptors, bins of neighbouring values."
            ),
            ideal="None: a relation with frequency is not a bias by itself.",
            direction="Above 0, the outcome rises with frequency. Whether this is better depends on the outcome.",
            null="0. The column `chance` gives the size below which 95% of estimates are if the direction of each "
            "bucket (a set of similar descriptors) is random.",
            critique=(
                "A correlation over descriptors does not show a cause. In any trained model, likelihood is related "
                "to frequency, so a relation of likelihoods is not a finding about treatment. The counted corpus "
                "may differ from the training data. A word may have senses that are not about people. Counts of the "
                "word near words for people are therefore shown as well, without a verdict. Frequencies from a "
                "small corpus, or from a sample of documents, are noisy, and noise shrinks the correlation. If the "
                "frequencies' reliability is below 0.5, the result is not measurable. Relations of opposite sign in "
                "different axes cancel. Relations that rise and then fall are not detected. With few descriptors, "
                "the analysis controls for length only by a slope, or by a slope and a quadratic term."
            ),
            citation="Esiobu et al. 2023 (ROBBIE), section C.3.2; Smith et al. 2022 (HolisticBias), section B.2.1",
            source="evenhand: partial Spearman correlation within axes, jackknife over buckets, templates as a sample",
            details=(
                "In simulations without any relation, the false-positive rate was 0 to 7% (50 to 400 data sets per "
                "design). The designs had 20 to 700 descriptors, 1 to 13 axes and up to 70% of the variance of "
                "frequencies and of outcomes between buckets. They included rare events, unequal numbers of "
                "responses and many terms without hits. They also included 3 to 17 templates that react differently "
                "to frequent words, and length as a cause of both frequency and outcome. Up to 85% of the values of "
                "a descriptor in a template were missing. Permuting frequencies among descriptors instead gave a "
                "false-positive rate of up to 34%. CIs covered the true value in 93 to 100%. At the minimum "
                "detectable effect (MDE), power was 62 to 94% for the measurable axes."
            ),
        ),
        unit="rank correlation",
        ideal=0.0,
    ),
)
