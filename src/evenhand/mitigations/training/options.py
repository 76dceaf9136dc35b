"""How a model is trained: everything that decides the weights besides the model, the examples and the objective."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from evenhand.schema import UsageError

Schedule = Literal["linear", "cosine", "constant"]
Precision = Literal["float32", "bfloat16"]
MOST_EPOCHS = 100_000


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Options of a training. The defaults are those published for RedditBias, if it states them (section 5.1).

    Raises a UsageError that names an option out of range.

    >>> TrainingOptions(batch_size=4, accumulation=5).rows_a_step
    20
    """

    epochs: float = 2.0
    """Number of passes over the examples. 0.5 reads half of them once."""
    batch_size: int = 8
    """Number of examples per batch and device."""
    accumulation: int = 1
    """Number of batches whose gradients are added up for one optimiser step."""
    learning_rate: float = 5e-5
    schedule: Schedule = "linear"
    """How the learning rate decreases from its peak: linearly to 0 (published), as a half cosine, or not at all."""
    warm_up: float = 0.0
    """Share of the steps (0 to 1) over which the learning rate rises from 0 to its peak."""
    weight_decay: float = 0.0
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float | None = 1.0
    """Largest norm of the gradient. None: not clipped."""
    precision: Precision = "float32"
    """Data type of the activations. Weights and optimiser use 32 bits."""
    gradient_checkpointing: bool = False
    """Compute activations twice instead of keeping them: less memory, about a third slower."""
    dropout: bool = True
    """True: as in the model's configuration. False: no dropout."""
    lora_rank: int | None = None
    """Train low-rank adapters of this rank, and leave the model's own weights; None trains these."""
    lora_alpha: float | None = None
    """Scale of the LoRA adapters, which is divided by their rank. None: twice the rank."""
    lora_dropout: float = 0.0
    lora_layers: tuple[str, ...] = ()
    """Names of the layers that get adapters, without the part before the last dot. Default: all linear layers that peft
    supports, except the output head.
    """
    evaluate_every: int | None = None
    """Number of steps between evaluations. None: at the end of each epoch."""
    patience: int | None = None
    """Number of evaluations without improvement after which training stops and the best weights are restored. None:
    never.
    """
    checkpoint_seconds: float = 60.0
    """Seconds between checkpoints; 0: after every step. It does not affect the weights."""
    seed: int = 42

    def __post_init__(self) -> None:
        for name in ("batch_size", "accumulation"):
            self._need(name, getattr(self, name) >= 1, "at least 1")
        for name in ("lora_rank", "evaluate_every", "patience"):
            self._need(name, getattr(self, name) is None or getattr(self, name) >= 1, "at least 1, or None")
        self._need("epochs", 0 < self.epochs <= MOST_EPOCHS, f"a number above 0, at most {MOST_EPOCHS:,}")
        for name in ("learning_rate", "epsilon"):
            self._need(name, 0 < getattr(self, name) < math.inf, "a number above 0")
        for name in ("weight_decay", "checkpoint_seconds"):
            self._need(name, 0 <= getattr(self, name) < math.inf, "0 or more")
        for name in ("warm_up", "beta1", "beta2", "lora_dropout"):
            self._need(name, 0 <= getattr(self, name) < 1, "at least 0 and below 1")
        for name in ("clip", "lora_alpha"):
            self._need(
                name, getattr(self, name) is None or getattr(self, name) > 0, "a number above 0, or None"
            )
        for name, known in (("schedule", Schedule), ("precision", Precision)):
            self._need(name, getattr(self, name) in get_args(known), " or ".join(get_args(known)))
        self._need("seed", 0 <= self.seed < 2**63, "a whole number from 0 to 2**63 - 1")

    def _need(self, name: str, right: bool, expected: str) -> None:
        if not right:
            raise UsageError(f"{name} must be {expected}, got {getattr(self, name)!r}.")

    @property
    def rows_a_step(self) -> int:
        """Return the number of examples of one step on one device."""
        return self.batch_size * self.accumulation

    def deciding(self) -> dict[str, Any]:
        """Return the options that affect the weights, as JSON-serialisable data."""
        return {name: value for name, value in asdict(self).items() if name != "checkpoint_seconds"}

    def rate(self, step: int, steps: int) -> float:
        """Return the learning rate of a step, counted from 0, out of `steps` in total.

        >>> options = TrainingOptions(learning_rate=1.0, warm_up=0.0)
        >>> [options.rate(step, 4) for step in range(4)]
        [1.0, 0.75, 0.5, 0.25]
        """
        rise = math.ceil(self.warm_up * steps)
        if step < rise:
            return self.learning_rate * step / rise
        left = (steps - step) / max(1, steps - rise)
        match self.schedule:
            case "linear":
                return self.learning_rate * left
            case "cosine":
                return self.learning_rate * 0.5 * (1 + math.cos(math.pi * (1 - left)))
        return self.learning_rate
