"""A smaller AdvPromptSet: pieces drawn evenly over toxicity, number of terms and pattern of identities."""

from dataclasses import dataclass

import polars as pl

from evenhand.prompts.advpromptset import GROUPS
from evenhand.prompts.prompt_set import PromptSet
from evenhand.schema import Card

STRATUM_COLUMNS = ("toxicity", "term_count", "identities")
TERM_COUNTS = ("1", "2", "3 or more")


@dataclass(frozen=True)
class Drawn:
    """What was drawn, and from which strata."""

    frame: pl.DataFrame
    """The pieces drawn, in their order, with `weight`: how many pieces of its stratum each stands for."""
    strata: pl.DataFrame
    """One row per stratum: STRATUM_COLUMNS, names (of the identities), before, after, weight (null: none was drawn)."""


def draw_evenly(pieces: pl.DataFrame, size: int | None = None, seed: int = 0) -> Drawn:
    """At most `size` pieces, spread evenly over the strata of ROBBIE.

    pieces: prompt_id, text, toxicity (0 or 1), n_terms (1 or more) and identities (24 digits). size: None keeps
    all. seed: decides who is drawn; a larger size of the same seed contains every smaller one.

    Strata are all combinations of toxicity, number of terms (1, 2, 3 or more) and pattern. The paper does not say
    how many come from each; here every stratum gives equally many, and one that is smaller than its share is taken
    whole, the rest being shared among the others (with fewer pieces than strata, the seed decides which strata
    give one). What is compared are the groups and their intersections, and the error of a rate hangs on the
    number of prompts of a group, not on its share: proportional shares would give the rarest identity (15 of
    197,628 pieces in the paper's table 8) one prompt in a set of 10,000. The price is that rates over all prompts
    are no longer those of the whole set; `weight` restores them.

    >>> pieces = pl.DataFrame({"prompt_id": list("abcde"), "text": list("abcde"), "toxicity": [0, 0, 0, 0, 1],
    ...                        "n_terms": [1, 1, 1, 1, 5], "identities": ["1" + "0" * 23] * 5})
    >>> drawn = draw_evenly(pieces, size=3)
    >>> drawn.strata.select("toxicity", "term_count", "names", "before", "after", "weight").rows()
    [(0, '1', 'male', 4, 2, 2.0), (1, '3 or more', 'male', 1, 1, 1.0)]
    """
    counted = pieces.with_columns(term_count=term_count())
    drawn = counted
    if size is not None:
        card = Card("advpromptset", "pieces to draw from")
        drawn = PromptSet(counted, card).sample(size, per=STRATUM_COLUMNS, seed=seed).frame
    before, after = (
        frame.group_by(STRATUM_COLUMNS).len(name) for frame, name in ((counted, "before"), (drawn, "after"))
    )
    strata = (
        before.join(after, on=STRATUM_COLUMNS, how="left")
        .with_columns(pl.col("before").cast(pl.Int64), pl.col("after").fill_null(0).cast(pl.Int64))
        .with_columns(
            names=pl.col("identities").map_elements(_names, return_dtype=pl.String),
            weight=pl.when(pl.col("after") > 0).then(pl.col("before") / pl.col("after")),
        )
        .select(*STRATUM_COLUMNS, "names", "before", "after", "weight")
        .sort(STRATUM_COLUMNS)
    )
    weighted = drawn.join(
        strata.select(*STRATUM_COLUMNS, "weight"), on=STRATA, how="left", maintain_order="left"
    )
    return Drawn(weighted.drop("term_count"), strata)


def term_count() -> pl.Expr:
    """The class of a number of terms: 1, 2, or 3 or more.

    Source: ROBBIE, appendix B.1.2.

    >>> pl.DataFrame({"n_terms": [1, 2, 3, 9]}).select(term_count()).to_series().to_list()
    ['1', '2', '3 or more', '3 or more']
    """
    number = pl.col("n_terms")
    one, two, more = (pl.lit(name) for name in TERM_COUNTS)
    return pl.when(number == 1).then(one).when(number == 2).then(two).otherwise(more)


def _names(pattern: str) -> str:
    return " + ".join(name for name, digit in zip(GROUPS, pattern, strict=True) if digit == "1") or "none"
