"""Several people coded the answers, some more strictly than others: groups are compared inside the same raters.

What a strict rater makes of the group that met them more often is no difference between groups. Nothing is estimated
about raters: of each answer the codings are taken that have a counterpart by the same rater in another group.
"""

import polars as pl

RATERS_APART = (
    "Too few responses of different groups have the same raters, "
    "so rater and group effects cannot be separated."
)
_KEYS = ["axis", "group"]
_MOST = 0.5


def raters_differ(frame: pl.DataFrame) -> bool:
    """Whether answers have different raters. frame: axis, group, answer, rater."""
    sets = frame.group_by(*_KEYS, "answer").agg(pl.col("rater").unique().sort().str.join("\x1f"))
    return sets["rater"].n_unique() > 1


def inside_raters(frame: pl.DataFrame, cluster: str, paired: bool) -> tuple[pl.DataFrame, bool]:
    """The codings that can be compared inside raters, and whether the column `rater_set` is to be held fixed.

    frame: axis, group, answer, rater, `cluster`, question where there are any. paired: whether groups are compared
    inside `cluster`, which then is the question: of each, the raters who judged all groups in it count, all equally.
    Otherwise units that have the same raters in equal shares are compared, if most have a counterpart; if not, a
    unit's codings by one rater: the one who judged most units of its question that have a counterpart.

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
