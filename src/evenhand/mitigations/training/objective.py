"""The loss of a training: named terms, each with a sum, a size and a weight.

The loss of a step of the optimiser is

    sum over terms of  weight * (sum of the term over the step's batches) / (its size over the step's batches)

It does not depend on how the examples of a step are divided into batches: a batch that does not fit into
memory is halved, and the step stays the same. An objective that must be computed as published is not
`pooled`. There, each batch has its own sizes and weights, and the loss is the mean over batches.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.mitigations.training.examples import IGNORED, Batch
from evenhand.schema import ModelError, Unsupported

if TYPE_CHECKING:
    from torch import Tensor

OTHERS = (
    "Use a causal model with a language modelling head, or a method that does not look at it: --method cda."
)
COMPARED = 16
"""Number of states with which the computation of the logits is determined."""


class Diverged(ModelError):
    """The loss or the gradient is no longer a finite number; the last valid checkpoint still exists."""


@runtime_checkable
class Objective(Protocol):
    """Interface of the loss of a training."""

    @property
    def pooled(self) -> bool:
        """Return whether sizes are added over the batches of a step; otherwise the loss is the mean over batches."""
        ...

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return the weight of each term. If `pooled`, it is the same for all batches."""
        ...

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of tokens, occurrences or examples of each term of the loss in this batch; 0 if there are
        none.
        """
        ...

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Return each term, summed over the batch: scalars with gradients."""
        ...


class LanguageModelling:
    """The loss of plain fine-tuning: mean negative log probability of the learned tokens, in nats per token.

    >>> LanguageModelling().pooled
    True
    """

    pooled = True

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return the weight of the only term, `lm`."""
        return {"lm": 1.0}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of learned tokens."""
        return {"lm": batch.n_learned}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Return the summed negative log probability of the learned tokens."""
        return {"lm": token_losses(logits_behind(model, batch), batch.labels)}


def logits_behind(model: Any, batch: Batch) -> "Tensor":
    """Return the logits after each token of `input_ids`, (rows, length, vocabulary), from one pass.

    `model` is causal, or an encoder-decoder if the batch has contexts.
    """
    if batch.context_ids is None:
        inputs: dict[str, Any] = {"input_ids": batch.input_ids, "attention_mask": batch.attention_mask}
    else:
        inputs = {
            "input_ids": batch.context_ids,
            "attention_mask": batch.context_mask,
            "decoder_input_ids": batch.input_ids,
            "decoder_attention_mask": batch.attention_mask,
        }
    logits: Tensor = model(**inputs, use_cache=False).logits
    return logits


def token_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Return the negative log probability of all learned tokens, summed, in nats.

    `logits` are (rows, length, vocabulary), after each token. `labels` are (rows, length), not shifted, with
    `IGNORED` at positions that are not learned. The first token of a row is never learned.
    """
    import torch

    whole = logits.to(torch.promote_types(logits.dtype, torch.float32))[:, :-1]
    return torch.nn.functional.cross_entropy(
        whole.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED, reduction="sum"
    )


@dataclass(frozen=True)
class Logits:
    """How a model computes logits from products of states and output vectors: cap * tanh(scale * product / cap).

    `cap` is None if there is none. Cohere and Granite scale, Gemma 2 caps, and most models do neither.
    """

    scale: float = 1.0
    cap: float | None = None

    def from_products(self, products: "Tensor") -> "Tensor":
        """Return the logits of products."""
        scaled = self.scale * products
        return scaled if self.cap is None else self.cap * (scaled / self.cap).tanh()


@dataclass(frozen=True)
class ForwardPass:
    """One pass of a model: its output head, the input and output of the head, and the logits."""

    model: Any
    head: Any
    hidden: "Tensor"
    products: "Tensor"
    logits: "Tensor"


def hidden_and_logits(model: Any, batch: Batch) -> ForwardPass:
    """Return the input of the output head and the logits, from one pass.

    `model` is a causal model of transformers, also with adapters and accelerate. The hidden states (rows,
    length, size) are those directly before the output embeddings, after all norms and projections. Raises
    Unsupported for models that do not name their output embeddings.
    """
    inner = model
    while not hasattr(inner, "get_output_embeddings"):  # wrapped for several devices
        inner = inner.module
    head = inner.get_output_embeddings()
    if head is None:
        raise Unsupported(
            f"{type(inner).__name__} does not expose its output embeddings, which this method compares.",
            OTHERS,
        )
    seen: list[tuple[Tensor, Tensor]] = []
    handle = head.register_forward_hook(lambda module, given, made: seen.append((given[0], made)))
    try:
        output = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, use_cache=False)
    finally:
        handle.remove()
    if len(seen) != 1:
        raise Unsupported(
            f"{type(inner).__name__} uses its output embeddings {len(seen)} times per pass, not once.",
            OTHERS,
        )
    return ForwardPass(inner, head, *seen[0], output.logits)


def infer_logits(seen: ForwardPass) -> Logits:
    """Return how a model's logits follow from its states and output vectors, by the results of one pass.

    Raises Unsupported if they are not scaled or capped products of the two.
    """
    import torch

    with torch.no_grad(), torch.autocast(seen.hidden.device.type, enabled=False):
        vectors, hidden = seen.head.weight.detach(), seen.hidden.detach().flatten(0, -2)[:COMPARED]
        found, made = (one.detach().flatten(0, -2)[:COMPARED] for one in (seen.products, seen.logits))
        coarsest = max(torch.finfo(one.dtype).eps for one in (hidden, found, made, vectors))
        own = torch.nn.functional.linear(hidden.to(vectors.dtype), vectors, getattr(seen.head, "bias", None))
        if not hasattr(seen.head, "base_layer") and _is_close(own, found, coarsest):
            products, logits = found.double(), made.double()
            for cap in (*_caps(seen.model.config), None):
                scaled = logits if cap is None else cap * (logits / cap).clamp(-0.999, 0.999).atanh()
                inside = slice(None) if cap is None else logits.abs() < 0.99 * cap
                a, b = products[inside], scaled[inside]
                scale = float((a * b).sum() / a.square().sum())
                scale = 1.0 if abs(scale - 1) < max(1e-5, coarsest) else float(f"{scale:.7g}")
                candidate = Logits(scale, cap)
                if _is_close(candidate.from_products(products), logits, coarsest):
                    return candidate
    raise Unsupported(
        f"The logits of {type(seen.model).__name__} are not scaled or capped products of states and output "
        "vectors, which this method compares.",
        OTHERS + " Adapters on the output head are not supported, either.",
    )


def check_objective(objective: Objective, model: Any, batch: Batch) -> None:
    """Raise the errors of an objective for a model before anything is trained or written."""
    import torch

    with torch.no_grad():
        objective.sums(model, batch.to(next(model.parameters()).device))


def _caps(config: Any) -> list[float]:
    """Return the caps of the output logits in a configuration, under any of their names ("final_logit_softcapping")."""
    inner = config.get_text_config() if hasattr(config, "get_text_config") else config
    named = {name: value for name, value in vars(inner).items() if "cap" in name and "logit" in name}
    named = {name: value for name, value in named.items() if "attn" not in name and "attention" not in name}
    return [float(value) for value in named.values() if isinstance(value, int | float) and value > 0]


def _is_close(one: "Tensor", other: "Tensor", precision: float) -> bool:
    if one.shape != other.shape:
        return False
    away = float((one.double() - other.double()).abs().max())
    return away <= max(1e-5, 4 * precision) * float(other.double().abs().max())
