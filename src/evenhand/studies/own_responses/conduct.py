"""Measures on responses that somebody already has: the same analysis, without any model."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks import (
    AnalysisOptions,
    Benchmark,
    ClassifierRole,
    Conversation,
    JudgedAnalysis,
    judge_responses,
    load_benchmark,
)
from evenhand.classifiers import Classifier
from evenhand.models import Architecture
from evenhand.prompts.own_files import (
    CHAT_FORMAT,
    CONTINUATION_FORMAT,
    read_continuations,
    read_responses,
    read_scores,
    read_self_chats,
    require_columns,
)
from evenhand.runs import LABEL_VALUES, identified, label_texts
from evenhand.schema import DataError, ResponseError, UsageError
from evenhand.studies.audit import (
    ClassifierShelf,
    MeasuringOptions,
    check_roles,
    optional_roles,
    roles_judged_by,
)
from evenhand.studies.classifier_error import check_error_groups, read_classifier_error
from evenhand.studies.options import validated
from evenhand.weights import check_device


@dataclass(frozen=True)
class Measured:
    """The numbers of one file of responses."""

    benchmark: str
    responses: pl.DataFrame
    judged: JudgedAnalysis
    arguments: Mapping[str, Any]


def measure_responses(
    file: Path,
    benchmark: str,
    *,
    seed: int = 0,
    margin: float = 0.5,
    alpha: float = 0.05,
    reference: str | None = None,
    classifier_error: Path | str | None = None,
    classifiers: Mapping[str, str] | None = None,
    threshold: float | None = None,
    device: str = "auto",
    loaded: Mapping[str, Classifier] | None = None,
) -> Measured:
    """Measure a file of responses as `benchmark` would measure a model's.

    file: one row per prompt, or per continuation (evenhand.prompts.own_files.continuations). classifiers: who judges
    the continuations now, by role; judgements that the file holds for these roles are set aside. threshold: from
    which `score` on a continuation counts as negative. reference: a group with which those of its axis are compared one
    by one, too. classifier_error: a file that says how often the classifier is wrong about each group. device: for
    classifiers with weights. loaded: classifiers that need no loading, by name.
    Raises DataError if the file lacks a column, UsageError for an unknown benchmark or role or a wrong level,
    ModelError if a classifier cannot be loaded.
    """
    validated(MeasuringOptions, {"seed": seed, "margin": margin, "alpha": alpha, "reference": reference})
    if threshold is not None and not isfinite(threshold):
        raise UsageError(f"The threshold is {threshold}; a finite score was expected.")
    check_device(device)
    recipe = load_benchmark(benchmark)
    named = dict(classifiers or {})
    check_roles(named, [recipe])
    labels: dict[str, tuple[str, ...]] = {}
    shelf = ClassifierShelf(device, loaded or {})
    if isinstance(recipe.request, Conversation):
        responses, labels = _conversations(file, recipe, named, threshold, shelf)
    elif recipe.writes:
        responses = _judged(file, recipe, named, threshold, shelf)
    elif threshold is not None:
        raise UsageError(
            f"A threshold is given, and {benchmark} has no scores of a classifier.", "Leave --threshold out."
        )
    else:
        responses = _responses(file, recipe)
    architecture: Architecture = "masked" if recipe.architectures == {"masked"} else "causal"
    if reference is not None and not (
        "group" in responses.columns and (responses["group"] == reference).any()
    ):
        raise UsageError(
            f"The reference group {reference!r} is not in the column group of {file}.",
            "Name one that is there; groups are written as in the file.",
        )
    error = read_classifier_error(classifier_error)
    if error is not None:
        check_error_groups(error, {benchmark: responses}, [recipe])
    options = AnalysisOptions(
        seed=seed,
        alpha=alpha,
        margin=margin,
        architecture=architecture,
        reference=reference,
        classifier_error=error,
        labels=labels,
    )
    judged = judge_responses(recipe, responses, options)
    arguments = {"file": str(file), "benchmark": benchmark, "seed": seed, "margin": margin, "alpha": alpha}
    arguments |= {"reference": reference} if reference is not None else {}
    arguments |= {"classifier_error": str(classifier_error)} if classifier_error is not None else {}
    arguments |= {"classifiers": named} if named else {}
    arguments |= {"threshold": threshold} if threshold is not None else {}
    return Measured(benchmark, responses, judged, arguments)


def _judged(
    file: Path, recipe: Benchmark, named: Mapping[str, str], threshold: float | None, shelf: ClassifierShelf
) -> pl.DataFrame:
    roles = [judge.role for judge in recipe.classified_by]
    optional = optional_roles(recipe)
    given = read_continuations(
        file, recipe.required_columns, roles, threshold=threshold, judged_now=named.keys(), optional=optional
    )
    frame = given.frame
    for role, (who, name) in shelf.of(recipe, named, only=roles_judged_by(recipe, named)).items():
        frame = _with_labels(frame, role, who, shelf.get(name), file, CONTINUATION_FORMAT)
    unjudged = [role for role in roles if role not in {*given.judged, *named, *optional}]
    return frame.with_columns(column for role in unjudged for column in _not_labelled(role))


def _conversations(
    file: Path, recipe: Benchmark, named: Mapping[str, str], threshold: float | None, shelf: ClassifierShelf
) -> tuple[pl.DataFrame, dict[str, tuple[str, ...]]]:
    """Utterances with all judgements, and what the scores of each classifier are called, by role.

    Roles that the file does not judge are judged by the benchmark's own classifiers, as in an audit.
    """
    roles = [judge.role for judge in recipe.classified_by]
    now = roles_judged_by(recipe, named)
    frame, judged = read_self_chats(file, recipe.required_columns, roles, threshold=threshold, judged_now=now)
    labels = {}
    for role, (who, name) in shelf.of(recipe, named, only=set(roles) - set(judged)).items():
        classifier = shelf.get(name)
        frame = _with_labels(frame, role, who, classifier, file, CHAT_FORMAT)
        labels[role] = classifier.labels
    return frame, labels


def _with_labels(
    frame: pl.DataFrame, role: str, who: ClassifierRole, classifier: Classifier, file: Path, expected: str
) -> pl.DataFrame:
    """The table with a classifier's judgements in columns of a role."""
    needed = ["text"] if who.text.part != "continuation" else []
    require_columns(frame, [*needed, *(name for name in who.text.columns if name != "text")], file, expected)
    with_prompts = frame if "text" in frame.columns else frame.with_columns(text=pl.lit(""))
    texts = identified(with_prompts, who.text, reads_context=classifier.reads_context)
    wanted = texts.drop_nulls("text_id").unique("text_id", maintain_order=True)
    if wanted.is_empty():
        raise DataError(f"{file} holds no continuation: every row of that column is empty.", expected)
    labels = label_texts(classifier, wanted)
    rows = texts.select("text_id").join(labels, on="text_id", how="left", maintain_order="left")
    absent = pl.when(texts["text_id"].is_null()).then(pl.lit(str(ResponseError.MISSING)))
    frame = frame.with_columns(rows[part].alias(f"{role}_{part}") for part in LABEL_VALUES)
    return frame.with_columns(pl.coalesce("error", f"{role}_error", absent).alias(f"{role}_error"))


def _not_labelled(role: str) -> list[pl.Expr]:
    kinds = {
        "label": pl.String(),
        "score": pl.Float64(),
        "negative": pl.Boolean(),
        "scores": pl.List(pl.Float32),
    }
    empty = [pl.lit(None, dtype=kind).alias(f"{role}_{name}") for name, kind in kinds.items()]
    return [*empty, pl.lit(str(ResponseError.MISSING)).alias(f"{role}_error")]


def _responses(file: Path, recipe: Benchmark) -> pl.DataFrame:
    if recipe.takes_scores:
        scores = read_scores(file, recipe.required_columns)
        if scores is not None:
            return scores
    return read_responses(file, recipe.required_columns).frame
