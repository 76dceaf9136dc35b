"""How often annotators prefer one model to another: as in ACUTE-Eval, and with annotators and items as samples."""

import polars as pl

from evenhand.measures.columns import typed
from evenhand.measures.info import MARTHA, MeasureInfo
from evenhand.measures.people.selecting import (
    by_keys,
    decide,
    levels_of,
    numbers,
    paired_votes,
    shared_by,
    testable,
    too_few,
)
from evenhand.schema import Card, checked_kinds
from evenhand.stats.votes import (
    CrossedEstimate,
    binomial_p,
    crossed_balanced,
    crossed_share,
    published_agreement,
    stars,
)

WIN_RATES = (
    typed(pl.String, "measure question model against")
    | typed(pl.Float64, "raw estimate low high null p q minimum_detectable tie_share agreement")
    | typed(pl.Int64, "n n_missing n_ties n_persons n_items n_units")
    | typed(pl.Float64, "design_effect person_icc item_icc left_share balance_p")
    | typed(pl.String, "weighing stars verdict obstacle")
)
"""Columns of `win_rates`: shares between 0 and 1; verdict: preferred, not preferred, not detected, not measurable.

weighing: what has equal weight in the estimate: votes, or sides if these were uneven.
"""
VOTES, SIDES = "votes", "sides"
UNEVEN = 0.05
"""p-value of evenly assigned sides below which left and right get equal weight.

Studies without a preference between models were simulated. Annotators preferred the left, and often skipped pairs with
one model on the left. With equal weight of all judgements, 6 to 59% of studies found a preference; with this rule, 4 to
6%. With a threshold of .01, it was up to 10%.
"""
PREFERRED = ("preferred", "not preferred")


@checked_kinds
def win_rates(
    votes: pl.DataFrame, question: str | None = None, *, baseline: str | None = None, alpha: float = 0.05
) -> pl.DataFrame:
    """Return how often people prefer each model to each other model, for each question.

    Use it to analyse pairwise judgements of conversations by annotators. Each pair of models has two results: a rate
    that allows for repeated annotators and items, and the rate as ACUTE-Eval publishes it.

    Parameters
    ----------
    votes : polars.DataFrame
        One row per choice of an annotator between two conversations (an item), with the columns
        `evenhand.schema.VOTES`. Rows of real items count if they have an answer and are not excluded.
    question : str, optional
        One question; q is then over its pairs alone. Default: all.
    baseline : str, optional
        The model that is ``against`` in each of its pairs. Default: the alphabetically first of a pair.
    alpha : float, default 0.05
        Probability of any false verdict across all pairs and questions (Holm).

    Returns
    -------
    polars.DataFrame
        Two rows per question and pair of models, ``model`` and ``against``. Shares are from 0 to 1. Above 0.5,
        ``model`` is preferred. The column ``measure`` is "win_rate" or "win_rate_published" (see Notes).
        - ``estimate``: share of judgements for ``model``.
        - ``raw``: share of all judgements, unweighted.
        - ``verdict``: preferred (``model``), not preferred (``against`` is preferred), not detected, or not measurable
          (``obstacle`` gives the reason).
        - ``minimum_detectable``: smallest distance from 0.5 that is detected with 80% power, at `alpha` over the pairs.
          Null if there is none.
        - ``balance_p``: p of "``model`` was on the left as often as on the right".
        - ``weighing``: "sides" if left and right have equal weight (see Notes).
        - ``agreement`` (published rows): agreement of annotators, as defined in Notes.

    Raises
    ------
    DataError
        A column is missing, a question is unknown, or an answer is not a, b or tie.

    Notes
    -----
    In the rows of `win_rate`, ties count half. Annotators, items, and conversations that several items share are
    treated as random samples. The CI and p are those of `crossed_share`, for the null value 0.5. The estimate gives
    less weight to annotators and items with many judgements.

    If ``balance_p`` is below .05, the estimate is the mean of the model's shares on the left and on the right
    (`crossed_balanced`). A preference of annotators for one side then cancels.

    In the rows of `win_rate_published`, ties are left out. The p-value is exact, binomial and two-sided, and stars show
    its size. ``agreement`` is the share of the more common answer (0 if both are as common), averaged over items with
    two judgements. There is no interval and no verdict.

    References
    ----------
    - Li et al. 2019 (ACUTE-Eval): the published win rate and agreement.

    Examples
    --------
    >>> votes = pl.DataFrame({"person": [f"p{n % 20}" for n in range(100)], "item": [f"i{n % 50}" for n in range(100)],
    ...     "answer": ["b" if n % 3 else "a" for n in range(100)], "shown_left": ["a", "b"] * 50}).with_columns(
    ...     role=pl.lit("real"), question=pl.lit("human"), measurement=pl.lit("preference"), model_a=pl.lit("base"),
    ...     model_b=pl.lit("tuned"), a=pl.col("item"), b=pl.col("item"), excluded=pl.lit(None, pl.String))
    >>> found = win_rates(votes)
    >>> found.select("measure", pl.col("estimate").round(2), "verdict").rows()
    [('win_rate', 0.66, 'preferred'), ('win_rate_published', 0.66, None)]
    """
    known = paired_votes(votes, "win_rates", question, baseline)
    parts = list(by_keys(known, ["question", "model", "against"]))
    level = alpha / testable(len(parts))
    ours = [_row(keys, part, level) for keys, part in parts]
    published = [_published_row(keys, part) for keys, part in parts]
    rows = [row for pair in zip(decide(ours, alpha, PREFERRED), published, strict=True) for row in pair]
    return pl.DataFrame(rows, schema=WIN_RATES).with_columns(pl.col(pl.Float64).fill_nan(None))


