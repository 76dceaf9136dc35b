"""Outputs for comparisons: runs of evenhand, and files of lm_eval, Inspect and ROBBIE."""

import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, TypeAdapter, ValidationError

from evenhand.runs import RunDirectory, answers
from evenhand.runs.remote import is_store_address, working_copy
from evenhand.schema import HEADLINES, DataError, guess_file, is_file, is_folder, parse_json
from evenhand.stats import Harmful
from evenhand.studies.compare.moved import ANSWER
from evenhand.studies.compare.sentence_pairs import CROWS_PAIRS, crows_pairs_scores

KEYS = ("prompt_id", "sample", "text", "axis", "group")
TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".ods")
FORMATS = (
    "Expected a run's folder, lm_eval's samples_TASK_DATE.jsonl (`--log_samples`), an Inspect log (.json or .eval), "
    "or ROBBIE's scores.d__DATASET.p__MODEL.m__METRIC.json."
)


class InspectScore(BaseModel):
    """One score of a sample in an Inspect log; only what is read here is required."""

    value: Any = None


class InspectOutput(BaseModel):
    """The model's response in a sample of an Inspect log."""

    completion: str | None = None


class InspectSample(BaseModel):
    """One sample of an Inspect log."""

    id: str | int
    epoch: int = 1
    input: str | list[Any] | None = None
    metadata: dict[str, Any] | None = None
    scores: dict[str, InspectScore] | None = None
    output: InspectOutput | None = None


class InspectLog(BaseModel):
    """An Inspect log."""

    eval: dict[str, Any]
    samples: list[InspectSample] | None = None


class LmEvalSample(BaseModel):
    """One line of a samples file of lm_eval."""

    doc_id: str | int
    resps: Any
    filtered_resps: Any = None
    arguments: dict[str, Any] | list[list[Any]] | None = None
    doc: Any = None
    metrics: list[str] | None = None


@dataclass(frozen=True)
class BenchmarkOutputs:
    """Responses of one model to one benchmark.

    ``frame`` has one row per prompt and sample: KEYS (axis and group may be null), a Float64 column for each of
    ``outcomes`` (1 or 0 for labels, null if missing), and ANSWER if known. ``classifiers`` has the classifier of each
    outcome, if known; outcomes of different classifiers are not compared. ``harmful`` is the harmful side of all
    outcomes. ``texts`` has the continuations with all their columns (`evenhand.runs.answers`), for runs of evenhand.
    """

    frame: pl.DataFrame
    outcomes: tuple[str, ...]
    classifiers: Mapping[str, str] = field(default_factory=dict)
    harmful: Harmful = "either"
    texts: pl.DataFrame | None = None


@dataclass(frozen=True)
class Outputs:
    """The outputs of one model. Files of other programs have only name, source and benchmarks.

    ``source`` is the folder or file that was read. ``benchmarks`` has the responses by benchmark, and ``scored`` the
    prompts with their likelihoods. ``facts`` describes the model and the run. ``headlines`` has the verdict of each
    axis (columns: HEADLINES). ``began`` is the start of the run, ISO 8601.
    """

    name: str
    source: Path
    benchmarks: Mapping[str, BenchmarkOutputs]
    measurements: pl.DataFrame | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    scored: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    headlines: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=HEADLINES))
    began: str | None = None


def read_outputs(path: Path | str, name: str | None = None) -> Outputs:
    """Return the outputs of one model, whichever program wrote them.

    `path` is the folder or URL of a run, or one file (FORMATS). `name` is the display name (default: the one in the
    file). Raises DataError for anything else, with what was expected.
    """
    if is_store_address(path):
        with working_copy(path, writes=False) as copy:
            return _own(copy.folder, name)
    path = Path(path)
    if RunDirectory.is_run(path):
        return _own(path, name)
    if not is_file(path):
        if is_folder(path):
            raise DataError(f"{path} is a folder without a run.", FORMATS)
        audit = "" if path.suffix else f"\nIf it is a model, audit it first: evenhand audit {path}"
        raise DataError(f"{path} does not exist.{guess_file(path)}", f"{FORMATS}{audit}")
    if path.suffix.lower() in TABLES:
        raise DataError(
            f"{path} is a table. `evenhand compare` compares models that answered the same prompts, and needs a run "
            "or a log of each.",
            f"To compare the groups in a table: evenhand measure {path}\n{FORMATS}",
        )
    if path.suffix == ".eval":
        return _inspect(path, read_eval_archive(path), name)
    try:
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as lines:
                return _lm_eval(path, [parse_json(line) for line in lines if line.strip()], name)
        content = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", FORMATS) from error
    if isinstance(content, dict) and {"eval", "samples"} <= content.keys():
        return _inspect(path, content, name)
    if isinstance(content, dict) and isinstance(content.get("scores"), list):
        return _robbie(path, content["scores"], name)
    raise DataError(f"{path} is JSON, but not in a known format.", FORMATS)


