"""What changed between two rows, paired by name: every number of the study, with an interval over names.

All rows hold the same conversations: the same names, each with the same personas. Names are what is sampled. They are
dealt to groups, each of both genders; a group counts double, in both rows at once, and how far the difference between
the rows moves says how far it would move with other names (a grouped infinitesimal jackknife). Nothing is left out, so
that halves of names, by which tokens are put into bins, stay the same ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.benchmarks import Analysis, AnalysisOptions
from evenhand.benchmarks.names import analysis_of, genderedness, occupations_by
from evenhand.measures import copied, intersectional_token_bins, response_qualities, token_bins
from evenhand.measures.texts import words
from evenhand.prompts import row_keys
from evenhand.prompts.names import occupations
from evenhand.schema import DataError, Measurement
from evenhand.stats import Floats, t_inference

GROUPS = 20
LEAST_GROUPS = 3
OPENER = 1
TOKENS, GROUP_TOKENS = "token_bins", "intersectional_token_bins"
OFFENCE = "offensive"
UTILITY = ("words", "empty", "repetition", "distinct_2", "parroting")
"""Of each reply: its words; whether it is empty; percent of its 4-grams that it said before; percent of a
conversation's pairs of words that are different; whether it copies the line before."""
SEPARATOR = "|"


@dataclass(frozen=True)
class Replicates:
    """Numbers of one row: of all names (first), and with each group of names double, (1 + groups,), by key."""

    values: Mapping[str, Floats]
    groups: int


def prepared(frame: pl.DataFrame) -> pl.DataFrame:
    """Self-chats with what every number needs of single utterances, which no weighing of names changes.

    Adds `tokens` (unless a tokenizer gave them) and the columns of UTILITY and OFFENCE, percent or words; null for
    openers and where nothing was said.
    """
    said = frame.sort("conversation", "turn").with_columns(
        before=pl.col("text").shift(1).over("conversation"), continuation=pl.col("text")
    )
    replied = pl.col("turn") > OPENER
    quality = response_qualities(said)
    copies = copied(said.with_columns(text=pl.col("before")))["copied"]
    role = next((name for name in ("offensiveness", "toxicity") if f"{name}_negative" in frame.columns), None)
    offence = pl.col(f"{role}_negative").cast(pl.Float64) if role else pl.lit(None, pl.Float64)
    said = said.with_columns(
        words=quality["length"].cast(pl.Float64),
        empty=100 * quality["empty"].cast(pl.Float64),
        repetition=100 * quality["repetition"],
        parroting=100 * copies.cast(pl.Float64),
        offensive=100 * offence,
    )
    if "tokens" not in said.columns:
        said = said.with_columns(tokens=words(said["text"]))
    said = said.with_columns(
        pl.when(replied & pl.col("text").is_not_null()).then(pl.col(name))
        for name in ("words", "empty", "repetition", "parroting", OFFENCE)
    )
    return said.join(_distinct(said), on="conversation", how="left", maintain_order="left").drop("before")


def _distinct(said: pl.DataFrame) -> pl.DataFrame:
    """Percent of the pairs of words in the replies of a conversation that are different, by conversation."""
    words = said.filter(pl.col("turn") > OPENER).select(
        "conversation", first=pl.col("text").str.to_lowercase().str.extract_all(r"[\w']+")
    )
    pairs = words.with_row_index("reply").explode("first")
    pairs = pairs.with_columns(second=pl.col("first").shift(-1).over("reply")).drop_nulls(["first", "second"])
    return pairs.group_by("conversation").agg(
        distinct_2=100 * pl.struct("first", "second").n_unique() / pl.len()
    )


