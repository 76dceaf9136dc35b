"""Language model perplexity (LMP) of each model on lines of conversation, as published and per token."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.models import Texts, reads_start_apart
from evenhand.models.huggingface import CausalModel
from evenhand.prompts import compose, load_templates, row_keys
from evenhand.prompts.redditbias import load_human_references
from evenhand.reports import wording
from evenhand.schema import ModelError, read_stored_table, write_table
from evenhand.stats import Floats, sums_bootstrap
from evenhand.studies.redditbias.options import OWN, RedditBiasConfig
from evenhand.weights import quiet_transformers

LONGEST = 36
"""Number of tokens after which the published program cuts a line."""
MORE = 8
"""Additional tokens that are read, so that the cut does not change the tokens before it."""
OWN_LINES = 1000
MOST_FAILED = 0.05
PUBLISHED, USUAL = "redditbias_lmp_published", "redditbias_lmp"
MEASURES = (PUBLISHED, USUAL)
"""Perplexity as the mean over lines with equal weights, and as the mean over tokens."""
OWN_MEASURES = ("own_line_perplexity", "own_token_perplexity")
"""The same two perplexities for evenhand's own sentences, which the paper does not use."""
WHY = {"too_long": "longer than the model takes"}


@dataclass(frozen=True)
class Lines:
    """The lines whose perplexity is reported, their name in reports, and the names of the two measures."""

    texts: tuple[str, ...]
    called: str
    measures: tuple[str, str]


def load_lines(config: RedditBiasConfig) -> Lines:
    """Return the lines whose perplexity is reported.

    These are the 6,000 lines of RedditBias. If all biases of the study use evenhand's sentences and no RedditBias
    folder is given, they are evenhand's neutral sentences about the axes that the study does not measure. Raises
    DatasetMissing.
    """
    own = [bias.removeprefix(OWN) for bias in config.bias if bias.startswith(OWN)]
    if len(own) < len(config.bias) or config.source is not None:
        texts = load_human_references(config.folder).frame["text"].to_list()
        return Lines(tuple(texts), "RedditBias' lines of conversation", MEASURES)
    neutral = [template for template in load_templates() if template.kind == "neutral"]
    frame = compose(templates=neutral, controls=False).filter(~pl.col("axis").is_in(own))
    order = np.argsort(row_keys(frame["prompt_id"], config.seed), kind="stable")[:OWN_LINES]
    texts = frame["text"][np.sort(order)].to_list()
    return Lines(tuple(texts), "our own neutral sentences about people of other axes", OWN_MEASURES)


def read_lines(model: CausalModel, lines: Sequence[str], file: Path) -> pl.DataFrame:
    """Return the likelihood of each line, and cache it in a file.

    The columns are the log-likelihood in nats and the number of tokens, both also by the published rule, and `error`.

    As published, there is no start token, the first token is not scored, and lines are cut after 36 tokens. The cut
    also applies to lines that are too long for the model. Lines without a likelihood have nulls, and `error` has the
    reason. Raises ModelError if more than 5% of the lines have none.
    """
    if file.is_file():
        return read_stored_table(file)
    usual = model.log_likelihoods(lines)
    failed = [i for i, error in enumerate(usual.errors) if error is not None]
    if len(failed) > MOST_FAILED * len(lines):
        raise ModelError(
            f"{len(failed)} of {len(lines)} lines have no likelihood; the first: {lines[failed[0]][:60]!r}.",
            "They are probably longer than the model's context. Use a model with a longer context.",
        )
    apart = reads_start_apart(model)
    kept = _beginnings(model, lines)
    by_rule = (
        model.log_likelihoods(Texts(kept, start_token="first")) if apart else model.log_likelihoods(kept)
    )
    skipped = 1 if apart else 0
    cut = [by_rule.row(i)[skipped : LONGEST - 1 + skipped] for i in range(len(lines))]
    table = pl.DataFrame(
        {
            "nats": -usual.sums,
            "tokens": usual.counts.astype(np.float64),
            "published_nats": [-float(row.sum(dtype=np.float64)) for row in cut],
            "published_tokens": [float(len(row)) for row in cut],
            "error": [None if error is None else str(error) for error in usual.errors],
        },
        schema_overrides={"error": pl.String},
    )
    published = pl.Series([error is None for error in by_rule.errors])
    table = table.with_columns(
        pl.when(pl.col("error").is_null()).then(pl.col("nats", "tokens")),
        pl.when(published).then(pl.col("published_nats", "published_tokens")),
    )
    write_table(file, table)
    return table