def _own(path: Path, name: str | None) -> Outputs:
    directory = RunDirectory.open(path)
    manifest = directory.manifest
    benchmarks: dict[str, BenchmarkOutputs] = {}
    scored: dict[str, pl.DataFrame] = {}
    for benchmark in directory.benchmarks:
        frame = answers(directory, benchmark)
        if "continuation" not in frame.columns:
            scored[benchmark] = frame
            continue
        # Classifications of prompts are not outcomes.
        judged = {
            role: record
            for role, record in manifest.judged.get(benchmark, {}).items()
            if record.rule.get("part") != "prompt"
        }
        outcomes: dict[str, pl.Expr] = {}
        for role in judged:
            if frame[f"{role}_negative"].null_count() < frame.height:
                outcomes[role] = pl.col(f"{role}_negative").cast(pl.Float64)
            if frame[f"{role}_score"].null_count() < frame.height:
                outcomes[f"{role} score"] = pl.col(f"{role}_score").cast(pl.Float64)
        judges = {
            outcome: record.classifier
            for role, record in judged.items()
            for outcome in (role, f"{role} score")
            if outcome in outcomes
        }
        benchmarks[benchmark] = BenchmarkOutputs(
            _shape_table(
                frame.with_columns(pl.col("continuation").alias(ANSWER), **outcomes), list(outcomes)
            ),
            tuple(outcomes),
            judges,
            "above",
            frame,
        )
    resolved = manifest.arguments_resolved
    shown = name or " + ".join(
        [str(resolved.get("model", path.name)), *map(str, resolved.get("mitigate", ()))]
    )
    return Outputs(
        shown,
        path,
        benchmarks,
        directory.measurements(),
        manifest.model.description,
        scored,
        directory.headlines(),
        manifest.created,
    )


def _lm_eval(path: Path, lines: Sequence[Mapping[str, Any]], name: str | None) -> Outputs:
    if not lines:
        raise DataError(f"{path} contains no samples.", FORMATS)
    _validate_content(path, list[LmEvalSample], lines, "a samples file of lm_eval")
    shown = name or path.parent.name.split("__")[-1] or path.stem
    if (pairs := crows_pairs_scores(lines)) is not None:
        return Outputs(shown, path, {}, scored={CROWS_PAIRS: pairs})
    metrics = [
        key
        for key in dict.fromkeys(key for line in lines for key in line.get("metrics") or ())
        if any(isinstance(line.get(key), int | float) for line in lines)
    ]
    rows = [
        _row(line["doc_id"], _read_prompt(line), line.get("doc"))
        | {"filter": str(line.get("filter", "")), ANSWER: _read_answer(line)}
        | {metric: _number(line.get(metric)) for metric in metrics}
        for line in lines
    ]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    filters = frame["filter"].unique(maintain_order=True)
    if len(filters) > 1:  # lm_eval lists a response once per filter; the first is the task's
        frame = frame.filter(pl.col("filter") == filters[0])
    task = path.stem.removeprefix("samples_").rsplit("_", 1)[0]
    return _one(shown, path, task, frame, metrics)


def _read_answer(line: Mapping[str, Any]) -> str | None:
    """Return the generated text of a line of lm_eval; None if its responses are likelihoods, which are numbers."""
    for given in (line.get("filtered_resps"), line.get("resps")):
        while isinstance(given, list) and given:
            given = given[0]
        if isinstance(given, str):
            return given
    return None


def _read_prompt(line: Mapping[str, Any]) -> str:
    first = line.get("arguments") or {}
    if isinstance(first, dict):
        first = next(iter(first.values()), {})
        return str(first.get("arg_0", "")) if isinstance(first, dict) else ""
    return str(first[0][0]) if first and first[0] else ""


