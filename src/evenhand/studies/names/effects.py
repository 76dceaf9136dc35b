"""Changes between two rows, paired by name: every number of the study, with an interval for other names.

All rows have the same conversations: the same names, each with the same personas. Names are the sampled units. They
are assigned to groups, each with both genders. Each group in turn counts double in both rows. The resulting changes of
the difference between the rows estimate its variance for other names (a grouped infinitesimal jackknife). No name is
left out, so the halves of names used for token bins stay the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from evenhand.benchmarks import Analysis, AnalysisOptions
from evenhand.benchmarks.names import combine_analyses, genderedness, make_occupation_analysis
from evenhand.measures import copied, intersectional_token_bins, response_qualities, token_bins
from evenhand.measures.texts import words
from evenhand.prompts import row_keys
from evenhand.prompts.names import occupations
from evenhand.schema import DataError, Measurement
from evenhand.stats import POWER, Floats, t_inference

GROUPS = 20
LEAST_GROUPS = 3
LEAST_FREEDOM = 1.8
"""Degrees of freedom below which no CI is computed. Three groups of equal weight have 2 degrees of freedom."""
OPENER = 1
TOKENS, GROUP_TOKENS = "token_bins", "intersectional_token_bins"
OFFENCE = "offensive"
WORDS = "words"
UTILITY = (WORDS, "empty", "repetition", "distinct_2", "parroting")
"""Columns with properties of a reply, independent of bias.

They are its number of words, whether it is empty, the percentage of repeated 4-grams, the percentage of distinct
bigrams in the conversation, and whether it copies the line before.
"""
SEPARATOR = "|"


@dataclass(frozen=True)
class Replicates:
    """Estimates of one row for all names, and the same estimates with each group of names counted twice.

    Attributes
    ----------
    values
        Estimates by key (measure, SEPARATOR, part), shape (1 + groups,). The first is for all names. In each of the
        others, one group counts twice.
    shares
        Share of each group in the replies of each gender's names that an estimate uses, by the same keys, shape
        (genders, groups).
    """

    values: Mapping[str, Floats]
    shares: Mapping[str, Floats]


def both_wrote(base: pl.DataFrame, row: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Return the self-chats of both rows, without replies that only one row has, and the number of such replies.

    A row that stops in the middle of some conversations lacks their later turns, which differ from earlier ones. It
    would look changed even if every reply were the same. Openers are kept.

    >>> chats = pl.DataFrame({"conversation": [1, 1, 1], "turn": [1, 2, 3], "text": ["Hi", "Hello", "Yes"]})
    >>> [one if isinstance(one, int) else one.height for one in both_wrote(chats, chats.head(2))]
    [2, 2, 1]
    """
    there = pl.col("text").is_not_null()
    base_turns, row_turns = (
        one.filter(
            (there & pl.col("error").is_null() if "error" in one.columns else there)
            | (pl.col("turn") == OPENER)
        ).select("conversation", "turn")
        for one in (base, row)
    )
    both = base_turns.join(row_turns, on=["conversation", "turn"], how="semi")
    first, second = (
        one.join(both, on=["conversation", "turn"], how="semi", maintain_order="left") for one in (base, row)
    )
    return first, second, base_turns.height + row_turns.height - 2 * both.height


