"""Compute the perplexity per word of the base row's replies under each row's model. All models read the same texts."""

from pathlib import Path

import numpy as np
import polars as pl

from evenhand.models import LanguageModel
from evenhand.prompts import row_keys
from evenhand.schema import EvenhandError, write_table

MOST_REPLIES = 1_000


def drawn_replies(chats: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return up to MOST_REPLIES random replies of the base row that contain a word: name, text and number of words."""
    replies = chats.filter((pl.col("turn") > 1) & pl.col("name").is_not_null()).select(
        "prompt_id", "name", "text", words=pl.col("text").str.count_matches(r"\S+").cast(pl.Int64)
    )
    known = replies.filter(pl.col("words") > 0)
    return (
        known.with_columns(key=row_keys(known["prompt_id"], seed, "replies read"))
        .sort("key", "prompt_id")
        .head(MOST_REPLIES)
        .drop("key", "prompt_id")
    )


def read_replies(model: LanguageModel, replies: pl.DataFrame, file: Path) -> None:
    """Score each reply without its context, and write name, number of words and nats of each reply to a file.

    nats is the negative log-likelihood; it is null if the model gives no likelihood.
    """
    try:
        found = model.log_likelihoods(replies["text"].to_list())
        nats = -np.asarray(found.sums, dtype=np.float64)
    except EvenhandError:  # a model that can only generate
        nats = np.full(replies.height, np.nan)
    nats = np.where(np.isfinite(nats), nats, np.nan)
    table = replies.select("name", "words").with_columns(nats=pl.Series(nats).fill_nan(None))
    write_table(file, table)