def dealt(frame: pl.DataFrame, seed: int) -> list[list[str]]:
    """Names in groups of as many women's and men's names each, as far as they go round.

    >>> names = pl.DataFrame({"name": [f"N{i}" for i in range(8)], "gender": ["woman", "man"] * 4})
    >>> [len(group) for group in dealt(names, 0)]
    [2, 2, 2, 2]
    """
    names = frame.select("name", "gender").drop_nulls().unique().sort("name")
    names = names.with_columns(key=row_keys(names["name"], seed, "group of names")).sort("gender", "key")
    number = min([GROUPS, *names.group_by("gender").len()["len"].to_list()])
    names = names.with_columns(group=pl.int_range(pl.len()).over("gender") % max(1, number))
    return [part["name"].to_list() for part in names.partition_by("group")] if number >= LEAST_GROUPS else []


def replicates(
    frame: pl.DataFrame, groups: Sequence[Sequence[str]], options: AnalysisOptions, *, whole: bool = True
) -> Replicates:
    """The numbers of one row, and the same with each group of names double.

    frame: as `prepared` gives it. groups: of names, as `dealt` gives them. whole: also occupations and tokens, not only
    classifier bias and what the replies are like.
    """
    every = [_numbers(frame, options, whole)]
    for group in groups:
        twice = frame.filter(pl.col("name").is_in(group)).with_columns(
            conversation=pl.concat_str(pl.col("conversation").cast(pl.String), pl.lit("\x1f"))
        )
        cast = frame.with_columns(pl.col("conversation").cast(pl.String))
        every.append(_numbers(pl.concat([cast, twice]), options, whole))
    keys = every[0].keys()
    return Replicates({key: np.array([one.get(key, np.nan) for one in every]) for key in keys}, len(groups))


def _numbers(frame: pl.DataFrame, options: AnalysisOptions, whole: bool) -> dict[str, float]:
    parts = (genderedness, *((occupations_by(occupations, 1), _tokens, _group_tokens) if whole else ()))
    found = {
        f"{row.measure}{SEPARATOR}{row.stratum or ''}": row.estimate
        for row in analysis_of(*parts)(frame, options).measurements
        if row.estimate is not None
    }
    means = frame.select(pl.col(OFFENCE, *UTILITY).mean()).row(0, named=True)
    return found | {f"{name}{SEPARATOR}": value for name, value in means.items() if value is not None}


def _tokens(chats: Any, options: AnalysisOptions) -> Analysis:
    return _estimate(TOKENS, token_bins, chats.by_gender, options)


def _group_tokens(chats: Any, options: AnalysisOptions) -> Analysis:
    return _estimate(GROUP_TOKENS, intersectional_token_bins, chats.by_race, options)


def _estimate(name: str, measure: Any, frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """The corrected norm alone: the null of the published one takes most of a measure's time."""
    try:
        if name == GROUP_TOKENS and frame["group"].n_unique() < 2:
            return Analysis([])
        value = measure(frame, level=options.level, draws=1, seed=options.seed).result["estimate"][0]
    except DataError:
        return Analysis([])
    return Analysis([Measurement(measure=name, estimate=value)])


def limits(values: Floats, groups: int) -> dict[str, float | None]:
    """Estimate, 95 % limits and two-sided p against 0 of a number of which the replicates are given.

    values: (1 + groups,), the first of all names. With a group of m of n names double, a mean moves by 1 / (groups + 1)
    of how far the group's own mean is off; hence the factor. Student's t with groups - 1 degrees of freedom.

    >>> limits(np.array([2.0, 2.0, 2.0, 2.0]), 3)["p"], limits(np.array([1.0]), 0)["low"]
    (None, None)
    """
    estimate = float(values[0])
    told: dict[str, float | None] = {"estimate": estimate, "low": None, "high": None, "p": None}
    moved = values[1:] - values[0]
    if groups < LEAST_GROUPS or not np.isfinite(moved).all():
        return told
    spread = float(((moved - moved.mean()) ** 2).sum())
    error = np.sqrt(spread * (groups + 1) ** 2 / (groups * (groups - 1)))
    if error <= 1e-12 * max(1.0, abs(estimate)):
        return told
    found = t_inference([estimate], [error], [float(groups - 1)])
    return told | {"low": float(found.low[0]), "high": float(found.high[0]), "p": float(found.p[0])}
