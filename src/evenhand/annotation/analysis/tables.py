"""All tables of an analysis, computed from the included judgements."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from evenhand.schema import for_spreadsheets, write_table

RATED = ("nominal", "ordinal", "interval")
"""Measurement levels of ratings."""
PREFERENCE, TEXT, MARKS = "preference", "text", "marks"
WIN_RATE, PUBLISHED_RATE = "win_rate", "win_rate_published"


@dataclass(frozen=True)
class PeopleTables:
    """The tables of an analysis. Shares are between 0 and 1, and intervals are 95% CIs. No row
    identifies an annotator.
    """

    answers: pl.DataFrame
    """One row per question about items: question, measurement, n (judgements that count), n_missing (skipped by
    annotators who count), n_excluded (judgements that do not count), n_persons, n_items.
    The column seconds has the median time of the judgements that count."""
    attrition: pl.DataFrame
    """Annotators by their final state: state, n_persons, n_votes, n_answers. A vote is
    everything that an annotator submitted for one item, and an answer is the judgement on one
    of its questions. Each annotator, vote and answer is in one row.
    """
    exclusions: pl.DataFrame
    """One row per rule that an annotator broke (annotators may be in several): rule, n_persons, n_persons_with_votes
    (annotators who reached the items), n_votes.
    """
    win_rates: pl.DataFrame
    """`evenhand.measures.win_rates`: per question and pair of models, `win_rate` (evenhand's) and
    `win_rate_published`.
    """
    win_rates_by: pl.DataFrame
    """`win_rate` within each level of `by`: by, level, and the columns of `win_rates`; q is corrected
    for the levels.
    """
    sides: pl.DataFrame
    """`evenhand.measures.side_effect`."""
    rates: pl.DataFrame
    """`evenhand.measures.rating_rates`, by model (by "model"), and by the column `by`; groups within their axis."""
    differences: pl.DataFrame
    """`evenhand.measures.rating_differences` for the same; q is corrected for models and groups together."""
    agreement: pl.DataFrame
    """One row per question: question, measurement, alpha, low, high (over annotators and items; null with fewer than
    ten annotators). The other columns describe the items with at least two judgements: n_items, n_persons,
    n (judgements), majority_share and agreeing_pairs (means), undecided (share of items without a majority)."""
    reliability: pl.DataFrame
    """One row per question: question, n_persons (annotators with enough judgements), n_untold (the others).
    null is the share of the most common answer: the reliability of always giving it. lowest, lower, middle, upper and
    highest are the quartiles of the reliabilities (Dawid and Skene). n_agreeing of n_compared annotators agree with
    the others beyond chance. obstacle: why there is no estimate."""
    classifiers: pl.DataFrame
    """`evenhand.measures.classifier_correlation` for each question that classifiers answer, too."""
    views: pl.DataFrame
    """`evenhand.measures.win_rates_by_views` for each scale: scale, and its columns."""
    scores: pl.DataFrame
    """One row per scale and third: scale, third, n_persons, n (ratings), lowest, mean, highest (of scores)."""
    statements: pl.DataFrame
    """`evenhand.measures.statement_ratings` for each scale: scale, and its columns."""
    marks: pl.DataFrame
    """One row per question, option, model and turn (null: any turn): n (conversations shown),
    n_marked, estimate, low, high, obstacle.
    """
    sensitivity: pl.DataFrame
    """The win rates under each set of rules: rules, n_persons_excluded (annotators who count without rules and are
    excluded by these), question, model, against, raw, estimate, low, high, q, verdict, n, n_persons. The columns
    published, p_published and stars have the share without ties and the exact test of `win_rate_published`."""
    about: pl.DataFrame
    """Annotators' answers about themselves: question, answer, n_persons."""

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return the tables by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def write(self, folder: Path) -> dict[str, Path]:
        """Write each table with rows as CSV; return paths by file name."""
        return dict(self._write_tables(folder))

    def _write_tables(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for name, table in self.frames().items():
            if not table.is_empty():
                yield f"{name}.csv", write_table(folder / f"{name}.csv", for_spreadsheets(table))


def counting(votes: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that measures use: judgements of real items that no rule excludes."""
    return votes.filter((pl.col("role") == "real") & pl.col("excluded").is_null())


def find_questions(votes: pl.DataFrame, measurements: Sequence[str]) -> list[str]:
    """Return the questions about items with one of these measurement levels, in the order in
    which they were first answered.
    """
    mine = votes.filter((pl.col("role") == "real") & pl.col("measurement").is_in(list(measurements)))
    return mine["question"].unique(maintain_order=True).to_list()


def answers(votes: pl.DataFrame) -> pl.DataFrame:
    """Return the number of judgements per question (see `PeopleTables.answers`)."""
    counts = pl.col("excluded").is_null()
    given = pl.col("answer").is_not_null() | (pl.col("measurement") == MARKS)
    said = counts & given
    return (
        votes.filter(pl.col("role") == "real")
        .group_by("question", maintain_order=True)
        .agg(
            pl.col("measurement").first(),
            n=pl.col("presentation").filter(said).n_unique().cast(pl.Int64),
            n_missing=pl.col("presentation").filter(counts & ~said).n_unique().cast(pl.Int64),
            n_excluded=pl.col("presentation").filter(~counts & given).n_unique().cast(pl.Int64),
            n_persons=pl.col("person").filter(said).n_unique().cast(pl.Int64),
            n_items=pl.col("item").filter(said).n_unique().cast(pl.Int64),
            seconds=pl.col("seconds").filter(said).median(),
        )
    )


def exclusions(votes: pl.DataFrame) -> pl.DataFrame:
    """Return which rules were broken, and by how many annotators (see `PeopleTables.exclusions`)."""
    real = pl.col("role") == "real"
    out = votes.filter(pl.col("excluded").is_not_null()).with_columns(rule=pl.col("excluded").str.split(","))
    return (
        out.explode("rule")
        .group_by("rule")
        .agg(
            n_persons=pl.col("person").n_unique().cast(pl.Int64),
            n_persons_with_votes=pl.col("person").filter(real).n_unique().cast(pl.Int64),
            n_votes=pl.col("presentation").filter(real).n_unique().cast(pl.Int64),
        )
        .sort("rule")
    )


def about_persons(votes: pl.DataFrame, questions: Sequence[str]) -> pl.DataFrame:
    """Return the number of annotators by their answers about themselves (see `PeopleTables.about`)."""
    mine = votes.filter(
        (pl.col("role") == "survey")
        & pl.col("question").is_in(list(questions))
        & (pl.col("measurement") != TEXT)
        & pl.col("excluded").is_null()
    )
    return (
        mine.group_by("question", pl.col("answer").fill_null("no answer"), maintain_order=True)
        .agg(n_persons=pl.col("person").n_unique().cast(pl.Int64))
        .sort("question", "n_persons", "answer", descending=[False, True, False])
    )
