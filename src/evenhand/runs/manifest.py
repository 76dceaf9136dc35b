"""The record of a run, manifest.json: what was measured, and how."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from evenhand.classifiers import ClassifiedText
from evenhand.models import LanguageModel
from evenhand.runs.environment import Environment
from evenhand.runs.requests import (
    GenerateRequest,
    Request,
    ScoreRequest,
    count_rounds,
    fingerprint_digest,
)
from evenhand.schema import DataError, ResumeRefused, as_json, parse_json, write_json

CHANGED = "It was changed by hand or by another program. Restore it, or start a new run."
VERSION = 2
"""Version of the format. Version 1 had no decodings, labels and judgements."""
Status = Literal["running", "complete", "failed", "interrupted"]


CLASSIFIED_TEXT = TypeAdapter(ClassifiedText)


class Record(BaseModel):
    """Base class of all parts of the manifest; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class ModelRecord(Record):
    """The model of a run."""

    fingerprint: dict[str, Any] = Field(default_factory=dict)
    digest: str = ""
    """Digest of the fingerprint (64 hexadecimal characters), a part of every request key."""
    description: dict[str, Any] = Field(default_factory=dict)
    """`LanguageModel.describe()` after the last session, with counts summed over sessions: the
    scoring path and why, batch history.
    """
    tokenizer_hash: str | None = None
    dtype: str | None = None
    device: str | None = None

    @classmethod
    def from_model(cls, model: LanguageModel) -> Self:
        fingerprint, description = as_json(model.fingerprint), as_json(model.describe())
        return cls(
            fingerprint=fingerprint,
            digest=fingerprint_digest(fingerprint),
            description=description,
            tokenizer_hash=_first([fingerprint, description], "tokenizer_hash", "tokenizer"),
            dtype=_first([fingerprint, description], "dtype"),
            device=_first([description, fingerprint], "device"),
        )


class PromptSetRecord(Record):
    """The prompts of a benchmark in a run."""

    content_hash: str
    rows: int
    card: dict[str, str] = Field(default_factory=dict)
    own: str = ""
    """Name in reports if the prompts are the user's (`PromptSet.own`)."""


class AskedRecord(Record):
    """How a benchmark's prompts were sent to the model."""

    prompts: int
    masking: str | None = None
    keep_tokens: bool = False
    decoding: dict[str, Any] | None = None
    """`Decoding.parameters()` of continuations; None if prompts are scored."""
    turns: int | None = None
    """Number of utterances of a conversation, including its opener; None if the prompts are not openers."""
    speaker: dict[str, Any] | None = None
    """Fingerprint of the speaker in conversations: the model's, and the format in which it receives them."""

    @classmethod
    def from_request(cls, prompts: int, request: Request, speaker: Mapping[str, Any] | None = None) -> Self:
        """Return the record of a request. prompts: number of prompts. speaker: fingerprint of
        the model that replies, if any.
        """
        if isinstance(request, ScoreRequest):
            return cls(prompts=prompts, masking=request.masking, keep_tokens=request.keep_tokens)
        decoding = as_json(request.decoding.parameters())
        if isinstance(request, GenerateRequest):
            return cls(prompts=prompts, decoding=decoding)
        told_by = as_json(speaker or {})
        return cls(
            prompts=prompts * count_rounds(request), decoding=decoding, turns=request.turns, speaker=told_by
        )


class ClassifierRecord(Record):
    """A classifier of a run, stored under the name of the folder with its labels."""

    fingerprint: dict[str, Any]
    description: dict[str, Any]
    """`Classifier.describe()` after the last session, with counts summed over sessions."""
    labels: tuple[str, ...]
    """Names of the columns of `scores`."""
    reads_context: bool = False
    """Whether a label depends on the text before the classified one."""
    texts: int = 0
    """Number of distinct classified texts."""
    errors: dict[str, int] = Field(default_factory=dict)
    """Number of these texts without a label, by error code."""
    seconds: float = 0.0
    """Duration in seconds, summed over sessions."""
    environment: Environment | None = None
    """Environment of the last session."""
    workers: dict[str, Any] | None = None
    """Workers of the last session: see `Session.workers`."""


