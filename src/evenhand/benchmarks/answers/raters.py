"""Compare groups within raters, because some raters are stricter than others.

If a strict rater judged more responses about one group, the raters alone would produce a difference between groups. No
rater effect is estimated. Only codings are kept that have a counterpart by the same rater in another group.
"""

import polars as pl

RATERS_APART = (
    "Too few responses of different groups have the same raters, "
    "so rater and group effects cannot be separated."
)
_KEYS = ["axis", "group"]
_MOST = 0.5


def raters_differ(frame: pl.DataFrame) -> bool:
    """Return whether not all responses were labelled by the same raters. frame: axis, group, answer, rater."""
    sets = frame.group_by(*_KEYS, "answer").agg(pl.col("rater").unique().sort().str.join("\x1f"))
    return sets["rater"].n_unique() > 1


def inside_raters(frame: pl.DataFrame, cluster: str, paired: bool) -> tuple[pl.DataFrame, bool]:
    """Select the codings that can be compared within raters.

    A coding is the label that one rater gave to one response.

    frame: axis, group, answer, rater, `cluster` and, if available, question. paired: whether groups are compared within
    `cluster`, which is then the question.

    Returns the codings, and whether the added column `rater_set` must be held fixed. The rule depends on the data:

    - If `paired`, a question keeps the raters who judged all its groups.
    - Otherwise, if most units have a counterpart with the same raters in the same shares, such units are compared.
    - Otherwise each unit keeps the codings by one rater: the one with the most counterparts.

    >>> rows = [("sex", g, f"{g}{i}", "xyz"[i % 2 + (g == "b")]) for g in "ab" for i in range(4)]
    >>> frame = pl.DataFrame(rows, ["axis", "group", "answer", "rater"], orient="row")
    >>> kept, fixed = inside_raters(frame, "answer", False)
    >>> kept.group_by("rater_set").len().sort("rater_set").rows(), fixed
    ([('x', 2), ('y', 4), ('z', 2)], True)
    """
    if paired:
        everywhere = pl.col("group").n_unique().over("axis", cluster, "rater")
        kept = frame.filter(everywhere == pl.col("group").n_unique().over("axis", cluster))
        coded = pl.struct(*_KEYS, cluster, "rater").rank("dense")
        return kept.with_columns(prompt_id=pl.format("coded-{}", coded)), False
    inside = ["axis", "question"] if cluster == "answer" and "question" in frame.columns else ["axis"]
    unit = [*inside, "group", cluster]
    codings = frame.group_by(*unit, "rater").agg(many=pl.len())
    share = (pl.col("many") / pl.col("many").sum().over(unit)).round(6)
    codings = codings.with_columns(said=pl.format("{} {}", "rater", share))
    sets = codings.group_by(unit).agg(rater_set=pl.col("said").sort().str.join("\x1f"))
    several = pl.col("group").n_unique().over(*inside, "rater_set") > 1
    if sets.select(several.mean()).item() > _MOST:
        return frame.join(sets, on=unit, how="left", maintain_order="left"), True
    of_group = codings.group_by(*inside, "rater", "group").len()
    met = of_group.group_by(*inside, "rater").agg(counterparts=pl.col("len").sum() - pl.col("len").max())
    chosen = (
        codings.join(met, on=[*inside, "rater"])
        .sort("counterparts", "rater", descending=[True, False])
        .unique(unit, keep="first", maintain_order=True)
        .select(*unit, rater_set="rater")
    )
    joined = frame.join(chosen, on=unit, how="left", maintain_order="left")
    return joined.filter(pl.col("rater") == pl.col("rater_set")), True
