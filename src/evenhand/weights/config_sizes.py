"""Check the sizes in a config.json, because transformers allocates them before any weight is read."""

from collections.abc import Iterator, Mapping
from math import isfinite, prod
from typing import Any, Literal

from evenhand.schema import ModelError

MOST_LAYERS = 1_000
"""Maximum number of layers. Each is created as Python objects in about 10 ms; published models have
at most about 200.
"""
MOST_EXPERTS = 1 << 15  # Doge has 16,384 per layer, and others at most about 2,000
MOST_LABELS = 100_000  # a name is created for each
MOST_VALUES, MOST_TOKEN_IDS = 100_000, 10_000
"""Maximum length of one list. The longest are layers that are not quantised (about 45,000); token ids are at most
hundreds."""
MOST_PARAMETERS = 10**14
"""Maximum number of parameters, estimated from the sizes; published models have at most about 2 * 10**12."""
LARGEST = 1 << 26
"""Maximum of widths, vocabularies and positions. The longest published context has 10 million tokens. The largest table
of a published model has 20 million rows."""
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
WIDTHS = ("hidden_size", "n_embd", "d_model", "dim", "hidden_dim", "embed_dim", "embedding_size", "model_dim")
INNER = ("intermediate_size", "moe_intermediate_size", "n_inner", "d_ff", "ffn_dim", "ffn_hidden_size")
DOWNLOAD = "Download or copy config.json again; a model of this size would fill the memory before its weights are read."


def check_sizes(
    name: str, settings: Mapping[str, Any], kind: Literal["model", "classifier"] = "model"
) -> None:
    """Raise ModelError if the sizes in a config.json, alone or together, far exceed those of published models.

    name: of the model, as the user wrote it. settings: content of its config.json. kind: name of such models in
    messages.

    >>> check_sizes("tiny", {"n_layer": 2, "text_config": {"hidden_size": 64, "rope_theta": 10**9}})
    >>> check_sizes("huge", {"num_hidden_layers": 10**9})
    Traceback (most recent call last):
    ...
    evenhand.schema.errors.ModelError: The config.json of the model 'huge' sets num_hidden_layers to 1,000,000,000...
    """
    where = f"The config.json of the {kind} {name!r}"
    if not isinstance(settings, Mapping):
        raise ModelError(
            f"{where} contains {type(settings).__name__} data; an object was expected.", DOWNLOAD
        )
    _check_architectures(where, settings)
    for place, value in _numbers(settings, where):
        most = _bound(place.rpartition(".")[2])
        if most is not None and value > most:
            raise ModelError(
                f"{where} sets {place} to {value:,}, but at most {most:,} is allowed.",
                DOWNLOAD,
            )
    parameters, sizes = _estimate_parameters(settings)
    if parameters > MOST_PARAMETERS:
        named = ", ".join(f"{place} to {value:,}" for place, value in sizes.items())
        raise ModelError(
            f"{where} sets {named}: together more than {MOST_PARAMETERS:,} parameters, the most that is allowed.",
            DOWNLOAD,
        )


def _check_architectures(where: str, settings: Mapping[str, Any]) -> None:
    listed = settings.get("architectures")
    if listed is not None and not (
        isinstance(listed, list | tuple) and all(isinstance(one, str) for one in listed)
    ):
        raise ModelError(
            f"{where} sets architectures to {str(listed)[:80]}; a list of class names was expected.",
            'For example: "architectures": ["GPT2LMHeadModel"].',
        )


def _estimate_parameters(settings: Mapping[str, Any]) -> tuple[int, dict[str, int]]:
    """Return the least number of parameters that the sizes of any one part of a config.json imply, and these sizes."""
    most: tuple[int, dict[str, int]] = (0, {})
    waiting: list[Mapping[str, Any]] = [settings]
    while waiting:
        part = waiting.pop()
        waiting += [inner for inner in part.values() if isinstance(inner, Mapping)]
        sizes = {key: int(value) for key, value in part.items() if _is_size(value)}
        width = max((key for key in WIDTHS if key in sizes), key=sizes.__getitem__, default=None)
        if width is None:
            continue
        layers = max((key for key in sizes if _counts_layers(key)), key=sizes.__getitem__, default=None)
        # per layer, either attention alone or all experts
        inner = max((key for key in INNER if key in sizes), key=sizes.__getitem__, default=None)
        experts = max(
            (key for key in sizes if "expert" in key and "tok" not in key),
            key=sizes.__getitem__,
            default=None,
        )
        products: list[list[str | None]] = [
            [layers, width, width],
            [layers, width, inner],
            [layers, width, inner, experts],
            ["vocab_size", width],
        ]
        for product in products:
            names = [key for key in product if key is not None and key in sizes]
            if len(names) == len(product):
                most = max(
                    most,
                    (prod(sizes[key] for key in names), {key: sizes[key] for key in names}),
                    key=lambda one: one[0],
                )
    return most


def _is_size(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value >= 1


def _counts_layers(setting: str) -> bool:
    return _bound(setting) == MOST_LAYERS


def _numbers(settings: Mapping[str, Any], where: str) -> Iterator[tuple[str, int | float]]:
    """Yield every number in a config.json with its place, such as "text_config.hidden_size";
    ModelError for a long list.
    """
    waiting: list[tuple[str, Any]] = list(settings.items())
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{place}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            most = MOST_TOKEN_IDS if "token" in place else MOST_VALUES
            if len(value) > most:
                raise ModelError(
                    f"{where} gives {len(value):,} values to {place}; at most {most:,} are allowed.",
                    DOWNLOAD,
                )
            waiting += [(place, inner) for inner in value]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield place, value


def _bound(setting: str) -> int | None:
    """Return the largest accepted value of a setting, or None if it is no size."""
    if "token" in setting or "theta" in setting:  # an id, or the base of rotary positions
        return None
    if ("layer" in setting and "vocab" not in setting) or setting in ("depth", "depths"):
        return MOST_LAYERS
    if "expert" in setting:
        return MOST_EXPERTS
    if setting == "num_labels":
        return MOST_LABELS
    return LARGEST if any(part in setting for part in SIZES) else None
