"""Rules about known answers: onboarding, gold items, and repetitions of the annotator's own answers."""

import polars as pl

from evenhand.annotation.definition import GoldBelow, InconsistentDuplicates, OnboardingBelow

ROUNDING = 1e-9
"""Tolerance, so that rounding does not make 3 of 4 less than 75 %."""


def onboarding_below(votes: pl.DataFrame, rule: OnboardingBelow) -> dict[str, str]:
    """Return annotators with less than `mark` of the onboarding items right, with a sentence each.

    votes: VOTES. A presentation is right if all expected answers were given. If an item was shown more than once, the
    last presentation counts; with `attempts` any, all must be right. Annotators without answers are not judged.
    """
    right = pl.col("right").all() if rule.attempts == "any" else pl.col("right").last()
    items = (
        _right_or_not(votes, "onboarding")
        .sort("shown_at", nulls_last=False, maintain_order=True)
        .group_by("person", "item", maintain_order=True)
        .agg(right)
    )
    return _find_below(items, "onboarding items", rule.mark, least=1)


def gold_below(votes: pl.DataFrame, rule: GoldBelow) -> dict[str, str]:
    """Return annotators with less than `mark` of the gold items right, of at least `least`, with a sentence each.

    votes: VOTES. An item is right if all expected answers were given.
    """
    return _find_below(_right_or_not(votes, "gold"), "gold items", rule.mark, rule.least)


def inconsistent_duplicates(votes: pl.DataFrame, rule: InconsistentDuplicates) -> dict[str, str]:
    """Return annotators who repeat less than `mark` of their answers to duplicate items, with a sentence each.

    votes: VOTES. Each answer to a duplicate is compared with the annotator's first answer to the same question. Free
    texts and questions skipped both times do not count. `least` counts repetitions.

    Two answers are the same in these cases: the same option, the same conversation of a pair (on either side), the same
    marks on the same turns, or numbers that differ by at most 1, because few people repeat a seven-step rating exactly.
    """
    said = _collect_answers(votes)
    showings = (
        votes.filter(pl.col("item").is_not_null())
        .group_by("person", "item", "presentation", "role", maintain_order=True)
        .agg(pl.col("shown_at").min())
    )
    first = (
        showings.filter(pl.col("role") != "duplicate")
        .sort("shown_at", nulls_last=False, maintain_order=True)
        .group_by("person", "item", maintain_order=True)
        .first()
        .select("person", "item", first="presentation")
    )
    pairs = (
        showings.filter(pl.col("role") == "duplicate")
        .join(first, on=["person", "item"])
        .select("person", "presentation", "first")
    )
    again, before = (
        pairs.join(said.select(pl.col("presentation").alias(key), "question", "answer"), on=key).select(
            "person", "presentation", "question", "answer"
        )
        for key in ("presentation", "first")
    )
    # without a mark, the question may have no row in one of the tables, so both are used
    both = again.join(before, on=["person", "presentation", "question"], how="full", coalesce=True).filter(
        pl.col("answer").is_not_null() | pl.col("answer_right").is_not_null()
    )
    apart = (
        pl.col("answer").cast(pl.Float64, strict=False)
        - pl.col("answer_right").cast(pl.Float64, strict=False)
    ).abs()
    same = (pl.col("answer") == pl.col("answer_right")) | (apart <= 1)
    counts = (
        both.group_by("person")
        .agg(
            right=same.fill_null(value=False).sum(),
            n=pl.len(),
            repetitions=pl.col("presentation").n_unique(),
        )
        .filter(pl.col("repetitions") >= rule.least)
    )
    return _sentences(counts, "repeated items answered as before", rule.mark)


def _right_or_not(votes: pl.DataFrame, role: str) -> pl.DataFrame:
    right = pl.coalesce("correct", pl.col("answer").eq_missing(pl.col("expected")))
    return (
        votes.filter((pl.col("role") == role) & pl.col("expected").is_not_null())
        .group_by("person", "item", "presentation", maintain_order=True)
        .agg(right=right.all(), shown_at=pl.col("shown_at").min())
    )


def _collect_answers(votes: pl.DataFrame) -> pl.DataFrame:
    """Return one row per presentation and question, with all marks as one text."""
    mark = pl.concat_str(pl.col("turn").cast(pl.String), pl.col("answer"), separator=":")
    marks = mark.sort().str.join(",", ignore_nulls=True)
    return (
        votes.filter(pl.col("item").is_not_null() & (pl.col("measurement") != "text"))
        .with_columns(mark=mark)
        .group_by("presentation", "question", maintain_order=True)
        .agg(
            answer=pl.when(pl.col("measurement").first() == "marks")
            .then(marks)
            .otherwise(pl.col("answer").first())
        )
    )


def _find_below(items: pl.DataFrame, what: str, mark: float, least: int) -> dict[str, str]:
    counts = items.group_by("person").agg(pl.col("right").sum(), n=pl.len()).filter(pl.col("n") >= least)
    return _sentences(counts, f"{what} right", mark)


def _sentences(counts: pl.DataFrame, what: str, mark: float) -> dict[str, str]:
    low = counts.filter(pl.col("right") < mark * pl.col("n") - ROUNDING)
    return {
        row["person"]: f"{row['right']} of {row['n']} {what}, at least {mark:.0%} required".replace("%", " %")
        for row in low.to_dicts()
    }
