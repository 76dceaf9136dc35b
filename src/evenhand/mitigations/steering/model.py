"""Models that are steered by contexts: they generate and score with combined next-token distributions."""

from collections.abc import Sequence

from evenhand.mitigations.contract import Mitigated, Mitigation
from evenhand.mitigations.prompting import PrefixedModel
from evenhand.models import Decoding, Generations, LanguageModel, Likelihoods, Texts, room_for
from evenhand.models.writing import (
    CombinationRule,
    SteerableModel,
    Steering,
    steerable,
)
from evenhand.schema import Unsupported


class SteeredModel(Mitigated):
    """A model with a steering mitigation.

    Parameters
    ----------
    model : LanguageModel
        A Hugging Face causal or encoder-decoder model, alone or with instructions. Instructions precede both contexts
        and prompts.
    contexts, rule
        See `Steering`.

    Raises
    ------
    Unsupported
        The model is of another kind or has another mitigation. The message names an alternative.
    """

    def __init__(
        self, model: LanguageModel, mitigation: Mitigation, contexts: Sequence[str], rule: CombinationRule
    ):
        super().__init__(model, mitigation)
        self.base, front = _base(model, mitigation.name)
        self.steering = Steering(tuple(contexts), rule, front)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens fit after each prompt with the longest context before it."""
        fronts = [self.steering.front + context for context in ("", *self.steering.contexts)]
        rooms = [room_for(self.base, [front + prompt for prompt in prompts]) for front in fronts]
        known = [room for room in rooms if room is not None]
        return [min(each) for each in zip(*known, strict=True)] if known else None

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Return continuations sampled from the combined distributions (see SteerableModel.generate_steered)."""
        return self.base.generate_steered(prompts, decoding, self.steering)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Return continuations as `generate` does, with random numbers that depend on keys (see KeyedGenerator)."""
        return self.base.generate_steered(prompts, decoding, self.steering, keys)

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return log probabilities under the combined distributions; raise Unsupported if `masking` is requested."""
        reason = f"{self.mitigation.name} combines next-token distributions; masks have none."
        batch = Texts.of(texts).refuse_masking(reason, "Use a benchmark for causal models.")
        return self.base.steered_log_likelihoods(batch, self.steering)


def _base(model: LanguageModel, name: str) -> tuple[SteerableModel, str]:
    """Return the model without its instructions, and these instructions as one text."""
    front, below = "", model
    while isinstance(below, PrefixedModel):
        front, below = below.front + front, below.model
    if isinstance(below, Mitigated):
        other = below.mitigation.name
        hint = f"Apply {name} first: --mitigate {name} --mitigate {other}."
        if isinstance(below, SteeredModel):
            hint = "Two steering methods cannot be combined: use one of them."
        raise Unsupported(
            f"{name} needs the next-token distributions of the model itself, but {other} was applied before it.",
            hint,
        )
    return steerable(below), front