class LabelledRecord(Record):
    """Record of how one classifier role of a benchmark, such as "toxicity", was filled in a run.

    It states whose labels are used, and whether the classifier read the response alone or after its prompt.
    """

    classifier: str
    """A key of `Manifest.labels`."""
    rule: dict[str, Any]
    """Parameters of the rule, from `ClassifiedText.parameters()`."""

    @field_validator("rule")
    @classmethod
    def _check_rule(cls, rule: dict[str, Any]) -> dict[str, Any]:
        # as JSON, because strict validation of Python objects refuses a mapping
        CLASSIFIED_TEXT.validate_json(json.dumps(rule), strict=True)
        return rule


class EarlierLabels(LabelledRecord):
    """Labels that were replaced by others; they are still stored."""

    benchmark: str
    role: str


class SessionRecord(Record):
    """One start or resume of the run."""

    started: str
    """ISO 8601, UTC."""
    pid: int
    environment: Environment
    ended: str | None = None
    """None: the session is running, or was killed before it could record its end."""
    status: Status = "running"
    requests_before: int = 0
    """Number of requests with responses when the session began."""
    requests_after: int = 0
    requests_not_counted: int = 0
    """Requests that a killed session stored, and that neither its counts nor those of the model include."""
    tokens: int = 0
    seconds: float = 0.0
    shards: int = 0
    notes: list[str] = Field(default_factory=list)
    """Parts that were set aside, and the message of the error that ended the session."""
    workers: dict[str, Any] | None = None
    """Workers of the cluster that ran the model: their number, their machines, and those that died."""


class MitigationRecord(Record):
    """A mitigation of the model of a run."""

    name: str
    words: str
    """The text with which the user named it."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Everything that determines its effect; part of the model's fingerprint."""
    card: dict[str, str] = Field(default_factory=dict)


class ReadArguments(BaseModel):
    """Types of the resolved arguments that reports, comparisons and other studies read from a finished run.

    The others are checked when a run is resumed or rescored (`stored_config`).
    """

    model_config = ConfigDict(strict=True)

    model: str | None = None
    prompts: str | None = None
    reference: str | None = None
    mitigate: list[str] = Field(default_factory=list)
    alpha: float = Field(default=0.05, gt=0, lt=1)


