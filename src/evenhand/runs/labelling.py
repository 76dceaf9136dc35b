"""Label a run's continuations: each classifier labels each distinct text once, in shards, so that it can be resumed."""

import itertools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import polars as pl

from evenhand.classifiers import ClassifiedText, Classifier, Labels
from evenhand.runs.asking import RETRIED, ask_in_halves, refuse_other_kind, rows_before, text_series
from evenhand.runs.cluster import count_copies, describe_workers
from evenhand.runs.directory import RunDirectory
from evenhand.runs.environment import Environment, this_environment
from evenhand.runs.joining import CONTINUATION_COLUMNS, continuations
from evenhand.runs.labels import LABEL_VALUES, build_classified_texts, classifier_key
from evenhand.runs.manifest import ClassifierRecord, EarlierLabels, LabelledRecord
from evenhand.runs.pacing import ShardSizes, in_shards
from evenhand.runs.progress import Progress, Silence, show_progress
from evenhand.runs.shards import (
    LABEL_PARTS,
    next_number,
    read_shards,
    refuse_gone,
    set_aside_unreadable,
    write_shard,
)
from evenhand.runs.stopping import Stopping
from evenhand.schema import (
    LABELS,
    EvenhandError,
    Interrupted,
    ModelError,
    ResponseError,
    UsageError,
    WriteError,
    add_session,
    as_json,
    unknown_name,
)

NOTHING_SAID = "the classifier gave no label, no verdict and no finite score"
INFINITE = "the classifier gave infinity as a score"


@dataclass(frozen=True)
class Labelling:
    """A request for labels: the continuations of a benchmark, in one role, by one classifier."""

    benchmark: str
    role: str
    classifier: str
    """One of the names that are passed to `label`."""
    rule: ClassifiedText = field(default_factory=ClassifiedText)


@dataclass(frozen=True)
class LabelOutcome:
    """How a session of labelling ended; the result of `label`.

    Every existing continuation has a label or an error from each classifier.
    """

    texts: int
    """Number of distinct texts, summed over classifiers."""
    judged: int
    """Number of these texts that were labelled in this session."""
    seconds: float
    """Duration of this session, in seconds."""
    errors: dict[str, int]
    """Number of texts without a label by error code, in this session and earlier ones."""
    folders: dict[str, str]
    """Key of the labels of each classifier, by the name that was given."""
    notes: tuple[str, ...] = ()
    """Messages for the user, for example on parts that were set aside."""

    @property
    def error_share(self) -> float:
        """Return the share of texts that could not be classified; 0 if there are no texts."""
        return sum(self.errors.values()) / self.texts if self.texts else 0.0


@dataclass
class _Work:
    """The work of one classifier, for all names under which it was given."""

    classifier: Classifier
    labellings: list[Labelling] = field(default_factory=list)
    texts: pl.DataFrame = field(default_factory=pl.DataFrame)
    judged: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def label(
    directory: RunDirectory,
    wanted: Sequence[Labelling],
    classifiers: Mapping[str, Classifier],
    *,
    progress: Progress | None = None,
    shard_seconds: float = 30.0,
    first_shard: int = 256,
    max_shard: int = 32768,
    retry_errors: bool = False,
) -> LabelOutcome:
    """Classify all continuations of a run that have no label yet, and make these labels the current ones.

    Responses are never changed, and earlier labels are kept. Continuations that failed or are missing get no
    label. New labels become current only when all texts have one. If the call is stopped, the earlier ones
    stay.

    Parameters
    ----------
    directory : RunDirectory
        Folder of a run with continuations.
    wanted : sequence of Labelling
        Each benchmark and role once.
    classifiers : mapping of str to Classifier
        Classifiers by the names that `wanted` uses.
    progress, shard_seconds, first_shard, max_shard
        As in `execute`, but shards are counted in texts.
    retry_errors : bool, default False
        Classify texts again if the classifier failed (not if the text is invalid).

    Notes
    -----
    The function returns once every text has a row. You can resume after the errors Interrupted (Ctrl-C or
    SIGTERM), WriteError, and those of a classifier. Raises UsageError if a classifier is missing or another
    process works on the run. Raises DataError if there are no such continuations, their texts cannot be made,
    or parts are removed meanwhile. Raises ModelError if a classifier fails on every text.
    """
    began = time.monotonic()
    progress, sizes = progress or Silence(), ShardSizes(first_shard, max_shard, shard_seconds)
    with directory.lock(), Stopping() as stopping:
        answered = _count_responses(directory)
        work = _work(directory, wanted, classifiers)
        environment = this_environment()
        for key, its in work.items():
            with _record_labelling(directory, key, its, environment):
                _label_all(
                    directory, directory.labels_folder(key), its, stopping, progress, sizes, retry_errors
                )
            for labelling in its.labellings:
                _make_current(directory, labelling, key)
            directory.save()
        refuse_gone(answered - _count_responses(directory), "requests", directory.responses_folder)
    errors = sum((Counter(its.errors) for its in work.values()), Counter[str]())
    return LabelOutcome(
        texts=sum(its.texts.height for its in work.values()),
        judged=sum(its.judged for its in work.values()),
        seconds=time.monotonic() - began,
        errors=dict(sorted(errors.items())),
        folders={labelling.classifier: key for key, its in work.items() for labelling in its.labellings},
        notes=tuple(note for its in work.values() for note in its.notes),
    )


