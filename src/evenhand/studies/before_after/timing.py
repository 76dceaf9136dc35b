"""Time per token and memory per batch over several runs of the same prompts, with CIs (ROBBIE, appendix B.1.4)."""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl

from evenhand.benchmarks import Generation
from evenhand.models import Decoding, LanguageModel, TextGenerator, text_generator
from evenhand.runs import Progress
from evenhand.schema import UNREADABLE, Unsupported, frame_hash, read_parquet, write_table
from evenhand.stats import cluster_bootstrap
from evenhand.studies.audit import AskingOptions, choose_decoding
from evenhand.studies.before_after.costs import COST

TIMINGS = {
    "side": pl.String,
    "run": pl.Int64,
    "batch": pl.Int64,
    "seconds": pl.Float64,  # duration of the batch, until all its texts are generated
    "tokens": pl.Int64,  # generated
    "peak_bytes": pl.Int64,  # allocated on the accelerator during the batch; null without one
    "asked": pl.String,  # hash of the requests
}
FILE = "timings.parquet"
BATCH, TOKENS = 16, 200
"""Number of prompts per batch, and maximum length of a continuation, as published; the paper has 5 runs."""


def timed_batches(
    path: Path,
    texts: pl.Series,
    models: Mapping[str, LanguageModel],
    asking: AskingOptions,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Time every batch of every run (TIMINGS). The models alternate, so that changes of the machine affect both.

    Parameters
    ----------
    path : Path
        Folder of the study, which stores the table; a complete table is reused.
    texts : polars.Series
        Texts of the prompts.
    models : mapping of str to LanguageModel
        Models by side.
    asking : AskingOptions
        `timing_runs` and decoding settings. Each run has a different seed. One batch of each model is generated first
        as a warm-up.

    Raises
    ------
    Unsupported
        A model cannot generate text.
    """
    longest = Generation(max_new_tokens=TOKENS)
    alone = asking.model_copy(update={"samples": None})
    writers = {side: text_generator(model) for side, model in models.items()}
    decodings = {side: choose_decoding(longest, alone, model).decoding for side, model in models.items()}
    settings = [str(sorted(decoding.parameters().items())) for decoding in decodings.values()]
    asked = frame_hash(pl.DataFrame({"text": [*texts, *settings, str(asking.timing_runs)]}))
    file = path / FILE
    with suppress(*UNREADABLE):  # missing or damaged files are timed again
        stored = read_parquet(file)
        if stored.columns == list(TIMINGS) and set(stored["asked"]) == {asked}:
            return stored
    batches = [texts[i : i + BATCH].to_list() for i in range(0, len(texts), BATCH)]
    for side, writer in writers.items():
        _time_batch(writer, batches[0], decodings[side])
    rows = []
    for run in range(asking.timing_runs):
        if progress is not None:
            progress.note(f"Timing: run {run + 1} of {asking.timing_runs}")
        for number, batch in enumerate(batches):
            for side, writer in writers.items():
                drawn = replace(decodings[side], seed=asking.seed + run)
                rows.append((side, run, number, *_time_batch(writer, batch, drawn), asked))
    frame = pl.DataFrame(rows, schema=TIMINGS, orient="row")
    write_table(file, frame)
    return frame


def timing_rows(timings: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return means over the batches of all runs, with 95% CIs, in the columns COST.

    They are milliseconds per generated token, and peak memory of a batch in bytes. The CIs allow for the variation of
    batches and of runs (two-way clustering). Batches without generated tokens have no time per token.

    Parameters
    ----------
    timings
        Columns TIMINGS. The column `side` is "before" or "after".
    """
    each = timings.with_columns(
        token_latency=pl.when(pl.col("tokens") > 0).then(1000 * pl.col("seconds") / pl.col("tokens")),
        batch_memory=pl.col("peak_bytes").cast(pl.Float64),
    )
    runs = timings["run"].n_unique()
    note = (
        f"Mean over {each['batch'].n_unique()} batches of {BATCH} prompts in {runs} runs, with 95 % limits."
    )
    rows = []
    for measure, unit in (("token_latency", "ms a token"), ("batch_memory", "bytes")):
        row: dict[str, object] = {"measure": measure, "unit": unit, "note": note}
        for side in ("before", "after"):
            part = each.filter(pl.col("side") == side).drop_nulls(measure)
            if part.is_empty():
                continue
            found = cluster_bootstrap(
                part[measure].to_numpy(),
                part["batch"].to_numpy(),
                second_clusters=part["run"].to_numpy(),
                bounds=(0.0, float("inf")),
                seed=seed,
            )
            low, high = (value if np.isfinite(value) else None for value in (found.low, found.high))
            row |= {side: found.estimate, f"{side}_low": low, f"{side}_high": high}
        if {"before", "after"} & row.keys():
            rows.append(row)
    return pl.DataFrame(rows, schema=COST)


def timed_costs(
    path: Path,
    texts: pl.Series,
    models: Mapping[str, LanguageModel],
    asking: AskingOptions,
    progress: Progress | None = None,
) -> tuple[pl.DataFrame, str]:
    """Time both models, and return the result of `timing_rows`. If a model cannot generate text, return why.

    The second value is this reason; it is "" if the models were timed. The parameters are those of `timed_batches`.
    """
    if not asking.timing_runs:
        return pl.DataFrame(schema=COST), ""
    try:
        timings = timed_batches(path, texts, models, asking, progress)
    except Unsupported as error:
        return pl.DataFrame(schema=COST), str(error)
    return timing_rows(timings, asking.seed), ""


def _time_batch(writer: TextGenerator, batch: list[str], decoding: Decoding) -> tuple[float, int, int | None]:
    torch = sys.modules.get("torch")
    accelerator = torch is not None and torch.cuda.is_available()
    if torch is not None and accelerator:
        torch.cuda.reset_peak_memory_stats()
    began = perf_counter()
    written = writer.generate(batch, decoding)  # returns after the accelerator has finished
    seconds = perf_counter() - began
    peak = int(torch.cuda.max_memory_allocated()) if torch is not None and accelerator else None
    return seconds, int(written.token_count.sum()), peak
