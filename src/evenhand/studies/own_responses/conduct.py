"""Analyse responses that the user already has, as in an audit but without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
from evenhand.benchmarks.answers import NUMBER, ROLE
from evenhand.classifiers import Classifier
from evenhand.models import Architecture
from evenhand.prompts.own_files import (
    CHAT_FORMAT,
    CONTINUATION_FORMAT,
    Source,
    TableInMemory,
    read_continuations,
    read_table,
    require_columns,
)
from evenhand.schema import DataError, ResponseError, UsageError, did_you_mean, list_names, unknown_column
from evenhand.studies.audit import ClassifierShelf, check_roles, find_dependent_roles, optional_roles
from evenhand.studies.own_responses.answers import Answers, read_answers
from evenhand.studies.own_responses.columns import OURS, assign_roles, stated_columns
from evenhand.study import MeasuringOptions, validate_options
from evenhand.weights import check_device

ANSWERS = "answers"
"""The default benchmark of a table."""
ANSWER_FORMAT = (
    "A table of answers is CSV, TSV, JSON Lines, Parquet or a workbook with one answer per row. It has one or more "
    "columns of groups, and a number, a label, true or false, or the text of the answer. Assign columns with --column "
    "COLUMN=ROLE."
)
LISTED_COLUMNS = 8
"""Largest number of columns that a sentence about missing values lists."""


@dataclass(frozen=True)
class Measured:
    """Results for one table of responses. `judged` has measurements and verdicts; `told` has sentences about guessed
    columns and left-out rows.
    """

    benchmark: str
    responses: pl.DataFrame
    judged: JudgedAnalysis
    arguments: Mapping[str, Any]
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """Options for reading a table.

    `columns` has the roles of columns, as COLUMN=ROLE or a mapping. `negative` has the negative labels, and `missing`
    the values that count as missing. `delimiter`, `encoding`, `decimal` and `sheet` are detected if they are None.
    """

    columns: Mapping[str, str] | Sequence[str] = ()
    negative: Sequence[str] = ()
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    sheet: str | None = None
    missing: Sequence[str] = ()


def measure_responses(
    source: Source,
    benchmark: str | None = None,
    *,
    reading: Reading | None = None,
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
    """Measure a table of responses with the measures of `benchmark`, or without any as responses to any prompts.

    source: one row per prompt, or per continuation (evenhand.prompts.own_files.continuations); without a benchmark one
    per answer. reading: format and columns. classifiers: classifiers of
    the continuations, by role; labels in the file for these roles are ignored. threshold: the `score` from which a
    continuation is negative. reference: a group with which each other group of its axis is compared, too.
    classifier_error: a file of the classifier's error rates for each group. device: for classifiers with weights.
    loaded: classifiers that need no loading, by name.
    Raises DataError if the file lacks a column, UsageError for an unknown benchmark or role or a wrong level,
    ModelError if a classifier cannot be loaded.
    """
    validate_options(
        MeasuringOptions, {"seed": seed, "margin": margin, "alpha": alpha, "reference": reference}
    )
    if threshold is not None and not isfinite(threshold):
        raise UsageError(f"`--threshold` must be a finite number, got {threshold}.")
    check_device(device)
    reading = reading or Reading()
    benchmark = benchmark or ANSWERS
    recipe = load_benchmark(benchmark)
    named = dict(classifiers or {})
    check_roles(named, [recipe])
    labels: dict[str, tuple[str, ...]] = {}
    shelf = ClassifierShelf(device, loaded or {})
    told: list[str] = []
    table = _table(source, reading, told)
    file: Source = TableInMemory(table, str(source))
    numeric = False
    if benchmark == ANSWERS:
        answers = _answers(table, source, reading, named, threshold, told)
        file, numeric = (
            TableInMemory(answers.frame, str(source)),
            "score" in answers.frame.columns and threshold is None,
        )
        labels = {NUMBER if numeric else ROLE: (answers.called,)}
    elif reading.negative:
        raise UsageError(
            f"`--negative` cannot be used with the benchmark {benchmark}: it defines what is negative.",
            "Remove --negative.",
        )
    else:
        file = TableInMemory(_rename_columns(table, reading, source), str(source))
    if isinstance(recipe.request, Conversation):
        responses, labels = _conversations(file, recipe, named, threshold, shelf, told)
    elif recipe.writes:
        responses = _add_labels(file, recipe, named, threshold, shelf, told, numeric=numeric)
    elif threshold is not None:
        raise UsageError(
            f"`--threshold` has no effect: the benchmark {benchmark} has no classifier scores.",
            "Remove --threshold.",
        )
    else:
        responses = _responses(file, recipe)
    architecture: Architecture = "masked" if recipe.architectures == {"masked"} else "causal"
    if reference is not None and not (
        "group" in responses.columns and (responses["group"] == reference).any()
    ):
        groups = (
            responses["group"].drop_nulls().unique().sort().to_list() if "group" in responses.columns else []
        )
        raise UsageError(
            f"The reference group {reference!r} is not in the column group of {file}."
            f"{did_you_mean(reference, groups)}",
            f"Use a group of that column, as written in the file: {list_names(groups) or 'it has none'}.",
        )
    error = None
    if classifier_error is not None:
        from evenhand.studies.classifier_error import check_error_groups, read_classifier_error

        error = read_classifier_error(classifier_error)
        assert error is not None
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
    arguments = {"file": str(source), "benchmark": benchmark, "seed": seed, "margin": margin, "alpha": alpha}
    arguments |= {"reference": reference} if reference is not None else {}
    arguments |= {"classifier_error": str(classifier_error)} if classifier_error is not None else {}
    arguments |= {"classifiers": named} if named else {}
    arguments |= {"threshold": threshold} if threshold is not None else {}
    arguments |= {name: value for name, value in asdict(reading).items() if value}
    return Measured(benchmark, responses, judged, arguments, tuple(told))


def _table(source: Source, reading: Reading, told: list[str]) -> pl.DataFrame:
    if reading.decimal not in (None, ".", ","):
        raise UsageError(
            f"`--decimal` must be a point or a comma, got {reading.decimal!r}.", "For example: --decimal ,"
        )
    table = read_table(
        source,
        ANSWER_FORMAT,
        delimiter=reading.delimiter,
        encoding=reading.encoding,
        sheet=reading.sheet,
        guesses=told,
    )
    return without_declared(table, reading.missing, told)


def _answers(
    table: pl.DataFrame,
    source: Source,
    reading: Reading,
    named: Mapping[str, str],
    threshold: float | None,
    told: list[str],
) -> Answers:
    stated = stated_columns(reading.columns)
    columns = assign_roles(table, stated, str(source), judged_now=bool(named), scored=threshold is not None)
    answers = read_answers(table, columns, source, negative=reading.negative, decimal=reading.decimal)
    told += [*columns.told, *answers.told]
    if threshold is not None:
        if "score" not in answers.frame.columns:
            raise UsageError(
                "`--threshold` requires a column of scores.",
                "Name the column that contains the scores: --column COLUMN=score",
            )
        return replace(answers, called=f"with {answers.called} of {threshold:g} or more")
    return answers


def _rename_columns(table: pl.DataFrame, reading: Reading, source: Source) -> pl.DataFrame:
    """Return a table with its columns renamed, according to their roles, to the names that benchmarks use."""
    pairs = reading.columns
    given = pairs if isinstance(pairs, Mapping) else dict(value.rpartition("=")[::2] for value in pairs)
    stated = stated_columns(pairs, {*given.values(), *OURS})
    for column in stated:
        if column not in table.columns:
            raise unknown_column(source, column, table.columns)
    taken = [ours for theirs, ours in stated.items() if ours in table.columns and ours != theirs]
    if taken or len(set(stated.values())) < len(stated):
        raise DataError(
            f"{source}: two columns would have the name {(taken or list(stated.values()))[0]!r}.",
            "Give this name to one column only, and rename or remove the other.",
        )
    return table.rename(stated)


def _add_labels(
    file: Source,
    recipe: Benchmark,
    named: Mapping[str, str],
    threshold: float | None,
    shelf: ClassifierShelf,
    told: list[str],
    *,
    numeric: bool = False,
) -> pl.DataFrame:
    roles = [judge.role for judge in recipe.classified_by]
    optional = roles if numeric else optional_roles(recipe)
    given = read_continuations(
        file, recipe.required_columns, roles, threshold=threshold, judged_now=named.keys(), optional=optional
    )
    frame = given.frame
    for role, (who, name) in shelf.of(recipe, named, only=find_dependent_roles(recipe, named)).items():
        frame, notes = _with_labels(frame, role, who, shelf.get(name), file, CONTINUATION_FORMAT)
        told += notes
    unjudged = [role for role in roles if role not in {*given.judged, *named, *optional}]
    return frame.with_columns(column for role in unjudged for column in _not_labelled(role))


def _conversations(
    file: Source,
    recipe: Benchmark,
    named: Mapping[str, str],
    threshold: float | None,
    shelf: ClassifierShelf,
    told: list[str],
) -> tuple[pl.DataFrame, dict[str, tuple[str, ...]]]:
    """Return utterances with labels of all roles, and the names of each classifier's scores by role.

    Roles without labels in the file are labelled by the benchmark's own classifiers, as in an audit.
    """
    from evenhand.prompts.own_files import read_self_chats

    roles = [judge.role for judge in recipe.classified_by]
    now = find_dependent_roles(recipe, named)
    frame, judged = read_self_chats(file, recipe.required_columns, roles, threshold=threshold, judged_now=now)
    labels = {}
    for role, (who, name) in shelf.of(recipe, named, only=set(roles) - set(judged)).items():
        classifier = shelf.get(name)
        frame, notes = _with_labels(frame, role, who, classifier, file, CHAT_FORMAT)
        told += notes
        labels[role] = classifier.labels
    return frame, labels


def _with_labels(
    frame: pl.DataFrame, role: str, who: ClassifierRole, classifier: Classifier, file: Source, expected: str
) -> tuple[pl.DataFrame, list[str]]:
    """Return the table with a classifier's labels and scores in columns with the prefix `role`, and sentences on texts
    that it could not classify.
    """
    from evenhand.runs import LABEL_VALUES, build_classified_texts, describe_unjudged, label_texts

    needed = ["text"] if who.text.part != "continuation" else []
    require_columns(frame, [*needed, *(name for name in who.text.columns if name != "text")], file, expected)
    with_prompts = frame if "text" in frame.columns else frame.with_columns(text=pl.lit(""))
    texts = build_classified_texts(with_prompts, who.text, reads_context=classifier.reads_context)
    wanted = texts.drop_nulls("text_id").unique("text_id", maintain_order=True)
    if wanted.is_empty():
        raise DataError(f"{file} contains no generated text: every row of that column is empty.", expected)
    labels = label_texts(classifier, wanted)
    unjudged = describe_unjudged(labels, str(classifier.fingerprint.get("name", role)))
    rows = texts.select("text_id").join(labels, on="text_id", how="left", maintain_order="left")
    absent = pl.when(texts["text_id"].is_null()).then(pl.lit(str(ResponseError.MISSING)))
    frame = frame.with_columns(rows[part].alias(f"{role}_{part}") for part in LABEL_VALUES)
    frame = frame.with_columns(pl.coalesce("error", f"{role}_error", absent).alias(f"{role}_error"))
    return frame, [unjudged] if unjudged else []


def _not_labelled(role: str) -> list[pl.Expr]:
    kinds = {
        "label": pl.String(),
        "score": pl.Float64(),
        "negative": pl.Boolean(),
        "scores": pl.List(pl.Float32),
    }
    empty = [pl.lit(None, dtype=kind).alias(f"{role}_{name}") for name, kind in kinds.items()]
    return [*empty, pl.lit(str(ResponseError.MISSING)).alias(f"{role}_error")]


def _responses(file: Source, recipe: Benchmark) -> pl.DataFrame:
    from evenhand.prompts.own_files import read_responses, read_scores

    if recipe.takes_scores:
        scores = read_scores(file, recipe.required_columns)
        if scores is not None:
            return scores
    return read_responses(file, recipe.required_columns).frame


def without_declared(table: pl.DataFrame, missing: Sequence[str], notes: list[str]) -> pl.DataFrame:
    """Return the table with the declared values as nulls.

    Parameters
    ----------
    table
        The table as it was read.
    missing
        Texts. A cell is missing if it equals one of them, ignoring case and surrounding blanks, or if it is a number
        with the same value as one of them ("-99").
    notes
        List to which a sentence is added for each text: how many cells of which columns are missing (or none).

    Raises
    ------
    UsageError
        A declared value is empty (an empty cell is missing in any case). A value that is in no cell is not an error,
        because the same command must work for a file without missing values.

    >>> notes = []
    >>> without_declared(pl.DataFrame({"pay": ["3", "k.A."]}), ["k.A."], notes)["pay"].to_list(), notes
    (['3', None], ["1 cell is read as missing, 'k.A.' (pay 1)."])
    """
    for value in missing:
        if not value.strip():
            raise UsageError(
                "`--missing` got an empty value. Empty cells always count as missing.", "Remove it."
            )
        is_value = [_find_cells(table[name], value.strip()).alias(name) for name in table.columns]
        found = {cells.name: int(cells.sum()) for cells in is_value if cells.any()}
        if not found:
            notes.append(
                f"No cell has the missing value {value.strip()!r}. Whole cells are compared, in upper or lower case."
            )
            continue
        table = table.with_columns(
            pl.when(~cells).then(pl.col(cells.name)).alias(cells.name)
            for cells in is_value
            if cells.name in found
        )
        cells = sum(found.values())
        listed = ", ".join(f"{name} {count:,}" for name, count in list(found.items())[:LISTED_COLUMNS])
        more = f" and {len(found) - LISTED_COLUMNS} more columns" if len(found) > LISTED_COLUMNS else ""
        notes.append(
            f"{cells:,} {'cell is' if cells == 1 else 'cells are'} read as missing, {value.strip()!r} "
            f"({listed}{more})."
        )
    return table


def _find_cells(values: pl.Series, value: str) -> pl.Series:
    """Return, for each value of a column, whether it is the declared value that counts as missing."""
    if values.dtype == pl.String:
        return (values.str.strip_chars().str.to_lowercase() == value.lower()).fill_null(False)
    number = _number(value)
    if number is not None and values.dtype.is_numeric():
        return (values.cast(pl.Float64) == number).fill_null(False)
    return pl.Series([False]).new_from_index(0, len(values))


def _number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None
