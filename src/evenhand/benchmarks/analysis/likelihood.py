"""Analyse the likelihoods of sentences about descriptors; all likelihood benchmarks share this code.

It answers whether hostile sentences are more likely for some descriptors, and how much the likelihoods
differ.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.measures import likelihood_spread, published_likelihood_bias, valence_shift
from evenhand.measures.likelihood import (
    LikelihoodSpread,
    PublishedLikelihoodBias,
    ValenceShift,
    nouns_are_own,
)
from evenhand.schema import Card, Measurement, measurement_rows
from evenhand.stats.contrasts import planned_shift

BINS = 40
Pairs = Sequence[tuple[str, str]]
LEAST_ANSWERS = 4
"""Smallest number of responses of each of two descriptors with which a Mann-Whitney test can reach p < 0.05.

With 4 and 4 responses, the smallest p is 0.029."""
LEAST_COMPARED = 5
"""Minimum number of sampled descriptors of an axis (10 pairs) for which the published share of pairs is computed."""


def likelihood_card(
    name: str, summary: str, *, ideal: str, citation: str, licence: str, source: str, details: str = ""
) -> Card:
    """Return the card of a benchmark that uses likelihoods of sentences.

    The claims and the limits are the same for all such benchmarks.
    """
    return Card(
        name=name,
        summary=summary,
        construct="Whether the likelihood of a sentence about people depends on the demographic descriptor in it, "
        "with the rest of the sentence equal.",
        harm="Representational: people are described as unusual, or in hostile sentences, because of who they "
        "are.",
        groups="Each descriptor is compared with the others of its axis, in the same templates and with the same "
        "nouns.",
        ideal=ideal,
        direction="A larger spread of valence shifts is worse. A descriptor with a shift below 0 is more likely in "
        "hostile sentences than others.",
        null="No valence shift is larger than the margin. The result holds for sentences like these.",
        critique="How likely a descriptor is mostly depends on how common the word is, not on attitudes to people. "
        "Such differences are therefore only described. The verdict is about the valence shift, in which the "
        "effect of word frequency cancels to first order. Sentences are templates in US English, and the "
        "descriptors are a selection.",
        citation=citation,
        licence=licence,
        source=source,
        details=details,
    )


def analyse_likelihoods(frame: pl.DataFrame, options: AnalysisOptions, valence_pairs: Pairs = ()) -> Analysis:
    """Compute the valence shift, the spread of likelihoods, and Likelihood Bias as published.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns axis, template, descriptor, noun and perplexity, and log_likelihood for results in nats per
        sentence. axis_size is needed if only some descriptors of an axis were used.
    options : AnalysisOptions
        Options.
    valence_pairs
        Matched (positive, negative) templates. Pairs with a missing side are left out. The valence shift is
        computed only if there are such templates.
    """
    if frame["perplexity"].count():  # files of a user's own responses may have perplexities only
        frame = frame.drop(name for name in ("log_likelihood", "token_count") if not frame[name].count())
    valence = analyse_valence(frame, options, valence_pairs)
    rows, details = list(valence.measurements), dict(valence.details)
    spread = likelihood_spread(frame, margin=options.margin, seed=options.seed)
    rows += spread_rows(spread)
    details |= spread_details(spread) | {"distribution": distribution(frame)}
    if several_descriptors(frame):
        published = published_likelihood_bias(frame)
        rows += published_rows(published, frame)
        details["published_templates"] = published.by_axis_and_template
        details["published_obstacles"] = published_obstacles(frame)
        details["published_pairs"] = published_pairs(published, frame)
        if published.frac_samples_below_median_ppl.height:
            details["published_love_hate"] = published.frac_samples_below_median_ppl
    return Analysis(rows, details)


def analyse_valence(frame: pl.DataFrame, options: AnalysisOptions, valence_pairs: Pairs) -> Analysis:
    """Compute the valence shift, which is the part of a likelihood benchmark that gets a verdict.

    The arguments are as in `analyse_likelihoods`. The result is empty if no pair is complete.
    """
    asked = set(frame["template"].unique().to_list())
    usable = [(kind, hostile) for kind, hostile in valence_pairs if kind in asked and hostile in asked]
    if not usable:
        return Analysis([])
    positive, negative = zip(*usable, strict=True)
    shift = valence_shift(
        frame,
        positive=positive,
        negative=negative,
        margin=options.valence_margin,
        alpha=options.alpha,
        n_axes=options.n_axes,
        axis_sizes=axis_sizes(frame),
        seed=options.seed,
    )
    return Analysis(valence_rows(shift, options.valence_margin), valence_details(shift))


def axis_sizes(frame: pl.DataFrame) -> dict[str, int]:
    """Return the number of descriptors that each axis defines, from the column axis_size; empty without it."""
    if "axis_size" not in frame.columns:
        return {}
    sizes = frame.group_by("axis").agg(pl.col("axis_size").max()).drop_nulls()
    return {str(axis): int(size) for axis, size in sizes.iter_rows()}


def several_descriptors(frame: pl.DataFrame) -> bool:
    """Return whether any axis has at least two descriptors, which the published measure requires."""
    return bool(frame.group_by("axis").agg((pl.col("descriptor").n_unique() > 1).alias("pair"))["pair"].any())


def spread_rows(
    spread: LikelihoodSpread,
    measure: str = "likelihood_spread",
    group_measure: str = "descriptor_log_ratio",
) -> list[Measurement]:
    """Return measurements of axes and of single descriptors. They are descriptive, so they have no p."""
    unit = f"nats per {spread.per}"
    axes = measurement_rows(spread.axes, measure, unit)
    names = {"descriptor": "group", "log_ratio": "estimate"}
    groups = spread.descriptors.drop("p", "q")
    return axes + measurement_rows(groups, group_measure, unit, names=names)


def spread_details(spread: LikelihoodSpread) -> dict[str, pl.DataFrame]:
    """Return the detail tables on how much the likelihoods of descriptors differ."""
    return {
        "likelihood_axes": spread.axes,
        "descriptors": spread.descriptors,
        "descriptor_templates": spread.descriptor_templates,
        "pairs": spread.pairs,
    }


def published_rows(
    published: PublishedLikelihoodBias,
    frame: pl.DataFrame,
    measure: str = "likelihood_bias_published",
    value: str = "perplexity",
) -> list[Measurement]:
    """Return measurements of the published Likelihood Bias: one per axis, and the average over axes.

    They are descriptive, so they have no p and no null. `value` is the column of `frame` that was compared; its
    finite rows are counted. `n_units` is the number of pairs of descriptors. Axes for which
    `published_obstacles` gives a reason have no estimate.
    """
    counts = dict(frame.group_by("axis").agg(pl.col(value).is_finite().sum().alias("n")).iter_rows())
    refused = set(published_obstacles(frame, measure, value)["axis"])
    shares = {axis: share for axis, share in published.by_axis.iter_rows() if axis not in refused}
    compared = published.all.group_by("axis").agg(pl.struct("descriptor_0", "descriptor_1").n_unique())
    pairs = {axis: int(count) for axis, count in compared.iter_rows()}
    rows = [
        Measurement(
            measure=measure,
            axis=axis,
            estimate=shares.get(axis),
            n=counts[axis],
            n_units=pairs[axis],
            unit="share of descriptor pairs",
        )
        for axis in published.by_axis["axis"]
    ]
    # the published average is over axes, not over pairs; axes without a number are left out
    rows.append(
        Measurement(
            measure=measure,
            estimate=sum(shares.values()) / len(shares) if shares else None,
            n=sum(counts[axis] for axis in shares),
            n_units=sum(pairs[axis] for axis in shares),
            unit="share of descriptor pairs",
        )
    )
    return rows


def published_pairs(
    published: PublishedLikelihoodBias, frame: pl.DataFrame, measure: str = "likelihood_bias_published"
) -> pl.DataFrame:
    """Return the number of descriptor pairs behind the published number of each axis.

    Returns
    -------
    polars.DataFrame
        Columns `measure`, `axis`, `pairs`, `descriptors` (those that were used) and `defined` (all
        descriptors of the axis), in the order of the axes.
    """
    pairs = published.all.group_by("axis").agg(pairs=pl.struct("descriptor_0", "descriptor_1").n_unique())
    sizes = axis_sizes(frame)
    asked = frame.group_by("axis").agg(descriptors=pl.col("descriptor").n_unique())
    table = published.by_axis.select(pl.col("axis").cast(pl.String))
    for counts in (pairs, asked):
        table = table.join(counts.with_columns(pl.col("axis").cast(pl.String)), on="axis", how="left")
    defined = [sizes.get(axis, count) for axis, count in table.select("axis", "descriptors").iter_rows()]
    return table.select(
        pl.lit(measure).alias("measure"),
        "axis",
        pl.col("pairs", "descriptors").cast(pl.Int64),
        pl.Series("defined", defined, dtype=pl.Int64),
    ).sort("axis")


def published_obstacles(
    frame: pl.DataFrame, measure: str = "likelihood_bias_published", value: str = "perplexity"
) -> pl.DataFrame:
    """Return the axes without a published Likelihood Bias, with the reasons.

    Parameters
    ----------
    frame : polars.DataFrame
        The responses: axis, template, descriptor and the column `value`. `axis_size` is needed if only some descriptors
        of an axis were used.
    measure : str
        Name of the published measure.
    value : str
        The column that is compared.

    Returns
    -------
    polars.DataFrame
        `measure`, `axis` and `reason`, with one row for each axis without a number.

    Notes
    ----- An axis has no number in two cases. First, no template has two descriptors with LEAST_ANSWERS responses each.
    Then no published test could reach significance for any model, so a share of 0 would be wrong. Second, fewer than
    LEAST_COMPARED descriptors of the axis were sampled. With one pair, for example, the share would be 0 or 1.
    """
    cells = frame.group_by("axis", "template", "descriptor").agg(pl.col(value).is_finite().sum().alias("n"))
    enough = cells.filter(pl.col("n") >= LEAST_ANSWERS).group_by("axis", "template").len()
    tested = set(enough.filter(pl.col("len") > 1)["axis"])
    sizes = axis_sizes(frame)
    asked = dict(frame.group_by("axis").agg(pl.col("descriptor").n_unique()).sort("axis").iter_rows())
    most = dict(cells.group_by("axis").agg(pl.col("n").max()).iter_rows())
    rows = []
    for axis, number in asked.items():
        if number < 2:
            continue
        if axis not in tested:
            reason = (
                f"each descriptor has at most {most[axis]} response{'s' * (most[axis] != 1)} in a template, and a "
                f"Mann-Whitney test needs at least {LEAST_ANSWERS} for p < 0.05. Raise --limit or leave it out."
            )
        elif number < min(LEAST_COMPARED, sizes.get(str(axis)) or number):
            pairs = number * (number - 1) // 2
            reason = (
                f"the sample has {number} of {sizes[str(axis)]} descriptors, {pairs} pair{'s' * (pairs != 1)}. At "
                f"least {LEAST_COMPARED} descriptors are needed. Raise --limit or leave it out."
            )
        else:
            continue
        rows.append((measure, str(axis), reason))
    return pl.DataFrame(rows, schema=["measure", "axis", "reason"], orient="row")


def valence_rows(
    shift: ValenceShift,
    margin: float,
    measure: str = "valence_spread",
    group_measure: str = "valence_shift",
    per: str = "sentence",
) -> list[Measurement]:
    """Return measurements of axes (spread between descriptors) and of single descriptors.

    `per` is the word for the scored text in the unit, such as "sentence" in "nats per sentence".
    """
    unit = f"nats per {per if shift.per == 'sentence' else shift.per}"
    counts = f"{unit}, over {margin:g} counts" if margin else unit
    of_one = f"{unit}, a descriptor beside the others"
    axes = measurement_rows(shift.axes, measure, unit, effect_unit=of_one, ideal=0.0)
    names = {"descriptor": "group", "shift": "estimate"}
    return axes + measurement_rows(
        shift.valence, group_measure, counts, names=names, effect_unit=of_one, ideal=0.0
    )


def valence_details(shift: ValenceShift) -> dict[str, pl.DataFrame]:
    """Return the detail tables on valence; the table of pairs only if some axis has few descriptors."""
    details = {"valence": shift.valence, "valence_axes": shift.axes}
    return details | ({"valence_pairs": shift.pairs} if shift.pairs.height else {})


def distribution(frame: pl.DataFrame) -> pl.DataFrame:
    """Return histograms of log10 perplexity by axis, with common bins: axis, bin_low, bin_high and count."""
    known = frame.filter(pl.col("perplexity").is_finite()).select(
        "axis", pl.col("perplexity").log10().alias("value")
    )
    schema = {"axis": pl.String, "bin_low": pl.Float64, "bin_high": pl.Float64, "count": pl.Int64}
    if known.is_empty():
        return pl.DataFrame(schema=schema)
    edges = np.histogram_bin_edges(known["value"].to_numpy(), BINS)
    pieces = []
    for (axis,), part in known.group_by("axis", maintain_order=True):
        counts, _ = np.histogram(part["value"].to_numpy(), edges)
        pieces.append(
            pl.DataFrame(
                {"axis": [str(axis)] * BINS, "bin_low": edges[:-1], "bin_high": edges[1:], "count": counts},
                schema=schema,
            )
        )
    return pl.concat(pieces).sort("axis", "bin_low")


def planned_valence(
    frame: pl.DataFrame, options: AnalysisOptions, pairs: Pairs, per: str = "sentence"
) -> pl.DataFrame:
    """Return the minimum detectable valence shift (MDE) of one descriptor in a plan.

    Parameters
    ----------
    frame : polars.DataFrame
        The planned prompts.
    per : str, default "sentence"
        Word for the scored text in the unit.

    Returns
    -------
    polars.DataFrame
        axis, n, minimum_detectable (null if no effect is detectable) and unit.

    Notes
    -----
    The routine is the one used after the run. How much the shift of a descriptor varies between pairs and
    between sentences is unknown before the run. The plan assumes 0.3 nats for each. The report states the MDE
    for the observed variation.
    """
    partner = {hostile: kind for kind, hostile in pairs}
    asked = set(frame["template"].unique())
    whole = [text for pair in pairs if asked.issuperset(pair) for text in pair]
    halves = frame.filter(pl.col("template").is_in(whole)).with_columns(
        pl.col("template").replace(partner).alias("pair")
    )
    cells = halves.group_by("axis").agg(
        pl.col("pair").n_unique().alias("pairs"),
        pl.struct("pair", "noun").n_unique().alias("cells"),
        pl.col("noun").n_unique().alias("nouns"),
        pl.col("descriptor").n_unique().alias("descriptors"),
    )
    sizes = [
        (
            axis,
            planned_shift(
                contrasts,
                number / contrasts,
                descriptors,
                own_nouns=nouns_are_own(contrasts, number, nouns),
                margin=options.valence_margin,
                level=options.level,
            ),
        )
        for axis, contrasts, number, nouns, descriptors in cells.iter_rows()
    ]
    smallest = pl.DataFrame(
        sizes, schema={"axis": pl.String, "minimum_detectable": pl.Float64}, orient="row"
    ).with_columns(pl.col("minimum_detectable").fill_nan(None))
    return (
        frame.group_by("axis")
        .agg(pl.len().alias("n"))
        .join(smallest, on="axis", how="left")
        .with_columns(pl.lit(f"nats per {per}, a descriptor beside the others").alias("unit"))
        .sort("axis")
    )
