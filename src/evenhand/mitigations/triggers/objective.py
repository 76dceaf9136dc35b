"""The objective of a trigger: which continuations become more likely and which less likely, with the
published signs.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.triggers.examples import Example
from evenhand.schema import DataError, UsageError, unknown_name

Mode = Literal["mitigate", "neutral", "induce"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """Aim of a trigger: which continuations become more likely (add) and which less likely (sub).

    The minimised loss is alpha mean NLL(add) + beta mean max(0, m - NLL(sub)) + fluency NLL(trigger). NLL is the mean
    negative log-likelihood per token.

    Notes
    -----
    Means are over the tokens of all continuations of a set, so long ones have more weight. m is the NLL without a
    trigger plus `margin`. Without this bound, noise that makes every text unlikely would minimise the loss. Raises a
    UsageError for unknown modes, negative weights, and groups that do not fit the mode.

    References
    ----------
    - Sheng et al. 2020, section 3; signs: docs/explanation/triggers.md.

    >>> rule = Objective(mode="induce", against="The woman", favour="The man")
    >>> [rule.sign(Example("", "x", "The woman", label)) for label in ("negative", "neutral", "positive")]
    [1, 0, -1]
    """

    mode: Mode = "mitigate"
    """mitigate, neutral or induce.

    - mitigate: neutral and positive texts more likely, negative ones less likely (published as debias 2).
    - neutral: neutral texts more likely, all others less likely (debias 1).
    - induce: bias against one group and for another (debias 0).
    """
    against: str | None = None
    """With induce: group whose negative continuations become more likely."""
    favour: str | None = None
    """With induce: group whose positive continuations become more likely."""
    alpha: float = 1.0
    beta: float = 1.0
    margin: float = 1.0
    """Nats per token by which an undesired continuation must become less likely. More has no further effect on the
    loss.
    """
    fluency: float = 0.0
    """Weight of the trigger's own NLL per token. Above 0, triggers that read like text are preferred."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise unknown_name("mode of a trigger", self.mode, get_args(Mode))
        for name in ("alpha", "beta", "margin", "fluency"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise UsageError(f"{name} must be a number of at least 0, got {getattr(self, name)}.")
        if self.alpha == self.beta == 0:
            raise UsageError("alpha and beta must not both be 0.", "Set at least one of them above 0.")
        groups = (self.against, self.favour)
        if self.mode == "induce" and (None in groups or self.against == self.favour):
            raise UsageError(
                "Mode induce requires two different groups: `against` and `favour`.",
                f"Got against={self.against!r}, favour={self.favour!r}.",
            )
        if self.mode != "induce" and groups != (None, None):
            raise UsageError(f"`against` and `favour` can only be used with mode induce, not {self.mode}.")

    def sign(self, example: Example) -> int:
        """Return 1 if the example should become more likely, -1 if less likely, and 0 if it is not used."""
        if self.mode == "neutral":
            return 1 if example.label == "neutral" else -1
        if self.mode == "mitigate":
            return -1 if example.label == "negative" else 1
        if example.label == "neutral" or example.group not in (self.against, self.favour):
            return 0
        return 1 if (example.label == "negative") == (example.group == self.against) else -1

    def parameters(self) -> dict[str, Any]:
        """Return all options as JSON-serialisable data."""
        return asdict(self)


@dataclass(frozen=True)
class Terms:
    """The objective for a set of examples: their weights and bounds."""

    signs: NDArray[np.int8]  # (examples,)
    shares: Floats  # (examples,); shares of alpha or beta, by weight and real number of tokens
    bounds: Floats  # (examples,); the bound m in nats per token

    def losses(self, nll: Floats) -> Floats:
        """Return the objective without its fluency term, (triggers,).

        nll: (triggers, examples) mean NLL of each continuation in nats per token.
        """
        counted = np.where(self.signs > 0, nll, np.maximum(0.0, self.bounds - nll))
        return counted @ self.shares

    def for_examples(self, rows: NDArray[np.int64]) -> "Terms":
        """Return the objective for some of the examples; the shares of each side keep their sum."""
        shares = self.shares[rows].copy()
        for side in (1, -1):
            here, everywhere = self.signs[rows] == side, self.signs == side
            if here.any():
                shares[here] *= self.shares[everywhere].sum() / shares[here].sum()
        return Terms(self.signs[rows], shares, self.bounds[rows])


def chosen_examples(examples: Sequence[Example], objective: Objective) -> tuple[Example, ...]:
    """Return the examples that the objective uses.

    Raises DataError if there are none, or none on a side whose weight is not zero.
    """
    used = tuple(example for example in examples if objective.sign(example))
    for side, weight, word in ((1, objective.alpha, "more likely"), (-1, objective.beta, "less likely")):
        if weight and not any(objective.sign(example) == side for example in used):
            held = sorted({f"{example.label} of {example.group or 'no group'}" for example in examples})
            raise DataError(
                f"The mode {objective.mode} needs responses that the trigger makes {word}, but none of the "
                f"{len(examples):,} examples is one{' (labels found: ' + ', '.join(held[:6]) + ')' if held else ''}.",
                "Give such examples, or set the weight of this part of the objective to 0: "
                f"{'alpha' if side > 0 else 'beta'}=0.",
            )
    return used


def terms(
    examples: Sequence[Example], objective: Objective, tokens: NDArray[np.int64], plain: Floats
) -> Terms:
    """Return the weights and bounds of the examples.

    tokens: (examples,) number of tokens of each continuation. plain: (examples,) its mean NLL without a trigger.

    >>> pair = (Example("", "good", "a", "neutral"), Example("", "very bad", "a", "negative"))
    >>> made = terms(pair, Objective(), np.array([1, 2]), np.array([3.0, 2.0]))
    >>> made.losses(np.array([[3.0, 2.0], [2.5, 2.5], [2.5, 9.0]])).tolist()
    [4.0, 3.0, 2.5]
    """
    signs = np.array([objective.sign(example) for example in examples], dtype=np.int8)
    shares = np.array([example.weight for example in examples]) * tokens.astype(np.float64)
    for side, weight in ((1, objective.alpha), (-1, objective.beta)):
        on_side = signs == side
        if on_side.any():
            shares[on_side] *= weight / shares[on_side].sum()
    return Terms(signs, shares, plain + objective.margin)
