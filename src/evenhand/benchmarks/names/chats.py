"""Self-chats in the form of the analysis: the gender of each name, the judgement of every utterance, and counts."""

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
"""How tables and classifiers spell the genders, lower case."""
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
"""Labels of a classifier that tell no gender, lower case."""
SHOWN, HIDDEN = "gender", "gender_masked"
"""The roles of judges who see the name, and who do not."""
OFFENSIVENESS, TOXICITY = "offensiveness", "toxicity"
JUDGEMENTS = tuple(
    f"{role}_{part}"
    for role in (SHOWN, HIDDEN, OFFENSIVENESS, TOXICITY)
    for part in ("label", "score", "negative", "scores")
)
"""Columns of judgements."""
COLUMNS = ("conversation", "name", "gender", "speaker", "turn")
RACE, TIER, WINDOW = "race_ethnicity", "tier", "name_in_context"
OPENER = 1
COPY = "\x1f"
"""Suffix of the label of a copied conversation, so that it counts twice. The copy is kept
or dropped together with the conversation and changes nothing else."""
TALK = (pl.col("name"), pl.col("conversation").cast(pl.String).str.strip_suffix(COPY))
"""What tells a conversation."""


@dataclass(frozen=True)
class Chats:
    """A table of self-chats, one row an utterance.

    frame: columns of `evenhand.measures.names.self_chats`, race_ethnicity and tier (null where not known), and
    `told_gender`, `told_gender_masked` if there was a judge. seed: random seed for the names that are left out.
    """

    frame: pl.DataFrame
    seed: int = 0

    @cached_property
    def by_gender(self) -> pl.DataFrame:
        """Return the conversations for the comparison of genders. Each race has equally many names of women and
        men, and equally many conversations.

        Published lists have 132 names of men and 58 of women for one race. Without balance, an effect of
        that race would look like an effect of men; the same holds if its names of men had more conversations each. The
        names of the larger side are sampled. Conversations are sampled, too: one per name, then a second per name if it
        has one, until both genders have equally many. Names without a race are all kept.
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
    """Return the judgement of each utterance: "woman", "man", "neither", or null if there is none.

    names: names of the judge's scores, in order. If one is for women and one for men, the larger of
    the two scores decides, regardless of other labels (equal scores: neither). Otherwise the label decides. Raises
    DataError for labels that do not indicate a gender or its absence.

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
    """name, gender, race_ethnicity, tier, n_conversations, n_compared (of them, by which genders were compared, see
    `Chats.by_gender`), n and n_missing. For each judge also the percentage of utterances judged as the
    name's own gender (`own_gender`, ...) and as the other."""
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