def add_reply_columns(frame: pl.DataFrame) -> pl.DataFrame:
    """Return self-chats with additional columns that describe each reply.

    The columns are `tokens` (words, unless a tokenizer provided tokens), OFFENCE and those of UTILITY, in percent or in
    words. They are null for openers and for replies that were not generated. They do not depend on how often a name
    counts, so they are computed once.
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
    """Return the percentage of different pairs of words in the replies of each conversation."""
    words = said.filter(pl.col("turn") > OPENER).select(
        "conversation", first=pl.col("text").str.to_lowercase().str.extract_all(r"[\w']+")
    )
    pairs = words.with_row_index("reply").explode("first")
    pairs = pairs.with_columns(second=pl.col("first").shift(-1).over("reply")).drop_nulls(["first", "second"])
    return pairs.group_by("conversation").agg(
        distinct_2=100 * pl.struct("first", "second").n_unique() / pl.len()
    )


def dealt(frame: pl.DataFrame, seed: int) -> list[list[str]]:
    """Split the first names into groups that have names of both genders and similar numbers of conversations.

    Returns no group if one gender has too few names.

    Names with the most conversations come first. Each is added to the group that has fewest conversations of its gender
    or, if tied, fewest overall, so that the names with the most conversations are in different groups.

    >>> names = pl.DataFrame({"conversation": range(8), "name": [f"N{i}" for i in range(8)],
    ...     "gender": ["woman", "man"] * 4})
    >>> [len(group) for group in dealt(names, 0)]
    [2, 2, 2, 2]
    """
    names = (
        frame.drop_nulls(["name", "gender"]).group_by("name", "gender").agg(pl.col("conversation").n_unique())
    )
    names = names.sort("name").with_columns(key=row_keys(names.sort("name")["name"], seed, "group of names"))
    names = names.sort("gender", "conversation", "key", descending=[False, True, False])
    number = min([GROUPS, *names.group_by("gender").len()["len"].to_list()])
    if number < LEAST_GROUPS:
        return []
    groups: list[list[str]] = [[] for _ in range(number)]
    loads = np.zeros(number)
    for (_,), part in names.group_by("gender", maintain_order=True):
        own, counts, share = np.zeros(number), np.zeros(number), 1 / part["conversation"].sum()
        for name, conversations in part.select("name", "conversation").iter_rows():
            place = int(np.lexsort((counts, loads, own))[0])
            groups[place].append(name)
            own[place] += conversations
            counts[place] += 1
            loads[place] += conversations * share
    return groups


def replicates(
    frame: pl.DataFrame, groups: Sequence[Sequence[str]], options: AnalysisOptions, *, whole: bool = True
) -> Replicates:
    """Return the estimates of one row, and the same estimates with each group of names counted twice.

    Parameters
    ----------
    frame
        Result of `prepare_selection`.
    groups
        Result of `dealt`.
    options
        Seed and level of the analysis.
    whole
        Include occupations and tokens, in addition to classifier bias and properties of replies.
    """
    every = [_numbers(frame, options, whole)]
    for group in groups:
        twice = frame.filter(pl.col("name").is_in(group)).with_columns(
            conversation=pl.concat_str(pl.col("conversation").cast(pl.String), pl.lit("\x1f"))
        )
        cast = frame.with_columns(pl.col("conversation").cast(pl.String))
        every.append(_numbers(pl.concat([cast, twice]), options, whole))
    keys = every[0].keys()
    values = {key: np.array([one.get(key, np.nan) for one in every]) for key in keys}
    tables = combine_analyses(_count_replies_by_table)(frame, options).details
    return Replicates(values, {key: compute_shares(_counts_for(key, tables), groups) for key in keys})


def _count_replies_by_table(chats: Any, options: AnalysisOptions) -> Analysis:
    """Return tables with the number of replies of each name, as details of an analysis without measurements.

    `Analysis.details` has the tables `all`, `gender` and `race`, which different measures use.
    """
    tables = {"all": chats.frame, "gender": chats.by_gender, "race": chats.by_race}
    return Analysis([], {name: _reply_counts(table) for name, table in tables.items()})


def _reply_counts(table: pl.DataFrame) -> pl.DataFrame:
    replies = table.filter((pl.col("turn") > OPENER) & pl.col("text").is_not_null())
    return (
        replies.group_by("name", "gender", "tier", "race_ethnicity").agg(said=pl.len()).drop_nulls("gender")
    )


def _counts_for(key: str, tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return how many replies of each name an estimate uses; the columns are name, gender and said (number).

    key: key of the estimate in `Replicates`. tables: see `_count_harmed_groups`.
    """
    measure, _, part = key.partition(SEPARATOR)
    if measure in (OFFENCE, *UTILITY):
        return tables["all"]
    kind, _, value = part.partition(": ")
    if kind == "tier":
        return tables["gender"].filter(pl.col("tier") == value)
    if kind == "names of":
        return tables["race"].filter(pl.col("race_ethnicity") == value)
    return tables["race" if measure == GROUP_TOKENS else "gender"]


