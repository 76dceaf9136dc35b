"""Constraints in a model's own generation settings: forbidden tokens, and a forced beginning and end."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from evenhand.schema import Unsupported, as_json

UNSET: tuple[Any, ...] = (None, (), [], {}, False, "")
REFUSED = {
    "sequence_bias": None,
    "forced_decoder_ids": None,
    "watermarking_config": None,
    "guidance_scale": 1,
    "stop_strings": None,
    "dola_layers": None,
    "force_words_ids": None,
    "constraints": None,
}
"""Settings that would change the texts in ways that are not supported, each with the value that has no effect."""
CHOICES = {
    "do_sample": False,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "min_p": None,
    "top_h": None,
    "typical_p": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "min_length": 0,
    "min_new_tokens": None,
    "exponential_decay_length_penalty": None,
    "penalty_alpha": None,
    "num_beams": 1,
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "length_penalty": 1.0,
    "early_stopping": False,
    "renormalize_logits": False,
    "token_healing": False,
}
"""Decoding options with transformers' defaults. Length limits are not included, because every
benchmark sets its own.
"""


@dataclass(frozen=True)
class Constraints:
    """Tokens that a model's generation settings force or forbid, as in Hugging Face's `generate`; empty for most
    models.

    Settings that are choices of decoding (temperature, top_k, penalties, beams) do not apply. They are set by
    `Decoding`, and `not_applied` lists them.
    """

    never: tuple[int, ...] = ()
    """Forbidden tokens: `suppress_tokens`, and `bad_words_ids` of one token."""
    never_first: tuple[int, ...] = ()
    """Tokens that must not come first: `begin_suppress_tokens`."""
    first: int | None = None
    """Forced first token: `forced_bos_token_id`, generated after the start token of the decoder."""
    last: tuple[int, ...] = ()
    """Forced token at the maximum length: `forced_eos_token_id`."""
    refused: tuple[str, ...] = ()
    """Settings that are requested and not supported."""

    @classmethod
    def from_model(cls, model: Any) -> "Constraints":
        """Return the constraints of `model.generation_config`."""
        settings = getattr(model, "generation_config", None)
        phrases = getattr(settings, "bad_words_ids", None) or []
        stated = {name: getattr(settings, name, None) for name in REFUSED}
        refused = [name for name, value in stated.items() if value not in (*UNSET, REFUSED[name])]
        refused += ["bad_words_ids of several tokens"] * any(len(phrase) > 1 for phrase in phrases)
        first = getattr(settings, "forced_bos_token_id", None)
        return cls(
            never=(
                *_ids(settings, "suppress_tokens"),
                *(phrase[0] for phrase in phrases if len(phrase) == 1),
            ),
            never_first=_ids(settings, "begin_suppress_tokens"),
            first=None if first is None else int(first),
            last=_ids(settings, "forced_eos_token_id"),
            refused=tuple(refused),
        )

    def check(self, model: Any) -> None:
        """Raise Unsupported for settings that are not supported: forbidden phrases, biases, watermarks, ..."""
        if self.refused:
            raise Unsupported(
                f"The generation settings of {type(model).__name__} contain {' and '.join(self.refused)}, which "
                "evenhand does not support. Its texts would not be those that its authors intend.",
                "Remove the setting from its generation_config.json if it is not needed, or generate the texts with "
                "another program and measure them: evenhand measure FILE",
            )

    def __bool__(self) -> bool:
        return self != Constraints()

    def parameters(self) -> dict[str, Any]:
        """Return the constraints as JSON-serialisable data for fingerprints; empty without constraints."""
        return {name: value for name, value in asdict(self).items() if value not in ((), None)}

    def apply(self, scores: Tensor, read: Sequence[int], written: Sequence[int], most: int) -> None:
        """Set the scores of forbidden tokens to minus infinity, in place.

        `scores` has the shape (rows, ..., vocabulary). `read` is the number of tokens before each row's text in its
        sequence, `written` the number of tokens of the text so far, and `most` the maximum.
        """
        known = scores.shape[-1]
        for k, (before, so_far) in enumerate(zip(read, written, strict=True)):
            forced: tuple[int, ...] = ()
            if self.first is not None and before + so_far == 1:
                forced = (self.first,)
            if self.last and so_far == most - 1:
                forced = self.last
            if forced:
                scores[k] = -torch.inf
                scores[k, ..., list(forced)] = 0.0
            # as published, a forced first token is not part of the text
            begins = 1 if before == 1 and self.first is not None else 0
            if self.never_first and so_far == begins:
                scores[k, ..., [token for token in self.never_first if token < known]] = -torch.inf
        if self.never:
            scores[..., [token for token in self.never if token < known]] = -torch.inf


def not_applied(model: Any) -> dict[str, Any]:
    """Return decoding options in a model's own generation settings that `Decoding` replaces.

    The result has settings that differ from transformers' defaults, by name, JSON-serialisable.
    """
    settings = getattr(model, "generation_config", None)
    stated = {name: getattr(settings, name, None) for name in CHOICES}
    return {name: as_json(value) for name, value in stated.items() if value not in (None, CHOICES[name])}


def _ids(settings: Any, name: str) -> tuple[int, ...]:
    value = getattr(settings, name, None)
    return () if value is None else tuple(value) if isinstance(value, list) else (int(value),)
