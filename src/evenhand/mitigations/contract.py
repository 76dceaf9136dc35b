"""Interface of a mitigation: it takes a language model and returns a changed one that records the change."""

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
"""Function that answers one type of request to a model, by the name of its method (such as "generate")."""
ANSWERS: dict[Answer, str] = {"log_likelihoods": "likelihoods", "generate": "continuations"}


@dataclass(frozen=True)
class Specification:
    """The wording of a mitigation: what the model should do, or what it should avoid.

    `evenhand.check_consistency` replaces the wording by other wordings and tests whether the effect changes.

    Attributes
    ----------
    texts : tuple of str
        One instruction, or several prefixes.
    levels : mapping of str to tuple of str
        Other wordings for the consistency check, by name: "opposite", "nonsensical" or "blank". The check
        creates the wordings that are missing.

    Examples
    --------
    >>> Specification(("Be kind.",), {"opposite": ("Be rude.",)}).levels["opposite"]
    ('Be rude.',)
    """

    texts: tuple[str, ...]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@runtime_checkable
class Mitigation(Protocol):
    """Interface of a mitigation: a callable that takes a language model and returns a changed one.

    Implement it to add your own method for reducing bias. You can then pass the object to `evenhand.audit` or
    `evenhand.before_after`, alone or with other mitigations. Several mitigations are applied in the order in
    which they are listed.

    Notes
    -----
    A mitigation is immutable. Its card describes the expected effect and the known problems.
    """

    @property
    def name(self) -> str:
        """Return the name that reports show."""
        ...

    @property
    def card(self) -> Card:
        """Return the card, which describes the expected effect, the known problems and the source."""
        ...

    @property
    def specification(self) -> Specification | None:
        """Return the wording of the mitigation, or None if it has none.

        A trigger or a fine-tuned model, for example, has no wording.
        """
        ...

    def specified(self, texts: Sequence[str]) -> "Mitigation":
        """Return the same mitigation with another wording.

        Parameters
        ----------
        texts : sequence of str
            The new wording: one instruction, or all prefixes.

        Returns
        -------
        Mitigation
            The mitigation with the new wording.

        Raises
        ------
        Unsupported
            The mitigation has no wording.
        """
        ...

    def parameters(self) -> dict[str, Any]:
        """Return everything that determines the effect of the mitigation.

        Returns
        -------
        dict of str to Any
            JSON-serialisable values. They are part of the fingerprint, which decides whether stored results
            can be reused.
        """
        ...

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return the model with the mitigation.

        Parameters
        ----------
        model : LanguageModel
            The model without the mitigation.

        Returns
        -------
        LanguageModel
            The model with the mitigation.

        Raises
        ------
        Unsupported
            The backend of the model cannot apply the mitigation. The message names an alternative.
        """
        ...


DRAWS = "by the prompt without what stands in front"
"""Parameter of mitigations that put text before prompts.

Sampling uses the same random numbers as without the mitigation, so that responses with and without it are
pairs. It is one of the parameters, because other random numbers would give other responses.
"""


class Mitigated:
    """A model with a mitigation applied; base class for the models that mitigations return.

    Derive from this class when you write your own mitigation. A subclass overrides `log_likelihoods` or
    `generate`, whichever the mitigation changes.

    Parameters
    ----------
    model : LanguageModel
        The model without the mitigation.
    mitigation : Mitigation
        The mitigation.

    Attributes
    ----------
    unchanged : frozenset of str
        Names of the methods that return the same results as the model without the mitigation. Set it on the
        subclass. Default: empty.

    Raises
    ------
    UsageError
        `model` is not a language model.

    Notes
    -----
    Calls of a method that is neither overridden nor listed in `unchanged` are refused. Otherwise the numbers
    of the original model could be reported as those of the mitigation.

    The mitigation is part of the fingerprint and of the description of the model. evenhand reuses stored
    results only if the fingerprint is the same.
    """

    unchanged: ClassVar[frozenset[Answer]] = frozenset()
    """Names of methods whose results are the same as those of the original model."""

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
        """Return whether the model can condition the first token of a text on the start token alone
        (StereoSet's rule).
        """
        return reads_start_apart(self.model)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return the fingerprint of the model and the mitigations, in the order of application."""
        below = self.model.fingerprint
        step = {"name": self.mitigation.name, **self.mitigation.parameters()}
        return {**below, "mitigations": [*below.get("mitigations", ()), step]}

    def describe(self) -> dict[str, Any]:
        """Return the description of the model, with the names of its mitigations."""
        below = self.model.describe()
        return {**below, "mitigations": [*below.get("mitigations", ()), self.mitigation.name]}

    def check_answers(self, answer: Answer) -> None:
        """Raise Unsupported unless this mitigation, and those applied before it, support a request.

        `answer` is the name of the method: "log_likelihoods" or "generate". The hint gives a solution.
        """
        kind = type(self)
        if answer not in kind.unchanged and getattr(kind, answer) is getattr(Mitigated, answer):
            other = "continuations" if answer == "log_likelihoods" else "likelihoods"
            raise Unsupported(
                f"The mitigation {self.mitigation.name!r} does not support {ANSWERS[answer]}. The results would be "
                "those of the model without the mitigation.",
                f"Choose a benchmark of {other}. If you maintain the mitigation, implement {answer} in "
                f"{kind.__name__}. If the mitigation leaves {ANSWERS[answer]} as they are, declare "
                f'unchanged = frozenset({{"{answer}"}}).',
            )
        if isinstance(self.model, Mitigated):
            self.model.check_answers(answer)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return the number of tokens that fit after each prompt (see `evenhand.models.room_for`).

        Returns None if this mitigation changes generation. A subclass that puts text before prompts counts that
        text.
        """
        return room_for(self.model, prompts) if "generate" in type(self).unchanged else None

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the model's own log-likelihoods (see LanguageModel.log_likelihoods).

        Raises Unsupported unless they are listed in `unchanged`.
        """
        self.check_answers("log_likelihoods")
        return self.model.log_likelihoods(texts)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Return the model's own continuations (see TextGenerator.generate).

        Raises Unsupported unless `generate` is listed in `unchanged`.
        """
        self.check_answers("generate")
        return text_generator(self.model).generate(prompts, decoding)
