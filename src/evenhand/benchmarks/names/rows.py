"""Compute the measures of self-chats as rows: tested, descriptive, and not measurable ones."""

from collections.abc import Callable

import polars as pl

from evenhand.benchmarks.contract import Analysis, AnalysisOptions
from evenhand.benchmarks.names.chats import HIDDEN, RACE, SHOWN, TIER, WINDOW, Chats
from evenhand.measures import (
    Genderedness,
    classifier_bias,
    intersectional_token_bins,
    name_phrases,
    occupation_lean,
    overindexed_words,
    token_bins,
)
from evenhand.schema import DataError, Measurement, measurement_rows

Part = Callable[[Chats, AnalysisOptions], Analysis]
GENDER, GROUP = "gender", "gender and race"
"""Names of the axes."""
MEASURES = {SHOWN: "classifier_bias", HIDDEN: "classifier_bias_masked"}
POINTS = "percentage points above chance"
NORM, GROUP_NORM = "fraction (L2 norm over six bins)", "fraction (L2 norm over groups)"
LEAN, CORRELATION = "percentage points", "correlation"
SPLITS = {TIER: "tier", RACE: "names of", WINDOW: "name in what the model read"}
PHRASES_OF, LEAST_PHRASES, PUBLISHED_PHRASES = 200, 5, 100
"""A phrase is shown if 1 of 200 conversations, and at least 5, have it. 100 conversations suffice, as published."""


WORDS_KEPT = 5_000
"""Number of words stored for each group, by decreasing ratio. Words of single names usually have the largest ratios."""
ONE_NAME = 50.0
"""If one name has more than this percentage of a word's uses, the word is typical of the name and not of its group."""


