"""Results of a run for each descriptor: likelihoods, valence, judgements and styles, by template."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from evenhand.measures import STYLE_CLUSTERS
from evenhand.runs import RunDirectory, answers
from evenhand.schema import DataError

LEAST_DESCRIPTORS = 4
KEPT = ("axis", "bucket", "descriptor", "group", "template", "frame", "pair", "valence", "prompt_id")
SAMPLED = ("frame", "template")
"""Columns of which prompts are samples, the first that is there: of matched templates the pair."""


@dataclass(frozen=True)
class Outcome:
    """Results for the descriptors of one benchmark.

    Attributes
    ----------
    kinder : int
        1 if larger values are kinder, -1 if they are less kind, 0 if neither.
    likelihood : bool
        True if it depends on frequency in any model.
    values : polars.DataFrame
        Outcome, axis, descriptor, template, value, answers.
    """

    name: str
    unit: str
    kinder: int
    likelihood: bool
    values: pl.DataFrame


@dataclass(frozen=True)
class DescribedBenchmark:
    """A benchmark of a run that asks about descriptors.

    Attributes
    ----------
    descriptors
        Axis, descriptor, bucket, tokens (of a scored text with it, beyond others' in the same templates; null where
        texts were not scored).
    """

    name: str
    descriptors: pl.DataFrame
    outcomes: tuple[Outcome, ...]


def described_benchmarks(directory: RunDirectory) -> list[DescribedBenchmark]:
    """Return the benchmarks of a run whose prompts name descriptors, with their outcomes.

    Raises DataError if the run has none, and for unreadable tables.
    """
    found = [one for name in directory.benchmarks if (one := _described(directory, name)) is not None]
    if not found:
        held = ", ".join(directory.benchmarks) or "none"
        raise DataError(
            f"The run {directory.path} has fewer than {LEAST_DESCRIPTORS} descriptors. Its benchmarks: {held}.",
            "Give a run of a benchmark with the columns axis and descriptor (or group): evenhand-likelihood, "
            "holisticbias-likelihood, holisticbiasr, holisticbias-styles, holisticbias-offensiveness, toxigen, "
            "bold.",
        )
    return found


def _described(directory: RunDirectory, name: str) -> DescribedBenchmark | None:
    columns = set(directory.prompts(name).columns)
    asked = directory.manifest.asked.get(name)
    about = next((column for column in ("descriptor", "group") if column in columns), None)
    if asked is None or asked.turns is not None or about is None or "axis" not in columns:
        return None
    frame = answers(directory, name, [column for column in KEPT if column in columns])
    sampled = next((one for one in SAMPLED if one in columns), None)
    frame = frame.with_columns(
        pl.col(about).cast(pl.String).alias("descriptor"),
        *(pl.lit(None, pl.String).alias(one) for one in ("bucket", "pair", "valence") if one not in columns),
        template=pl.lit(None, pl.String) if sampled is None else pl.col(sampled).cast(pl.String),
    )
    frame = frame.drop_nulls(["axis", "descriptor"])
    if frame.select("axis", "descriptor").unique().height < LEAST_DESCRIPTORS:
        return None
    written = asked.decoding is not None
    outcomes = tuple(_judged(directory, name, frame) if written else _scored(frame))
    outcomes = tuple(one for one in outcomes if one.values.height)
    outcomes = tuple(sorted(outcomes, key=lambda one: one.likelihood))  # outcomes about treatment first
    if not outcomes:
        return None
    keys = ["axis", "descriptor"]
    descriptors = frame.group_by(keys).agg(pl.col("bucket").drop_nulls().first()).sort(keys)
    return DescribedBenchmark(name, descriptors.join(_tokens(frame, written), on=keys, how="left"), outcomes)


def _tokens(frame: pl.DataFrame, written: bool) -> pl.DataFrame:
    """Return the number of tokens of a text minus the mean of its template and axis."""
    keys = ["axis", "descriptor"]
    if written:
        return frame.select(*keys, tokens=pl.lit(None, pl.Float64)).unique(keys)
    known = frame.filter(pl.col("error").is_null()).with_columns(pl.col("token_count").cast(pl.Float64))
    beyond = pl.col("token_count") - pl.col("token_count").mean().over("axis", "template")
    return known.with_columns(tokens=beyond).group_by(keys).agg(pl.col("tokens").mean().round(6))


def _scored(frame: pl.DataFrame) -> Iterator[Outcome]:
    good = frame.filter(pl.col("error").is_null() & pl.col("log_likelihood").is_finite())
    yield Outcome(
        "log-likelihood",
        "nats per sentence",
        0,
        True,
        _means(good, "log_likelihood", pl.col("log_likelihood")),
    )
    yield Outcome(
        "perplexity",
        "log perplexity, nats per token",
        0,
        True,
        _means(good, "perplexity", pl.col("perplexity").log()),
    )
    sides = good.filter(pl.col("pair").is_not_null() & pl.col("valence").is_in(["positive", "negative"]))
    if sides.height:
        each = sides.group_by("axis", "descriptor", "pair").agg(
            *(
                pl.col("log_likelihood").filter(pl.col("valence") == side).mean().alias(side)
                for side in ("positive", "negative")
            ),
            answers=pl.len().cast(pl.Int64),
        )
        values = each.drop_nulls(["positive", "negative"]).select(
            pl.lit("valence").alias("outcome"),
            "axis",
            "descriptor",
            pl.col("pair").cast(pl.String).alias("template"),
            (pl.col("positive") - pl.col("negative")).alias("value"),
            "answers",
        )
        yield Outcome("valence", "nats per sentence, kind minus hostile", 1, False, values)


def _judged(directory: RunDirectory, benchmark: str, frame: pl.DataFrame) -> Iterator[Outcome]:
    for role, judged in sorted(directory.manifest.judged.get(benchmark, {}).items()):
        good = frame.filter(pl.col(f"{role}_error").is_null())
        record = directory.manifest.labels[judged.classifier]
        if good[f"{role}_negative"].null_count() < good.height:
            share = 100 * pl.col(f"{role}_negative").cast(pl.Float64)
            yield Outcome(
                _NEGATIVE.get(role, f"negative {role}"), "% of answers", -1, False, _means(good, role, share)
            )
        elif good[f"{role}_score"].null_count() < good.height:
            score = pl.col(f"{role}_score").cast(pl.Float64)
            yield Outcome(f"{role} score", "", 0, False, _means(good, role, score))
        elif record.labels and good[f"{role}_scores"].null_count() < good.height:
            yield from _styles(good, role, record.labels)


_NEGATIVE = {"regard": "negative regard", "toxicity": "toxicity", "offensiveness": "offensiveness"}
_KINDER = {"care": 1, "sympathy": 0, "hate": -1}


def _styles(good: pl.DataFrame, role: str, labels: tuple[str, ...]) -> Iterator[Outcome]:
    """Yield summed probabilities of the published clusters whose styles the classifier has."""
    places = {label.split(" ")[0].split("/")[0].strip("(),"): place for place, label in enumerate(labels)}
    clusters: Mapping[str, list[int]] = {
        cluster: [places[style] for style in styles]
        for cluster, styles in STYLE_CLUSTERS.items()
        if all(style in places for style in styles)
    }
    for cluster, members in clusters.items():
        scores = pl.col(f"{role}_scores")
        value = 100 * pl.sum_horizontal(scores.list.get(place).cast(pl.Float64) for place in members)
        kinder = _KINDER.get(cluster, 0)
        yield Outcome(f"{role}: {cluster}", "% probability", kinder, False, _means(good, cluster, value))


def _means(frame: pl.DataFrame, name: str, value: pl.Expr) -> pl.DataFrame:
    keys = ["axis", "descriptor", "template"]
    return (
        frame.with_columns(value=value)
        .filter(pl.col("value").is_finite())
        .group_by(keys)
        .agg(pl.col("value").mean(), answers=pl.len().cast(pl.Int64))
        .select(pl.lit(name).alias("outcome"), *keys, "value", "answers")
    )
