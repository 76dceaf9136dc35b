"""How surprising a model finds given texts, by itself and behind its mitigations: asked once, stored with the study."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.benchmarks.registry import load_benchmark
from evenhand.models.contract import LanguageModel
from evenhand.runs import RunDirectory
from evenhand.schema import DataError, Unsupported
from evenhand.schema.files import write_table

TEXTS = {
    "text": pl.String,
    "cluster": pl.String,  # the article, or the prompt itself
    "tokens": pl.UInt32,  # scored by the model by itself
    "before": pl.Float64,  # natural log, summed over the text
    "after": pl.Float64,
    "error": pl.String,  # of either, null if both are good
}
FILE = "texts.parquet"
QUALITY_BENCHMARK = "quality"
MOST = 400


@dataclass(frozen=True)
class ScoredTexts:
    """name: wikitext, or prompts. frame: TEXTS; empty where the model states no likelihoods, with the reason."""

    name: str
    frame: pl.DataFrame
    reason: str = ""


def quality_data(folders: Mapping[str, Path]) -> str | None:
    """Why the texts of the benchmark `quality` are not here; None where they are."""
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
    """The likelihoods of at most 400 texts under both models.

    path: the study's folder, in which they are kept and found again. run: whose prompts are taken where the sentences
    of WikiText are not here. folders: of data sets. Both models are asked now, unless the same texts are stored.
    """
    name, texts = _texts(run, folders, seed)
    file = path / FILE
    if file.is_file():
        stored = pl.read_parquet(file)
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


def _texts(run: RunDirectory, folders: Mapping[str, Path], seed: int) -> tuple[str, pl.DataFrame]:
    try:
        frame = load_benchmark(QUALITY_BENCHMARK).build(folders).frame
        return "wikitext", frame.select("text", pl.col("cluster").cast(pl.String)).head(MOST)
    except DataError:
        prompts = [run.prompts(name, ["prompt_id", "text"]) for name in run.benchmarks]
    every = pl.concat(frame.select("text", cluster="prompt_id") for frame in prompts)
    distinct = every.unique("text", keep="first").sort("text")
    return "prompts", distinct.sample(min(MOST, distinct.height), seed=seed).sort("text")
