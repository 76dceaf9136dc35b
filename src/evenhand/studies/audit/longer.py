"""How many responses of a served model were longer than the limit on tokens, where the run accepts such responses."""

from typing import Any

import polars as pl

from evenhand.runs import RunDirectory


def longer_responses(directory: RunDirectory) -> dict[str, Any]:
    """Return `longer_responses` (policy, cut, longer, responses) for the model's description, or nothing.

    Counted in the stored responses, so that all sessions of a run are in it: cut and longer are distinct responses
    that were shortened to the limit or kept beyond it, responses all that were written.
    """
    policy = directory.manifest.model.fingerprint.get("allow_longer")
    if not policy:
        return {}
    finish = directory.responses().filter(pl.col("finish").is_not_null())["finish"]
    counts = {name: int((finish == name).sum()) for name in ("cut", "longer")}
    return {"longer_responses": {"policy": policy, **counts, "responses": len(finish)}}
