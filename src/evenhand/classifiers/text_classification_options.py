"""Options of a Hugging Face text classifier, combined with its preset: weights, labels, harmful labels."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evenhand.classifiers.presets import Preset
from evenhand.classifiers.text_classification import LabelReading, TextClassification, longest_text
from evenhand.schema import (
    DataError,
    ModelError,
    Number,
    UsageError,
    Whole,
    convert_options,
    is_file,
    list_options,
    missing_file,
    parse_json,
    unknown_name,
)
from evenhand.weights import Checkpoint, check_token_ids, find_checkpoint

FORMAT = (
    "A label file contains the names in the order of the model's outputs: one per line, or as JSON a list of names, "
    '{"0": "name", ...} or {"name": 0, ...}.'
)
DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class TextOptions:
    """Options of a Hugging Face text classifier. None: as in the preset or the model."""

    model: str | None = None
    """Folder or hub name that replaces the preset's."""
    labels: str | None = None
    """File with the names of the labels."""
    negative: tuple[str, ...] | None = None
    """Names or numbers of the harmful labels."""
    threshold: Number | Literal["argmax"] | None = None
    multi_label: bool | None = None
    maximum_tokens: Whole | None = None
    dtype: str = "float32"
    batch_tokens: Whole = 8192
    revision: str | None = None
    """Branch, tag or commit on the hub."""


def read_options(
    name: str,
    options: Mapping[str, Any],
    preset: Preset | None,
    device: str = "auto",
    revision: str | None = None,
) -> TextClassification:
    """Return a text classifier from its preset and options; the weights are not loaded yet.

    name: of the classifier; a folder or hub name if there is no preset. options: as text or Python values. Raises
    UsageError for options that are unknown, invalid or unsuitable for the model, and ModelError or DataError for files
    that are missing or unreadable.
    """
    typed = TextOptions(**convert_options(f"the classifier {name!r}", options, list_options(TextOptions)))
    model = typed.model or (preset.model if preset else name)
    dtype, maximum_tokens, multi_label = typed.dtype, typed.maximum_tokens, typed.multi_label
    if multi_label is None and preset:
        multi_label = preset.multi_label
    pinned = preset.revision if preset and model == preset.model else None
    revision = typed.revision or revision or pinned
    if dtype not in DTYPES:
        raise unknown_name("dtype", dtype, DTYPES)
    if model is None:
        assert preset is not None
        raise UsageError(
            f"The weights of the classifier {name!r} are not published in a form that can be loaded. Give your own "
            "weights.",
            preset.card.details,
        )
    file_labels = None if typed.labels is None else read_labels(typed.labels)
    checkpoint = _text_classifier(model, revision, _advice(name, preset))
    config = checkpoint.config
    if multi_label is None:
        multi_label = config.problem_type == "multi_label_classification" or config.num_labels == 1
    labels = file_labels or _labels(checkpoint, preset)
    if preset and preset.outputs not in (None, config.num_labels):
        raise _wrong_count(name, checkpoint, preset.outputs)
    limit = longest_text(checkpoint)
    reading = LabelReading(
        labels=labels,
        negative=_negative(typed.negative, labels, preset),
        threshold=_threshold(typed.threshold, preset, multi_label),
        multi_label=multi_label,
        maximum_tokens=min((n for n in (maximum_tokens, limit) if n), default=None),
    )
    return TextClassification(
        checkpoint,
        reading,
        name=name,
        device=device,
        dtype=dtype,
        batch_tokens=typed.batch_tokens,
        licence=preset.card.licence if preset else "",
    )


def _text_classifier(name: str, revision: str | None, advice: str) -> Checkpoint:
    """Return the checkpoint of a name; raise ModelError if it is not a text classifier. Pickled weights are allowed."""
    checkpoint = find_checkpoint(
        name, kind="classifier", revision=revision, pickles=True, offsets=False, advice=advice
    )
    config = checkpoint.config
    saved_from = list(getattr(config, "architectures", None) or [])
    if saved_from and not any(kind.endswith("ForSequenceClassification") for kind in saved_from):
        raise ModelError(
            f"{name!r} is not a text classifier: its config.json contains {', '.join(saved_from)}.",
            "Use a model that was saved with a classification head (...ForSequenceClassification).",
        )
    if getattr(config, "problem_type", None) == "regression":
        raise ModelError(
            f"{name!r} predicts a number without a scale (problem_type regression), not classes.",
            "Score the texts yourself, and use the scores: scores:FILE?threshold=...",
        )
    if (known := getattr(config, "vocab_size", None)) is not None:
        check_token_ids(checkpoint.tokenizer, known, name)
    return checkpoint


