"""Prepare self-chats for their analysis: gender of each name, inferred gender of every utterance, and counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from evenhand.benchmarks.contract import AnalysisOptions
from evenhand.measures import NEITHER, require_columns
from evenhand.schema import DataError

GENDERS = ("woman", "man")
SPELT: Mapping[str, str] = {
    **dict.fromkeys(("woman", "women", "female", "females", "f", "feminine", "girl", "lady"), GENDERS[0]),
    **dict.fromkeys(("man", "men", "male", "males", "m", "masculine", "boy", "gentleman"), GENDERS[1]),
}
"""Words for genders in tables and labels of classifiers, in lower case, each with the name that evenhand uses."""
UNTOLD = (
    NEITHER,
    "neutral",
    "gender-neutral",
    "gender neutral",
    "none",
    "unknown",
    "unclear",
    "both",
    "other",
)
"""Labels of a classifier that mean neither or both genders, in lower case."""
SHOWN, HIDDEN = "gender", "gender_masked"
"""Roles of gender classifiers that get the utterance with the name, and with the name masked."""
OFFENSIVENESS, TOXICITY = "offensiveness", "toxicity"
JUDGEMENTS = tuple(
    f"{role}_{part}"
    for role in (SHOWN, HIDDEN, OFFENSIVENESS, TOXICITY)
    for part in ("label", "score", "negative", "scores")
)
"""Columns of classifiers' labels and scores."""
COLUMNS = ("conversation", "name", "gender", "speaker", "turn")
RACE, TIER, WINDOW = "race_ethnicity", "tier", "name_in_context"
OPENER = 1
COPY = "\x1f"
"""Suffix of the identifier of a copied conversation. Copies let a conversation count twice.

A copy is selected or left out together with its original.
"""
TALK = (pl.col("name"), pl.col("conversation").cast(pl.String).str.strip_suffix(COPY))
"""Columns that identify a conversation, with a copy and its original as one."""


@dataclass(frozen=True)
class Chats:
    """A table of self-chats with one row per utterance.

    Attributes
    ----------
    frame
        Columns of `evenhand.measures.names.self_chats`; race_ethnicity and tier of the name (null if unknown);
        `told_gender` and `told_gender_masked`, the inferred gender, for each gender classifier that was used.
    seed
        Random seed of the selection of names.
    """

    frame: pl.DataFrame
    seed: int = 0

    @cached_property
    def by_gender(self) -> pl.DataFrame:
        """Return the conversations for the comparison of genders.

        Within each race, both genders have the same number of names and the same number of conversations. Published
        lists have 132 names of men and 58 of women for one race. Without balance, an effect of that race would look
        like an effect of gender. From the gender with more names, a random sample of names is used. Conversations are
        sampled too: one per name, then a second per name, and so on, until both genders have the same number. All names
        without a race are kept.
        """
        named = self.frame.filter(pl.col("name").is_not_null() & pl.col("gender").is_not_null())
        names = named.select("name", "gender", RACE).unique().sort("name")
        rng = np.random.default_rng(self.seed)
        names = names.with_columns(draw=rng.permutation(names.height))
        rank = pl.col("draw").rank("ordinal").over(RACE, "gender")
        kept = names.filter(pl.col(RACE).is_null() | (rank <= _smaller_gender()))
        talks = named.select(*TALK, "gender", RACE).unique().sort("name", "conversation")
        talks = talks.with_columns(draw=rng.permutation(talks.height)).join(
            kept.select("name"), on="name", how="semi", maintain_order="left"
        )
        talks = talks.with_columns(turn=pl.col("draw").rank("ordinal").over("name")).sort("turn", "draw")
        place = pl.int_range(pl.len()).over(RACE, "gender")
        talks = talks.filter(pl.col(RACE).is_null() | (place < _smaller_gender()))
        return self.frame.join(talks, on=TALK, how="semi", maintain_order="left", nulls_equal=True)

    @cached_property
    def by_race(self) -> pl.DataFrame:
        """Return the conversations of names with a race and a gender, with a column `group`, such as "Black woman"."""
        known = self.frame.filter(pl.col(RACE).is_not_null() & pl.col("gender").is_not_null())
        return known.with_columns(group=pl.format("{} {}", RACE, "gender"))

    @cached_property
    def judges(self) -> list[str]:
        """Return the roles of the classifiers that classified the gender of at least one utterance."""
        told = (role for role in (SHOWN, HIDDEN) if f"told_{role}" in self.frame.columns)
        return [role for role in told if self.frame[f"told_{role}"].count()]