def _work(
    directory: RunDirectory, wanted: Sequence[Labelling], classifiers: Mapping[str, Classifier]
) -> dict[str, _Work]:
    _check(directory, wanted, classifiers)
    work: dict[str, _Work] = {}
    for labelling in wanted:
        classifier = classifiers[labelling.classifier]
        work.setdefault(classifier_key(classifier), _Work(classifier)).labellings.append(labelling)
    responses = read_shards(directory.responses_folder, CONTINUATION_COLUMNS)
    for its in work.values():
        texts = []
        for labelling in its.labellings:
            rule = labelling.rule
            frame = continuations(directory, labelling.benchmark, rule.columns, responses=responses)
            judged = build_classified_texts(frame, rule, reads_context=its.classifier.reads_context)
            texts.append(judged.drop_nulls("text_id"))
        length = pl.col("text").str.len_bytes() + pl.col("context").str.len_bytes().fill_null(0)
        # longest first, so that texts that do not fit in memory show at once; the id makes the order unique
        its.texts = pl.concat(texts).unique("text_id").sort([length, "text_id"], descending=[True, False])
    return work


def _check(
    directory: RunDirectory, wanted: Sequence[Labelling], classifiers: Mapping[str, Classifier]
) -> None:
    seen = set()
    for labelling in wanted:
        if labelling.classifier not in classifiers:
            raise unknown_name("classifier", labelling.classifier, classifiers)
        place = (labelling.benchmark, labelling.role)
        if place in seen:
            raise UsageError(
                f"Two classifiers were given for the {labelling.role} of {labelling.benchmark!r}.",
                "A run uses one classifier per role. Run with one, then add the other with `evenhand rescore`.",
            )
        seen.add(place)
        columns = [f"{labelling.role}_{name}" for name in LABEL_VALUES]
        if labelling.benchmark not in directory.benchmarks:
            continue  # the error that lists the benchmarks is raised when the texts are made
        if taken := directory.prompts(labelling.benchmark, columns).columns[1:]:
            raise UsageError(
                f"The prompts of {labelling.benchmark!r} have a column {taken[0]!r}, which is reserved for the "
                f"classifier of the role {labelling.role}.",
                "Rename the role or the column.",
            )


def _count_responses(directory: RunDirectory) -> int:
    return read_shards(directory.responses_folder, []).height