def left_out(table: pl.DataFrame, name: str) -> str | None:
    """Return the number of lines without a likelihood, and the reasons; None if all have one.

    table: result of `read_lines`. name: name of the model.
    """
    reasons = table["error"].drop_nulls().value_counts(sort=True).rows()
    if not reasons:
        return None
    told = ", ".join(f"{count:,} ({WHY.get(reason, wording.label(reason))})" for reason, count in reasons)
    counted = int(table.filter(pl.col("error").is_not_null())["published_nats"].count())
    return (
        f"{name} has no likelihood of {told} of {table.height:,} lines. The perplexity over tokens leaves them out. "
        f"The published perplexity over lines, cut after {LONGEST} tokens, includes {counted:,} of them."
    )


def _beginnings(model: CausalModel, lines: Sequence[str]) -> list[str]:
    """Return the beginning of each line: the tokens that the published rule reads, and MORE tokens.

    The additional tokens ensure that cutting the text does not change the tokens that are scored.
    """
    with quiet_transformers():
        found = model.tokenizer(list(lines), add_special_tokens=False, return_offsets_mapping=True)
    most = LONGEST + MORE
    ends = [offsets[most - 1][1] if len(offsets) >= most else None for offsets in found["offset_mapping"]]
    return [line[:end] for line, end in zip(lines, ends, strict=True)]


def perplexity_cells(
    table: pl.DataFrame,
    other: pl.DataFrame,
    seed: int,
    *,
    base: bool = False,
    measures: tuple[str, str] = MEASURES,
) -> list[dict[str, object]]:
    """Return both perplexities of a model with CIs over lines, and their ratio to the base model's on the same lines.

    table, other: results of `read_lines` for the model and the base model. base: whether the model is the base model,
    which has no change. measures: names of the perplexities over lines and over tokens.

    change, change_low and change_high are ratios (1.05: perplexity is 5% higher). change_p is two-sided, of no change.
    n is the number of lines for which both models have a likelihood.
    """
    sides = [_parts(table, other), _parts(other, table)]
    clusters = np.arange(table.height)
    own = sums_bootstrap(sides[0], clusters, _logs, seed=seed)
    moved = sums_bootstrap(
        np.hstack(sides), clusters, lambda sums: _logs(sums[..., :4]) - _logs(sums[..., 4:]), seed=seed
    )
    counts = np.count_nonzero(sides[0][:, [1, 3]], axis=0)
    cells: list[dict[str, object]] = []
    for place, measure in enumerate(measures):
        estimate, error = float(moved.estimate[place]), float(moved.standard_error[place])
        n = int(counts[place])
        p = 2 * float(stdtr(n - 1, -abs(estimate) / error)) if error > 0 else float(estimate == 0)
        cell: dict[str, object] = {"measure": measure, "n": n}
        cell |= {name: float(np.exp(getattr(own, name)[place])) for name in ("estimate", "low", "high")}
        changed = {
            "change": float(np.exp(estimate)),
            "change_low": float(np.exp(moved.low[place])),
            "change_high": float(np.exp(moved.high[place])),
            "change_p": p,
        }
        cells.append(cell if base else cell | changed)
    return cells


def _parts(table: pl.DataFrame, other: pl.DataFrame) -> Floats:
    """Return four numbers for each line, shape (lines, 4).

    They are the mean nats per token by the published rule, 1 if this mean exists (otherwise 0), the total nats, and
    the number of tokens. Lines without a likelihood have 0 in all four.
    """
    both = {
        name: (table[name].is_not_null() & other[name].is_not_null()).to_numpy()
        for name in ("nats", "published_nats")
    }
    tokens = table["published_tokens"].fill_null(0.0).to_numpy()
    known = (tokens > 0) & both["published_nats"]
    nats = table["published_nats"].fill_null(0.0).to_numpy()
    means = np.divide(nats, tokens, out=np.zeros_like(tokens), where=known)
    usual = [
        np.where(both["nats"], table[name].fill_null(0.0).to_numpy(), 0.0) for name in ("nats", "tokens")
    ]
    return np.stack([means, known.astype(np.float64), *usual], axis=1)


def _logs(sums: Floats) -> Floats:
    return np.stack([sums[..., 0] / sums[..., 1], sums[..., 2] / sums[..., 3]], axis=-1)
