"""The keys of stored labels (a classifier's folder, the id of each classified text), and texts without a label."""

from pathlib import Path
from urllib.parse import quote

import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier, classified_texts
from evenhand.runs.conversing import CONTEXT
from evenhand.runs.directory import RunDirectory
from evenhand.runs.requests import fingerprint_digest, text_ids
from evenhand.schema import ModelError, as_json

LABEL_VALUES = ("label", "score", "negative", "scores", "error")
"""Columns with the result of a label."""
MOST_REASONS, LONGEST_REASON = 3, 200


def classifier_key(classifier: Classifier) -> str:
    """Return the name of the folder with a classifier's labels: its name and 12 characters of its digest."""
    fingerprint = as_json(classifier.fingerprint)
    name = quote(str(fingerprint.get("name") or type(classifier).__name__), safe="")
    # file systems accept names of 255 bytes, but a classifier's name may be a long path
    return f"{name[:200]}@{fingerprint_digest(fingerprint)[:12]}"


def label_folders(directory: RunDirectory) -> dict[str, Path]:
    """Return the folders with labels of a run by classifier key, including labels that are not current."""
    return {key: directory.labels_folder(key) for key in sorted(directory.manifest.labels)}


def build_classified_texts(frame: pl.DataFrame, rule: ClassifiedText, *, reads_context: bool) -> pl.DataFrame:
    """Return the text that is classified for each continuation, with its id and context.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns text (the prompt), continuation and the one that the rule masks; for conversations also
        lines_before.
    rule : ClassifiedText
        How the text is made.
    reads_context : bool
        Whether the classifier reads the context.

    Returns
    -------
    polars.DataFrame
        text_id, text and context; all null if there is no continuation.

    Notes
    -----
    The context of an utterance of a conversation is the lines before it. A prompt, or earlier lines, that are
    part of the classified text are not part of the context.
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

    `labels` is a table LABELS, and `classifier` the name. Raises ModelError if it judged no text because of
    its own failure, such as a server error. Texts that are empty, too long or refused are not such a failure.
    """
    from evenhand.runs.asking import RETRIED

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
