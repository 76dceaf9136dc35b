"""What training makes small: named terms, each a sum over what it concerns, their sizes, and their weights.

A step of the optimiser takes

    sum over terms of  weight * (sum of the term over the step's batches) / (its size over the step's batches)

so that it does not depend on how the examples of a step are cut into batches: a batch that does not fit into memory is
halved, and the step remains the same. An objective that is to be computed as somebody published it is not `pooled`:
there each batch has sizes and weights of its own, and the step is the mean over batches.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.mitigations.training.examples import IGNORED, Batch
from evenhand.schema import Unsupported

if TYPE_CHECKING:
    from torch import Tensor


@runtime_checkable
class Objective(Protocol):
    """What training makes small."""

    @property
    def pooled(self) -> bool:
        """Whether sizes are added up over the batches of a step; else the step is the mean over batches."""
        ...

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """The weight of each term. Where `pooled`, the same for all batches."""
        ...

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """How many each term is a sum over (tokens, occurrences, examples); 0 where it has nothing in this batch."""
        ...

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Each term, summed over the batch; scalars that gradients flow through."""
        ...


class LanguageModelling:
    """The mean surprise of the tokens that are learned, nats a token: plain fine-tuning.

    >>> LanguageModelling().pooled
    True
    """

    pooled = True

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """One term, `lm`."""
        return {"lm": 1.0}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """The tokens that are learned."""
        return {"lm": batch.learned}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Their surprise."""
        output = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, use_cache=False)
        return {"lm": token_losses(output.logits, batch.labels)}


def token_losses(logits: "Tensor", labels: "Tensor") -> "Tensor":
    """Surprise of all learned tokens, summed, in nats.

    logits: (rows, length, vocabulary) behind each token; labels: (rows, length), not shifted, `IGNORED` where nothing
    is learned. The first token of a row is never learned.
    """
    import torch

    whole = logits.to(torch.promote_types(logits.dtype, torch.float32))[:, :-1]
    return torch.nn.functional.cross_entropy(
        whole.flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED, reduction="sum"
    )


def hidden_and_logits(model: Any, batch: Batch) -> "tuple[Tensor, Tensor]":
    """What the output head is given and what it makes of it, from one pass: (rows, length, size), (..., vocabulary).

    model: a causal model of transformers, also behind adapters and accelerate. The hidden states are those right before
    the output embeddings, whatever norms or projections the model has in front of them. Raises Unsupported for models
    that do not name their output embeddings.
    """
    inner = model
    while not hasattr(inner, "get_output_embeddings"):  # wrapped for several devices
        inner = inner.module
    head = inner.get_output_embeddings()
    if head is None:
        raise Unsupported(
            f"{type(inner).__name__} does not name its output embeddings, which this method compares.",
            "Use a causal model with a language modelling head, or a method that needs none: --method cda.",
        )
    seen: list[Tensor] = []
    handle = head.register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    try:
        output = model(input_ids=batch.input_ids, attention_mask=batch.attention_mask, use_cache=False)
    finally:
        handle.remove()
    if not seen:
        raise Unsupported(
            f"{type(inner).__name__} does not use its output embeddings as a layer: what they are given is unknown.",
            "Use a causal model with a language modelling head, or a method that needs none: --method cda.",
        )
    return seen[0], output.logits