def _advice(name: str, preset: Preset | None) -> str:
    if preset is None:
        return "Check the name, or copy the classifier here and give the path of its folder: --classifier ROLE=FOLDER."
    return (
        f"Copy {preset.model or 'it'} here (config.json, weights, tokenizer) and give its folder: "
        f"--classifier 'ROLE={name}?model=FOLDER'."
    )


def _labels(checkpoint: Checkpoint, preset: Preset | None) -> tuple[str, ...]:
    config = checkpoint.config
    configured = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    if preset is None or preset.labels is None:
        return configured
    if len(configured) != len(preset.labels):
        raise _wrong_count(preset.card.name, checkpoint, len(preset.labels))
    for position, label in enumerate(configured):
        # names such as LABEL_0 mean nothing; a preset's label at another position shows that the order differs
        if label.lower() in preset.labels and preset.labels[position] != label.lower():
            raise UsageError(
                f"Output {position} of {checkpoint.name!r} is named {label!r}, but {preset.card.name!r} expects "
                f"{preset.labels[position]!r}.",
                _without_preset(preset.card.name, checkpoint.name),
            )
    return preset.labels


def _wrong_count(name: str, checkpoint: Checkpoint, expected: int | None) -> UsageError:
    return UsageError(
        f"{checkpoint.name!r} has {checkpoint.config.num_labels} outputs, but the classifier {name!r} expects "
        f"{expected}.",
        _without_preset(name, checkpoint.name),
    )


def _without_preset(preset: str, model: str) -> str:
    """Return the hint if a model does not have the outputs that a preset expects."""
    return (
        f"This model is not the one that the classifier {preset!r} was made for. To use it by its own labels: "
        f"--classifier 'ROLE={model}?negative=LABEL', where LABEL is the model's label of harmful texts."
    )


def _negative(
    given: tuple[str, ...] | None, labels: tuple[str, ...], preset: Preset | None
) -> tuple[str, ...]:
    if given is None:
        return tuple(labels[i] for i in preset.harmful_outputs if i < len(labels)) if preset else ()
    names = []
    for word in given:
        same = [label for label in labels if label == word] or [
            x for x in labels if x.lower() == word.lower()
        ]
        if not same and word.isdecimal() and int(word) < len(labels):
            same = [labels[int(word)]]
        if not same:
            raise unknown_name("label in the option negative", word, labels)
        names.append(same[0])
    return tuple(dict.fromkeys(names))


def _threshold(
    given: float | Literal["argmax"] | None, preset: Preset | None, multi_label: bool
) -> float | None:
    if given is None:
        published = preset.threshold if preset else None
        return 0.5 if published is None and multi_label else published
    return None if given == "argmax" else given


def read_labels(path: Path | str) -> tuple[str, ...]:
    """Return the label names in a file, in the order of the model's outputs.

    path: a text file with one name per line (as ParlAI writes style classes; empty lines at the end are ignored), or a
    .json file with a list, or with a mapping between numbers and names in either direction. Raises DataError for a file
    that is missing, unreadable or empty, for repeated names, and for numbers other than 0, 1, 2, ...
    """
    path = Path(path).expanduser()
    if not is_file(path):
        raise missing_file(path, FORMAT, "Label file")
    try:
        content = path.read_text(encoding="utf-8-sig")
        parsed = parse_json(content) if path.suffix.lower() == ".json" else content.rstrip().splitlines()
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(f"The label file {path} cannot be read: {error}.", FORMAT) from error
    names = _in_order(parsed, path)
    if not names:
        raise DataError(f"The label file {path} is empty.", FORMAT)
    for position, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"{path}, label {position}: {name!r} is not a valid name.", FORMAT)
    stripped = tuple(name.strip() for name in names)
    if twice := sorted({name for name in stripped if stripped.count(name) > 1}):
        raise DataError(f"The label file {path} contains {', '.join(twice[:3])} twice.", FORMAT)
    return stripped


def _in_order(parsed: Any, path: Path) -> list[Any]:
    if isinstance(parsed, list):
        return parsed
    if not isinstance(parsed, dict):
        raise DataError(f"The label file {path} contains neither a list nor a mapping.", FORMAT)
    by_number = all(isinstance(value, str) for value in parsed.values())
    numbers = [str(n) for n in (parsed if by_number else parsed.values())]
    names = list(parsed.values() if by_number else parsed)
    if sorted(numbers) != sorted(str(n) for n in range(len(names))):
        raise DataError(
            f"The numbers in the label file {path} must be 0 to {len(names) - 1}, each once.", FORMAT
        )
    return [name for _, name in sorted(zip(numbers, names, strict=True), key=lambda pair: int(pair[0]))]
