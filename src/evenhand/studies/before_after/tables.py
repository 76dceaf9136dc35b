"""Tables of a before/after study from its two runs: harm, empty responses, text quality, and measures of each run.

The likelihoods of given texts under both models are computed once and stored with the study.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks import load_benchmark
from evenhand.models import LanguageModel
from evenhand.runs import RunDirectory, answers
from evenhand.schema import UNREADABLE, DataError, Unsupported, read_parquet, write_table
from evenhand.studies.before_after.harm import (
    HARM,
    SILENCE,
    answered_pairs,
    harm_changes,
    silence_changes,
)
from evenhand.studies.compare import add_verdicts
from evenhand.study import MODEL_ROLE, MeasuringOptions

TEXTS = {
    "text": pl.String,
    "cluster": pl.String,  # the article of WikiText, or the prompt itself
    "tokens": pl.UInt32,  # number of tokens that the model without mitigations scored
    "before": pl.Float64,  # natural-log likelihood, summed over the text
    "after": pl.Float64,
    "error": pl.String,  # error of either model; null if there is none
}
FILE = "texts.parquet"
QUALITY_BENCHMARK = "quality"
MOST = 400


@dataclass(frozen=True)
class ScoredTexts:
    """Likelihoods of given texts under both models.

    ``name`` is "wikitext" or "prompts". ``frame`` has the columns TEXTS. It is empty if the model has no likelihoods;
    ``reason`` then states why.
    """

    name: str
    frame: pl.DataFrame
    reason: str = ""


def quality_data(folders: Mapping[str, Path]) -> str | None:
    """Return why the texts of the benchmark `quality` are not available; None if they are."""
    try:
        load_benchmark(QUALITY_BENCHMARK).build(folders)
    except DataError as error:
        return str(error)
    return None


def scored_texts(
    path: Path,
    run: RunDirectory,
    folders: Mapping[str, Path],
    base: LanguageModel,
    mitigated: LanguageModel,
    seed: int,
) -> ScoredTexts:
    """Return the likelihoods of at most 400 texts under both models.

    The likelihoods are stored in the study's folder `path`, and reused for the same texts. The texts are sentences of
    WikiText or, if these are not available, prompts of `run`. `folders` has the folders of data sets by name.
    """
    name, texts = given_texts(run, folders, seed, MOST)
    file = path / FILE
    with suppress(*UNREADABLE):  # missing or damaged files are computed again
        stored = read_parquet(file)
        if stored.columns == list(TEXTS) and stored["text"].equals(texts["text"]):
            return ScoredTexts(name, stored)
    asked = texts["text"].to_list()
    try:
        answers = [model.log_likelihoods(asked) for model in (base, mitigated)]
    except Unsupported as error:
        return ScoredTexts(name, pl.DataFrame(schema=TEXTS), str(error))
    failed = [first or second for first, second in zip(answers[0].errors, answers[1].errors, strict=True)]
    good = np.array([error is None for error in failed])
    frame = texts.with_columns(
        pl.Series("tokens", answers[0].counts).cast(pl.UInt32),
        *(
            pl.Series(side, np.where(good, answer.sums, np.nan)).fill_nan(None)
            for side, answer in zip(("before", "after"), answers, strict=True)
        ),
        pl.Series("error", [None if error is None else str(error) for error in failed], dtype=pl.String),
    ).select(pl.col(column).cast(kind) for column, kind in TEXTS.items())
    write_table(file, frame)
    return ScoredTexts(name, frame)


def given_texts(
    run: RunDirectory, folders: Mapping[str, Path], seed: int, most: int
) -> tuple[str, pl.DataFrame]:
    """Return the name of the texts, and up to `most` of them with the columns text and cluster.

    The texts are sentences of WikiText or, if these are not available, prompts of the run.
    """
    try:
        frame = load_benchmark(QUALITY_BENCHMARK).build(folders).frame
        return "wikitext", frame.select("text", pl.col("cluster").cast(pl.String)).head(most)
    except DataError:
        prompts = [run.prompts(name, ["prompt_id", "text"]) for name in run.benchmarks]
    every = pl.concat(frame.select("text", cluster="prompt_id") for frame in prompts)
    distinct = every.unique("text", keep="first").sort("text")
    return "prompts", distinct.sample(min(most, distinct.height), seed=seed).sort("text")


def paired_tables(
    before: RunDirectory, after: RunDirectory, changes: pl.DataFrame, analysis: MeasuringOptions
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the changes of harm (columns: HARM) and of empty or refused responses (SILENCE) between two runs.

    `changes` has the changes of their comparison.
    """
    harm, silence = [], []
    for name in before.benchmarks:
        if name not in after.benchmarks or before.manifest.asked[name].decoding is None:
            continue
        first, second, outcomes = _with_outcomes(before, after, name)
        pairs = answered_pairs(first, second, outcomes)
        harm.append(harm_changes(name, pairs, outcomes, analysis.seed))
        silence.append(silence_changes(name, pairs, changes, analysis.seed))
    return (
        judged_harm(pl.concat(harm), analysis.alpha) if harm else pl.DataFrame(schema=HARM),
        pl.concat(silence) if silence else pl.DataFrame(schema=SILENCE),
    )


def judged_harm(harm: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Return the table of harm with q and verdict. Each way of counting is corrected separately."""
    return add_verdicts(harm.with_columns(n_units="n_prompts"), alpha).select(
        pl.col(name).cast(kind) for name, kind in HARM.items()
    )


def _with_outcomes(
    before: RunDirectory, after: RunDirectory, benchmark: str
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Return the responses of both models with a column for each kind of harm, named by its role, and these names."""
    roles = [
        role
        for role, record in before.manifest.judged.get(benchmark, {}).items()
        if role != MODEL_ROLE
        and record.rule.get("part") != "prompt"
        and role in after.manifest.judged.get(benchmark, {})
    ]
    frames = [answers(run, benchmark) for run in (before, after)]
    outcomes = {}
    for role in roles:
        # A classifier without labels has scores only. Empty responses alone have neither labels nor scores.
        judged = any(frame[f"{role}_negative"].null_count() < frame.height for frame in frames)
        outcomes[role] = pl.col(f"{role}_negative" if judged else f"{role}_score").cast(pl.Float64)
    first, second = (frame.with_columns(**outcomes) for frame in frames)
    return first, second, roles


def measured_side_by_side(before: RunDirectory, after: RunDirectory) -> pl.DataFrame:
    """Return the measures of both runs side by side, overall and by axis, with their verdicts."""
    keys = ["benchmark", "measure", "axis"]
    sides = []
    for run in (before, after):
        verdicts = run.findings().filter(pl.col("group").is_null() & pl.col("stratum").is_null())
        rows = run.measurements().filter(pl.col("group").is_null() & pl.col("stratum").is_null())
        rows = rows.filter(pl.col("benchmark") != QUALITY_BENCHMARK)
        sides.append(
            rows.select(*keys, "unit", "null", "estimate", "low", "high", "n")
            .unique(keys, keep="first", maintain_order=True)
            .join(verdicts.select(*keys, "verdict").unique(keys, keep="first"), on=keys, how="left",
                  nulls_equal=True, maintain_order="left")
        )  # fmt: skip
    joined = sides[0].join(
        sides[1].drop("unit"), on=keys, how="inner", nulls_equal=True, suffix="_after", maintain_order="left"
    )
    return joined.rename(
        {name: f"{name}_before" for name in ("null", "estimate", "low", "high", "n", "verdict")}
    )
