"""Put an instruction before every prompt. This is the only mitigation that works with every backend,
including servers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.mitigations.contract import DRAWS, Mitigated, Specification
from evenhand.models import (
    Decoding,
    Generations,
    LanguageModel,
    Likelihoods,
    Texts,
    generate_keyed,
    room_for,
)
from evenhand.schema import Card, Unsupported, UsageError, check_fields

CARD = Card(
    "prefix",
    "Puts your own text before every prompt, on any backend.",
    construct="Whether instructions change how a model writes about people.",
    null="A model that does not follow instructions continues the prompt as before, or drifts towards the "
    "instruction's topic.",
    critique="In ROBBIE, such instructions lowered the harm of a model with 175 billion parameters by 28% on "
    "average and had almost no effect on GPT-2 XL. The text uses part of the context, and words in it (rude, "
    "toxic) can evoke what they name.",
    source="ROBBIE (2023), section B.3.1; any wording.",
)


@dataclass(frozen=True)
class Prefix:
    """A mitigation that puts a text, such as an instruction, before every prompt.

    Use it to test whether asking for fair responses helps. The model continues the instruction and the prompt
    as one text. Only the continuation is returned.

    Parameters
    ----------
    text : str
        The instruction.
    delimiter : str, default "\\n"
        Text between the instruction and the prompt. The default is a line break, as in ROBBIE.
    name : str, default "prefix"
        Name in reports.
    card : Card
        Description of the mitigation, with known problems.
    levels : tuple of (str, tuple of str), default ()
        Other wordings by name, such as "opposite", for the consistency check (`evenhand.check_consistency`).

    Raises
    ------
    UsageError
        The instruction is empty or only white space. Such a text would change only how the first word is
        split into tokens.

    References
    ----------
    Esiobu et al. (2023), "ROBBIE: Robust Bias Evaluation of Large Generative Language Models", EMNLP, section
    B.3.1.

    Examples
    --------
    The scripted model returns its prompt in capital letters:

    >>> from evenhand.models.puppets import writes
    >>> from evenhand.models.decoding import Decoding
    >>> echo = writes(lambda prompt, sample: prompt.upper())
    >>> Prefix("Be kind.")(echo).generate(["The man"], Decoding(max_new_tokens=5)).texts
    ['BE KIND.\\nTHE MAN']
    """

    text: str
    delimiter: str = "\n"
    name: str = "prefix"
    card: Card = CARD
    levels: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Other wordings by level, for the consistency check."""

    def __post_init__(self) -> None:
        check_fields(self, "text", "delimiter")
        if not self.text.strip() and self.name == "prefix":
            raise UsageError(
                "The instruction is empty.",
                'For example: --mitigate prefix="Be respectful."',
            )

    @property
    def specification(self) -> Specification:
        """Return the wording: the instruction, and other wordings by name."""
        return Specification((self.text,), dict(self.levels))

    def specified(self, texts: Sequence[str]) -> "Prefix":
        """Return the same mitigation with another instruction; raise UsageError unless `texts` has one element."""
        if len(texts) != 1:
            raise UsageError(f"{self.name} accepts one instruction, got {len(texts)}.", "Give one text.")
        return Prefix(texts[0], self.delimiter, f"{self.name} (reworded)", self.card)

    def parameters(self) -> dict[str, Any]:
        """Return the exact text before the prompt, and the rule for random numbers."""
        return {"text": self.text, "delimiter": self.delimiter, "draws": DRAWS}

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return the model with the instruction before every prompt; raise Unsupported for a masked model."""
        if model.architecture == "masked":
            raise Unsupported(
                f"{model.fingerprint.get('name', 'This model')} is a masked language model and cannot follow an "
                "instruction.",
                "Use a causal or encoder-decoder model.",
            )
        return PrefixedModel(model, self)


class PrefixedModel(Mitigated):
    """A model with an instruction before each of its prompts."""

    def __init__(self, model: LanguageModel, mitigation: Prefix):
        super().__init__(model, mitigation)
        self.front = mitigation.text + mitigation.delimiter

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Score each text after the instruction and its own context. The instruction itself is not scored."""
        return super().log_likelihoods(Texts.of(texts).behind(self.front))

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return the maximum number of new tokens after each prompt and the instruction before it."""
        return room_for(self.model, [self.front + prompt for prompt in prompts])

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt after the instruction, with the random numbers of the prompt without the instruction."""
        return self.generate_keyed(prompts, prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Continue each prompt after the instruction, with random numbers that depend on keys (see KeyedGenerator)."""
        return generate_keyed(self.model, [self.front + prompt for prompt in prompts], keys, decoding)
