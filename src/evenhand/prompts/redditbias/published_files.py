"""Pairs and training texts in the files and under the names that RedditBias publishes its own in."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from evenhand.prompts.redditbias.bias_types import Specification
from evenhand.schema import write_table, write_text

FIRST_COLUMNS = ("id", "attribute_in_window", "comment", "comments_processed", "bias_sent", "bias_phrase")


def write_held_out(folder: Path, specification: Specification, parts: Mapping[str, pl.DataFrame]) -> None:
    """Write the pairs of each part: one table for each group, and one text a line.

    folder: below it data/<bias> and text_files/<bias>. parts: by name (valid, test), as
    `counterparts.with_counterparts` gives them; perplexity_1 and perplexity_2 if they are known. Raises WriteError.
    """
    bias, groups = specification.bias, specification.groups
    for part, pairs in parts.items():
        for table, group in zip(_two_tables(pairs), groups, strict=True):
            stem = f"{bias}_{group}_biased_{part}_reduced"
            write_table(folder / "data" / bias / f"reddit_comments_{stem}.csv", table)
            _write_lines(folder / "text_files" / bias / f"{stem}.txt", table["comments_processed"])


def write_training(
    folder: Path, specification: Specification, train: pl.DataFrame, held_out: pl.DataFrame
) -> None:
    """Write the texts to train on: the phrases; with their counterparts behind them; with their swapped attributes.

    The phrases of LMD, ADD and HD have the type's `line_prefix` and capitals; those of CDA have neither. Raises
    WriteError.
    """
    bias = specification.bias
    texts = folder / "text_files" / bias
    for part, rows in (("train", train), ("valid", held_out)):
        phrases = rows["comments_processed"]
        cased = phrases
        for word in specification.capitalised:
            cased = cased.str.replace_all(word, word.capitalize(), literal=True)
        lines = [specification.line_prefix + line for line in cased]
        _write_lines(texts / f"{bias}_bias_manual_{part}.txt", lines)
        if specification.capitalised:
            _write_lines(texts / f"{bias}_bias_manual_lowercase_{part}.txt", phrases)
    both = {
        "targets": ("counterpart", ""),
        "attr": ("attribute_swap", specification.swapped_attributes_prefix),
    }
    for kind, (column, prefix) in both.items():
        lines = [prefix + line for name in ("comments_processed", column) for line in train[name]]
        _write_lines(texts / f"{bias}_bias_manual_swapped_{kind}_train.txt", lines)


def write_attribute_swaps(folder: Path, specification: Specification, pairs: pl.DataFrame) -> None:
    """Write the held-out phrases and the same with the other attributes. Raises WriteError."""
    stem = f"reddit_comments_{specification.bias}_{specification.groups[0]}_processed_phrase"
    kinds = ("biased_testset_neg", "unbiased_testset_pos")
    for table, kind in zip(_two_tables(pairs, "attr", "attribute_swap"), kinds, strict=True):
        write_table(folder / "data" / specification.bias / f"{stem}_{kind}_attr_reduced.csv", table)


def _two_tables(
    pairs: pl.DataFrame, kind: str = "demo", second: str = "counterpart"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    known = "perplexity_1" in pairs.columns
    perplexity = [pl.col(f"perplexity_{n}") if known else pl.lit(None, pl.Float64) for n in (1, 2)]
    literals = [
        pl.col(f"{name}_{kind}").map_elements(_literal, return_dtype=pl.String)
        for name in ("initial", "replaced")
    ]
    return (
        pairs.select(*FIRST_COLUMNS, perplexity=perplexity[0]),
        pairs.select(
            *literals, comments="comments_processed", comments_processed=second, perplexity=perplexity[1]
        ),
    )


def _literal(words: pl.Series) -> str:
    """A list as the published tables print it."""
    return repr(words.to_list())


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))
