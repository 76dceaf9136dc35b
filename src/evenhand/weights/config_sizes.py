"""Bounds on the sizes that a config.json names: transformers builds what it says before any weight is read."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from evenhand.schema import ModelError

MOST_LAYERS = (
    2_000  # each is built as Python objects, before a weight is read; published models have at most about 200
)
MOST_EXPERTS = 1 << 15  # Doge has 16,384 in a layer, others at most about 2,000
MOST_LABELS = 100_000  # a name is made for each
LARGEST = 1 << 26
"""Of widths, vocabularies and positions: the longest published context is 10 million tokens, and the largest table of a
published model has 20 million rows."""
SIZES = (
    *(
        "size",
        "dim",
        "embd",
        "inner",
        "d_model",
        "d_ff",
        "d_kv",
        "ffn",
        "head",
        "vocab",
        "position",
        "rank",
        "bucket",
    ),
    *("ctx", "channel", "width", "intermediate", "state"),
)
"""Parts of the names of settings that are the length of a tensor's side."""


def check_sizes(
    name: str, settings: Mapping[str, Any], kind: Literal["model", "classifier"] = "model"
) -> None:
    """Raise ModelError if a config.json names a size that no published model comes near.

    name: of the model, as the user wrote it. settings: the content of its config.json. kind: what messages call it.

    >>> check_sizes("tiny", {"n_layer": 2, "text_config": {"hidden_size": 64, "rope_theta": 10**9}})
    >>> check_sizes("huge", {"num_hidden_layers": 10**9})
    Traceback (most recent call last):
    ...
    evenhand.schema.errors.ModelError: The config.json of the model 'huge' sets num_hidden_layers to 1,000,000,000...
    """
    for place, value in _numbers(settings):
        most = _bound(place.rpartition(".")[2])
        if most is not None and value > most:
            raise ModelError(
                f"The config.json of the {kind} {name!r} sets {place} to {value:,}, but at most {most:,} is "
                "allowed.",
                "Download or copy config.json again. A model of this size would fill the memory before its "
                "weights are read.",
            )


def _numbers(settings: Mapping[str, Any]) -> Iterator[tuple[str, int | float]]:
    """Every number of a config.json with its place, such as "text_config.hidden_size"."""
    waiting: list[tuple[str, Any]] = list(settings.items())
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{place}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(place, inner) for inner in value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield place, value


def _bound(setting: str) -> int | None:
    """Return the largest accepted value of a setting, or None if it is no size."""
    if "token" in setting or "theta" in setting:  # an id; the base of rotary positions
        return None
    if ("layer" in setting and "vocab" not in setting) or setting in ("depth", "depths"):
        return MOST_LAYERS
    if "expert" in setting:
        return MOST_EXPERTS
    if setting == "num_labels":
        return MOST_LABELS
    return LARGEST if any(part in setting for part in SIZES) else None
