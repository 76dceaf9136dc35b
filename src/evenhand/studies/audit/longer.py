"""Counts of a served model's responses above the token limit, in runs that accept them."""

from typing import Any

import polars as pl

from evenhand.runs import RunDirectory


def longer_responses(directory: RunDirectory) -> dict[str, Any]:
    """Return an entry `longer_responses` for the model's description, with the keys policy, cut, longer and responses.

    The result is empty if the run does not accept responses above the limit.

    The counts come from the stored responses, so they include all sessions of a run. cut: distinct responses
    shortened to the limit. longer: distinct responses kept beyond it. responses: all responses.
    """
    policy = directory.manifest.model.fingerprint.get("allow_longer")
    if not policy:
        return {}
    finish = directory.responses().filter(pl.col("finish").is_not_null())["finish"]
    counts = {name: int((finish == name).sum()) for name in ("cut", "longer")}
    return {"longer_responses": {"policy": policy, **counts, "responses": len(finish)}}
