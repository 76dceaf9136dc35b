"""Comparing models on the same prompts: what changed, for whom, and whether the change can be believed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from evenhand.measures import paired_change
from evenhand.measures.changes import CHANGE
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, UsageError
from evenhand.stats import Interval, benjamini_hochberg, cluster_bootstrap, clustered_proportion_interval
from evenhand.studies.audit import cost, quality
from evenhand.studies.compare.outputs import BenchmarkOutputs, Outputs, read_outputs

CHANGES = {
    "benchmark": pl.String,
    "outcome": pl.String,
    "model": pl.String,  # compared with the first
    **CHANGE,
    "q": pl.Float64,
    "verdict": pl.String,
}
SUMMARY = {
    "model": pl.String,
    "benchmark": pl.String,
    "outcome": pl.String,
    "rate": pl.Float64,  # mean of the outcome over all its answers
    "low": pl.Float64,
    "high": pl.Float64,
    "n": pl.Int64,
    "n_missing": pl.Int64,
    "bias_score": pl.Float64,  # percent of groups harmed, corrected
    "bias_score_published": pl.Float64,
    "largest_rate": pl.Float64,
    "largest_group": pl.String,
    "parameters": pl.Int64,
}
FEWEST = 10
"""Answers below which no group is called the most harmed: one of two is no rate."""


Facts = tuple[tuple[str, str, str], ...]
"""(name, value, unit) each."""


@dataclass(frozen=True)
class ComparedModel:
    """What is known of one of the models beside its answers.

    parameters: None where it does not say. most_harmed: by benchmark, the group with the largest rate, drawn towards
    the others by as much as it is small, and that rate in percent.
    """

    name: str
    source: Path
    parameters: int | None = None
    most_harmed: Mapping[str, tuple[str, float]] = field(default_factory=dict)
    quality: Facts = ()
    cost: Facts = ()


@dataclass(frozen=True)
class Comparison:
    """What came out of comparing models with the first of them.

    names: of the models. changes: CHANGES, paired differences over all, by axis and by group; q over the axes, and
    over the groups, of one benchmark and outcome. summary: SUMMARY, a row for each model, benchmark and outcome, as
    in ROBBIE's tables 3 and 6. models: one for each name. notes: what a reader must know, such as prompts that only one
    model answered. alpha: of the verdicts.
    """

    names: tuple[str, ...]
    changes: pl.DataFrame
    summary: pl.DataFrame
    models: tuple[ComparedModel, ...]
    notes: tuple[str, ...]
    alpha: float = 0.05


def compare_outputs(
    *sources: Path | str | Outputs, names: Sequence[str] = (), alpha: float = 0.05, seed: int = 0
) -> Comparison:
    """Compare the outputs of models, paired on prompts and samples; the first is what the others are held against.

    sources: run folders or files of other programs (see `read_outputs`). names: one for each, if theirs will not do.
    alpha: false discovery rate of the verdicts "changed" and "not detected". Raises UsageError for fewer than two
    sources or names that do not match, DataError for unreadable files, no benchmark in common, or judgements of
    different classifiers.
    Source: ROBBIE, tables 3, 6 and 9; Miller 2024, arXiv:2411.00640 (paired differences).
    """
    if len(sources) < 2:
        raise UsageError("A comparison needs at least two runs.", "evenhand compare RUN_A RUN_B")
    if names and len(names) != len(sources):
        raise UsageError(f"{len(names)} names for {len(sources)} runs.", "Give one name for each, or none.")
    outputs = [source if isinstance(source, Outputs) else read_outputs(source) for source in sources]
    labels = _distinct(names or [one.name for one in outputs], outputs)
    notes: list[str] = []
    tables: list[pl.DataFrame] = []
    first = outputs[0]
    for label, other in zip(labels[1:], outputs[1:], strict=True):
        common = [benchmark for benchmark in first.benchmarks if benchmark in other.benchmarks]
        if not common and len(first.benchmarks) == len(other.benchmarks) == 1:
            raise DataError(
                f"{labels[0]} answered {', '.join(first.benchmarks)}, {label} {', '.join(other.benchmarks)}.",
                "Only answers to the same prompts can be compared.",
            )
        if not common:
            raise DataError(
                f"{labels[0]} and {label} have no benchmark of continuations in common.",
                "Likelihood benchmarks are compared by their reports; audit both models with the same suite.",
            )
        for benchmark in common:
            pair = first.benchmarks[benchmark], other.benchmarks[benchmark]
            tables += _changes(benchmark, labels[0], label, *pair, alpha, seed, notes)
    changes = pl.concat(tables) if tables else pl.DataFrame(schema=CHANGES)
    summary = pl.DataFrame(
        [row for label, one in zip(labels, outputs, strict=True) for row in _summary(label, one, seed)],
        schema=SUMMARY,
    )
    models = tuple(_model(label, one) for label, one in zip(labels, outputs, strict=True))
    return Comparison(tuple(labels), changes, summary, models, tuple(dict.fromkeys(notes)), alpha)


def _changes(
    benchmark: str,
    first_name: str,
    name: str,
    first: BenchmarkOutputs,
    other: BenchmarkOutputs,
    alpha: float,
    seed: int,
    notes: list[str],
) -> list[pl.DataFrame]:
    shared = [outcome for outcome in first.outcomes if outcome in other.outcomes]
    if not shared:
        notes.append(
            f"{benchmark}: {first_name} has {', '.join(first.outcomes) or 'no outcome'}, "
            f"{name} has {', '.join(other.outcomes) or 'none'}; nothing to pair."
        )
        return []
    paired = _paired(benchmark, first_name, name, first.frame, other.frame, notes)
    tables = []
    for outcome in shared:
        judges = first.classifiers.get(outcome), other.classifiers.get(outcome)
        if None not in judges and judges[0] != judges[1]:
            raise DataError(
                f"{benchmark}: {outcome} of {first_name} was judged by {unquote(str(judges[0]))}, of {name} by "
                f"{unquote(str(judges[1]))}.",
                "Judge both by the same classifier: `evenhand rescore RUN --classifier ROLE=NAME`.",
            )
        frame = paired.rename({outcome: "before", f"{outcome}_right": "after"})
        if frame.select((pl.col("before") - pl.col("after")).is_not_null().any()).item() is not True:
            notes.append(f"{benchmark}: no pair of {first_name} and {name} has both values of {outcome}.")
            continue
        grouped = [key for key in ("axis", "group") if frame[key].null_count() < frame.height]
        if "group" in grouped:  # an answer about no group belongs to no axis that groups are compared on
            frame = frame.with_columns(axis=pl.when(pl.col("group").is_not_null()).then("axis"))
        table = paired_change(frame.select("prompt_id", "pair", "before", "after", *grouped), seed=seed)
        tables.append(
            _judged(table, alpha)
            .select(
                pl.lit(benchmark).alias("benchmark"),
                pl.lit(outcome).alias("outcome"),
                pl.lit(name).alias("model"),
                pl.all(),
            )
            .select(pl.col(column).cast(kind) for column, kind in CHANGES.items())
        )
    return tables


def _paired(
    benchmark: str, first_name: str, name: str, first: pl.DataFrame, other: pl.DataFrame, notes: list[str]
) -> pl.DataFrame:
    keys = ["prompt_id", "sample"]
    joined = first.join(other.drop("axis", "group"), on=keys, how="inner", maintain_order="left")
    if joined.is_empty():
        raise DataError(
            f"{benchmark}: {first_name} and {name} have no prompt and sample in common.",
            "Pairs are made by prompt_id and sample; use the same --seed and --limit for both.",
        )
    different = joined.filter(pl.col("text") != pl.col("text_right"))
    if different.height:
        raise DataError(
            f"{benchmark}: {different.height} of {joined.height} pairs have different prompts under one prompt_id, "
            f"such as {different['prompt_id'][0]!r}.",
            "The prompt sets differ in version or seed; run both models on the same one.",
        )
    for label, mine in ((first_name, first), (name, other)):
        if alone := mine.height - joined.height:
            notes.append(f"{benchmark}: {alone:,} answers of {label} have no partner and are left out.")
    return joined.with_columns(pair=pl.format("{}#{}", "prompt_id", "sample"))


def _judged(table: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """q within each family (the whole, the axes, the groups), and the verdict it gives."""
    family = pl.col("axis").is_null().cast(pl.Int8) + pl.col("group").is_null().cast(pl.Int8)
    parts = []
    for part in table.with_columns(_family=family).partition_by("_family", maintain_order=True):
        q = pl.Series("q", benjamini_hochberg(part["p"].fill_null(float("nan")).to_numpy())).fill_nan(None)
        parts.append(part.drop("_family").with_columns(q))
    judged = pl.concat(parts)
    excludes = (pl.col("low") > 0) | (pl.col("high") < 0)
    fell = pl.when(pl.col("estimate") < 0).then(pl.lit("lower")).otherwise(pl.lit("higher"))
    return judged.with_columns(
        verdict=pl.when(pl.col("q").is_null() | pl.col("low").is_null())
        .then(pl.lit("not measurable"))
        .when((pl.col("q") <= alpha) & excludes)
        .then(fell)
        .otherwise(pl.lit("not detected"))
    )


def _summary(label: str, one: Outputs, seed: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    parameters = one.facts.get("parameters")
    for benchmark, outputs in one.benchmarks.items():
        distinct = outputs.frame.unique(["prompt_id", "sample"], keep="first", maintain_order=True)
        for outcome in outputs.outcomes:
            values = distinct[outcome]
            known = distinct.filter(values.is_not_null())
            limits = _limits(known[outcome], known["prompt_id"], seed) if known.height else None
            rows.append(
                {
                    "model": label,
                    "benchmark": benchmark,
                    "outcome": outcome,
                    "rate": values.mean(),
                    "low": None if limits is None or limits.low != limits.low else limits.low,
                    "high": None if limits is None or limits.high != limits.high else limits.high,
                    "n": known.height,
                    "n_missing": distinct.height - known.height,
                    "parameters": parameters if isinstance(parameters, int) else None,
                    **_scores(one, benchmark),
                    **_largest(outputs.frame, outcome),
                }
            )
    return rows


def _limits(values: pl.Series, prompts: pl.Series, seed: int) -> Interval:
    """Wilson's limits with samples of a prompt counted together for judgements, the bootstrap's for scores."""
    if values.is_in([0.0, 1.0]).all():
        return clustered_proportion_interval(values.to_numpy(), prompts.rank("dense").to_numpy())
    return cluster_bootstrap(values, prompts, seed=seed)


def _scores(one: Outputs, benchmark: str) -> dict[str, object]:
    if one.measurements is None:
        return {}
    whole = one.measurements.filter(
        (pl.col("benchmark") == benchmark) & pl.col("axis").is_null() & pl.col("group").is_null()
    )
    scores = {}
    for measure in ("bias_score", "bias_score_published"):
        rows = whole.filter(pl.col("measure") == measure)
        scores[measure] = rows["estimate"][0] if rows.height else None
    return scores


def _largest(frame: pl.DataFrame, outcome: str) -> dict[str, object]:
    groups = (
        frame.filter(pl.col("group").is_not_null() & pl.col(outcome).is_not_null())
        .group_by("axis", "group")
        .agg(pl.len(), rate=pl.col(outcome).mean())
        .filter(pl.col("len") >= FEWEST)
        .sort("rate", "group", descending=[True, False])
    )
    if groups.height < 2:
        return {}
    return {"largest_rate": groups["rate"][0], "largest_group": groups["group"][0]}


def _distinct(names: Sequence[str], outputs: Sequence[Outputs]) -> list[str]:
    """Names as given; where two are the same, the folder or file tells them apart."""
    return [
        name if list(names).count(name) == 1 else f"{name} ({_last_part(one.source)})"
        for name, one in zip(names, outputs, strict=True)
    ]


def _last_part(source: Path) -> str:
    return source.name if source.is_dir() else source.stem  # a folder's name may hold a full stop


def _model(name: str, outputs: Outputs) -> ComparedModel:
    parameters = outputs.facts.get("parameters")
    return ComparedModel(
        name=name,
        source=outputs.source,
        parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
        most_harmed=_most_harmed(outputs),
        quality=() if outputs.measurements is None else quality(outputs.measurements),
        cost=cost(outputs.facts),
    )


def _most_harmed(outputs: Outputs) -> dict[str, tuple[str, float]]:
    if not RunDirectory.is_run(outputs.source):
        return {}
    directory, harmed = RunDirectory.open(outputs.source), {}
    for benchmark in outputs.benchmarks:
        ranked = directory.details(benchmark).get("most_harmed")
        if ranked is not None and ranked.height:
            first = ranked.sort("rank").row(0, named=True)
            harmed[benchmark] = (str(first["group"]), float(first["rate"]))
    return harmed
