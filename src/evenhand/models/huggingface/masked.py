"""Hugging Face models that fill masks (BERT, RoBERTa, ALBERT, ...): pseudo-log-likelihoods.

A masked model has no probability of a whole text. Instead, each token is masked in turn, and the log probabilities of
the masked tokens are added (Salazar et al. 2020, Masked Language Model Scoring). `masking.py` implements three ways of
masking, and lists each distinct input once.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.models.contract import Architecture, Likelihoods, Masking, Texts, concatenate
from evenhand.models.huggingface.masking import MaskedInputs, masked_inputs
from evenhand.schema import ModelError, ResponseError, unknown_name
from evenhand.weights import Budget, run_batches

if TYPE_CHECKING:
    from evenhand.weights import FastLayers

# number of texts whose masked inputs are processed together; duplicates among them are computed once
CHUNK = 4096


@dataclass(frozen=True)
class MaskedOptions:
    """Options for scoring with a masked model. None of them changes a number."""

    batch_tokens: int | None = None
    """Tokens per batch. None: chosen by device. The number is halved if memory runs out."""


class MaskedModel:
    """A masked language model of Hugging Face with its tokenizer, which must have a mask token.

    `load_model` creates it; ``identity`` is what makes its results reusable. Raises a ModelError without a mask token.
    """

    architecture: Architecture = "masked"

    def __init__(
        self, model: Any, tokenizer: Any, identity: dict[str, Any], options: MaskedOptions | None = None
    ):
        from evenhand.models.scoring import can_choose, most_targets, survives_padding

        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"The tokenizer of {identity.get('name', 'this model')} has no mask token.",
                "Set mask_token in its tokenizer_config.json, or load the model with another architecture.",
            )
        self.model, self.tokenizer, self.identity = model.eval(), tokenizer, identity
        weight = model.get_input_embeddings().weight
        self.device = weight.device
        tokens = (options or MaskedOptions()).batch_tokens or (65536 if self.device.type == "cuda" else 2048)
        self.longest = position_limit(model)
        self.with_attention_mask = takes_attention_mask(model)
        short, long = self._trial_inputs()
        self.reason_for_all_positions = can_choose(
            model, self._tensors([short]), self._long([2, len(short) - 1])
        )
        vocabulary = int(model.config.vocab_size)
        limit = most_targets(vocabulary, self.device)
        if self.reason_for_all_positions is not None:
            tokens = min(tokens, limit)
        padding_works = survives_padding(
            model, self._tensors([short]), self._tensors([short, long]), len(short)
        )
        self.budget = Budget(tokens, limit, equal_lengths=not padding_works)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return everything on which results depend, except batch sizes."""
        return {**self.identity, "architecture": "masked"}

    def describe(self) -> dict[str, Any]:
        """Return facts for the manifest and the report."""
        return {
            **self.identity,
            "architecture": "masked",
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "device": str(self.device),
            "longest_text": self.longest,
            **scoring_facts(self.budget, "masked", self.reason_for_all_positions),
            "work": asdict(self.budget),
        }

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the log probability of each token while it is masked (see LanguageModel.log_likelihoods).

        Raises UsageError for an unknown masking, and for spans with "blank"; Unsupported for start_token="first".
        """
        batch = Texts.of(texts).refuse_first(self.identity.get("name", "This model"))
        if batch.masking is not None and batch.masking not in get_args(Masking):
            raise unknown_name("masking", batch.masking, get_args(Masking))
        plans = (masked_inputs(self.tokenizer, chunk, self.longest) for chunk in batch.chunks(CHUNK))
        with self.layers.activate_if_exact():
            return concatenate([self._score_inputs(plan) for plan in plans], batch.want_starts)

    @cached_property
    def layers(self) -> "FastLayers":
        """Return the model's faster layers, which are created at first use."""
        from evenhand.weights import FastLayers, available_memory

        return FastLayers(self.model, available_memory(self.device))

    def _score_inputs(self, plan: MaskedInputs) -> Likelihoods:
        import torch

        of_input = np.array(plan.target_inputs, dtype=np.int64)
        positions = np.array(plan.target_positions, dtype=np.int64)
        tokens = np.array(plan.target_tokens, dtype=np.int64)
        scores = np.full(len(tokens), np.nan, dtype=np.float32)
        by_input = np.argsort(of_input, kind="stable")
        edges = np.searchsorted(of_input[by_input], np.arange(len(plan.inputs) + 1))

        def run(rows: NDArray[np.int64]) -> None:
            from evenhand.models.scoring import compute_logits, token_log_probs

            inputs = self._tensors([plan.inputs[r] for r in rows])
            width = inputs["input_ids"].shape[1]
            targets = [by_input[edges[r] : edges[r + 1]] for r in rows]
            all_targets = np.concatenate(targets)
            places = (
                np.repeat(np.arange(len(rows)), [len(o) for o in targets]) * width + positions[all_targets]
            )
            distinct, row_of = np.unique(places, return_inverse=True)
            choose = self.reason_for_all_positions is None
            with torch.inference_mode():
                logits = compute_logits(self.model, inputs, self._long(distinct), choose=choose)
                values = token_log_probs(logits, self._long(row_of), self._long(tokens[all_targets]))
            scores[all_targets] = values.cpu().numpy()

        lengths = np.array([len(i) for i in plan.inputs], dtype=np.int64)
        # targets at the same position of an input share a row of logits, so count distinct positions
        failed = run_batches(lengths, np.ones_like(lengths), self.budget, run) if len(lengths) else []
        return self._rows(plan, scores, np.isin(of_input, failed))

    def _rows(self, plan: MaskedInputs, scores: NDArray[np.float32], unrun: NDArray[np.bool_]) -> Likelihoods:
        row_of = np.repeat(np.arange(len(plan.errors)), plan.counts)
        errors, details = list(plan.errors), list(plan.details)
        for i in np.unique(row_of[~np.isfinite(scores)]):
            errors[i], details[i] = ResponseError.NOT_FINITE, "the model gave NaN or infinity"
        for i in np.unique(row_of[unrun]):
            errors[i], details[i] = ResponseError.OUT_OF_MEMORY, "does not fit even alone in a batch"
        good = np.array([error is None for error in errors], dtype=bool)
        keep = good[row_of]
        counts = np.where(good, plan.counts, 0)
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            log_probs=scores[keep],
            token_ids=np.array(plan.target_tokens, dtype=np.int32)[keep],
            starts=np.array(plan.target_starts, dtype=np.uint32)[keep],
            errors=errors,
            details=details,
        )

    def _tensors(self, rows: Sequence[NDArray[np.int32]]) -> dict[str, Any]:
        from evenhand.models.writing import pad_rows

        ids, seen = pad_rows(rows, self.device, left=False, pad=self.tokenizer.pad_token_id or 0)
        return {"input_ids": ids, **({"attention_mask": seen} if self.with_attention_mask else {})}

    def _long(self, values: Any) -> Any:
        import torch

        return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.long, device=self.device)

    def _trial_inputs(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        trial = Texts(["She is.", "They said that he was a good neighbour to them."])
        plan = masked_inputs(self.tokenizer, trial)
        return plan.inputs[0], plan.inputs[-1]


def position_limit(model: Any) -> int | None:
    """Return the maximum number of tokens of an encoder, including special tokens; None if it has no limit.

    RoBERTa and similar models start counting positions after the padding index, so two positions are lost.
    """
    import torch

    limit = getattr(model.config, "max_position_embeddings", None)
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, torch.nn.Embedding):
            reserved = 0 if module.padding_idx is None else module.padding_idx + 1
            return int(module.num_embeddings) - reserved
    return None if limit is None or limit <= 0 else int(limit)


def scoring_facts(budget: Budget, positions: str, reason_for_all: str | None) -> dict[str, Any]:
    """Return how a model is run, for its description: batch sizes, and rejected optimisations.

    positions: name of the positions whose logits are computed. reason_for_all: why logits are computed at all
    positions, if they are.
    """
    every = reason_for_all is not None
    return {
        "scoring": ("equal-length" if budget.equal_lengths else "padded")
        + " batches"
        + ", all logits" * every,
        "scoring_rejected": [f"{positions} positions only: {reason_for_all}"] * every
        + ["padded batches: padding changes this model's answers"] * budget.equal_lengths,
    }


def takes_attention_mask(model: Any) -> bool:
    """Return True if the forward pass of a model accepts an attention mask (FNet's does not)."""
    import inspect

    return "attention_mask" in inspect.signature(model.forward).parameters
