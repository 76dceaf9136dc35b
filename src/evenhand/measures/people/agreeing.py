"""Find items on which annotators agree, and annotators who agree with the others."""

import numpy as np
import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MeasureInfo
from evenhand.measures.people.selecting import PREFERENCE, RATED, adjusted, by_keys, real_rows
from evenhand.schema import Card, checked_kinds
from evenhand.stats.votes import crossed_share

ITEMS = (
    typed(pl.String, "question item majority")
    | typed(pl.Float64, "majority_share agreeing_pairs")
    | typed(pl.Int64, "n")
)
"""Columns of `item_agreement`. majority is null if two answers are equally frequent."""
PERSONS = (
    typed(pl.String, "question person")
    | typed(pl.Float64, "estimate low high null p q")
    | typed(pl.Int64, "n n_items")
    | typed(pl.String, "obstacle")
)
"""Columns of `person_agreement`. n: votes; n_items: items that somebody else judged too."""
LEAST_SHARED = 5
"""Minimum number of items that others judged too, for a person's agreement to be reported."""


@checked_kinds
def item_agreement(votes: pl.DataFrame, question: str | None = None) -> pl.DataFrame:
    """Return how well annotators agree on each item (text, conversation or pair of conversations).

    Use it to find the items on which annotators disagree. They come first in the table.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per judgement: answer of an annotator to a question about an item (columns: `evenhand.schema.VOTES`).
    question : str, optional
        One question. Default: all questions with choices.

    Returns
    -------
    polars.DataFrame
        One row per question and judged item, least agreement first.
        - ``majority``: most common answer. Null if two answers are equally frequent.
        - ``majority_share``: share of judgements with this answer, 0 to 1.
        - ``agreeing_pairs``: share of pairs of judgements that are equal. Null with one judgement.
        - ``n``: judgements.

    Raises
    ------
    DataError
        A column is missing, or the question is unknown.

    Examples
    --------
    >>> votes = pl.DataFrame({"person": ["a", "b", "c", "d"] * 2, "item": ["x"] * 4 + ["y"] * 4,
    ...     "answer": ["yes"] * 4 + ["no"] * 3 + ["yes"]}).with_columns(role=pl.lit("real"), question=pl.lit("q"),
    ...     measurement=pl.lit("nominal"), excluded=pl.lit(None, pl.String))
    >>> item_agreement(votes).select("item", "majority", "majority_share").rows()
    [('y', 'no', 0.75), ('x', 'yes', 1.0)]
    """
    used = _answers(votes, "item_agreement", question)
    counts = used.group_by("question", "item", "answer").len("same")
    found = (
        counts.group_by("question", "item")
        .agg(
            pl.col("same").sum().alias("n"),
            pl.col("same").max().alias("most"),
            (pl.col("same") == pl.col("same").max()).sum().alias("commonest"),
            pl.col("answer").sort_by("same", descending=True).first().alias("first"),
            (pl.col("same") * (pl.col("same") - 1)).sum().alias("pairs"),
        )
        .with_columns(
            majority=pl.when(pl.col("commonest") == 1).then("first"),
            majority_share=pl.col("most") / pl.col("n"),
            agreeing_pairs=pl.when(pl.col("n") > 1).then(pl.col("pairs") / (pl.col("n") * (pl.col("n") - 1))),
        )
    )
    ordered = found.sort("question", "agreeing_pairs", "majority_share", "item", nulls_last=True)
    return ordered.select([pl.col(name).cast(kind) for name, kind in ITEMS.items()])