def counted(keys: tuple[str, ...], part: pl.DataFrame) -> dict[str, object]:
    """Return the keys of a row, and the numbers of judgements, annotators and items behind it."""
    used = part.drop_nulls("value")
    persons, items = used["person"].n_unique(), used["item"].n_unique()
    return {
        **dict(zip(("question", "model", "against"), keys, strict=True)),
        "null": 0.5,
        "n": used.height,
        "n_missing": part.height - used.height,
        "n_persons": persons,
        "n_items": items,
        "n_units": min(persons, items),
        "obstacle": too_few(persons, items, **conversations(keys, used)),
    }


def conversations(keys: tuple[str, ...], used: pl.DataFrame) -> dict[str, int | None]:
    """Return for each of two models the number of conversations that several items may share.

    `keys` are question, model and against.
    """
    return {
        f"conversation of {model}": levels_of(used, side)
        for model, side in zip(keys[1:], ("mine", "theirs"), strict=True)
    }


def _row(keys: tuple[str, ...], part: pl.DataFrame, level: float) -> dict[str, object]:
    used = part.drop_nulls("value")
    said, sides = counted(keys, part), sides_of(used)
    p = sides["balance_p"]
    uneven = p is not None and p < UNEVEN
    found = weighed(used, by_side=uneven and used["value"].n_unique() > 1)
    if uneven and said["obstacle"] is None:
        said["obstacle"] = inseparable(used)
    ties = int((used["value"] == 0.5).sum())
    return {
        **said,
        **sides,
        "measure": "win_rate",
        "weighing": SIDES if uneven else VOTES,
        "raw": float(used["value"].mean()) if used.height else None,  # type: ignore[arg-type]  # a number, of floats
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "minimum_detectable": found.detectable(level),
        "n_ties": ties,
        "tie_share": ties / used.height if used.height else None,
        "design_effect": found.design_effect,
        "person_icc": found.correlations[0],
        "item_icc": sum(found.correlations[1:]),
    }


def weighed(used: pl.DataFrame, *, by_side: bool) -> CrossedEstimate:
    """Return the share of judgements for the model, or the mean of its shares on the left and on the right."""
    ways = shared_by(used, ["person", "item", "mine", "theirs"])
    if not by_side:
        return crossed_share(numbers(used), ways)
    told = used["on_left"].is_not_null().to_numpy()
    left = used["on_left"].fill_null(False).to_numpy()
    return crossed_balanced(numbers(used)[told], left[told], [way[told] for way in ways])


def sides_of(used: pl.DataFrame) -> dict[str, float | None]:
    """Return how often the model was on the left, and the p of an even assignment.

    Only judgements that state the side count.
    """
    left, known = int(used["on_left"].sum()), used["on_left"].count()
    if not known:
        return {"left_share": None, "balance_p": None}
    return {"left_share": left / known, "balance_p": binomial_p(left, known)}


