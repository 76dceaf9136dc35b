"""Compute the gradient of a trigger's loss with respect to its embeddings, and rank tokens by it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.triggers.evaluation import Evaluator
from evenhand.mitigations.triggers.objective import Floats
from evenhand.mitigations.triggers.tokens import Trigger
from evenhand.schema import DataError, ModelError, Unsupported
from evenhand.weights import Budget, run_batches

if TYPE_CHECKING:
    import torch

AGREEMENT = 1e-3  # largest accepted relative difference between the losses from embeddings and from token ids
AGREEMENT_16_BIT = 0.05


@dataclass(frozen=True)
class Gradient:
    """Gradient of a trigger's loss with respect to its embeddings, and directly with respect to the chosen tokens."""

    loss: float
    embeddings: "torch.Tensor"  # (tokens, width)
    direct: "torch.Tensor | None"  # (tokens, vocabulary), from the fluency term; None if it has no weight


class GradientEngine:
    """Compute losses as functions of embeddings, in batches limited by tokens, for the same objective as `Evaluator`.

    The trigger's embeddings are separate tensors that are inserted among those of the examples. The model needs no
    hook, so the structure and size of its embedding layer do not matter.
    """

    def __init__(self, evaluator: Evaluator):
        self.evaluator, self.model, self.device = evaluator, evaluator.model, evaluator.device
        # a backward pass needs activations that a forward pass frees
        tokens = max(256, self.model.scorer.budget.tokens // 4)
        self.budget = Budget(tokens, max(64, tokens))

    def gradient(self, trigger: Trigger) -> Gradient:
        """Return the loss and its gradient with respect to the embeddings of all tokens of the trigger.

        Raises ModelError if not even one example fits in memory.
        """
        import torch

        embed = self.model.model.get_input_embeddings()
        with torch.no_grad():
            leaf = embed(self._long(trigger)).detach().clone()
        leaf.requires_grad_(True)
        total, loss = torch.zeros_like(leaf, dtype=torch.float32), 0.0
        rows = [
            np.array([*self.evaluator.front, *trigger, *ids], dtype=np.int64)
            for ids in self.evaluator.encoded.ids
        ]
        lead = len(self.evaluator.front) + len(trigger)

        def run(chosen: NDArray[np.int64]) -> None:
            nonlocal total, loss
            places = [lead + np.flatnonzero(self.evaluator.encoded.scored[i]) for i in chosen]
            means = self._means_with_gradient(
                [rows[i] for i in chosen], places, leaf, len(self.evaluator.front), len(trigger)
            )
            shares = torch.tensor(self.evaluator.terms.shares[chosen], device=self.device)
            bounds = torch.tensor(self.evaluator.terms.bounds[chosen], device=self.device)
            likely = torch.tensor(self.evaluator.terms.signs[chosen] > 0, device=self.device)
            value = (torch.where(likely, means, (bounds - means).clamp(min=0)) * shares).sum()
            (slope,) = torch.autograd.grad(value, leaf)
            total, loss = total + slope.float(), loss + float(value.detach())

        lengths = np.array([len(ids) for ids in rows], dtype=np.int64)
        if run_batches(lengths, self.evaluator.encoded.tokens, self.budget, run):
            raise ModelError(
                "Not enough memory for the gradient of even one example.",
                "Use shorter examples or another device.",
            )
        direct = None
        if self.evaluator.objective.fluency:
            value, slope, direct = self._fluency_gradient(trigger, leaf)
            total, loss = total + slope, loss + value
        return Gradient(loss, total, direct)

    def first_order(self, gradient: Gradient, place: int) -> Floats:
        """Return the estimated loss for each token of the vocabulary at one position, (vocabulary,); lower is better.

        To first order, the loss at another embedding e is loss + g.(e - e0). Constants are left out. Source: Wallace et
        al. 2019, equation 2.
        """
        import torch

        embed = self.model.model.get_input_embeddings()
        rows, promised = int(embed.weight.shape[0]), []
        slope = gradient.embeddings[place]
        with torch.inference_mode():
            for first in range(0, rows, 1 << 15):
                ids = torch.arange(first, min(first + (1 << 15), rows), device=self.device)
                promised.append(embed(ids).float() @ slope)
            values = torch.cat(promised)
            if gradient.direct is not None:
                values = values + gradient.direct[place, :rows]
        first_order: Floats = values.double().cpu().numpy()
        return first_order

    def check_agreement(self, trigger: Trigger) -> None:
        """Raise Unsupported if the model computes different losses from embeddings and from token ids."""
        import torch

        exact, by_embeddings = float(self.evaluator.losses([trigger])[0]), self.gradient(trigger).loss
        bound = AGREEMENT if self.model.scorer.dtype == torch.float32 else AGREEMENT_16_BIT
        if abs(exact - by_embeddings) > bound * max(1.0, abs(exact)):
            raise Unsupported(
                f"This model's loss is {exact:.5f} from token ids, but {by_embeddings:.5f} from their embeddings, "
                "so gradients of embeddings cannot be used.",
                "Search on another model, and use the trigger as text: trigger?file=FILE&as_text=true.",
            )

    def _means_with_gradient(
        self,
        rows: list[NDArray[np.int64]],
        places: list[NDArray[np.int64]],
        leaf: "torch.Tensor",
        first: int,
        count: int,
    ) -> "torch.Tensor":
        """Return the mean NLL at the given positions of each row, (rows,), as a function of the
        trigger's embeddings.
        """
        import torch

        from evenhand.models.writing import pad_rows

        ids, seen = pad_rows(rows, self.device, left=False)
        width = ids.shape[1]
        with torch.no_grad():
            fixed = self.model.model.get_input_embeddings()(ids)
        trigger = leaf.expand(len(rows), -1, -1)
        inputs: dict[str, Any] = {
            "inputs_embeds": torch.cat([fixed[:, :first], trigger, fixed[:, first + count :]], dim=1),
            "attention_mask": seen,
            "use_cache": False,
        }
        at = self._long(np.concatenate([k * width + spots - 1 for k, spots in enumerate(places)]))
        targets = self._long(np.concatenate([row[spots] for row, spots in zip(rows, places, strict=True)]))
        nll = torch.nn.functional.cross_entropy(self._logits(inputs, at), targets, reduction="none").double()
        sizes = torch.tensor([len(spots) for spots in places], device=self.device)
        row_of = torch.repeat_interleave(torch.arange(len(rows), device=self.device), sizes)
        return (
            torch.zeros(len(rows), dtype=torch.float64, device=self.device).index_add(0, row_of, nll) / sizes
        )

    def _logits(self, inputs: dict[str, Any], at: "torch.Tensor") -> "torch.Tensor":
        from evenhand.models.scoring import ScoringPath

        scorer = self.model.scorer
        if scorer.head is None or scorer.path is ScoringPath.FULL_LOGITS:
            logits: torch.Tensor = self.model.model(**inputs).logits.flatten(0, 1)[at].float()
            return logits
        return scorer.head.logits(scorer.decoder(**inputs).last_hidden_state.flatten(0, 1)[at])

    def _fluency_gradient(
        self, trigger: Trigger, leaf: "torch.Tensor"
    ) -> tuple[float, "torch.Tensor", "torch.Tensor"]:
        """Return the fluency term, its gradient by the trigger's input embeddings, and by its predicted tokens."""
        import torch

        embed, lead = self.model.model.get_input_embeddings(), len(self.evaluator.lead)
        first = 0 if lead else 1  # index of the first trigger token that has a context
        if len(trigger) == first:
            raise DataError(
                "The fluency of a trigger of one token cannot be scored: the model has no start token.",
                "Set fluency to 0.",
            )
        with torch.no_grad():
            before = embed(self._long(self.evaluator.lead)).to(leaf.dtype)
        inputs = {"inputs_embeds": torch.cat([before, leaf])[None], "use_cache": False}
        at = torch.arange(lead + first - 1, lead + len(trigger) - 1, device=self.device)
        surprisal = -self._logits(inputs, at).log_softmax(-1)
        share = self.evaluator.objective.fluency / (len(trigger) - first)
        value = share * surprisal.gather(1, self._long(trigger[first:])[:, None]).sum()
        (slope,) = torch.autograd.grad(value, leaf)
        direct = torch.zeros(len(trigger), surprisal.shape[1], device=self.device)
        direct[first:] = share * surprisal.detach()
        return float(value.detach()), slope.float(), direct

    def _long(self, values: Sequence[int] | NDArray[np.int64]) -> "torch.Tensor":
        import torch

        return torch.as_tensor(np.asarray(values, dtype=np.int64), device=self.device)
