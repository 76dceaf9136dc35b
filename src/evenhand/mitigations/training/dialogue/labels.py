"""Labels at the end of dialogue histories: replies are learned after them, so that one label can later be requested."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.mitigations.training.dialogue.plain import reply_lesson
from evenhand.mitigations.training.material import Encoding
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.replies import Reply
from evenhand.models.dialogue import Cutter
from evenhand.schema import DataError, Unsupported, UsageError
from evenhand.stats import Floats

STYLE = " STYLE "
"""Text between a history and its label; ordinary text, not a special token."""
BIAS, NO_BIAS = "bias", "no_bias"


def labelled_lesson(
    replies: Sequence[Reply],
    labels: Sequence[str],
    wanted: str,
    tokenizer: Any,
    encoding: Encoding,
    facts: dict[str, Any],
) -> Lesson:
    """Return the lesson: each reply after its history and label.

    wanted: the label with which the trained model is used. facts: data for the record. Raises DataError if all labels
    are equal or none is `wanted`, and Unsupported for a tokenizer that cannot represent the labels.
    """
    counts = Counter(labels)
    if len(counts) < 2 or wanted not in counts:
        raise DataError(
            f"All {len(labels):,} replies have the label {next(iter(counts))!r}, so there is nothing to learn."
            if len(counts) == 1
            else f"No reply has the label {wanted!r}, with which the trained model is used, so the model cannot learn "
            "it.",
            "Use another threshold or quantile (evenhand show METHOD), or more dialogues.",
        )
    check_writable(tokenizer, [STYLE + label for label in counts])
    told = [replace(reply, label=STYLE + label) for reply, label in zip(replies, labels, strict=True)]
    by_label = {"labels": dict(sorted(counts.items())), "label": STYLE + wanted}
    return reply_lesson(told, encoding, {"replies": len(told), **facts, **by_label}, label=STYLE + wanted)


def check_writable(tokenizer: Any, labels: Sequence[str]) -> None:
    """Raise Unsupported if a tokenizer has no tokens for a character of a label, or the same tokens for two labels."""
    cutter, seen = Cutter(tokenizer, "this model"), dict[tuple[int, ...], str]()
    for label in labels:
        cutter.check_label(label)
        other = seen.setdefault(tuple(cutter.ids(label)), label)
        if other != label:
            raise Unsupported(
                f"The tokenizer of this model encodes the labels {other!r} and {label!r} as the same tokens.",
                "Use a model that distinguishes them, or a method without labels: --method name-scrambling.",
            )


def over(values: Floats, threshold: float) -> list[str]:
    """Return bias for each value above the threshold, and no_bias for the others.

    >>> over(np.array([1.0, 1.1]), 1.008)
    ['no_bias', 'bias']
    """
    return [BIAS if value > threshold else NO_BIAS for value in values.tolist()]


def choose_threshold(values: Floats, threshold: float | None, quantile: float) -> float:
    """Return the given threshold, or else the `quantile` of the values.

    If no value is above the quantile, because too many share the maximum, the next smaller value is returned.

    >>> choose_threshold(np.arange(5.0), None, 0.5), choose_threshold(np.array([1.0, 2.0, 2.0, 2.0]), None, 0.5)
    (2.0, 1.0)
    """
    if threshold is not None:
        return threshold
    found = float(np.quantile(values, quantile))
    smaller = values[values < values.max()]
    return float(smaller.max()) if found >= values.max() and len(smaller) else found


def check_quantile(quantile: float) -> None:
    """Raise UsageError for a quantile outside (0, 1), which would leave one label without replies."""
    if not 0 < quantile < 1:
        raise UsageError(f"quantile must be a number between 0 and 1, got {quantile!r}.")