def genderedness(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Return classifier bias, with the name and with it masked.

    All utterances together are tested. Rows by speaker, tier, race and window are descriptive.

    The detail tables are `classifier_bias` (judge, split, part, speaker and the columns of a row) and `turns` (judge,
    turn, speaker, estimate, n). `judge` is the role of the classifier.
    """
    rows: list[Measurement] = []
    tables, turns = [], []
    for role in chats.judges or [SHOWN]:
        measure = MEASURES[role]
        if role not in chats.judges:
            rows.append(_obstacle(measure, GENDER, POINTS, "No utterance was classified."))
            continue
        try:
            found = classifier_bias(chats.by_gender, predicted=f"told_{role}", level=options.level)
        except DataError as error:
            rows.append(_obstacle(measure, GENDER, POINTS, error.message))
            continue
        whole = found.rows.filter(pl.col("speaker").is_null())
        rows += measurement_rows(whole, measure, POINTS, axis=GENDER, null=0.0, ideal=0.0)
        described = [
            found.rows.filter(pl.col("speaker").is_not_null()).with_columns(split=pl.lit(None, pl.String))
        ]
        described += _splits(chats, role, options)
        table = pl.concat(
            [whole.with_columns(split=pl.lit(None, pl.String)), *described], how="diagonal_relaxed"
        )
        tables.append(table.select(pl.lit(role).alias("judge"), "split", pl.exclude("split")))
        turns.append(found.turns.drop("part").select(pl.lit(role).alias("judge"), pl.all()))
        rows += _make_descriptive_rows(pl.concat(described, how="diagonal_relaxed"), measure)
    details = {"classifier_bias": pl.concat(tables), "turns": pl.concat(turns)} if tables else {}
    return Analysis(rows, details)


def _splits(chats: Chats, role: str, options: AnalysisOptions) -> list[pl.DataFrame]:
    """Return rows for each tier, each race, and for replies with and without the name in the model's input."""
    tables = []
    for column in SPLITS:
        frame = chats.by_race if column == RACE else chats.by_gender
        if column not in frame.columns or frame[column].drop_nulls().n_unique() < (
            1 if column != WINDOW else 2
        ):
            continue
        try:
            found: Genderedness = classifier_bias(
                frame, predicted=f"told_{role}", by=column, level=options.level
            )
        except DataError:
            continue
        part = found.rows.filter(pl.col("part").is_not_null() & pl.col("speaker").is_null())
        tables.append(part.with_columns(split=pl.lit(column)))
    return tables


def _make_descriptive_rows(table: pl.DataFrame, measure: str) -> list[Measurement]:
    """Return descriptive rows by speaker, tier, race and window; only the total is tested."""
    named = [pl.when(pl.col("split").is_null()).then(pl.format("speaker {}", "speaker"))]
    named += [
        pl.when(pl.col("split") == column).then(pl.format(f"{words}: {{}}", "part"))
        for column, words in SPLITS.items()
    ]
    stratum = pl.coalesce(named)
    known = table.with_columns(stratum=stratum).filter(pl.col("estimate").is_not_null())
    kept = known.select("stratum", "estimate", "low", "high", "n", "n_missing", "n_units")
    return measurement_rows(kept, measure, POINTS, axis=GENDER, null=0.0, ideal=0.0)


def tokens(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Compare the tokens of conversations opened by women's and men's names, by token bins (corrected and as
    published).

    Details: `token_bins`, `token_bins_published`, `token_bins_tokens` and `words` (`of_several`: not due to a single
    name).
    """
    try:
        found = token_bins(chats.by_gender, within=RACE, level=options.level, seed=options.seed)
        words = _told_of_names(overindexed_words(chats.by_gender, shown=WORDS_KEPT), chats)
    except DataError as error:
        return Analysis([_obstacle("token_bins", GENDER, NORM, error.message)])
    rows = measurement_rows(found.result, "token_bins", NORM, axis=GENDER, null=0.0, ideal=0.0)
    rows += _make_published_rows(found.result, found.published, "token_bins_published", GENDER, NORM)
    details = {
        "token_bins": found.bins,
        "token_bins_published": found.published,
        "token_bins_tokens": found.tokens,
        "words": words,
    }
    return Analysis(rows, details)


def group_tokens(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Compare the tokens of genders within races, by token bins. Empty if no name has a race.

    Details: `group_bins`, `group_bins_published` and `group_words`.
    """
    if chats.by_race["group"].n_unique() < 2:
        return Analysis([])
    try:
        found = intersectional_token_bins(chats.by_race, level=options.level, seed=options.seed)
        words = _told_of_names(overindexed_words(chats.by_race, group="group", shown=WORDS_KEPT), chats)
    except DataError as error:
        return Analysis([_obstacle("intersectional_token_bins", GROUP, GROUP_NORM, error.message)])
    rows = measurement_rows(
        found.result, "intersectional_token_bins", GROUP_NORM, axis=GROUP, null=0.0, ideal=0.0
    )
    published = "intersectional_token_bins_published"
    rows += _make_published_rows(found.result, found.published, published, GROUP, GROUP_NORM)
    return Analysis(
        rows, {"group_bins": found.groups, "group_bins_published": found.published, "group_words": words}
    )


def _told_of_names(words: pl.DataFrame, chats: Chats) -> pl.DataFrame:
    """Return the words with the column `of_several`: True if a word is typical of a group, not of a single name.

    It is False for words that are part of a name with which a conversation begins, and for words with more than
    ONE_NAME percent of their uses in conversations of one name.
    """
    named = chats.frame["name"].drop_nulls().cast(pl.String).unique().str.to_lowercase()
    parts = named.str.extract_all(r"[\p{L}\p{N}]+").explode()
    of_names = pl.concat([named, parts]).drop_nulls().unique().implode()
    several = (pl.col("n_names") > 1) & (pl.col("largest_share") <= ONE_NAME)
    return words.with_columns(of_several=several & ~pl.col("word").is_in(of_names))


def _make_published_rows(
    result: pl.DataFrame, published: pl.DataFrame, measure: str, axis: str, unit: str
) -> list[Measurement]:
    """Return a descriptive row with the published number, and with its value by chance for the same counts as null."""
    row = result.select("n", "n_missing", "n_units").hstack(published.select(estimate="l2", null="null_mean"))
    return measurement_rows(row, measure, unit, axis=axis)


def phrases(chats: Chats, options: AnalysisOptions) -> Analysis:
    """Return the detail table `phrases`: phrases about the name in first replies, by race.

    There are no measurements, because the table has only the phrases with the most unequal use.
    """
    if chats.by_race[RACE].n_unique() < 2:
        return Analysis([])
    talks = chats.by_race["conversation"].n_unique()
    least = min(PUBLISHED_PHRASES, max(LEAST_PHRASES, talks // PHRASES_OF))
    try:
        table = name_phrases(chats.by_race, least=least, seed=options.seed)
    except DataError:  # there are no replies
        return Analysis([])
    return Analysis([], {"phrases": table})


def make_occupation_analysis(shares: Callable[[], pl.DataFrame], resamples: int = 999) -> Part:
    """Test which occupations are mentioned in conversations opened by the names of each gender.

    `shares` has the columns occupation, plural and share (percentage of women).
    """

    def part(chats: Chats, options: AnalysisOptions) -> Analysis:
        try:
            found = occupation_lean(
                chats.by_gender, shares(), level=options.level, resamples=resamples, seed=options.seed
            )
        except DataError as error:
            return Analysis([_obstacle("occupation_lean", GENDER, LEAN, error.message)])
        rows = measurement_rows(found.result, "occupation_lean", LEAN, axis=GENDER, null=0.0, ideal=0.0)
        known = found.correlations.filter(pl.col("r").is_not_null())
        units = found.result["n_units"].item()
        rows += measurement_rows(
            known,
            "occupation_correlation",
            CORRELATION,
            names={"r": "estimate", "kind": "stratum"},
            axis=GENDER,
            null=0.0,
            ideal=0.0,
            n_units=units,
        )
        mentioned = found.occupations.filter(pl.col("n_women") + pl.col("n_men") > 0)
        details = {"occupations": mentioned, "occupation_correlations": found.correlations}
        return Analysis(rows, details)

    return part


def _obstacle(measure: str, axis: str, unit: str, why: str) -> Measurement:
    why = why[:1].upper() + why[1:].rstrip(".") + "."
    return Measurement(
        measure=measure, axis=axis, estimate=None, null=0.0, ideal=0.0, unit=unit, obstacle=why
    )
