"""Compare a classifier with human judgements, as a table for `--classifier-error`."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.annotation.exports.votes import Export
from evenhand.schema import DataError, UsageError, checked, parse_json, unknown_name

JUDGED = (
    "Build the study of a run that classifiers have judged: evenhand annotate --from RUN --template labels"
)


@checked
def classifier_error_table(
    export: Export,
    question: str | None = None,
    negative: str | Sequence[str] = (),
    classifier: str | None = None,
) -> pl.DataFrame:
    """Return items with the majority judgement of people and the verdict of a classifier.

    Use it to estimate the errors of a classifier for each group. Pass the table to
    `evenhand.measures.error_counts`.

    Parameters
    ----------
    export : Export
        Export of a study of texts whose items have `judgements` of classifiers.
    question : str, optional
        The question whose answers are compared. Required if there are several.
    negative : str or sequence of str
        Harmful answers of the question.
    classifier : str, optional
        Name in `judgements`. Required if there are several.

    Returns
    -------
    polars.DataFrame
        One row per item. Items without a majority or without a classifier result are excluded. Columns:

        - axis: the axis of the group; null if only one axis has the group, so that the row applies to any
          axis;
        - group: the group; null if the item has none, so that the row applies to all groups;
        - label: 1 if the most frequent answer of people is harmful, otherwise 0;
        - negative: 1 if the classifier predicts harm, otherwise 0;
        - item: the item.

    Raises
    ------
    UsageError
        A name is unknown, or a required one is missing.
    DataError
        No item is left.

    Notes
    -----
    The judgements of people are assumed to be right. If people often disagree, the majority is often wrong.
    The classifier then looks worse than it is.
    """
    votes = export.votes.filter(
        (pl.col("role") == "real")
        & pl.col("excluded").is_null()
        & pl.col("answer").is_not_null()
        & pl.col("measurement").is_in(["nominal", "ordinal"])
    )
    votes = _of_question(votes, question, export)
    harmful = (negative,) if isinstance(negative, str) else tuple(negative)
    if not harmful:
        raise UsageError(
            "No answer that counts as harmful was given (`--negative`).",
            "Name each harmful answer: --negative ANSWER",
        )
    known = sorted({*votes["answer"], *_options(export, votes["question"][0])})
    for name in harmful:
        if name not in known:
            raise unknown_name(f"answer to {votes['question'][0]}", name, known)
    labels = _most_say(votes, harmful)
    items = votes.unique("item", keep="first", maintain_order=True).join(
        labels, on="item", maintain_order="left"
    )
    judged = _objects(items["judgements"], export)
    who = _choose_classifier(classifier, judged, export)
    verdicts = [its.get(who, {}).get("negative") for its in judged]
    about = _objects(items["groups"], export)
    table = items.select(
        pl.Series("axis", [_word(its.get("axis")) for its in about], dtype=pl.String),
        pl.Series("group", [_word(its.get("group")) for its in about], dtype=pl.String),
        pl.col("label").cast(pl.Int64),
        pl.Series("negative", verdicts, dtype=pl.Boolean).cast(pl.Int64),
        "item",
    ).drop_nulls("negative")
    # another table of the same texts may have another name for the axis, and rows of other axes are ignored
    of_several = pl.col("axis").n_unique().over("group") > 1
    table = table.with_columns(axis=pl.when(of_several).then("axis"))
    if table.is_empty():
        raise DataError(f"{export.path}: no item has both a majority judgement and a label of {who}.", JUDGED)
    return table


def _objects(texts: pl.Series, export: Export) -> list[dict[str, Any]]:
    """Return the JSON objects of a column; an empty one for null."""
    try:
        objects = [parse_json(text) if text is not None else {} for text in texts]
    except ValueError as error:
        raise DataError(
            f"{export.path}: the column {texts.name} contains invalid JSON: {error}.", JUDGED
        ) from error
    if not all(isinstance(one, dict) for one in objects):
        raise DataError(
            f"{export.path}: the column {texts.name} contains a value that is not a JSON object.", JUDGED
        )
    return objects


def _of_question(votes: pl.DataFrame, question: str | None, export: Export) -> pl.DataFrame:
    questions = votes["question"].unique(maintain_order=True).to_list()
    if not questions:
        raise DataError(
            f"{export.path}: no question with answer options has a judgement that the study's rules include.",
            JUDGED,
        )
    if question is None and len(questions) > 1:
        raise UsageError(
            f"{export.path.name} has several questions: {', '.join(questions)}.",
            "Choose one with --question.",
        )
    if question is not None and question not in questions:
        raise unknown_name(f"question in {export.path.name}", question, questions)
    return votes.filter(pl.col("question") == (question or questions[0]))


def _options(export: Export, question: str) -> list[str]:
    asked: Mapping[str, Any] = next(
        (one for one in export.study.get("questions", []) if one["id"] == question), {}
    )
    return [option["id"] for option in asked.get("options", [])]


def _most_say(votes: pl.DataFrame, harmful: Sequence[str]) -> pl.DataFrame:
    counts = votes.group_by("item", "answer").agg(n=pl.len())
    first = counts.filter(pl.col("n") == pl.col("n").max().over("item"))
    return first.filter(pl.len().over("item") == 1).select("item", label=pl.col("answer").is_in(harmful))


def _choose_classifier(classifier: str | None, judged: Sequence[Any], export: Export) -> str:
    known = list(dict.fromkeys(name for its in judged for name in its))
    if not known:
        raise DataError(f"{export.path}: no classifier has labelled the judged items.", JUDGED)
    if classifier is None and len(known) > 1:
        raise UsageError(
            f"{export.path}: several classifiers have labelled the items: {', '.join(known)}.",
            "Choose one of them with --classifier.",
        )
    if classifier is not None and classifier not in known:
        raise unknown_name("classifier among the judgements", classifier, known)
    return classifier or known[0]


def _word(value: Any) -> str | None:
    return None if value is None else str(value)
