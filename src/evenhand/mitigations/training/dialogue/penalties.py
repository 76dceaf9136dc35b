"""Unlikelihood: language modelling with a penalty on tokens that a group's conversations overuse.

Let w(y) be the overuse of a token in the conversations of the example's group (`token_ratios`), and alpha the weight of
the penalty. The loss is

    L = mean over tokens of - log p(y)  +  alpha * (sum over penalised tokens of - w(y) log(1 - p(y))) / (their number)

At the level of tokens, the learned tokens with w > 0 are penalised. At the level of sequences, such tokens are
penalised in text that the model generates after the first tokens of a reply.

The two terms pull a learned token in opposite directions. If every token is penalised and a token always follows, the
minimum is at p = 1 / (1 + alpha w). If it follows with probability q, the minimum is at p = q / (1 + alpha w q). If n
of N tokens are penalised, alpha counts N / n times. High confidence is therefore limited, and a token that is one of
many likely ones changes little. Text that the model generates outside the data is not covered.

Source: Smith & Williams 2021, section 5.3; Welleck et al. 2019, equations 4 and 6.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.mitigations.training.dialogue.own_replies import own_replies
from evenhand.mitigations.training.examples import IGNORED, Batch
from evenhand.mitigations.training.objective import logits_behind, token_losses

if TYPE_CHECKING:
    from torch import Tensor

GROUP = "group"
"""Name of the value of an example that selects its row of the weights w."""
LEAST, LEAST_IN_HALF = 1e-20, 1e-6
"""Smallest 1 - p whose logarithm is taken, with 32 and 16 bits. Below, the penalty has no gradient."""


@dataclass(frozen=True, eq=False)
class TokenUnlikelihood:
    """Language modelling with a penalty on learned tokens that are overused.

    excess: the weights w, (groups, vocabulary); 0 if a token is not penalised. weight: alpha. The value `group` of a
    batch selects the row of `excess` for each example.
    """

    excess: "Tensor"
    weight: float
    pooled: bool = True

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return 1 and alpha."""
        return {"lm": 1.0, "ul": self.weight}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of learned tokens, and of those that are penalised."""
        return {"lm": batch.n_learned, "ul": int((self.penalties(batch) > 0).sum())}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Return both terms, from one pass."""
        logits = logits_behind(model, batch)
        found = unlikelihood(logits, batch.labels, self.penalties(batch))
        return {"lm": token_losses(logits, batch.labels), "ul": found}

    def penalties(self, batch: Batch) -> "Tensor":
        """Return the penalty of each token, (rows, length); 0 for the first token and for tokens that
        are not learned.
        """
        of_row, known = self.excess.to(batch.labels.device)[batch.values[GROUP]], self.excess.shape[1]
        # a model may have more logits than tokens
        counted = (batch.labels != IGNORED) & (batch.labels < known)
        found: Tensor = of_row.gather(1, batch.labels.clamp(0, known - 1)) * counted
        found[:, 0] = 0
        return found


@dataclass(frozen=True, eq=False)
class SequenceUnlikelihood(TokenUnlikelihood):
    """Language modelling with a penalty on overused tokens that the model generates.

    One position is sampled for all examples of a step, as a share of the shortest reply in the batch. Each reply is cut
    there and continued greedily. ends: tokens with which a reply ends. max_new_tokens: number of generated tokens if
    none of them occurs.

    The penalty is the mean over penalised tokens of a batch, averaged over the examples of a step. If memory runs out
    and a batch is divided, the term of language modelling does not change. The penalty may change, because each part
    has its own mean and its own shortest reply.
    """

    ends: tuple[int, ...] = ()
    max_new_tokens: int = 64

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the number of learned tokens, and of examples (the penalised tokens are known only
        after generation).
        """
        return {"lm": batch.n_learned, "ul": len(batch)}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Return the negative log probability of learned tokens, and the mean penalty of
        generated tokens times the examples.
        """
        found = token_losses(logits_behind(model, batch), batch.labels)
        written = own_replies(model, batch, _share(), self.ends, self.max_new_tokens)
        penalties = self.penalties(written)
        penalised = int((penalties > 0).sum())
        if not penalised:
            return {"lm": found, "ul": 0 * found}
        penalty = unlikelihood(logits_behind(model, written), written.labels, penalties)
        return {"lm": found, "ul": len(batch) / penalised * penalty}


def unlikelihood(logits: "Tensor", labels: "Tensor", penalties: "Tensor") -> "Tensor":
    """Return the sum over tokens of - w log(1 - p), a scalar.

    logits: (rows, length, vocabulary), after each token. labels, penalties: (rows, length), the tokens and their
    weights w; 0 if a token is not penalised.

    >>> import torch
    >>> even, labels = torch.zeros(1, 2, 4), torch.tensor([[0, 3]])
    >>> unlikelihood(even, labels, torch.tensor([[0.0, 2.0]])).exp().item()  # (4 / 3) ** 2
    1.777...
    """
    import torch

    penalised = penalties[:, 1:] > 0
    chosen, tokens = logits[:, :-1][penalised], labels[:, 1:][penalised]
    coarse = chosen.dtype in (torch.float16, torch.bfloat16)
    coarse = coarse or torch.is_autocast_enabled(chosen.device.type)
    with torch.autocast(chosen.device.type, enabled=False):
        exact = chosen.to(torch.promote_types(chosen.dtype, torch.float32))
        others = exact.scatter(1, tokens[:, None], -torch.inf)
        # compute log(1 - p) from the other logits, because 1 - p rounds to 0 while its logarithm is still moderate
        rest = others.logsumexp(1) - exact.logsumexp(1)
        rest = rest.clamp(min=math.log(LEAST_IN_HALF if coarse else LEAST))
        return -(penalties[:, 1:][penalised].to(rest) * rest).sum()


def _share() -> float:
    """Return a random number between 0 and 1 that is equal for all batches of a step, from the step's seed."""
    import torch

    return float(torch.rand((), generator=torch.Generator().manual_seed(torch.initial_seed())))
