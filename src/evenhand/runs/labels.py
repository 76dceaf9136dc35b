"""Judgements as they are stored: labels by classifier, found again by the text that was judged."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from evenhand.classifiers import Classifier, JudgedText, judged_texts
from evenhand.runs.continuation_rows import continuations
from evenhand.runs.directory import RunDirectory
from evenhand.runs.manifest import JudgedRecord
from evenhand.runs.requests import fingerprint_digest, text_ids
from evenhand.runs.shards import LABEL_PARTS, read_shards
from evenhand.schema import DataError, ResponseError, as_json

VALUES = ("label", "score", "negative", "scores", "error")


def classifier_key(classifier: Classifier) -> str:
    """The name of the folder that holds a classifier's labels: its name and 12 characters of its digest."""
    fingerprint = as_json(classifier.fingerprint)
    name = quote(str(fingerprint.get("name") or type(classifier).__name__), safe="")
    # File systems take names of 255 bytes; a classifier may be called by a long path.
    return f"{name[:200]}@{fingerprint_digest(fingerprint)[:12]}"


def label_folders(directory: RunDirectory) -> dict[str, Path]:
    """The folders of labels of a run by classifier key, whether their labels count for a role or not."""
    return {key: directory.labels_folder(key) for key in sorted(directory.manifest.labels)}


def judgements(
    directory: RunDirectory, benchmark: str, role: str, classifier_key: str | None = None
) -> pl.DataFrame:
    """What a classifier said of each continuation of a benchmark.

    Arguments: directory: of a run. benchmark, role: as judged. classifier_key: one that judged this role, now or
    earlier (see `label_folders`); by default the one that counts.
    Returns: prompt_id, sample, judged_text, label, score, negative, scores, error (of the response, where that
    failed; `missing` where the text has not been judged); in prompt order.
    Raises DataError if nobody of this name has judged it, or a table cannot be read.
    """
    judged = _judgement(directory, benchmark, role, classifier_key)
    rule, record = JudgedText(**judged.rule), directory.manifest.labels[judged.classifier]
    columns = ["prompt_id", "text", *([rule.masked] if rule.masked else [])]
    frame = continuations(directory, benchmark, columns)
    texts = identified(frame, rule, reads_context=record.reads_context)
    labelled = _labelled(frame["error"], texts, _labels(directory, judged.classifier))
    return pl.concat(
        [frame.select("prompt_id", "sample"), texts.select(judged_text="text"), labelled], how="horizontal"
    )


def with_judgements(
    directory: RunDirectory, benchmark: str, frame: pl.DataFrame, roles: Sequence[str] | None = None
) -> pl.DataFrame:
    """Continuations beside the judgements that count: `<role>_label`, `_score`, `_negative`, `_scores`, `_error`.

    Arguments: frame: see `join_continuations`, with all columns the rules need. roles: those wanted; all by default.
    Returns: the frame and five columns for each role; null values and a code in `<role>_error` where there is no
    judgement.
    """
    judged = directory.manifest.judged.get(benchmark, {})
    columns = []
    for role in judged if roles is None else roles:
        record = directory.manifest.labels[judged[role].classifier]
        texts = identified(frame, JudgedText(**judged[role].rule), reads_context=record.reads_context)
        labelled = _labelled(frame["error"], texts, _labels(directory, judged[role].classifier))
        columns += [labelled[name].alias(f"{role}_{name}") for name in VALUES]
    return frame.with_columns(columns)


def needed_columns(directory: RunDirectory, benchmark: str) -> list[str]:
    """Columns of the prompts without which the judged texts of a benchmark cannot be made."""
    rules = [judged.rule for judged in directory.manifest.judged.get(benchmark, {}).values()]
    return list(dict.fromkeys(["text", *(str(rule["masked"]) for rule in rules if rule["masked"])]))


def identified(frame: pl.DataFrame, rule: JudgedText, *, reads_context: bool) -> pl.DataFrame:
    """The judged text of every continuation and its identity.

    A prompt that is part of the judged text is not its context as well.

    Arguments: frame: columns text (the prompt), continuation and the one the rule masks. reads_context: whether the
    classifier does.
    Returns: text_id, text, context; all null where there is no continuation.
    """
    texts = judged_texts(frame, rule)
    behind = reads_context and rule.part == "continuation"
    known = pl.DataFrame(
        {"text": pl.Series(texts, dtype=pl.String), "context": frame["text"] if behind else None},
        schema_overrides={"context": pl.String},
    ).with_columns(context=pl.when(pl.col("text").is_not_null()).then("context"))
    good = known.filter(pl.col("text").is_not_null())
    ids = iter(text_ids(good["text"].to_list(), good["context"].to_list()))
    every = [None if text is None else next(ids) for text in texts]
    return known.select(pl.Series("text_id", every, dtype=pl.String), "text", "context")


def _judgement(directory: RunDirectory, benchmark: str, role: str, key: str | None) -> JudgedRecord:
    manifest = directory.manifest
    now = manifest.judged.get(benchmark, {}).get(role)
    earlier: list[JudgedRecord] = [
        before for before in manifest.judged_before if (before.benchmark, before.role) == (benchmark, role)
    ]
    found = [*([now] if now else []), *reversed(earlier)]
    for judged in found:
        if key is None or judged.classifier == key:
            return judged
    whom = "nobody" if key is None else repr(key)
    by = ", ".join(dict.fromkeys(judged.classifier for judged in found))
    raise DataError(
        f"In the run {directory.path} the {role} of {benchmark!r} has been judged by {by or 'nobody'}"
        + ("." if key is None else f", not by {whom}."),
        "Judge it with `evenhand rescore`.",
    )


def _labels(directory: RunDirectory, key: str) -> pl.DataFrame:
    return read_shards(directory.labels_folder(key), VALUES, LABEL_PARTS)


def _labelled(failed: pl.Series, texts: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    there: dict[str, Any] = {"there": pl.lit(True)}
    rows = texts.select("text_id", failed=failed).join(
        labels.with_columns(**there), on="text_id", how="left", maintain_order="left"
    )
    unjudged = pl.when(pl.col("there").is_null()).then(pl.lit(str(ResponseError.MISSING)))
    return rows.with_columns(
        error=pl.coalesce("failed", unjudged.otherwise(pl.col("error").cast(pl.String)))
    ).select(VALUES)
