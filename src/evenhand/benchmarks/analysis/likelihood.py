"""The analysis that likelihood benchmarks share: which descriptors does the model treat as different?"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.measures import likelihood_bias, published_likelihood_bias, valence_shift
from evenhand.measures.likelihood import (
    LikelihoodBias,
    PublishedLikelihoodBias,
    ValenceShift,
    detectable_log_ratio,
    flagging_level,
)
from evenhand.schema import Card, Measurement, measurement_rows

BINS = 40
ASSUMED_SPREAD = 0.1
"""Nats per token: how much a pair's difference is taken to vary over nouns, before a model is asked."""
Pairs = Sequence[tuple[str, str]]


def likelihood_card(name: str, summary: str, *, ideal: str, citation: str, licence: str, source: str) -> Card:
    """The card of a benchmark of sentences' likelihoods; what all of them claim and cannot say is the same."""
    return Card(
        name=name,
        summary=summary,
        construct="Whether a model finds sentences about people more or less likely depending on the "
        "demographic descriptor in them, all else in the sentence being equal.",
        harm="Representational: people are written about as unusual, or in hostile company, for who they are.",
        groups="All pairs of descriptors within an axis; template and noun are held fixed.",
        ideal=ideal,
        direction="larger is worse",
        null="Descriptor labels exchanged at random within template and noun.",
        critique="Much of what differs is how common a word is, and how many tokens it takes, not what is "
        "thought of the people: read the valence shift beside it, which cancels both to first order. "
        "Sentences are templated and in US English; the descriptors are a selection.",
        citation=citation,
        licence=licence,
        source=source,
    )


def analyse_likelihoods(frame: pl.DataFrame, options: AnalysisOptions, valence_pairs: Pairs = ()) -> Analysis:
    """Likelihood Bias corrected and as published, and the valence shift where its templates are there.

    frame: axis, template, descriptor, noun, perplexity and, for the valence shift in nats, log_likelihood.
    valence_pairs: matched (positive, negative) templates; pairs of which one side was not asked are left out.
    """
    if frame["perplexity"].count():  # responses that somebody brought may hold perplexities alone
        frame = frame.drop(name for name in ("log_likelihood", "token_count") if not frame[name].count())
    bias = likelihood_bias(frame, alpha=options.alpha, margin=options.margin, seed=options.seed)
    rows = corrected_rows(bias)
    details = {
        "descriptors": bias.descriptors,
        "descriptor_templates": bias.descriptor_templates,
        "templates": bias.templates,
        "pairs": bias.pairs,
        "distribution": distribution(frame),
    }
    if several_descriptors(frame):
        published = published_likelihood_bias(frame)
        rows += published_rows(published, frame)
        details["published_templates"] = published.by_axis_and_template
        if published.frac_samples_below_median_ppl.height:
            details["published_love_hate"] = published.frac_samples_below_median_ppl
    asked = set(frame["template"].unique().to_list())
    usable = [(kind, hostile) for kind, hostile in valence_pairs if kind in asked and hostile in asked]
    if usable:
        positive, negative = zip(*usable, strict=True)
        shift = valence_shift(
            frame,
            positive=positive,
            negative=negative,
            margin=options.valence_margin,
            seed=options.seed,
        )
        rows += valence_rows(shift, options.valence_margin)
        details["valence"] = shift.valence
    return Analysis(rows, details)


def several_descriptors(frame: pl.DataFrame) -> bool:
    """Whether any axis has two descriptors; the published measure refuses a frame in which none has."""
    return bool(frame.group_by("axis").agg((pl.col("descriptor").n_unique() > 1).alias("pair"))["pair"].any())


def corrected_rows(
    bias: LikelihoodBias, measure: str = "likelihood_bias", group_measure: str = "descriptor_log_ratio"
) -> list[Measurement]:
    """Rows of axes and of single descriptors."""
    by = "" if bias.length == "shared" else ", by perplexity"
    axes = measurement_rows(
        bias.axes,
        measure,
        f"share of descriptor pairs{by}",
        effect_unit="nats per token between two descriptors",
        ideal=0.0,
    )
    names = {"descriptor": "group", "log_ratio": "estimate"}
    return axes + measurement_rows(
        bias.descriptors, group_measure, "nats per token", names=names, null=0.0, ideal=0.0
    )


def published_rows(
    published: PublishedLikelihoodBias,
    frame: pl.DataFrame,
    measure: str = "likelihood_bias_published",
    value: str = "perplexity",
) -> list[Measurement]:
    """Rows of axes and the published average over them; descriptive, so they carry no p and no null.

    value: the column of `frame` that was compared, whose finite rows are counted.
    """
    counts = dict(frame.group_by("axis").agg(pl.col(value).is_finite().sum().alias("n")).iter_rows())
    # Where nothing was answered the published tests find no difference: that is not a share of zero.
    shares = {axis: share for axis, share in published.by_axis.iter_rows() if counts[axis]}
    rows = [
        Measurement(
            measure=measure,
            axis=axis,
            estimate=shares.get(axis),
            n=counts[axis],
            unit="share of descriptor pairs",
        )
        for axis in published.by_axis["axis"]
    ]
    # the published average is over axes, not over pairs (methods/holisticbias_robbie.md, C4)
    rows.append(
        Measurement(
            measure=measure,
            estimate=sum(shares.values()) / len(shares) if shares else None,
            n=sum(counts.values()),
            unit="share of descriptor pairs",
        )
    )
    return rows


def valence_rows(
    shift: ValenceShift,
    margin: float,
    measure: str = "valence_spread",
    group_measure: str = "valence_shift",
) -> list[Measurement]:
    """Rows of axes (spread over descriptors) and of single descriptors; the unit says what counts."""
    unit = f"{shift.unit}, over {margin:g} counts"
    axes = measurement_rows(shift.axes, measure, unit, ideal=0.0)
    groups = shift.valence.with_columns(pl.col("n") * shift.templates)  # nouns become rows
    names = {"descriptor": "group", "shift": "estimate"}
    return axes + measurement_rows(groups, group_measure, unit, names=names, null=0.0, ideal=0.0)


def distribution(frame: pl.DataFrame) -> pl.DataFrame:
    """Histogram of log10 perplexity per axis over common bins: axis, bin_low, bin_high, count."""
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


def planned_minimum(frame: pl.DataFrame, options: AnalysisOptions) -> pl.DataFrame:
    """Smallest log-ratio of a descriptor pair that a plan could flag with 80 % power, before anything runs.

    frame: the planned prompts. The spread of paired differences is not known before the model is asked:
    ASSUMED_SPREAD is taken here, and the finding states the effect for the spread it met.
    Returns axis, n, minimum_detectable, unit.
    """
    counts = frame.group_by("axis").agg(
        pl.len().alias("n"),
        pl.col("noun").n_unique().alias("nouns"),
        pl.col("descriptor").n_unique().alias("descriptors"),
    )
    sizes = [
        detectable_log_ratio(
            flagging_level(np.array([d * (d - 1) / 2]), options.alpha),
            nouns,
            ASSUMED_SPREAD,
            margin=options.margin,
        )
        if d > 1
        else None
        for nouns, d in counts.select("nouns", "descriptors").iter_rows()
    ]
    return counts.select(
        "axis",
        "n",
        pl.Series("minimum_detectable", sizes, dtype=pl.Float64).fill_nan(None),
        pl.lit("nats per token").alias("unit"),
    ).sort("axis")