class Manifest(Record):
    """The complete record of a run."""

    version: int = VERSION
    created: str
    status: Status = "running"
    """Status of the responses: complete once every request has a row."""
    arguments_given: dict[str, Any] = Field(default_factory=dict)
    """Arguments as the user wrote them. A later session adds its arguments, and replaces those given again."""
    arguments_resolved: dict[str, Any] = Field(default_factory=dict)
    """Arguments with all defaults. To resume a run, they must be the same."""
    model: ModelRecord = Field(default_factory=ModelRecord)
    mitigations: list[MitigationRecord] = Field(default_factory=list)
    """Mitigations in the order of application."""
    prompt_sets: dict[str, PromptSetRecord] = Field(default_factory=dict)
    """Prompt sets by benchmark."""
    asked: dict[str, AskedRecord] = Field(default_factory=dict)
    """Kind of request by benchmark; written by the engine."""
    labels: dict[str, ClassifierRecord] = Field(default_factory=dict)
    """Classifiers by folder: `<name>@<first 12 hex characters of the fingerprint's digest>`."""
    judged: dict[str, dict[str, LabelledRecord]] = Field(default_factory=dict)
    """Labels in use, by benchmark and role."""
    details: dict[str, dict[str, dict[str, str]]] = Field(default_factory=dict)
    """Columns of the detail tables and their types, by benchmark and table."""
    judged_before: list[EarlierLabels] = Field(default_factory=list)
    """Labels that were in use before, oldest first."""
    benchmark_cards: dict[str, dict[str, str]] = Field(default_factory=dict)
    seeds: dict[str, int] = Field(default_factory=dict)
    requests: int = 0
    """Number of distinct requests."""
    errors: dict[str, int] = Field(default_factory=dict)
    """Number of failed rows by error code."""
    timings: dict[str, float] = Field(default_factory=dict)
    """Duration in seconds by stage, summed over sessions."""
    sessions: list[SessionRecord] = Field(default_factory=list)

    @field_validator("arguments_resolved")
    @classmethod
    def _check_arguments(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        ReadArguments.model_validate(arguments)
        return arguments

    def write(self, path: Path) -> None:
        """Replace the file at `path` atomically. Raises WriteError."""
        write_json(path, self.model_dump(mode="json"))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a manifest. Raise DataError if it is missing, damaged, or of a newer version of evenhand."""
        try:
            content = parse_json(path.read_text(encoding="utf-8"))
            version = content["version"]
        except FileNotFoundError as error:
            raise DataError(
                f"{path} does not exist.", "Give a run folder, as created by `evenhand audit`."
            ) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{path} is not a manifest: {error or type(error).__name__}.",
                "The responses in the same folder are intact. Start a new run, or restore the file from a copy.",
            ) from error
        if type(version) is not int or not 1 <= version <= VERSION:
            raise DataError(
                f"{path} has format version {version}, but this evenhand reads versions up to {VERSION}.",
                "It was written by a newer evenhand (update with `pip install --upgrade evenhand`), or changed by "
                "hand.",
            )
        try:
            manifest = cls.model_validate({**content, "version": VERSION})
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"])
            raise DataError(
                f"{path} is not a valid manifest: {where}: {first['msg']}.",
                CHANGED,
            ) from error
        if wrong := manifest._wrong_labels():
            raise DataError(f"{path} {wrong}.", CHANGED)
        return manifest

    def _wrong_labels(self) -> str | None:
        """Return in words what is invalid in the records of labels, or None; the file may come from another person."""
        for key in self.labels:
            if key in ("", ".", "..") or re.search(r"[/\\\0]", key):
                return f"names labels {key!r}, which is not a valid folder name"
        judged: list[LabelledRecord] = [*self.judged_before]
        judged += [record for roles in self.judged.values() for record in roles.values()]
        for record in judged:
            if record.classifier not in self.labels:
                return f"lists a classification by {record.classifier!r}, but contains no labels of it"
            if strange := set(record.rule) - {part.name for part in fields(ClassifiedText)}:
                return f"lists a classified text made by {min(strange)!r}, which is unknown"
        return None


def refuse_differences(what: str, stored: Mapping[str, Any], now: Mapping[str, Any], hint: str) -> None:
    """Raise ResumeRefused with every difference between stored and new options; return if there is none.

    Parameters
    ----------
    what : str
        Subject of the message, for example "The run".
    stored, now : mapping of str
        Nested mappings that are compared.
    hint : str
        What to do.

    Examples
    --------
    >>> refuse_differences("The run", {"a": {"seed": 0}}, {"a": {"seed": 1}}, "Start another.")
    Traceback (most recent call last):
    evenhand.schema.errors.ResumeRefused: The run was started with other options:
      a.seed: stored 0, given now 1
    Start another.
    """
    before, after = dict(_leaves(as_json(stored))), dict(_leaves(as_json(now)))
    lines = [
        f"  {key}: stored {_format_leaf(before, key)}, given now {_format_leaf(after, key)}"
        for key in sorted(before.keys() | after.keys())
        if key not in before or key not in after or before[key] != after[key]
    ]
    if lines:
        raise ResumeRefused("\n".join([f"{what} was started with other options:", *lines]), hint)


def _leaves(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        return [
            leaf for key, inner in value.items() for leaf in _leaves(inner, f"{prefix}.{key}".lstrip("."))
        ]
    return [(prefix, value)]


def _format_leaf(leaves: Mapping[str, Any], key: str) -> str:
    return json.dumps(leaves[key], ensure_ascii=False) if key in leaves else "nothing"


def _first(places: list[dict[str, Any]], *keys: str) -> str | None:
    return next((str(place[key]) for key in keys for place in places if place.get(key) is not None), None)
