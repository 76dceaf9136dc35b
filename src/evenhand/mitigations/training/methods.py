"""The interfaces of training methods, and all methods by name.

A training method transforms the texts, adds terms to the loss, or both. An editing method changes finished
weights at once, without training. The first lines of each module name the paper. The card of a method states
its expected effect and known problems.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from evenhand.mitigations.training.examples import Examples
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.objective import Objective
from evenhand.mitigations.training.validation import Validation
from evenhand.models import Architecture
from evenhand.schema import (
    Card,
    ExtensionError,
    Registry,
    UsageError,
    checked,
    convert_options,
    list_options,
    missing_members,
    split_options,
)

METHODS = {
    "lmd": "evenhand.mitigations.training.losses.lmd:LanguageModelDebiasing",
    "add": "evenhand.mitigations.training.losses.add:AttributeDistanceDebiasing",
    "hd": "evenhand.mitigations.training.losses.hd:HardDebiasing",
    "cda": "evenhand.mitigations.training.data.cda:CounterfactualAugmentation",
    "dpo": "evenhand.mitigations.training.data.dpo:PreferenceDebiasing",
    "self-chat": "evenhand.mitigations.training.dialogue.plain:SelfChatTuning",
    "name-scrambling": "evenhand.mitigations.training.dialogue.scrambling:NameScrambling",
    "unlikelihood-token": "evenhand.mitigations.training.dialogue.unlikelihood:UnlikelihoodOfTokens",
    "unlikelihood-sequence": "evenhand.mitigations.training.dialogue.unlikelihood:UnlikelihoodOfSequences",
    "control-gender": "evenhand.mitigations.training.dialogue.gender_labels:GenderLabels",
    "control-tokens": "evenhand.mitigations.training.dialogue.token_labels:TokenLabels",
    "style-equality": "evenhand.mitigations.training.dialogue.style_labels:StyleEquality",
    "inlp": "evenhand.mitigations.projection.inlp:NullspaceProjection",
    "sentence-debias": "evenhand.mitigations.projection.sentence_debias:SentenceDebias",
}
"""Function that creates each method, by name. Its parameters are the options. Projections are in their own package."""

METHOD_MAKERS: Registry[Callable[..., Any]] = Registry(
    "training method",
    "evenhand.training_methods",
    METHODS,
    "a function or class that makes a TrainingMethod or an EditingMethod",
)
NOT_OPTIONS = ("name", "card", "CARD")


OfBase = Callable[[Any, Examples], Mapping[str, NDArray[Any]]]
"""Function of the base model and examples that returns values of each example."""
OfEpoch = Callable[[int], Examples]
"""Function of the number of an epoch, from 0, that returns its examples."""


@dataclass(frozen=True)
class Lesson:
    """What a method makes from texts: examples, the objective, and facts for the record.

    `of_base` computes what the objective needs to know about the model before training. It is called once,
    and its result is stored next to the checkpoint for a resumed training. `of_epoch` gives the examples of
    an epoch if epochs differ; there are as many as `examples`, which are those of the first. `label` is a
    text at the end of every history with which the trained model must be used; "" for none.
    """

    examples: Examples
    objective: Objective
    facts: dict[str, Any] = field(default_factory=dict)
    of_base: OfBase | None = None
    of_epoch: OfEpoch | None = None
    label: str = ""


@dataclass(frozen=True)
class Edit:
    """The result of editing a model in place.

    `told` is a sentence that describes the edit. `facts` are stored in the training record. `curves` has a tuple (step,
    name, value) for each monitored value.
    """

    told: str
    facts: dict[str, Any] = field(default_factory=dict)
    curves: tuple[tuple[int, str, float], ...] = ()


class DebiasingMethod(Protocol):
    """Interface of a method that reduces a bias in the weights of a language model. Methods are frozen."""

    @property
    def name(self) -> str:
        """Return the name in reports."""
        ...

    @property
    def card(self) -> Card:
        """Return the card: expected effect, known problems, and source."""
        ...

    def parameters(self) -> dict[str, Any]:
        """Return everything that determines the effect, except texts and training options; JSON-serialisable."""
        ...


@runtime_checkable
class TrainingMethod(DebiasingMethod, Protocol):
    """Interface of a method that trains a model."""

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return examples and objective; raises DataError if there are too few texts or terms."""
        ...


@runtime_checkable
class DialogueMethod(TrainingMethod, Protocol):
    """Interface of a method that learns replies of dialogues, and reads them from a run or a user's file."""

    def given(self, data: Path, seed: int) -> tuple[Material, Validation]:
        """Return the training material and the validation texts, which are lines of `Reply`. Raises DataError."""
        ...


@runtime_checkable
class EditingMethod(DebiasingMethod, Protocol):
    """Interface of a method that changes finished weights at once, without training."""

    def edit(self, material: Material, model: Any, tokenizer: Any, encoding: Encoding, seed: int) -> Edit:
        """Change a model of transformers in place.

        Raises DataError if there are too few texts or terms, and Unsupported for a model that cannot be
        edited.
        """
        ...


def supported_architectures(method: DebiasingMethod) -> tuple[Architecture, ...]:
    """Return the architectures with which a method works; encoder-decoder models can also learn replies.

    >>> supported_architectures(load_method("lmd")), supported_architectures(load_method("self-chat"))
    (('causal',), ('causal', 'encoder-decoder'))
    """
    return ("causal", "encoder-decoder") if isinstance(method, DialogueMethod) else ("causal",)


@checked
def load_method(words: str) -> TrainingMethod | EditingMethod:
    """Load a method by name.

    `words` is `NAME` or `NAME?option=value&option=value`. Other packages add names under the entry-point
    group "evenhand.training_methods". Raises UsageError for unknown names and options, and ExtensionError.

    >>> load_method("lmd?weight=50").parameters()["weight"]
    50.0
    """
    name, options = split_options(words)
    arguments = convert_options(name, options, method_options(name))
    try:
        made = METHOD_MAKERS.load(name)(**arguments)
    except ValueError as error:
        raise UsageError(f"--method {words}: {error}.") from error
    except Exception as error:
        if (broken := METHOD_MAKERS.explain_failure(name, error)) is not None:
            raise broken from error
        raise
    if not isinstance(made, TrainingMethod | EditingMethod):
        kind = type(made).__name__
        trains, edits = (
            ", ".join(f"`{member}`" for member in missing_members(made, protocol))
            for protocol in (TrainingMethod, EditingMethod)
        )
        raise ExtensionError(
            f"{name!r}, a training method of the package {METHOD_MAKERS.package(name)}, is not valid: {kind} has "
            f"no {trains}.",
            "evenhand.mitigations.training.TrainingMethod describes each member. As an EditingMethod, which "
            f"changes weights without training, {kind} has no {edits}.",
        )
    return made


def method_options(name: str) -> dict[str, Parameter]:
    """Return the options of a method by name, with their types.

    `name` is the name without options. Raises UsageError for an unknown name, and ExtensionError.

    >>> method_options("lmd")["weight"].default
    1.0
    """
    return list_options(METHOD_MAKERS.load(name), hidden=NOT_OPTIONS)