def _label_all(
    directory: RunDirectory,
    folder: Path,
    its: _Work,
    stopping: Stopping,
    progress: Progress,
    sizes: ShardSizes,
    retry_errors: bool,
) -> None:
    its.notes = set_aside_unreadable(folder, LABEL_PARTS)
    stored = read_shards(folder, ["error"], LABEL_PARTS)
    answered = stored["error"].null_count() > 0
    if retry_errors:
        stored = stored.filter(~pl.col("error").is_in(RETRIED).fill_null(False))
    pending = its.texts.join(stored, on="text_id", how="anti", maintain_order="left")
    numbers = itertools.count(next_number(folder))

    def ask(texts: pl.DataFrame) -> pl.DataFrame:
        return label_texts(its.classifier, texts)

    def store(rows: pl.DataFrame) -> None:
        directory.check_in_place()
        write_shard(folder, next(numbers), rows, LABEL_PARTS)

    copies = count_copies(its.classifier)
    sizes = replace(sizes, first=sizes.first * copies, largest=sizes.largest * copies)
    total = its.texts.height
    with show_progress(progress, total, total - pending.height, "texts") as bar:
        for note in [*its.notes, *([f"classified by {unquote(folder.name)}"] if pending.height else [])]:
            bar.note(note)
        for texts, rows in in_shards(pending, ask, store, stopping, sizes, answered):
            its.judged += texts.height
            bar.advance(texts.height, 0, rows.height - rows["error"].null_count())
    there = read_shards(folder, ["error"], LABEL_PARTS)
    refuse_gone(its.texts.join(there, on="text_id", how="anti").height, "texts", folder)


@contextmanager
def _record_labelling(
    directory: RunDirectory, key: str, its: _Work, environment: Environment
) -> Iterator[None]:
    began, manifest = time.monotonic(), directory.manifest
    before = manifest.labels[key].description if key in manifest.labels else {}
    at_start = as_json(its.classifier.describe())
    record = manifest.labels.setdefault(
        key,
        ClassifierRecord(
            fingerprint=as_json(its.classifier.fingerprint),
            description=add_session({}, at_start, at_start),
            labels=its.classifier.labels,
            reads_context=its.classifier.reads_context,
        ),
    )
    record.environment = environment
    directory.save()
    whole = False
    try:
        yield
        whole = True
    except KeyboardInterrupt as stop:
        raise Interrupted(
            f"Stopped with {its.judged:,} texts classified by {unquote(key)} in this session. All results so far "
            "are saved.",
            f"To classify the rest: evenhand audit {directory.path} (or the same `evenhand rescore` command)",
        ) from stop
    finally:
        seconds = time.monotonic() - began
        stored = read_shards(directory.labels_folder(key), ["error"], LABEL_PARTS)
        record.texts, record.errors = stored.height, _by_code(stored)
        record.seconds += seconds
        record.workers = describe_workers(its.classifier)
        if its.judged or not record.description:
            # a session that labelled nothing must not replace results of an earlier one, such as self-agreement
            at_end = as_json(its.classifier.describe())
            record.description = add_session(before, at_start, at_end)
            every_text_counts = at_end.get("texts", 0) - at_start.get("texts", 0) == its.judged
            if every_text_counts and (lost := record.texts - record.description["texts"]) > 0:
                # a killed session stored labels but could not write its counts
                record.description |= {"texts": record.texts, "texts_of_killed_sessions": lost}
        manifest.timings["labels"] = manifest.timings.get("labels", 0.0) + seconds
        its.errors = _by_code(stored.join(its.texts, on="text_id", how="semi"))
        try:
            directory.save()
        except WriteError:
            # on a full disk the manifest cannot be written either; the error is raised elsewhere
            if whole:
                raise


def _by_code(rows: pl.DataFrame) -> dict[str, int]:
    return dict(sorted(rows["error"].drop_nulls().value_counts().rows()))


def _make_current(directory: RunDirectory, labelling: Labelling, key: str) -> None:
    manifest = directory.manifest
    roles = manifest.judged.setdefault(labelling.benchmark, {})
    now = LabelledRecord(classifier=key, rule=as_json(labelling.rule.parameters()))
    before = roles.get(labelling.role)
    if before is not None and before != now:
        manifest.judged_before.append(
            EarlierLabels(benchmark=labelling.benchmark, role=labelling.role, **before.model_dump())
        )
    roles[labelling.role] = now


