"""A training method: which texts a model learns, and with which loss. This one leaves out texts with a stereotype."""

from dataclasses import dataclass

from evenhand.mitigations.training import LanguageModelling, Lesson, encode_texts
from evenhand.schema import Card

CARD = Card(
    "example-method",
    "Fine-tuning on the texts that contain no listed stereotype.",
    construct="Whether a model that reads no stereotypes writes fewer of them.",
    critique="A template, not a finding: nobody has measured its effect.",
    source="examples/evenhand-example",
)


@dataclass(frozen=True)
class WithoutStereotypes:
    """A method that changes finished weights has `edit` in place of `lesson` (`EditingMethod`)."""

    name: str = "example-method"
    card: Card = CARD

    def parameters(self):
        return {}  # everything that the training depends on: part of the lineage of the trained model

    def lesson(self, material, tokenizer, encoding, seed):
        """Return the training examples and the loss. `material` has the texts, and the words of the bias type."""
        kept = [text for text in material.texts if not any(word in text for word in material.attributes)]
        return Lesson(encode_texts(tokenizer, kept, longest=encoding.longest), LanguageModelling())
