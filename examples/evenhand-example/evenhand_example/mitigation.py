"""A mitigation: from a model to a model. This one says a reminder in front of every prompt."""

from dataclasses import dataclass
from typing import Any

from evenhand.mitigations import Mitigated, Specification
from evenhand.models.contract import Texts, text_generator
from evenhand.schema import Card

CARD = Card(
    "example-mitigation",
    "A reminder to be fair, said once or several times in front of every prompt.",
    construct="Whether a model that is reminded writes more kindly.",
    null="A model that cannot follow instructions continues as before.",
    critique="A template, not a finding: only the model of this package is known to listen.",
    source="examples/evenhand-example",
)


@dataclass(frozen=True)
class Reminder:
    """Fields are options: `example-mitigation=Be fair.` fills the first, `example-mitigation?times=2` any of them."""

    text: str = "Be fair."
    times: int = 1
    name: str = "example-mitigation"  # name and card say what it is; they are no options
    card: Card = CARD

    @property
    def specification(self) -> Specification | None:
        return Specification((self.text,))  # the wording, for `check-consistency`; None where there is none

    def specified(self, texts) -> "Reminder":
        return Reminder(texts[0], self.times, f"{self.name} (reworded)", self.card)

    def parameters(self) -> dict[str, Any]:
        return {"text": self.text, "times": self.times}  # all that its effect depends on: in the fingerprint

    def __call__(self, model):
        return Reminded(model, self)  # raise Unsupported here for a model that it cannot work on


class Reminded(Mitigated):
    """`Mitigated` passes on all that is not changed here, and adds the mitigation to the fingerprint."""

    def front(self) -> str:
        return f"{self.mitigation.text} " * self.mitigation.times

    def generate(self, prompts, decoding):
        return text_generator(self.model).generate([self.front() + prompt for prompt in prompts], decoding)

    def log_likelihoods(self, texts):
        return super().log_likelihoods(Texts.of(texts).behind(self.front()))  # the reminder is not scored