def label_texts(classifier: Classifier, texts: pl.DataFrame) -> pl.DataFrame:
    """Classify texts and return one row per text; a text on which the classifier fails gets a row with an error.

    `texts` has the columns text_id, text and context (null if there is none). The result is a table LABELS,
    in another order if a batch failed. Raises EvenhandError as the classifier does, and ModelError if it
    fails on every text.
    """

    def rows(batch: pl.DataFrame, judgements: Labels) -> pl.DataFrame:
        return label_rows(batch, judgements, classifier.labels)

    def ask(batch: pl.DataFrame) -> pl.DataFrame:
        contexts = batch["context"].to_list() if batch["context"].null_count() < batch.height else None
        try:
            return rows(batch, classifier.classify(batch["text"].to_list(), contexts))
        except EvenhandError as error:
            rows_before(error, batch, classifier, rows)
            raise

    return ask_in_halves(texts, ask, _failed_rows, asked=classifier, code=ResponseError.CLASSIFIER_ERROR)


def label_rows(texts: pl.DataFrame, judgements: Labels, labels: tuple[str, ...]) -> pl.DataFrame:
    """Return the results of a classifier as rows of labels.

    A score that is NaN becomes null. A row without any value, or with infinity, is `not_finite`.

    texts: n rows with a text_id. judgements: of the same n texts. labels: labels of the classifier. Returns a table
    LABELS with n rows. Raises ModelError if the result does not have the required shape.
    """
    _check_shape(texts.height, judgements, labels)
    scores = np.asarray(judgements.scores, dtype=np.float32)
    score = np.asarray(judgements.score, dtype=np.float64)
    rows = pl.DataFrame(
        {
            "text_id": texts["text_id"],
            "label": pl.Series(judgements.labels, dtype=pl.String),
            "score": pl.Series(score).fill_nan(None),
            "negative": pl.Series(judgements.negative, dtype=pl.Boolean),
            "error": pl.Series(judgements.errors, dtype=pl.String),
            "detail": text_series(judgements.details or [None] * len(judgements)),
            "infinite": np.isinf(scores).any(axis=1) | np.isinf(score),
            "scored": np.isfinite(scores).any(axis=1),
        }
    )
    # flat values and offsets in one step, because lists of 217 style scores per row would be slow
    lists = pl.Series("scores", scores).arr.to_list() if scores.shape[1] else pl.Series([[]] * len(score))
    rows = rows.with_columns(scores=lists.cast(pl.List(pl.Float32)).list.eval(pl.element().fill_nan(None)))
    good = pl.col("error").is_null()
    infinite = good & pl.col("infinite")
    silent = good & pl.all_horizontal(pl.col("label", "score", "negative").is_null()) & ~pl.col("scored")
    wrong = pl.when(infinite | silent).then(pl.lit(str(ResponseError.NOT_FINITE)))
    reason = pl.when(infinite).then(pl.lit(INFINITE)).when(silent).then(pl.lit(NOTHING_SAID))
    rows = rows.with_columns(error=wrong.otherwise("error"), detail=reason.otherwise("detail"))
    values = [pl.when(good).then(name).alias(name) for name in ("label", "score", "negative", "scores")]
    return _as_labels(rows.with_columns(values))


def _failed_rows(text: pl.DataFrame, code: str, message: str) -> pl.DataFrame:
    return _as_labels(text.select("text_id", error=pl.lit(code), detail=pl.lit(message)))


def _as_labels(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        pl.col(name).cast(kind) if name in rows.columns else pl.lit(None, dtype=kind).alias(name)
        for name, kind in LABELS.items()
    )


def _check_shape(n: int, judgements: Labels, labels: tuple[str, ...]) -> None:
    refuse_other_kind(judgements, Labels)
    columns = (judgements.labels, judgements.score, judgements.negative, judgements.errors)
    agree = all(len(column) == n for column in columns) and len(judgements.details) in (0, n)
    if not agree or judgements.scores.shape != (n, len(labels)):
        raise ModelError(
            f"The classifier returned {len(judgements)} rows for {n} texts, with scores of shape "
            f"{judgements.scores.shape}.",
            f"A classifier must return {n} rows with one score for each of the {len(labels)} labels "
            "(evenhand.classifiers.contract).",
        )