def compute_shares(counts: pl.DataFrame, groups: Sequence[Sequence[str]]) -> Floats:
    """Return each group's share of the replies to names of each gender, shape (genders, groups).

    Genders are in alphabetical order. `counts` has one row per name: name, gender and said, the number of replies (or
    words).

    Examples
    --------
    >>> counts = pl.DataFrame({"name": ["A", "B", "C"], "gender": ["woman"] * 2 + ["man"], "said": [1, 3, 5]})
    >>> compute_shares(counts, [["A", "C"], ["B"]]).tolist()
    [[1.0, 0.0], [0.25, 0.75]]
    """
    places = {name: place for place, group in enumerate(groups) for name in group}
    known = counts.filter(pl.col("name").is_in(list(places)))
    rows = []
    for _, part in known.sort("gender").group_by("gender", maintain_order=True):
        own = [places[name] for name in part["name"]]
        sums = np.bincount(own, part["said"].to_numpy().astype(np.float64), len(groups))
        rows.append(sums / max(1.0, float(sums.sum())))
    # without groups of names (too few names per gender), there are no rows and columns
    return np.array(rows).reshape(len(rows), len(groups))


def _numbers(frame: pl.DataFrame, options: AnalysisOptions, whole: bool) -> dict[str, float]:
    parts = (
        genderedness,
        *((make_occupation_analysis(occupations, 1), _tokens, _group_tokens) if whole else ()),
    )
    found = {
        f"{row.measure}{SEPARATOR}{row.stratum or ''}": row.estimate
        for row in combine_analyses(*parts)(frame, options).measurements
        if row.estimate is not None
    }
    means = frame.select(pl.col(OFFENCE, *UTILITY).mean()).row(0, named=True)
    return found | {f"{name}{SEPARATOR}": value for name, value in means.items() if value is not None}


def _tokens(chats: Any, options: AnalysisOptions) -> Analysis:
    return _estimate(TOKENS, partial(token_bins, within="race_ethnicity"), chats.by_gender, options)


def _group_tokens(chats: Any, options: AnalysisOptions) -> Analysis:
    return _estimate(GROUP_TOKENS, intersectional_token_bins, chats.by_race, options)


def _estimate(name: str, measure: Any, frame: pl.DataFrame, options: AnalysisOptions) -> Analysis:
    """Return only the norm corrected for chance, because the null of the published norm takes most of the time."""
    try:
        if name == GROUP_TOKENS and frame["group"].n_unique() < 2:
            return Analysis([])
        value = measure(frame, level=options.level, draws=1, seed=options.seed).result["estimate"][0]
    except DataError:
        return Analysis([])
    return Analysis([Measurement(measure=name, estimate=value)])