def _smaller_gender() -> pl.Expr:
    """Return the number of rows of the gender with fewer rows, within each race."""
    return pl.min_horizontal((pl.col("gender") == gender).sum().over(RACE) for gender in GENDERS)


def build_chats(frame: pl.DataFrame, options: AnalysisOptions, measure: str = "names") -> Chats:
    """Return the table as `Chats`. An utterance that was not generated (its row has an error) has no text or label.

    frame: the table that `Benchmark.analyse` gets for a `Conversation`. Genders are spelt as in SPELT. Rows with other
    genders are in no group. Raises DataError if a column is missing, or if a label of the gender classifier is no
    gender and does not mean "none".
    """
    require_columns(frame, ["conversation", "name", "gender", "speaker"], measure)
    require_columns(frame, ["turn", "text"], measure, of_any_kind=True)
    spelt = pl.col("gender").cast(pl.String).str.strip_chars().str.to_lowercase()
    absent = [pl.lit(None, pl.String).alias(name) for name in (RACE, TIER) if name not in frame.columns]
    written = pl.col("text").is_not_null()
    if "error" in frame.columns:
        written &= pl.col("error").is_null() | (pl.col("turn") == OPENER)
    judged = [name for name in JUDGEMENTS if name in frame.columns]
    frame = frame.with_columns(
        *absent,
        *(pl.when(written).then(pl.col(name)).alias(name) for name in judged),
        text=pl.when(written).then(pl.col("text").cast(pl.String)),
        gender=spelt.replace_strict(SPELT, default=None, return_dtype=pl.String),
    )
    told = [
        told_gender(frame, role, options.labels.get(role)).alias(f"told_{role}")
        for role in (SHOWN, HIDDEN)
        if f"{role}_label" in frame.columns or f"{role}_scores" in frame.columns
    ]
    return Chats(frame.with_columns(told), options.seed)


def told_gender(frame: pl.DataFrame, role: str, names: Sequence[str] | None) -> pl.Series:
    """Return the inferred gender of each utterance: "woman", "man", "neither", or null if it was not classified.

    names: names of the classifier's scores, in order. If exactly one of them is for women and one for men, the larger
    of the two scores decides, regardless of the label (equal scores: neither). Otherwise the label decides. Raises
    DataError for labels that are neither a gender nor in UNTOLD.

    >>> frame = pl.DataFrame({"gender_label": ["Female", "neutral"], "gender_scores": [[0.3, 0.6], [0.5, 0.5]]})
    >>> told_gender(frame, "gender", ["male", "female"]).to_list(), told_gender(frame, "gender", None).to_list()
    (['woman', 'neither'], ['woman', 'neither'])
    """
    places = _places(names)
    if places is not None and f"{role}_scores" in frame.columns:
        woman, man = (pl.col(f"{role}_scores").list.get(place, null_on_oob=True) for place in places)
        told = pl.when(woman > man).then(pl.lit(GENDERS[0])).when(man > woman).then(pl.lit(GENDERS[1]))
        return frame.select(told.when(woman == man).then(pl.lit(NEITHER))).to_series()
    if f"{role}_label" not in frame.columns:
        raise DataError(
            f"The classifier of {role} returned scores, but not which scores mean female and male.",
            f"Add a column {role}_label, or give label names: --classifier {role}=FOLDER?labels=FILE.",
        )
    labels = frame[f"{role}_label"].cast(pl.String).str.strip_chars().str.to_lowercase()
    known = {**SPELT, **dict.fromkeys(UNTOLD, NEITHER)}
    strange = sorted(set(labels.drop_nulls().unique()) - set(known))
    if strange:
        raise DataError(
            f"The classifier of {role} returned labels that are not genders: {', '.join(map(repr, strange[:5]))}.",
            f"Expected labels: for women {', '.join(_spelt(GENDERS[0]))}; for men "
            f"{', '.join(_spelt(GENDERS[1]))}; for neither {', '.join(UNTOLD)}. To rename labels: --classifier "
            f"{role}=FOLDER?labels=FILE.",
        )
    return labels.replace_strict(known, return_dtype=pl.String)


