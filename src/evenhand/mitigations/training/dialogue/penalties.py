"""Unlikelihood: in addition to language modelling, tokens that a group's conversations overuse become less likely
there.

With w(y) how far a token is overindexed in conversations of the group that an example belongs to (`token_ratios`), and
alpha the weight of the penalty,

    L = mean over tokens of - log p(y)  +  alpha * (sum over penalised tokens of - w(y) log(1 - p(y))) / (their number)

Penalised are, at the level of tokens, the learned ones with w > 0; at the level of sequences those among what the model
itself writes behind the first tokens of a reply.

At the level of tokens a learned token is pushed up and down at once. Where all are penalised and one always follows,
the loss is least at p = 1 / (1 + alpha w), where it follows with probability q at p = q / (1 + alpha w q); and where n
of N tokens are penalised, alpha counts N / n times. Confidence is therefore capped, and a token that is one of many
changes little. Text that the model generates outside the data is not covered.

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
"""Value of an example: the row of the weights that it is penalised by."""
LEAST, LEAST_IN_HALF = 1e-20, 1e-6
"""Smallest 1 - p that a logarithm is taken of, in 32 bits and in 16: below, nothing is pushed down any more."""


@dataclass(frozen=True, eq=False)
class TokenUnlikelihood:
    """Language modelling, and the penalty on what is learned and overindexed.

    excess: (groups, vocabulary), w; 0 where a token is not penalised. weight: alpha. A batch's value `group` says which
    row of `excess` is an example's.
    """

    excess: "Tensor"
    weight: float
    pooled: bool = True

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """1 and alpha."""
        return {"lm": 1.0, "ul": self.weight}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Tokens that are learned, and those of them that are penalised."""
        return {"lm": batch.learned, "ul": int((self.penalties(batch) > 0).sum())}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Both, from one pass."""
        logits = logits_behind(model, batch)
        found = unlikelihood(logits, batch.labels, self.penalties(batch))
        return {"lm": token_losses(logits, batch.labels), "ul": found}

    def penalties(self, batch: Batch) -> "Tensor":
        """By how much each token is penalised, (rows, length); 0 for those that are not learned, and the first."""
        of_row, known = self.excess.to(batch.labels.device)[batch.values[GROUP]], self.excess.shape[1]
        counted = (batch.labels != IGNORED) & (
            batch.labels < known
        )  # models have logits that nothing stands for
        found: Tensor = of_row.gather(1, batch.labels.clamp(0, known - 1)) * counted
        found[:, 0] = 0
        return found


@dataclass(frozen=True, eq=False)
class SequenceUnlikelihood(TokenUnlikelihood):
    """Language modelling, and the penalty on what the model writes itself and overuses.

    One position is sampled for all examples of a step, as a share of the shortest reply in the batch. This
    number of tokens of each reply is read, then the model continues greedily. ends: tokens with which a reply ends.
    max_new_tokens: number of generated tokens if none of them occurs.

    The penalty is a mean over the penalised tokens of those examples that are read at once, and a step the mean over
    examples: where memory runs out and a batch is cut, language modelling remains the same to the digit; the penalised
    tokens of each part are then averaged by themselves, behind the step drawn within its own shortest reply.
    """

    ends: tuple[int, ...] = ()
    max_new_tokens: int = 64

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Tokens that are learned, and examples: how many tokens are penalised is known once they are written."""
        return {"lm": batch.learned, "ul": len(batch)}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """The surprise of what is learned, and the mean penalty of what is written, for each example."""
        found = token_losses(logits_behind(model, batch), batch.labels)
        written = own_replies(model, batch, _share(), self.ends, self.max_new_tokens)
        penalties = self.penalties(written)
        penalised = int((penalties > 0).sum())
        if not penalised:
            return {"lm": found, "ul": 0 * found}
        penalty = unlikelihood(logits_behind(model, written), written.labels, penalties)
        return {"lm": found, "ul": len(batch) / penalised * penalty}


def unlikelihood(logits: "Tensor", labels: "Tensor", penalties: "Tensor") -> "Tensor":
    """The sum of - w log(1 - p) over tokens, a scalar.

    logits: (rows, length, vocabulary) behind each token. labels, penalties: (rows, length), the tokens themselves and
    their weights w; 0 where a token is not penalised.

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
        # log(1 - p) from the other logits: 1 - p itself is 0 long before its logarithm is small
        rest = others.logsumexp(1) - exact.logsumexp(1)
        rest = rest.clamp(min=math.log(LEAST_IN_HALF if coarse else LEAST))
        return -(penalties[:, 1:][penalised].to(rest) * rest).sum()


def _share() -> float:
    """Between 0 and 1, the same for all that one step reads: its seed is set before its first pass."""
    import torch

    return float(torch.rand((), generator=torch.Generator().manual_seed(torch.initial_seed())))