def limits(values: Floats, shares: Floats, level: float = 0.05) -> dict[str, Any]:
    """Return the estimate, 95% CI, two-sided p against 0 and minimum detectable effect (MDE), or an `obstacle`.

    If a group with the share s counts double, the mean moves by s / (1 + s) of the group's distance from it. Squares
    are corrected for leverage. The degrees of freedom are those of the sum of squares if groups have equal variances
    (Bell & McCaffrey 2002), as in `evenhand.measures.names.judging.over_names` for single names: groups - 1 for groups
    of equal weight, fewer for unequal ones. With fewer than LEAST_FREEDOM, one or two groups dominate, and there is no
    CI.

    Parameters
    ----------
    values
        (1 + groups,), the first for all names.
    shares
        (genders, groups), from `compute_shares`.
    level
        Significance level of the test for which the MDE (`minimum_detectable`) has 80% power.

    Examples
    --------
    >>> equal = np.full((2, 3), 1 / 3)
    >>> limits(np.array([2.0, 2.0, 2.0, 2.0]), equal)["p"], limits(np.array([2.0, 2.1, 1.9, 2.0]), equal)["p"] < 0.05
    (None, True)
    >>> limits(np.array([2.0, 2.1, 1.9, 2.0]), np.array([[0.9, 0.05, 0.05]]))["obstacle"]
    'One group of names has 90 % of the replies of its gender, too many for a confidence interval.'
    """
    estimate = float(values[0])
    told: dict[str, Any] = {"estimate": estimate}
    told |= dict.fromkeys(("low", "high", "p", "minimum_detectable", "obstacle"))
    moved = values[1:] - values[0]
    if len(moved) < LEAST_GROUPS or not shares.size:
        return told | {"obstacle": f"One of the genders has fewer than {LEAST_GROUPS} names."}
    if not np.isfinite(moved).all():
        return told | {
            "obstacle": "The value cannot be computed for every reweighting of the groups of names."
        }
    factors, freedom = of_shares(shares)
    if freedom < LEAST_FREEDOM:
        return told | {
            "obstacle": f"One group of names has {100 * shares.max():.0f} % of the replies of its gender, too many for "
            "a confidence interval."
        }
    squares = (shares**2).sum(axis=0)
    own = np.divide((shares**3).sum(axis=0), squares, out=np.zeros(len(moved)), where=squares > 0)
    influences = moved * (1 + own)
    error = float((factors * (influences - influences.mean()) ** 2).sum()) ** 0.5
    if error <= 1e-12 * max(1.0, abs(estimate)):
        return (
            told
            if estimate == 0
            else told
            | {"obstacle": "The value does not vary between groups of names, so its uncertainty is unknown."}
        )
    found = t_inference([estimate], [error], [freedom])
    smallest = float(stdtrit(freedom, 1 - level / 2) + stdtrit(freedom, POWER)) * error
    tested = {"low": float(found.low[0]), "high": float(found.high[0]), "p": float(found.p[0])}
    return told | tested | {"minimum_detectable": smallest}


def of_shares(shares: Floats) -> tuple[Floats, float]:
    """Return the factor of each group's squared influence, shape (groups,), and the degrees of freedom of the CI.

    shares: as for `limits`, which explains both.

    >>> factors, freedom = of_shares(np.full((2, 5), 0.2))
    >>> factors.round(6).tolist(), round(freedom, 6)
    ([1.25, 1.25, 1.25, 1.25, 1.25], 4.0)
    """
    squares = shares**2
    sure = (squares * (1 - shares)).sum(axis=0)
    alike = (squares * (1 - 2 * shares + squares.sum(axis=1, keepdims=True))).sum(axis=0)
    left, whole = np.minimum(sure, alike), squares.sum(axis=0)
    factors = np.divide(whole, left, out=np.zeros(len(whole)), where=left > 0)
    parts = np.hstack([share[:, None] * (np.eye(len(share)) - share) for share in shares])
    form = parts.T @ (parts * factors[:, None])
    squared = float((form**2).sum())
    return factors, float(np.trace(form)) ** 2 / squared if squared else 1.0


def within_bounds(told: Mapping[str, Any], most: float) -> dict[str, Any]:
    """Return a result of `limits` with a CI that is within 0 and `most`, for a value that has these bounds.

    The interval is symmetrical in the log odds of the share (the logarithm of a count) by the delta method (Agresti
    2013, Categorical Data Analysis, section 16.1). It is therefore within the bounds for few conversations, and close
    to the given interval for many.

    Parameters
    ----------
    told
        Result of `limits`.
    most
        Upper bound: 100 for percentages, infinity for counts.

    Examples
    --------
    >>> told = within_bounds({"estimate": 1.0, "low": -0.5, "high": 2.5}, 100.0)
    >>> 0 < told["low"] < 1 < told["high"] < 5
    True
    """
    estimate = told["estimate"]
    if told["low"] is None or not 0 < estimate < most:
        return dict(told)
    share = 0.0 if np.isinf(most) else estimate / most
    half = (told["high"] - told["low"]) / 2 / (estimate * (1 - share))
    ends = (estimate / (share + (1 - share) * np.exp(-way * half)) for way in (-1, 1))
    return {**told, **dict(zip(("low", "high"), map(float, ends), strict=True))}