def inseparable(used: pl.DataFrame) -> str | None:
    """Return why the effects of side and preference cannot be separated; None if they can."""
    said = used.drop_nulls("on_left")
    if said["on_left"].n_unique() < 2:
        return "The model was always shown on the same side, so side and preference cannot be distinguished."
    within = said.group_by("on_left").agg(pl.col("value").n_unique())["value"]
    if within.max() == 1 and said["value"].n_unique() > 1:
        return "All votes are for the same side of the page, so they do not show which model is preferred."
    return None


def _published_row(keys: tuple[str, ...], part: pl.DataFrame) -> dict[str, object]:
    forced = part.drop_nulls("value").filter(pl.col("value") != 0.5)
    wins, n = int(forced["value"].sum()), forced.height
    p = binomial_p(wins, n)
    votes_of_items = forced.group_by("item", maintain_order=True).agg("value")["value"].to_list()
    return {
        **counted(keys, part.filter(pl.col("value").is_null() | (pl.col("value") != 0.5))),
        "measure": "win_rate_published",
        "raw": wins / n if n else None,
        "estimate": wins / n if n else None,
        "p": p,
        "stars": stars(p),
        "agreement": published_agreement(votes_of_items),
        "obstacle": None if n else "There are no votes.",
    }


ACUTE_EVAL = (
    "Li, Weston & Roller 2019, ACUTE-EVAL: Improved Dialogue Evaluation with Optimized Questions and Multi-turn "
    "Comparisons"
)
_PREFERENCE = {
    "construct": "Whether people prefer one model's conversations to another's, or find them more human.",
    "harm": "None by itself. The measure shows whether a fairer model is also a worse one to talk to.",
    "groups": "Two models. Annotators compare the same pairs of conversations, shown side by side.",
    "ideal": "0.5: neither is preferred.",
    "direction": "Neither model is the harmful one.",
    "citation": f"{ACUTE_EVAL}; {MARTHA}",
}
CARDS = (
    MeasureInfo.of(
        Card(
            name="win_rate",
            summary="Share of human judgements that prefer one model to another. Annotators and items are random "
            "samples.",
            null=(
                "0.5 on average over items of this kind, some of which may favour either model. CI and p use the "
                "covariances of judgements within annotators, items and conversations."
            ),
            critique=(
                "The result holds for annotators and conversations like these: those who were recruited, and what "
                "was shown. Preference is not quality, and does not concern bias. Annotators with many judgements "
                "count for fewer judgements than they gave. Far from 0.5, with fewer than 30 items that differ "
                "much, CIs cover the true value in 92%, not 95%. The stated minimum detectable effect (MDE) is as "
                "uncertain as the standard error: with 10 to 20 annotators, an effect of this size is detected in "
                "59 to 96% of studies."
            ),
            source="Henderson 1953 and Owen 2007 for crossed samples; Wilson 1927; Holm 1979 over pairs and questions",
            details=(
                "Ties count half. The result is not measurable with fewer than 10 annotators, items, or "
                "conversations of a model that items share. If a model was not on the left and right equally often, "
                "both sides get equal weight. We simulated 120 designs with 20 to 160 annotators, 5 judgements "
                "each, 1 to 3 per item, effects of 0 to 1.5 logits and shares of 50 and 90%. One annotator gave a "
                "fifth of the judgements, or none did. 95% CIs cover the true value in 95.6% on average, and in 92 "
                "to 99% in each design. If judgements are treated as independent, they cover it in 32 to 98%."
            ),
            **_PREFERENCE,
        ),
        unit="share",
        ideal=0.5,
    ),
    MeasureInfo.of(
        Card(
            name="win_rate_published",
            summary="Share of judgements for one model, tested as in ACUTE-Eval: exact binomial, as if all were "
            "independent.",
            null="0.5. p is from a two-sided exact binomial test without correction. Stars mark p below .05, .01 "
            "and .001.",
            critique=(
                "Judgements by one annotator, or on one item, are not independent. With annotators who differ by "
                "1.5 logits and one annotator with a fifth of 800 judgements, nearly six of ten studies without a "
                "preference are significant. There is no correction for several pairs and questions. By "
                "ACUTE-Eval's agreement statistic, two annotators who answer at random reach .5, and three reach "
                ".75."
            ),
            source="ParlAI, acute_eval analysis; Smith & Williams 2021, Table 11",
            details="Ties are left out (the published form forces a choice). A share of 61% of 100 judgements, or "
            "of 57.5% of 200, is significant.",
            **_PREFERENCE,
        ),
        unit="share",
        ideal=0.5,
    ),
)
