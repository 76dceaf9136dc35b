"""What a folder of the sentence-transformers format says of itself: pooling, dense layers, normalisation, prompt."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.schema import ModelError, Unsupported

POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The switches of a 1_Pooling/config.json, in the order in which several are joined."""
ACTIVATIONS = ("Identity", "Tanh", "ReLU", "GELU", "SiLU")
HINT = (
    "Give a folder or hub name of a sentence-embedding model, such as sentence-transformers/all-MiniLM-L6-v2: "
    "config.json, model.safetensors, a tokenizer and, if it has them, modules.json and 1_Pooling/config.json."
)


@dataclass(frozen=True)
class Modules:
    """What follows the transformer in a folder of the sentence-transformers format."""

    transformer: Path
    poolings: tuple[str, ...] = ("mean",)
    dense: tuple[Path, ...] = ()
    normalised: bool = False
    prompt: str = ""
    """Put before every text."""
    prompt_pooled: bool = True
    longest: int | None = None
    lower_case: bool = False


def read_modules(folder: Path) -> Modules:
    """The parts that a folder of the sentence-transformers format says it has; mean pooling for any other.

    Raises ModelError for files that cannot be read, Unsupported for a module of another kind than Transformer,
    Pooling, Dense, Normalize and Dropout.
    """
    if not (folder / "modules.json").is_file():
        _need(folder / "config.json")
        return Modules(folder)
    transformer, poolings, pooled_prompt = folder, Modules.poolings, True
    dense: list[Path] = []
    normalised = False
    for module in _json(folder / "modules.json"):
        kind, place = str(module["type"]).rsplit(".", 1)[-1], folder / str(module.get("path", ""))
        if kind == "Transformer":
            transformer = place
        elif kind == "Pooling":
            settings = _json(place / "config.json")
            poolings, pooled_prompt = _poolings(place, settings), bool(settings.get("include_prompt", True))
        elif kind == "Dense":
            dense.append(place)
        elif kind == "Normalize":
            normalised = True
        elif kind != "Dropout":  # which does nothing outside training
            raise Unsupported(f"{folder} has a module {kind}, which is not one of those known here.", HINT)
    _need(transformer / "config.json")
    settings = transformer / "sentence_bert_config.json"
    reading = _json(settings) if settings.is_file() else {}
    said = folder / "config_sentence_transformers.json"
    prompts = _json(said) if said.is_file() else {}
    prompt = (prompts.get("prompts") or {}).get(prompts.get("default_prompt_name")) or ""
    longest = reading.get("max_seq_length")
    return Modules(
        transformer,
        poolings,
        tuple(dense),
        normalised,
        prompt,
        pooled_prompt,
        longest,
        bool(reading.get("do_lower_case", False)),
    )


def pool(hidden: Any, attended: Any, ways: Sequence[str], unpooled: int = 0) -> Any:
    """One vector a text from its token vectors.

    hidden: torch tensor (n, tokens, d). attended: (n, tokens), 0 where padding stands. ways: of POOLINGS; several
    are joined. unpooled: tokens at the beginning of each text that are left out. Returns (n, d · ways).

    >>> import torch
    >>> hidden = torch.tensor([[[1.0], [3.0], [99.0]]])
    >>> pool(hidden, torch.tensor([[1, 1, 0]]), ["mean", "max", "lasttoken"]).tolist()
    [[2.0, 3.0, 3.0]]
    """
    import torch

    place = attended.cumsum(1)  # 1 for the first token that is no padding, on whichever side that stands
    kept = (attended.bool() & (place > unpooled)).unsqueeze(-1).to(hidden.dtype)
    fewest = torch.tensor(1e-9, dtype=hidden.dtype, device=hidden.device)
    total = (hidden * kept).sum(1)
    number = torch.maximum(kept.sum(1), fewest)
    rows = torch.arange(len(hidden), device=hidden.device)
    # the beginning is the first token even where it belongs to a prompt that is not pooled
    first = attended.argmax(1)
    last = attended.shape[1] - 1 - attended.flip(1).argmax(1)
    weight = kept * place.unsqueeze(-1).to(hidden.dtype)
    made: dict[str, Callable[[], Any]] = {
        "cls": lambda: hidden[rows, first],
        "max": lambda: hidden.masked_fill(kept == 0, -1e9).max(1).values,
        "mean": lambda: total / number,
        "mean_sqrt_len_tokens": lambda: total / number.sqrt(),
        "weightedmean": lambda: (hidden * weight).sum(1) / torch.maximum(weight.sum(1), fewest),
        "lasttoken": lambda: hidden[rows, last],
    }
    return torch.cat([made[way]() for way in ways], 1)


def dense_layer(folder: Path) -> Any:
    """The linear layer with its activation that a Dense module holds, as a torch module.

    Raises Unsupported for an unknown activation; what safetensors and torch raise for damaged weights passes.
    """
    import torch
    from safetensors.torch import load_file

    settings = _json(folder / "config.json")
    activation = str(settings.get("activation_function", "Tanh")).rsplit(".", 1)[-1]
    if activation not in ACTIVATIONS:
        raise Unsupported(f"{folder} uses the activation {activation}.", HINT)
    linear = torch.nn.Linear(
        settings["in_features"], settings["out_features"], bias=settings.get("bias", True)
    )
    stored = load_file(folder / "model.safetensors")
    linear.load_state_dict({name.removeprefix("linear."): value.float() for name, value in stored.items()})
    return torch.nn.Sequential(linear, getattr(torch.nn, activation)()).eval().requires_grad_(False)


def _poolings(folder: Path, settings: dict[str, Any]) -> tuple[str, ...]:
    named = settings.get("pooling_mode")
    if named is not None:
        ways = tuple(named.split("+") if isinstance(named, str) else named)
    else:
        ways = tuple(way for switch, way in POOLINGS.items() if settings.get(switch, way == "mean"))
    if not ways or any(way not in POOLINGS.values() for way in ways):
        raise Unsupported(f"{folder} pools by {' and '.join(ways) or 'nothing'}.", HINT)
    return ways


def _need(path: Path) -> None:
    if not path.is_file():
        raise ModelError(f"{path.parent} has no {path.name}, so it is no folder of an embedding model.", HINT)


def _json(path: Path) -> Any:
    _need(path)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is not valid JSON: {error}.", HINT) from error
