"""The contract of a mitigation: it takes a language model and returns one, and says what it did to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from evenhand.models import (
    Architecture,
    Decoding,
    Generations,
    LanguageModel,
    Likelihoods,
    Texts,
    reads_start_apart,
    room_for,
    text_generator,
)
from evenhand.schema import Card, Unsupported, UsageError

Answer = Literal["log_likelihoods", "generate"]
"""What a model is asked for, by the name of its method."""
ANSWERS: dict[Answer, str] = {"log_likelihoods": "likelihoods", "generate": "continuations"}


@dataclass(frozen=True)
class Specification:
    """The wording a mitigation works by: what it is told to do, or what it is told to avoid.

    texts: one instruction, or several prefixes. levels: other wordings of it by name, as far as somebody has
    published or written them (`opposite`); the consistency protocol makes those that are not there.
    """

    texts: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@runtime_checkable
class Mitigation(Protocol):
    """A function from a model to a model, with a card. Frozen; chains in the order of application."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    @property
    def card(self) -> Card:
        """What it is expected to do, what is known to go wrong, and where it comes from."""
        ...

    @property
    def specification(self) -> Specification | None:
        """Its wording; None where it has none (a trigger, a fine-tuned model)."""
        ...

    def specified(self, texts: Sequence[str]) -> "Mitigation":
        """The same method with another wording. Raises Unsupported where it has none."""
        ...

    def parameters(self) -> dict[str, Any]:
        """JSON-serialisable: everything its effect depends on; enters the fingerprint."""
        ...

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """The mitigated model. Raises Unsupported, saying what works there, if this backend cannot do it."""
        ...


DRAWS = "by the prompt without what stands in front"
"""Of mitigations that put something in front of prompts: the same random numbers as without it, so that answers with
and without are pairs. Part of their parameters, because answers drawn otherwise are other answers."""


class Mitigated:
    """A model behind a mitigation: says so in fingerprint and description, and answers only what it answers for.

    Mitigations subclass it, override what they change and declare the rest in `unchanged`. What a subclass neither
    overrides nor declares is refused: the model's own numbers must not stand under the mitigation's name.
    """

    unchanged: ClassVar[frozenset[Answer]] = frozenset()
    """Answers that are the model's own behind this mitigation, too, and may be passed on as they are."""

    def __init__(self, model: LanguageModel, mitigation: Mitigation):
        if not hasattr(model, "architecture"):
            raise UsageError(
                f"Mitigated requires a language model, got {type(model).__name__}.",
                "Give the result of load_model.",
            )
        self.model, self.mitigation = model, mitigation
        self.architecture: Architecture = model.architecture

    @property
    def reads_start_apart(self) -> bool:
        """Whether the model can read a text's first token by itself; so can it behind whatever stands in front."""
        return reads_start_apart(self.model)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """The model's own, and the chain of mitigations in the order of application."""
        below = self.model.fingerprint
        step = {"name": self.mitigation.name, **self.mitigation.parameters()}
        return {**below, "mitigations": [*below.get("mitigations", ()), step]}

    def describe(self) -> dict[str, Any]:
        """The model's own facts, and the names of the chain."""
        below = self.model.describe()
        return {**below, "mitigations": [*below.get("mitigations", ()), self.mitigation.name]}

    def check_answers(self, answer: Answer) -> None:
        """Raise Unsupported, saying what to do, unless this mitigation and those below it answer for `answer`."""
        kind = type(self)
        if answer not in kind.unchanged and getattr(kind, answer) is getattr(Mitigated, answer):
            other = "continuations" if answer == "log_likelihoods" else "likelihoods"
            raise Unsupported(
                f"The mitigation {self.mitigation.name!r} does not support {ANSWERS[answer]}: the results would be "
                "those of the model without it.",
                f"Choose a benchmark of {other}. If you maintain the mitigation, implement {answer} in "
                f'{kind.__name__}, or declare unchanged = frozenset({{"{answer}"}}) if it does not change '
                f"{ANSWERS[answer]}.",
            )
        if isinstance(self.model, Mitigated):
            self.model.check_answers(answer)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens fit behind each prompt (see `evenhand.models.room_for`).

        None where this mitigation changes what is written: a subclass that puts text in front of prompts counts it.
        """
        return room_for(self.model, prompts) if "generate" in type(self).unchanged else None

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """As the model itself answers (see LanguageModel.log_likelihoods); raises Unsupported unless `unchanged`."""
        self.check_answers("log_likelihoods")
        return self.model.log_likelihoods(texts)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """As the model itself writes (see TextGenerator.generate); raises Unsupported unless `unchanged`."""
        self.check_answers("generate")
        return text_generator(self.model).generate(prompts, decoding)
