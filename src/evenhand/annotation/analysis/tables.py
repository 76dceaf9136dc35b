"""Every table of an analysis, computed from the votes that count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from evenhand.schema import for_spreadsheets, write_table

RATED = ("nominal", "ordinal", "interval")
"""Measurements of ratings."""
PREFERENCE, TEXT, MARKS = "preference", "text", "marks"
WIN_RATE, PUBLISHED_RATE = "win_rate", "win_rate_published"


@dataclass(frozen=True)
class PeopleTables:
    """What came of people's answers. Shares are between 0 and 1, limits are of 95 %; no row names a person."""

    answers: pl.DataFrame
    """One row per question about items: question, measurement, n (judgements that count), n_missing (skipped by
    annotators who count), n_excluded (judgements that do not count), n_persons, n_items.
    The column seconds has the median time of the judgements that count."""
    attrition: pl.DataFrame
    """Who answered something and where they ended: state, n_persons, n_votes, n_answers. A vote is all that a person
    said to one item, an answer what they said to one question of it. Each person, vote and answer is in one row."""
    exclusions: pl.DataFrame
    """One row a rule that anybody broke, one person in several: rule, n_persons, n_persons_with_votes (who got to
    the items), n_votes."""
    win_rates: pl.DataFrame
    """`evenhand.measures.win_rates`: per question and pair of models `win_rate` (ours) and `win_rate_published`."""
    win_rates_by: pl.DataFrame
    """`win_rate` within each level of `by`: by, level, and the columns of `win_rates`; q allows for the levels."""
    sides: pl.DataFrame
    """`evenhand.measures.side_effect`."""
    rates: pl.DataFrame
    """`evenhand.measures.rating_rates`, by model (by "model"), and by what `by` names; groups within their axis."""
    differences: pl.DataFrame
    """`evenhand.measures.rating_differences`, likewise; q allows for models and groups together."""
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
    """`evenhand.measures.classifier_correlation` of each question that classifiers answer, too."""
    views: pl.DataFrame
    """`evenhand.measures.win_rates_by_views` of each scale: scale, and its columns."""
    scores: pl.DataFrame
    """One row a scale and third: scale, third, n_persons, n (ratings), lowest, mean, highest (of scores)."""
    statements: pl.DataFrame
    """`evenhand.measures.statement_ratings` of each scale: scale, and its columns."""
    marks: pl.DataFrame
    """One row a question, option, model and turn (null: any turn): n (conversations shown), n_marked, estimate, low,
    high, obstacle."""
    sensitivity: pl.DataFrame
    """The win rates under each set of rules: rules, n_persons_excluded (annotators who count without rules and are
    excluded by these), question, model, against, raw, estimate, low, high, q, verdict, n, n_persons. The columns
    published, p_published and stars have the share without ties and the exact test of `win_rate_published`."""
    about: pl.DataFrame
    """Answers to questions about persons: question, answer, n_persons."""

    def frames(self) -> dict[str, pl.DataFrame]:
        """The tables by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def write(self, folder: Path) -> dict[str, Path]:
        """Write each table that has rows as CSV; returns paths by name of file."""
        return dict(self._written(folder))

    def _written(self, folder: Path) -> Iterator[tuple[str, Path]]:
        for name, table in self.frames().items():
            if not table.is_empty():
                yield f"{name}.csv", write_table(folder / f"{name}.csv", for_spreadsheets(table))


def counting(votes: pl.DataFrame) -> pl.DataFrame:
    """The rows that measures see: answers about real items that no rule takes out."""
    return votes.filter((pl.col("role") == "real") & pl.col("excluded").is_null())


def questions_of(votes: pl.DataFrame, measurements: Sequence[str]) -> list[str]:
    """Questions about items with one of these measurements, in the order in which they were answered first."""
    mine = votes.filter((pl.col("role") == "real") & pl.col("measurement").is_in(list(measurements)))
    return mine["question"].unique(maintain_order=True).to_list()


def answers(votes: pl.DataFrame) -> pl.DataFrame:
    """How much was said to each question; see `PeopleTables.answers`."""
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
    """Who broke which rule; see `PeopleTables.exclusions`."""
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
    """How many persons gave which answer about themselves; see `PeopleTables.about`."""
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
