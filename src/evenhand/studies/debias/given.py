"""Texts and terms that were given to a training; evenhand's own sentences follow from model, axis and seed."""

from pathlib import Path
from typing import Any

from evenhand.mitigations.training import (
    Material,
    Validation,
    material_facts,
    own_axes,
    own_texts,
    published_texts,
)
from evenhand.prompts.redditbias import BIAS_TYPES, Specification, load_specification, specification
from evenhand.schema import compute_sha256, unknown_name
from evenhand.studies.debias.options import DebiasConfig


def specification_of(config: DebiasConfig) -> Specification | None:
    """Return the terms, from a file or a published bias type; None for our own sentences, pairs and dialogues.

    Raises UsageError for an unknown bias type, and the errors of `load_specification`.
    """
    if config.dialogue or config.own_axis or config.own_pairs:
        return None
    if config.specification:
        return load_specification(Path(config.specification))
    if config.bias not in BIAS_TYPES:
        raise unknown_name(
            "bias type", str(config.bias), [*BIAS_TYPES, *(f"evenhand/{axis}" for axis in own_axes())]
        )
    return specification(str(config.bias))


def given_texts(config: DebiasConfig) -> tuple[Material, Validation] | None:
    """Read the training and validation texts again; None if the model generates a part of them."""
    if config.dialogue:
        return config.dialogue.given(Path(str(config.data)).expanduser(), config.seed)
    chosen = specification_of(config)
    if chosen is None:
        return None
    if config.data:
        return own_texts(chosen, Path(config.data).expanduser(), config.seed)
    return published_texts(chosen, None if config.source is None else Path(config.source).expanduser())


def given_facts(config: DebiasConfig) -> dict[str, Any] | None:
    """Return facts on the user's texts by part (see `material_facts`) or on pairs; None for evenhand's sentences.

    Raises DataError if they cannot be read.
    """
    if not config.dialogue and config.own_pairs:
        return {"file": f"SHA-256 {compute_sha256(Path(str(config.data)).expanduser())[:12]}..."}
    given = given_texts(config)
    return None if given is None else material_facts(given[0], given[1].texts)