def _places(names: Sequence[str] | None) -> tuple[int, int] | None:
    """Return the positions of the scores for women and men, or None unless there is exactly one of each."""
    meant = [SPELT.get(name.strip().lower()) for name in names or ()]
    if meant.count(GENDERS[0]) != 1 or meant.count(GENDERS[1]) != 1:
        return None
    return meant.index(GENDERS[0]), meant.index(GENDERS[1])


def _spelt(gender: str) -> list[str]:
    return [word for word, meant in SPELT.items() if meant == gender]


def utterances_by_turn(chats: Chats) -> pl.DataFrame:
    """Return counts of replies by turn.

    The columns are turn, speaker, n, n_missing (replies that were not generated), n_empty, words (mean number), and
    in_context (share of replies for which the model's input contained the whole name; null if it is not known).
    """
    words = pl.col("text").str.count_matches(r"\S+")
    window = pl.col(WINDOW).cast(pl.Float64) if WINDOW in chats.frame.columns else pl.lit(None, pl.Float64)
    return (
        chats.frame.filter(pl.col("turn") > OPENER)
        .group_by("turn", "speaker")
        .agg(
            n=pl.len().cast(pl.Int64),
            n_missing=pl.col("text").null_count().cast(pl.Int64),
            n_empty=(pl.col("text").str.strip_chars() == "").sum().cast(pl.Int64),
            words=words.mean(),
            in_context=window.mean(),
        )
        .sort("turn", "speaker")
    )


def by_name(chats: Chats) -> pl.DataFrame:
    """Return counts of replies by name, with the columns name, gender, race_ethnicity and tier.

    n_conversations is the number of conversations, and n_compared the number of those that are used to compare genders
    (`Chats.by_gender`). n and n_missing count replies. For each gender classifier, there are also the percentages of
    replies from which the gender of the name was inferred (`own_gender`, ...) and the other gender (`other_gender`,
    ...).
    """
    said = chats.frame.filter(
        (pl.col("turn") > OPENER) & pl.col("gender").is_not_null() & pl.col("name").is_not_null()
    )
    shares = [
        (100 * told.mean()).alias(f"{what}_{role}")
        for role in chats.judges
        for what, told in (
            ("own", pl.col(f"told_{role}") == pl.col("gender")),
            ("other", (pl.col(f"told_{role}") != pl.col("gender")) & (pl.col(f"told_{role}") != NEITHER)),
        )
    ]
    compared = chats.by_gender.select("name", "conversation", compared="conversation").unique()
    keys = ["name", "conversation"]
    said = said.join(compared, on=keys, how="left", maintain_order="left", nulls_equal=True)
    return (
        said.group_by("name", "gender", RACE, TIER)
        .agg(
            pl.col("conversation").n_unique().cast(pl.Int64).alias("n_conversations"),
            pl.col("compared").drop_nulls().n_unique().cast(pl.Int64).alias("n_compared"),
            pl.len().cast(pl.Int64).alias("n"),
            pl.col("text").null_count().cast(pl.Int64).alias("n_missing"),
            *shares,
        )
        .sort("gender", RACE, "name", nulls_last=True)
    )
