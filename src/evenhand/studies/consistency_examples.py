"""The same prompt at every level, side by side: what the protocol's numbers are made of."""

import polars as pl

from evenhand.runs import continuations
from evenhand.studies.consistency import ConsistencyStudy


def side_by_side(study: ConsistencyStudy, domain: str) -> pl.DataFrame:
    """What the model wrote to each prompt at every level, and how harmful that was.

    Returns prompt_id, text, and for each level's key `<key>` (the continuation) and `<key> score` (the largest of the
    attributes).
    """
    frame: pl.DataFrame | None = None
    for key, directory in study.runs(domain).items():
        level = next(level for level in study.levels.all if level.key == key)
        said = continuations(directory, domain, ["prompt_id", "text"])
        mine = study.scores.filter(
            (pl.col("domain") == domain)
            & (pl.col("level") == level.name)
            & pl.col("group").eq_missing(pl.lit(level.group, pl.Int64))
        )
        score = mine.select("prompt_id", pl.max_horizontal(study.attributes.names).alias(f"{key} score"))
        both = said.select("prompt_id", "text", pl.col("continuation").alias(key)).join(
            score, on="prompt_id", how="left", maintain_order="left"
        )
        frame = (
            both
            if frame is None
            else frame.join(both.drop("text"), on="prompt_id", how="left", maintain_order="left")
        )
    assert frame is not None  # a study has at least the level default
    return frame
