"""Labels at the end of histories: what each reply is learned behind, so that one of them can be asked for later."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.mitigations.training.dialogue.plain import reply_lesson
from evenhand.mitigations.training.material import Encoding
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.replies import Reply
from evenhand.schema import DataError, Unsupported, UsageError
from evenhand.stats import Floats

STYLE = " STYLE "
"""What stands between a history and its label; ordinary text, no token of its own."""
BIAS, NO_BIAS = "bias", "no_bias"


def labelled_lesson(
    replies: Sequence[Reply],
    labels: Sequence[str],
    wanted: str,
    tokenizer: Any,
    encoding: Encoding,
    facts: dict[str, Any],
) -> Lesson:
    """Replies behind their histories and labels, one each.

    wanted: the label with which the trained model is used. facts: for the record. Raises DataError where all labels are
    equal, or none is the wanted one, and Unsupported for a tokenizer that cannot write them.
    """
    counts = Counter(labels)
    if len(counts) < 2 or wanted not in counts:
        raise DataError(
            f"All {len(labels):,} replies got the label {next(iter(counts))!r}: there is nothing to learn from it."
            if len(counts) == 1
            else f"No reply got the label {wanted!r}, with which the model is to be used.",
            "Choose another threshold or quantile (evenhand show METHOD), or give more dialogues.",
        )
    check_writable(tokenizer, [STYLE + label for label in counts])
    told = [replace(reply, label=STYLE + label) for reply, label in zip(replies, labels, strict=True)]
    by_label = {"labels": dict(sorted(counts.items())), "label": STYLE + wanted}
    return reply_lesson(told, encoding, {"replies": len(told), **facts, **by_label}, label=STYLE + wanted)


def check_writable(tokenizer: Any, labels: Sequence[str]) -> None:
    """Raise Unsupported where a tokenizer has no tokens for a label's characters, or the same for two labels."""
    seen: dict[tuple[int, ...], str] = {}
    for label in labels:
        ids = tuple(tokenizer(label, add_special_tokens=False)["input_ids"])
        unknown = tokenizer.unk_token_id is not None and tokenizer.unk_token_id in ids
        written = tokenizer.decode(ids).lower().split()
        if unknown or not ids or written != label.lower().split() or ids in seen:
            raise Unsupported(
                f"The tokenizer of this model cannot write the label {label!r}: it reads it as "
                f"{tokenizer.decode(ids)!r}{f', as it does {seen[ids]!r}' if ids in seen else ''}.",
                "Use a model whose tokenizer has bytes or these letters, or a method without labels: "
                "--method name-scrambling.",
            )
        seen[ids] = label


def over(values: Floats, threshold: float) -> list[str]:
    """bias for each value above the threshold, no_bias for the others.

    >>> over(np.array([1.0, 1.1]), 1.008)
    ['no_bias', 'bias']
    """
    return [BIAS if value > threshold else NO_BIAS for value in values.tolist()]


def threshold_of(values: Floats, threshold: float | None, quantile: float) -> float:
    """The threshold that was given, or the value below which a share `quantile` of all lies.

    >>> threshold_of(np.arange(5.0), None, 0.5)
    2.0
    """
    return float(np.quantile(values, quantile)) if threshold is None else threshold


def check_quantile(quantile: float) -> None:
    """Raise UsageError for a quantile that is none, or leaves one label empty."""
    if not 0 < quantile < 1:
        raise UsageError(f"quantile is {quantile!r}; a number between 0 and 1 was expected.")
