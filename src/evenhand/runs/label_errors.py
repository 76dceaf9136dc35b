"""Texts that a classifier did not judge: counted with their reasons, and an error if it judged none."""

import polars as pl

from evenhand.runs.asking import RETRIED
from evenhand.schema import ModelError

MOST_REASONS = 3
LONGEST_REASON = 200


def describe_unjudged(labels: pl.DataFrame, classifier: str) -> str | None:
    """Return a sentence on the texts that a classifier did not judge; None if it judged all of them.

    labels: a LABELS frame. classifier: its name.
    Raises ModelError if it judged none for reasons of its own, such as a server that fails. A text that is empty, too
    long or refused is no such reason.
    """
    failed = labels.filter(pl.col("error").is_not_null())
    if failed.is_empty():
        return None
    by_reason = (
        failed.group_by("error", maintain_order=True)
        .agg(pl.len().alias("texts"), pl.col("detail").drop_nulls().first())
        .sort("texts", descending=True, maintain_order=True)
    )
    reasons = [
        f"{error} ({texts:,})" + (f": {' '.join(detail.split())[:LONGEST_REASON]}" if detail else "")
        for error, texts, detail in by_reason.head(MOST_REASONS).rows()
    ]
    told = "; ".join(reasons)
    if failed.height == labels.height and failed["error"].is_in([str(code) for code in RETRIED]).all():
        raise ModelError(
            f"The classifier {classifier} judged none of {labels.height:,} texts. Errors: {told}.",
            "Check the classifier and its options (for a service: URL, model and key), then run again.",
        )
    return f"The classifier {classifier} did not judge {failed.height:,} of {labels.height:,} texts. Errors: {told}."