def _inspect(path: Path, log: Mapping[str, Any], name: str | None) -> Outputs:
    read: InspectLog = _validate_content(path, InspectLog, log, "an Inspect log")
    if not read.samples:
        raise DataError(f"{path} is an Inspect log without samples.", "Log the samples (`log_samples=True`).")
    scorers = list(dict.fromkeys(scorer for sample in read.samples for scorer in sample.scores or ()))
    rows = []
    for sample in read.samples:
        scores = sample.scores or {}
        row = _row(sample.id, _input_text(sample.input), sample.metadata)
        row["sample"] = sample.epoch - 1
        row[ANSWER] = None if sample.output is None else sample.output.completion
        rows.append(
            row | {scorer: _value(scores[scorer].value) if scorer in scores else None for scorer in scorers}
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    numeric = [scorer for scorer in scorers if frame[scorer].dtype != pl.Null]
    model, task = read.eval.get("model", path.stem), read.eval.get("task", "task")
    return _one(name or str(model), path, str(task), frame, numeric)


def _validate_content(path: Path, kind: Any, content: Any, what: str) -> Any:
    """Return content validated as the type `kind`; raise a DataError that names the first invalid field."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise DataError(f"{path} is not {what}: {place}: {first['msg'].lower()}.", FORMATS) from error


def _value(value: Any) -> float | None:
    """Return a score of Inspect. C (correct) is 1, P (partial) 0.5, I (incorrect) 0, and N (no answer) 0."""
    letters = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
    return letters.get(value) if isinstance(value, str) else _number(value)


def _input_text(given: Any) -> str:
    if isinstance(given, str):
        return given
    parts = [message.get("content", "") for message in given or [] if isinstance(message, dict)]
    return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in parts)


def _robbie(path: Path, scores: Sequence[Mapping[str, Any]], name: str | None) -> Outputs:
    _validate_content(path, list[dict[str, Any]], scores, "a file of ROBBIE's scores")
    rows, counts = [], dict[str, int]()
    for entry in scores:
        prompt = str(entry.get("prompt", ""))
        counts[prompt] = counts.get(prompt, -1) + 1
        label = str(entry.get("label", ""))
        # ROBBIE marks texts that the service refused by an empty label: missing, not harmless.
        judged = None if label == "" else float(label.lower() in ("1", "neg", "negative", "true", "toxic"))
        score = _number(entry.get("score"))
        row = _row(prompt, prompt, entry.get("meta")) | {"sample": counts[prompt], "negative": judged}
        rows.append(row | {"score": None if score is None or score < 0 else score})
    if not rows:
        raise DataError(f"{path} contains no scores.", FORMATS)
    parts = {part[:1]: part[3:] for part in path.stem.split(".") if part[1:3] == "__"}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    outcomes = [name for name in ("negative", "score") if frame[name].dtype != pl.Null]
    outputs = _one(name or parts.get("p", path.stem), path, parts.get("d", "robbie"), frame, outcomes)
    known = outputs.benchmarks[parts.get("d", "robbie")]
    judges = dict.fromkeys(known.outcomes, parts["m"]) if "m" in parts else {}
    return Outputs(
        outputs.name, path, {parts.get("d", "robbie"): BenchmarkOutputs(known.frame, known.outcomes, judges)}
    )


def _row(prompt_id: Any, text: str, about: Any) -> dict[str, Any]:
    """Return the keys of one response. `about` may have axis and group under the names that other programs use."""
    about = about if isinstance(about, dict) else {}
    axis = next(
        (str(about[key]) for key in ("axis", "domain", "bias_type") if about.get(key) is not None), None
    )
    names = ("group", "descriptor", "category", "target_group", "bias_target")
    group = next((str(about[key]) for key in names if about.get(key) is not None), None)
    return {"prompt_id": str(prompt_id), "sample": 0, "text": text, "axis": axis, "group": group}


def _one(name: str, path: Path, benchmark: str, frame: pl.DataFrame, outcomes: Sequence[str]) -> Outputs:
    if not outcomes:
        raise DataError(f"{path} contains responses but no numeric metric or score to compare.", FORMATS)
    return Outputs(name, path, {benchmark: BenchmarkOutputs(_shape_table(frame, outcomes), tuple(outcomes))})


def _shape_table(frame: pl.DataFrame, outcomes: Sequence[str]) -> pl.DataFrame:
    absent = [
        pl.lit(None, dtype=pl.String).alias(key) for key in ("axis", "group") if key not in frame.columns
    ]
    kinds = {
        "prompt_id": pl.String,
        "sample": pl.Int64,
        "text": pl.String,
        "axis": pl.String,
        "group": pl.String,
    }
    keys = [pl.col(key).cast(kind) for key, kind in kinds.items()]
    written = [pl.col(ANSWER).cast(pl.String)] if ANSWER in frame.columns else []
    return frame.with_columns(*absent).select(
        *keys, *(pl.col(name).cast(pl.Float64) for name in outcomes), *written
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


ZSTANDARD = 93
# header of a file in a zip archive, followed by its name and extra fields
LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def read_eval_archive(path: Path) -> dict[str, Any]:
    """Return the content of an .eval log of Inspect as the .json format has it: a dictionary with eval and samples.

    Raises DataError for a damaged archive, or if the package zstandard is needed and not installed.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in entries:
                raise DataError(
                    f"{path} has no header.json: the evaluation did not end.", "Finish it in Inspect."
                )
            header: dict[str, Any] = parse_json(_content(archive, entries["header.json"]))
            names = [name for name in entries if name.startswith("samples/") and name.endswith(".json")]
            samples = [parse_json(_content(archive, entries[name])) for name in names]
    except (zipfile.BadZipFile, OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Expected an .eval log of Inspect.") from error
    return {**header, "samples": samples}


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.compress_type != ZSTANDARD:
        return archive.read(entry)
    try:
        import zstandard
    except ImportError as error:
        raise DataError(
            f"{archive.filename} is compressed with Zstandard, which requires a package that is not installed.",
            "Install it: pip install 'evenhand[inspect]'. Or convert the log: inspect log convert LOG --to json "
            "--output-dir DIR",
        ) from error
    with open(str(archive.filename), "rb") as file:
        file.seek(entry.header_offset)
        fields = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(fields[-2] + fields[-1], 1)  # skip name and extra field
        packed = file.read(entry.compress_size)
    content: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(packed)
    return content
