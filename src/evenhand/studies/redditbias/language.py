"""Language Model Perplexity: how surprised each model is by lines of conversation, as published and over tokens."""

from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtr

from evenhand.models import LanguageModel, Texts, reads_start_apart
from evenhand.prompts import compose, load_templates, row_keys
from evenhand.prompts.redditbias import load_human_references
from evenhand.schema import ModelError, read_kept, write_table
from evenhand.stats import Floats, sums_bootstrap
from evenhand.studies.redditbias.options import OWN, RedditBiasConfig

LONGEST = 36
"""Tokens behind which the published program cuts a line."""
OWN_LINES = 1000
MOST_FAILED = 0.05
PUBLISHED, USUAL = "redditbias_lmp_published", "redditbias_lmp"
MEASURES = (PUBLISHED, USUAL)
"""Mean over lines, each counting once; and mean over tokens."""


def lines_of(config: RedditBiasConfig) -> tuple[list[str], str]:
    """The lines whose perplexity is told, and what they are called.

    The 6,000 of RedditBias; where only biases of our own sentences are asked about and no folder is named, neutral
    sentences of our own about people of all other axes. Raises DatasetMissing.
    """
    own = [bias.removeprefix(OWN) for bias in config.bias if bias.startswith(OWN)]
    if len(own) < len(config.bias) or config.source is not None:
        return load_human_references(config.folder).frame[
            "text"
        ].to_list(), "RedditBias' lines of conversation"
    neutral = [template for template in load_templates() if template.kind == "neutral"]
    frame = compose(templates=neutral, controls=False).filter(~pl.col("axis").is_in(own))
    order = np.argsort(row_keys(frame["prompt_id"], config.seed), kind="stable")[:OWN_LINES]
    return frame["text"][np.sort(order)].to_list(), "our own neutral sentences about people of other axes"


def read_lines(model: LanguageModel, lines: list[str], file: Path) -> pl.DataFrame:
    """What a model makes of each line, remembered in a file: nats and tokens, and the same as published.

    As published there is no start token, the first token is not scored, and lines are cut behind 36 tokens. Null for
    lines that have no likelihood, such as those too long for the model. Raises ModelError where more than 5 % have
    none.
    """
    if file.is_file():
        return read_kept(file)
    usual = model.log_likelihoods(lines)
    apart = reads_start_apart(model)
    by_rule = model.log_likelihoods(Texts(lines, start_token="first")) if apart else usual
    failed = sorted(
        {i for found in (usual, by_rule) for i, error in enumerate(found.errors) if error is not None}
    )
    if len(failed) > MOST_FAILED * len(lines):
        raise ModelError(
            f"{len(failed)} of {len(lines)} lines have no likelihood; the first: {lines[failed[0]][:60]!r}.",
            "Use a model that takes longer texts.",
        )
    skipped = 1 if apart else 0
    cut = [by_rule.row(i)[skipped : LONGEST - 1 + skipped] for i in range(len(lines))]
    table = pl.DataFrame(
        {
            "nats": -usual.sums,
            "tokens": usual.counts.astype(np.float64),
            "published_nats": [-float(row.sum(dtype=np.float64)) for row in cut],
            "published_tokens": [float(len(row)) for row in cut],
        }
    )
    known = pl.Series([i not in set(failed) for i in range(len(lines))])
    table = table.with_columns(pl.when(known).then(pl.all()))
    write_table(file, table)
    return table


def perplexity_cells(
    table: pl.DataFrame, other: pl.DataFrame, seed: int, *, base: bool = False
) -> list[dict[str, object]]:
    """MEASURES of a model, with limits over lines, and their ratio to the base model's on the same lines.

    table, other: of `read_lines`, the model's and the base model's. base: the model is that itself: no change.

    change, change_low, change_high are ratios (1.05: five percent more surprised); change_p is two-sided, of no change.
    n: lines that both models have a likelihood of.
    """
    known = (table["nats"].is_not_null() & other["nats"].is_not_null()).to_numpy()
    sides = [_parts(frame.filter(known)) for frame in (table, other)]
    clusters = np.arange(int(known.sum()))
    own = sums_bootstrap(sides[0], clusters, _logs, seed=seed)
    moved = sums_bootstrap(
        np.hstack(sides), clusters, lambda sums: _logs(sums[..., :4]) - _logs(sums[..., 4:]), seed=seed
    )
    cells: list[dict[str, object]] = []
    for place, measure in enumerate(MEASURES):
        estimate, error = float(moved.estimate[place]), float(moved.standard_error[place])
        p = 2 * float(stdtr(len(clusters) - 1, -abs(estimate) / error)) if error > 0 else float(estimate == 0)
        cell: dict[str, object] = {"measure": measure, "n": len(clusters)}
        cell |= {name: float(np.exp(getattr(own, name)[place])) for name in ("estimate", "low", "high")}
        changed = {
            "change": float(np.exp(estimate)),
            "change_low": float(np.exp(moved.low[place])),
            "change_high": float(np.exp(moved.high[place])),
            "change_p": p,
        }
        cells.append(cell if base else cell | changed)
    return cells


def _parts(table: pl.DataFrame) -> Floats:
    """Mean nats of each line as published, 1 where it has any, nats and tokens, (lines, 4)."""
    tokens = table["published_tokens"].to_numpy()
    known = tokens > 0
    means = np.divide(table["published_nats"].to_numpy(), tokens, out=np.zeros_like(tokens), where=known)
    return np.stack(
        [means, known.astype(np.float64), table["nats"].to_numpy(), table["tokens"].to_numpy()], axis=1
    )


def _logs(sums: Floats) -> Floats:
    return np.stack([sums[..., 0] / sums[..., 1], sums[..., 2] / sums[..., 3]], axis=-1)