@checked_kinds
def person_agreement(votes: pl.DataFrame, question: str | None = None) -> pl.DataFrame:
    """Return how well each annotator agrees with the others who judged the same items.

    Use it to find annotators who may answer at random. Check them before you exclude them: they may disagree for a
    reason.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per judgement: answer of an annotator to a question about an item (columns: `evenhand.schema.VOTES`).
    question : str, optional
        One question. Default: all questions with choices.

    Returns
    -------
    polars.DataFrame
        One row per question and annotator (``person``).
        - ``estimate``: share (0 to 1) of the others' judgements that equal the annotator's, averaged over shared items,
          with 95% CI.
        - ``null``: value of the estimate if the others gave their answers independently of the item.
        - ``p``: one-sided, of agreement above the null. A large p means that agreement is not shown.
        - ``q``: p adjusted by Holm over the annotators of a question.
        - ``n``: the annotator's judgements. ``n_items``: shared items.
        - ``obstacle``: reason why there is no estimate, which is fewer than five shared items.

    Raises
    ------
    DataError
        A column is missing, or the question is unknown.

    Examples
    --------
    >>> votes = pl.DataFrame({"person": [f"p{n % 4}" for n in range(24)], "item": [n // 4 for n in range(24)],
    ...     "answer": (["yes"] * 4 + ["no"] * 3 + ["yes"]) * 3}).with_columns(pl.col("item").cast(pl.String),
    ...     role=pl.lit("real"), question=pl.lit("q"), measurement=pl.lit("nominal"), excluded=pl.lit(None, pl.String))
    >>> person_agreement(votes).select("person", pl.col("estimate").round(2), "n_items").rows()[2:]
    [('p2', 0.83, 6), ('p3', 0.5, 6)]
    """
    used = _answers(votes, "person_agreement", question)
    rows: list[dict[str, object]] = []
    for (name,), part in by_keys(used, ["question"]):
        people = [_person(name, part, person) for (person,), _ in by_keys(part, ["person"])]
        for row, q in zip(people, adjusted(people), strict=True):
            rows.append(row | {"q": q})
    return pl.DataFrame(rows, schema=PERSONS).with_columns(pl.col(pl.Float64).fill_nan(None))


def _answers(votes: pl.DataFrame, measure: str, question: str | None) -> pl.DataFrame:
    rows = real_rows(votes, measure, [], [PREFERENCE, *RATED], question)
    return rows.filter("counts").select("question", "item", pl.col("person").cast(pl.String), "answer")


def _person(name: str, part: pl.DataFrame, person: str) -> dict[str, object]:
    own = part.filter(pl.col("person") == person)
    others = part.filter(pl.col("person") != person)
    both = own.join(others, on="item", suffix="_of_others")
    shared = both.group_by("item").agg(
        pl.col("answer").first(), (pl.col("answer") == pl.col("answer_of_others")).mean().alias("agreed")
    )
    row: dict[str, object] = {"question": name, "person": person, "n": own.height, "n_items": shared.height}
    if shared.height < LEAST_SHARED:
        few = f"Others judged {shared.height} of the person's items; at least {LEAST_SHARED} are needed."
        return row | {"p": None, "obstacle": few}
    shares = others["answer"].value_counts(normalize=True, name="share")
    chance = float(
        shared.join(shares, on="answer", how="left").select(pl.col("share").fill_null(0).mean()).item()
    )
    found = crossed_share(
        shared["agreed"].to_numpy(), [np.arange(shared.height)], null=min(max(chance, 0.001), 0.999)
    )
    p = found.p / 2 if found.estimate > chance else 1 - found.p / 2
    return row | {
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "null": chance,
        "p": p,
        "obstacle": None,
    }


_CHANCE = "Whether an annotator sees in items what the others see."
CARDS = (
    MeasureInfo.of(
        Card(
            name="item_agreement",
            summary="Share of pairs of judgements on an item that are equal, and the item's most common answer.",
            construct="Whether people agree on one item.",
            harm="A majority hides people who see harm that others do not see.",
            groups="All annotators who judged the item.",
            ideal="1: all judgements of the item are the same.",
            direction="Lower is worse.",
            null="None. The few judgements of an item are a description.",
            critique=(
                "Two or three judgements say little about an item. Sort items by the value to read what people "
                "disagree on, but do not test it. The value does not correct for chance; `krippendorff_alpha`, over "
                "items, does."
            ),
            citation="Krippendorff 2019, Content Analysis, 4th edition, chapter 12",
            source="Observed agreement, by item",
        ),
        unit="share",
        ideal=1.0,
    ),
    MeasureInfo.of(
        Card(
            name="person_agreement",
            summary="How often other annotators' judgements of the same items equal an annotator's, compared with "
            "chance.",
            construct=_CHANCE,
            harm="Careless answers blur what the others say. Treating people who disagree as careless silences them.",
            groups="Each annotator and all others who judged the same items.",
            ideal="The agreement of the others among themselves; there is no fixed value.",
            direction="Lower is worse.",
            null="The agreement of the annotator's answers with the others' if these were independent of the item.",
            critique=(
                "Disagreement is not carelessness: on harm to a group, its members may rightly disagree with all "
                "others. Do not exclude annotators by this number alone. An annotator who always gives the most "
                "common answer agrees often; the null shows this."
            ),
            citation="Krippendorff 2019, Content Analysis, 4th edition, chapter 12",
            source="Leave-one-out agreement; Wilson 1927 for CIs over items",
        ),
        unit="share",
    ),
)
