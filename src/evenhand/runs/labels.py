"""The keys of stored labels (a classifier's folder, the id of each classified text), and texts without a label."""

from pathlib import Path
from urllib.parse import quote

import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier, classified_texts
from evenhand.runs.asking import RETRIED
from evenhand.runs.conversing import CONTEXT
from evenhand.runs.directory import RunDirectory
from evenhand.runs.requests import fingerprint_digest, text_ids
from evenhand.schema import ModelError, as_json

LABEL_VALUES = ("label", "score", "negative", "scores", "error")
"""What a label records about its text."""
MOST_REASONS, LONGEST_REASON = 3, 200


def classifier_key(classifier: Classifier) -> str:
    """The name of the folder that holds a classifier's labels: its name and 12 characters of its digest."""
    fingerprint = as_json(classifier.fingerprint)
    name = quote(str(fingerprint.get("name") or type(classifier).__name__), safe="")
    # File systems take names of 255 bytes; a classifier may be called by a long path.
    return f"{name[:200]}@{fingerprint_digest(fingerprint)[:12]}"


def label_folders(directory: RunDirectory) -> dict[str, Path]:
    """The folders of labels of a run by classifier key, whether their labels count for a role or not."""
    return {key: directory.labels_folder(key) for key in sorted(directory.manifest.labels)}


def identified(frame: pl.DataFrame, rule: ClassifiedText, *, reads_context: bool) -> pl.DataFrame:
    """The judged text of every continuation and its identity.

    A prompt, or earlier lines, that are part of the judged text are not its context as well. The context of an
    utterance of a conversation are the lines before it.

    Arguments: frame: columns text (the prompt), continuation and the one the rule masks; of conversations also
    lines_before. reads_context: whether the
    classifier does.
    Returns: text_id, text, context; all null where there is no continuation.
    """
    texts = classified_texts(frame, rule)
    behind = reads_context and rule.part == "continuation" and not rule.behind
    before = frame[CONTEXT if CONTEXT in frame.columns else "text"]
    known = pl.DataFrame(
        {"text": pl.Series(texts, dtype=pl.String), "context": before if behind else None},
        schema_overrides={"context": pl.String},
    ).with_columns(context=pl.when(pl.col("text").is_not_null()).then("context"))
    good = known.filter(pl.col("text").is_not_null())
    ids = iter(text_ids(good["text"].to_list(), good["context"].to_list()))
    every = [None if text is None else next(ids) for text in texts]
    return known.select(pl.Series("text_id", every, dtype=pl.String), "text", "context")


def describe_unjudged(labels: pl.DataFrame, classifier: str) -> str | None:
    """Return a sentence on the texts that a classifier did not judge; None if it judged all of them.

    labels: a LABELS frame. classifier: its name.
    Raises ModelError if it judged none because of its own failure, such as a server error. A text that is empty, too
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
