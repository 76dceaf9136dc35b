"""Join stored tables: the prompts of a benchmark with their likelihoods, or with continuations and labels."""

from collections.abc import Sequence

import polars as pl

from evenhand.classifiers import ClassifiedText
from evenhand.runs.conversing import list_utterances, with_contexts
from evenhand.runs.directory import RunDirectory
from evenhand.runs.labels import LABEL_VALUES, build_classified_texts
from evenhand.runs.manifest import LabelledRecord
from evenhand.runs.requests import TOKEN_COLUMNS
from evenhand.runs.shards import LABEL_PARTS, read_shards
from evenhand.schema import DataError, ResponseError

LIKELIHOOD_COLUMNS = ["log_likelihood", "token_count", "error", "detail"]
"""Columns of a response to a likelihood request."""
CONTINUATION_COLUMNS = ["text", "finish", *LIKELIHOOD_COLUMNS]
"""Columns of a response to a continuation request."""
CONTINUATION_SUFFIX = " written"  # no column of prompts ends in this


def answers(directory: RunDirectory, benchmark: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the prompts of a benchmark with the responses of a run, in the order of the prompts.

    Use it to read a stored run, complete or not.

    Parameters
    ----------
    directory : RunDirectory
        Folder of the run.
    benchmark : str
        One of `directory.benchmarks`.
    columns : sequence of str, optional
        Columns of the prompts to keep; missing ones are ignored. Default: all.

    Returns
    -------
    polars.DataFrame
        For likelihoods, one row per prompt (see `join_answers`). For continuations, one row per prompt and
        sample, with the current labels (see `join_continuations`). For conversations, one row per reply, with
        the opener as its prompt and the lines before it in `lines_before`.

    Raises
    ------
    DataError
        The prompts, a part of the responses or a label cannot be read.
    """
    asked = directory.manifest.asked.get(benchmark)
    if asked is not None and asked.decoding is not None:
        return _labelled_continuations(directory, benchmark, columns)
    keep_tokens = asked is not None and asked.keep_tokens
    wanted = [*LIKELIHOOD_COLUMNS, *TOKEN_COLUMNS] if keep_tokens else LIKELIHOOD_COLUMNS
    responses = read_shards(directory.responses_folder, wanted)
    return join_answers(directory.prompts(benchmark, columns), responses, keep_tokens=keep_tokens)


def continuations(
    directory: RunDirectory,
    benchmark: str,
    columns: Sequence[str] | None = None,
    *,
    responses: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the prompts of a benchmark with their continuations, without labels.

    Parameters
    ----------
    directory : RunDirectory
        Folder of a run, complete or not.
    benchmark : str
        A benchmark that requests continuations.
    columns : sequence of str, optional
        Columns of the prompts to keep. Default: all.
    responses : polars.DataFrame, optional
        Responses of the run, if they have already been read.

    Returns
    -------
    polars.DataFrame
        The table of `join_continuations`.

    Raises
    ------
    DataError
        The benchmark does not request continuations, or its prompts or a part of the responses cannot be
        read.
    """
    asked = directory.manifest.asked.get(benchmark)
    if asked is None or asked.decoding is None:
        raise DataError(
            f"The run {directory.path} has no generated text for {benchmark!r}.",
            f"Benchmarks with generated text: {', '.join(written_benchmarks(directory)) or 'none'}.",
        )
    if responses is None:
        responses = read_shards(directory.responses_folder, CONTINUATION_COLUMNS)
    samples = asked.decoding.get("samples")
    if type(samples) is not int or samples < 1:
        raise DataError(
            f"The manifest of {directory.path} contains an invalid number of samples for {benchmark!r}: "
            f"{samples!r}.",
            "It was changed by hand or by another program. Restore it, or start a new run.",
        )
    if asked.turns is not None and not {"conversation", "turn"} <= set(
        directory.prompts(benchmark, ["conversation", "turn"]).columns
    ):
        raise DataError(
            f"The manifest of {directory.path} states {asked.turns} turns for {benchmark!r}, but the stored prompts "
            "of this benchmark are not conversations.",
            "It was changed by hand or by another program. Restore it, or start a new run.",
        )
    if asked.turns is None or columns is None:
        frame = join_continuations(directory.prompts(benchmark, columns), responses, samples)
        return frame if asked.turns is None else with_contexts(frame)
    needed = ["conversation", "turn", "text", *columns]
    frame = join_continuations(directory.prompts(benchmark, list(dict.fromkeys(needed))), responses, samples)
    return with_contexts(frame).drop(name for name in needed[:3] if name not in columns)


def self_chats(directory: RunDirectory, benchmark: str) -> pl.DataFrame:
    """Return the conversations of a benchmark with one row per utterance, including the given openers.

    Parameters
    ----------
    directory : RunDirectory
        Folder of a run.
    benchmark : str
        A benchmark that requests conversations.

    Returns
    -------
    polars.DataFrame
        The columns of the prompts (such as `conversation`), `finish`, `error`, the columns of the
        classifiers, and:

        - `turn`: 1 is the opener;
        - `speaker`: A or B;
        - `name_in_context`: whether the speaker could still read the whole opener;
        - `text` and `continuation`: the utterance, null if it failed, which ends a conversation;
        - `lines_before`: up to four lines before it, as classifiers that read contexts get them.

    Raises
    ------
    DataError
        The benchmark does not request conversations, or see `answers`.
    """
    asked = directory.manifest.asked.get(benchmark)
    if asked is None or asked.turns is None:
        chats = sorted(name for name, one in directory.manifest.asked.items() if one.turns is not None)
        raise DataError(
            f"The run {directory.path} has no conversations of the benchmark {benchmark!r}.",
            f"Benchmarks with conversations in this run: {', '.join(chats) or 'none'}. To create some, audit the "
            "model with the suite names: evenhand audit MODEL --suite names",
        )
    return list_utterances(answers(directory, benchmark))


def written_benchmarks(directory: RunDirectory) -> list[str]:
    """Return the names of the benchmarks of a run that request continuations."""
    return sorted(name for name, asked in directory.manifest.asked.items() if asked.decoding is not None)


def judgements(
    directory: RunDirectory, benchmark: str, role: str, classifier_key: str | None = None
) -> pl.DataFrame:
    """Return the label that a classifier gave to each continuation of a benchmark.

    Use it to read labels of an earlier classifier; `answers` returns the current ones.

    Parameters
    ----------
    directory : RunDirectory
        Folder of a run.
    benchmark, role : str
        The benchmark, and what was judged, such as "toxicity".
    classifier_key : str, optional
        A classifier that judged this role, now or earlier (see `label_folders`). Default: the current one.

    Returns
    -------
    polars.DataFrame
        prompt_id, sample, judged_text, label, score, negative, scores and error, in the order of the prompts.
        If the response failed, the error is that of the response. If the text has not been judged, it is
        `missing`.

    Raises
    ------
    DataError
        No classifier of this name has judged it, or a table cannot be read.
    """
    judged = _judgement(directory, benchmark, role, classifier_key)
    rule, record = ClassifiedText(**judged.rule), directory.manifest.labels[judged.classifier]
    frame = continuations(directory, benchmark, ["prompt_id", *rule.columns])
    texts = build_classified_texts(frame, rule, reads_context=record.reads_context)
    labelled = _join_labels(frame["error"], texts, _labels(directory, judged.classifier))
    return pl.concat(
        [frame.select("prompt_id", "sample"), texts.select(judged_text="text"), labelled],
        how="horizontal",
    )


def join_answers(
    prompts: pl.DataFrame, responses: pl.DataFrame, *, keep_tokens: bool = False
) -> pl.DataFrame:
    """Join prompts with their likelihoods by `request_id`.

    Parameters
    ----------
    prompts : polars.DataFrame
        Prompts of a plan.
    responses : polars.DataFrame
        The table RESPONSES, with one row per request.
    keep_tokens : bool, default False
        Also return the token columns.

    Returns
    -------
    polars.DataFrame
        The columns of the prompts and:

        - `log_likelihood` (nats) and `token_count`;
        - `perplexity`: exp(-log_likelihood / token_count), null if there is an error;
        - `error` and `detail`. The error is `missing` if there is no row.

    Examples
    --------
    >>> prompts = pl.DataFrame({"prompt_id": ["a", "b"], "request_id": ["1", "2"]})
    >>> row = {"request_id": "1", "sample": 0, "log_likelihood": 0.0, "token_count": 2}
    >>> responses = pl.DataFrame([row | {"error": None, "detail": None}])
    >>> join_answers(prompts, responses).select("prompt_id", "perplexity", "error").rows()
    [('a', 1.0, None), ('b', None, 'missing')]
    """
    answer_columns = [*LIKELIHOOD_COLUMNS, *TOKEN_COLUMNS] if keep_tokens else LIKELIHOOD_COLUMNS
    joined = prompts.join(
        responses.select("request_id", "sample", *answer_columns),
        on="request_id",
        how="left",
        maintain_order="left",
    )
    missing = pl.col("sample").is_null()
    error = (
        pl.when(missing).then(pl.lit(str(ResponseError.MISSING))).otherwise(pl.col("error").cast(pl.String))
    )
    perplexity = (-pl.col("log_likelihood") / pl.col("token_count")).exp()
    about = [name for name in prompts.columns if name != "request_id"]
    return joined.with_columns(
        error=error, perplexity=pl.when(pl.col("error").is_null() & ~missing).then(perplexity)
    ).select(*about, "log_likelihood", "token_count", "perplexity", *answer_columns[2:])


def join_continuations(prompts: pl.DataFrame, responses: pl.DataFrame, samples: int = 1) -> pl.DataFrame:
    """Join prompts with their continuations: one row per prompt and sample, in the order of the prompts.

    Parameters
    ----------
    prompts : polars.DataFrame
        Prompts of a plan.
    responses : polars.DataFrame
        The table RESPONSES.
    samples : int, default 1
        Requested number of continuations per prompt.

    Returns
    -------
    polars.DataFrame
        The columns of the prompts, `sample`, `continuation` (null if it failed), `finish`, `log_likelihood`
        (nats), `token_count`, `error` (`missing` if there is no row) and `detail`.

    Examples
    --------
    >>> prompts = pl.DataFrame({"prompt_id": ["a", "b"], "text": ["She", "He"], "request_id": ["1", "2"]})
    >>> row = {"request_id": "1", "sample": 0, "text": " cooks.", "log_likelihood": -3.0, "token_count": 2}
    >>> responses = pl.DataFrame([row | {"finish": "end", "error": None, "detail": None}])
    >>> join_continuations(prompts, responses).select("text", "continuation", "error").rows()
    [('She', ' cooks.', None), ('He', None, 'missing')]
    """
    numbers = pl.DataFrame({"sample": range(samples)}, schema={"sample": pl.UInt16})
    written = responses.select("request_id", pl.col("sample").cast(pl.UInt16), *CONTINUATION_COLUMNS)
    joined = prompts.join(numbers, how="cross", maintain_order="left_right").join(
        written.rename({"text": "continuation"}),
        on=["request_id", "sample"],
        how="left",
        coalesce=False,  # the response's own key shows whether there is a response
        suffix=CONTINUATION_SUFFIX,
        maintain_order="left",
    )
    missing = pl.when(pl.col(f"request_id{CONTINUATION_SUFFIX}").is_null()).then(
        pl.lit(str(ResponseError.MISSING))
    )
    about = [name for name in prompts.columns if name != "request_id"]
    return joined.with_columns(error=missing.otherwise(pl.col("error").cast(pl.String))).select(
        *about, "sample", "continuation", *CONTINUATION_COLUMNS[1:]
    )


def _with_labels(directory: RunDirectory, benchmark: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Join continuations with the labels in use: `<role>_label`, `_score`, `_negative`, `_scores`, `_error`.

    frame: see `join_continuations`, with all columns that the rules need. Returns the table with five more columns per
    role. Without a label, the values are null and `<role>_error` has a code.
    """
    judged = directory.manifest.judged.get(benchmark, {})
    columns = []
    for role in judged:
        record = directory.manifest.labels[judged[role].classifier]
        texts = build_classified_texts(
            frame, ClassifiedText(**judged[role].rule), reads_context=record.reads_context
        )
        labelled = _join_labels(frame["error"], texts, _labels(directory, judged[role].classifier))
        columns += [labelled[name].alias(f"{role}_{name}") for name in LABEL_VALUES]
    return frame.with_columns(columns)


def _labelled_continuations(
    directory: RunDirectory, benchmark: str, columns: Sequence[str] | None
) -> pl.DataFrame:
    needed = _needed_columns(directory, benchmark)
    wanted = None if columns is None else list(dict.fromkeys([*columns, *needed]))
    frame = _with_labels(directory, benchmark, continuations(directory, benchmark, wanted))
    return frame if columns is None else frame.drop(name for name in needed if name not in columns)


def _needed_columns(directory: RunDirectory, benchmark: str) -> list[str]:
    """Return the columns of the prompts that are needed to make the classified texts of a benchmark."""
    rules = [
        ClassifiedText(**judged.rule) for judged in directory.manifest.judged.get(benchmark, {}).values()
    ]
    return list(dict.fromkeys(["text", *(name for rule in rules for name in rule.columns)]))


def _judgement(directory: RunDirectory, benchmark: str, role: str, key: str | None) -> LabelledRecord:
    manifest = directory.manifest
    now = manifest.judged.get(benchmark, {}).get(role)
    earlier: list[LabelledRecord] = [
        before for before in manifest.judged_before if (before.benchmark, before.role) == (benchmark, role)
    ]
    records = [*([now] if now else []), *reversed(earlier)]
    for judged in records:
        if key is None or judged.classifier == key:
            return judged
    whom = "nobody" if key is None else repr(key)
    by = ", ".join(dict.fromkeys(judged.classifier for judged in records))
    raise DataError(
        f"In the run {directory.path}, the {role} of {benchmark!r} has been classified by {by or 'no classifier'}"
        + ("." if key is None else f", but not by {whom}."),
        "Classify it with `evenhand rescore`.",
    )


def _labels(directory: RunDirectory, key: str) -> pl.DataFrame:
    return read_shards(directory.labels_folder(key), LABEL_VALUES, LABEL_PARTS)


def _join_labels(failed: pl.Series, texts: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    rows = texts.select("text_id", failed=failed).join(
        labels.with_columns(is_stored=pl.lit(True)), on="text_id", how="left", maintain_order="left"
    )
    unjudged = pl.when(pl.col("is_stored").is_null()).then(pl.lit(str(ResponseError.MISSING)))
    return rows.with_columns(
        error=pl.coalesce("failed", unjudged.otherwise(pl.col("error").cast(pl.String)))
    ).select(LABEL_VALUES)
