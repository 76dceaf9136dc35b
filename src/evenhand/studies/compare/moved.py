"""Find the prompts whose responses changed most between two models, and the texts whose likelihood changed most."""

import polars as pl

MOST = 20
"""Largest number of rows for one model, benchmark and outcome."""
LONGEST = 600
"""Maximum number of characters that are kept of an answer."""
LOG_LIKELIHOOD = "log-likelihood"
"""Value of the column `outcome` for texts whose likelihood was computed."""
ANSWER = "answer"
"""Column with the generated text, if known."""
MOVED = {
    "benchmark": pl.String,
    "outcome": pl.String,
    "model": pl.String,  # the model that is compared with the first
    "axis": pl.String,
    "group": pl.String,
    "prompt_id": pl.String,
    "text": pl.String,  # the prompt, or the scored text
    "before": pl.Float64,  # mean over the samples of both models; nats for likelihoods
    "after": pl.Float64,
    "change": pl.Float64,
    "beside": pl.Float64,  # the change minus the median change of the benchmark
    "answer_before": pl.String,  # null for scored texts, and if the response is unknown
    "answer_after": pl.String,
    "n": pl.Int64,  # samples
}


def moved_answers(paired: pl.DataFrame, benchmark: str, outcome: str, model: str) -> pl.DataFrame:
    """Return the prompts whose outcome changed most, each with an example of both responses (columns: MOVED).

    The example of a prompt is the sample with the largest difference in the direction of the mean change. Prompts
    without a change are left out. `paired` has one row per prompt and sample with axis, group, text, the outcome and
    `<outcome>_right` of the other model, and ANSWER of both if known.
    """
    sides = {"before": outcome, "after": f"{outcome}_right"}
    frame = paired.with_columns(**{side: pl.col(name).cast(pl.Float64) for side, name in sides.items()})
    frame = frame.drop_nulls(["before", "after"]).with_columns(change=pl.col("after") - pl.col("before"))
    shown = {side: pl.col(name) if name in frame.columns else pl.lit(None, dtype=pl.String)
             for side, name in (("answer_before", ANSWER), ("answer_after", f"{ANSWER}_right"))}  # fmt: skip
    way = pl.col("change").mean().over("prompt_id").sign()
    ordered = frame.with_columns(**shown, along=way * pl.col("change")).sort(
        "along", descending=True, maintain_order=True
    )
    groups = ordered.group_by("prompt_id", maintain_order=True).agg(
        pl.col("axis", "group", "text", "answer_before", "answer_after").first(),
        pl.col("before", "after", "change").mean(),
        n=pl.col("sample").n_unique(),
    )
    return _select_largest_changes(groups, benchmark, outcome, model, "change")


def moved_texts(before: pl.DataFrame, after: pl.DataFrame, benchmark: str, model: str) -> pl.DataFrame:
    """Return the texts whose log-likelihood changed most relative to the median change (columns: MOVED).

    Parameters
    ----------
    before, after
        Tables of both models with prompt_id, text and log_likelihood, and axis, group or descriptor if they exist.
    """
    named = next((name for name in ("group", "descriptor") if name in before.columns), None)
    names = {
        "axis": pl.col("axis") if "axis" in before.columns else pl.lit(None, dtype=pl.String),
        "group": pl.lit(None, dtype=pl.String) if named is None else pl.col(named),
    }
    keys = ["prompt_id", "text"]
    first = before.select(*keys, before="log_likelihood", **names)
    both = first.join(after.select(*keys, after="log_likelihood"), on=keys, maintain_order="left")
    known = both.filter(pl.col("before").is_finite() & pl.col("after").is_finite()).unique(
        "text", keep="first", maintain_order=True
    )
    return _select_largest_changes(
        known.with_columns(change=pl.col("after") - pl.col("before"), n=1),
        benchmark,
        LOG_LIKELIHOOD,
        model,
        "beside",
    )


def _select_largest_changes(
    table: pl.DataFrame, benchmark: str, outcome: str, model: str, by: str
) -> pl.DataFrame:
    constants = {"benchmark": benchmark, "outcome": outcome, "model": model}
    whole = table.with_columns(
        *(pl.lit(value).alias(name) for name, value in constants.items()),
        beside=pl.col("change") - pl.col("change").median(),
    )
    order = [pl.col(by).abs().round(9), pl.col("prompt_id").cast(pl.String)]
    most = whole.filter(pl.col(by).abs() > 1e-9).sort(order, descending=[True, False]).head(MOST)
    columns = {
        name: pl.col(name).cast(kind) if name in most.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in MOVED.items()
    }
    for name in ("answer_before", "answer_after"):
        text = columns[name]
        cut = pl.concat_str(text.str.head(LONGEST), pl.lit("…"))
        columns[name] = pl.when(text.str.len_chars() > LONGEST).then(cut).otherwise(text).alias(name)
    return most.select(columns.values())
