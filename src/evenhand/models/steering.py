"""Steering: what other contexts would make a model say next, combined with what it would say by itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evenhand.schema import UsageError

if TYPE_CHECKING:
    import torch


@runtime_checkable
class CombinationRule(Protocol):
    """How next-token distributions are combined; works on all rows and contexts at once."""

    def combine(self, regular: "torch.Tensor", steered: "torch.Tensor") -> "torch.Tensor":
        """Log probabilities to draw from.

        regular: (rows, vocabulary), natural-log probabilities behind the prompt alone. steered: (contexts, rows,
        vocabulary), the same behind each context and the prompt. Returns (rows, vocabulary), normalised.
        """
        ...

    def parameters(self) -> dict[str, Any]:
        """JSON-serialisable: name and constants."""
        ...


@dataclass(frozen=True)
class Steering:
    """Extra contexts, each put in front of every prompt, and the rule that combines what they lead to.

    contexts: at least one text; a context of white space is allowed (the consistency protocol asks for it), an
    empty one is not: it would compare the model with itself. Raises UsageError otherwise.
    """

    contexts: tuple[str, ...]
    rule: CombinationRule

    def __post_init__(self) -> None:
        if not self.contexts:
            raise UsageError(
                "The list of contexts to steer by is empty.",
                "Give at least one text that leads the model to what it should avoid (or seek).",
            )
        if "" in self.contexts:
            raise UsageError(
                f"Context {self.contexts.index('') + 1} of {len(self.contexts)} is empty: behind it a model says "
                "what it says anyway.",
                "Use a single space if a blank context is what you mean to test.",
            )

    def parameters(self) -> dict[str, Any]:
        """JSON-serialisable: contexts and rule."""
        return {"contexts": list(self.contexts), "rule": self.rule.parameters()}
