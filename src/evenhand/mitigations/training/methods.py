"""The contracts of methods, and all methods by name.

A method of training = a transformation of the texts and/or terms of the loss. A method that edits changes finished
weights at once, and nothing is trained. The first lines of each say which paper; its card what it is expected to do and
what is known against it.
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
    missing_members,
    options_of,
    split_options,
    typed_options,
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
"""By name: what makes it; its parameters are its options. What trains is here, and what projects in its own room."""

METHOD_MAKERS: Registry[Callable[..., Any]] = Registry(
    "training method",
    "evenhand.training_methods",
    METHODS,
    "a function or class that makes a TrainingMethod or an EditingMethod",
)
NOT_OPTIONS = ("name", "card", "CARD")


OfBase = Callable[[Any, Examples], Mapping[str, NDArray[Any]]]
"""From the base model and examples to values of each example."""
OfEpoch = Callable[[int], Examples]
"""From the number of an epoch, from 0, to its examples."""


@dataclass(frozen=True)
class Lesson:
    """What a method makes of texts: examples, what is made small on them, and facts for the record.

    of_base: what the objective needs to know of the model as it was before training; asked once, and kept beside the
    checkpoint, so that a training that goes on goes on with the same. of_epoch: where each epoch has examples of its
    own: as many as `examples`, which are those of the first. label: text at the end of every history with which the
    trained model is to be used; "" for none.
    """

    examples: Examples
    objective: Objective
    facts: dict[str, Any] = field(default_factory=dict)
    of_base: OfBase | None = None
    of_epoch: OfEpoch | None = None
    label: str = ""


@dataclass(frozen=True)
class Edit:
    """What came of changing a model at once; the model itself was changed in place.

    told: in a sentence. facts: for the record. curves: (step, name, value) of what was watched on the way.
    """

    told: str
    facts: dict[str, Any] = field(default_factory=dict)
    curves: tuple[tuple[int, str, float], ...] = ()


class DebiasingMethod(Protocol):
    """A way to get a bias out of the weights of a language model. Frozen."""

    @property
    def name(self) -> str:
        """As reports call it."""
        ...

    @property
    def card(self) -> Card:
        """What it is expected to do, what is known to go wrong, and where it comes from."""
        ...

    def parameters(self) -> dict[str, Any]:
        """JSON-serialisable: everything its effect depends on besides texts and training options."""
        ...


@runtime_checkable
class TrainingMethod(DebiasingMethod, Protocol):
    """A way to train a bias out of a model."""

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Examples and objective. Raises DataError where texts or terms do not suffice for it."""
        ...


@runtime_checkable
class DialogueMethod(TrainingMethod, Protocol):
    """A way to train that learns replies of dialogues, and reads them from a run or a file of the user's itself."""

    def given(self, data: Path, seed: int) -> tuple[Material, Validation]:
        """What is learned and what is watched; texts to watch are lines of `Reply`. Raises DataError."""
        ...


@runtime_checkable
class EditingMethod(DebiasingMethod, Protocol):
    """A way to change finished weights at once, without training."""

    def edit(self, material: Material, model: Any, tokenizer: Any, encoding: Encoding, seed: int) -> Edit:
        """Change a model of transformers in place.

        Raises DataError where texts or terms do not suffice, Unsupported for models that it cannot be done to.
        """
        ...


def architectures_of(method: DebiasingMethod) -> tuple[Architecture, ...]:
    """Which models a method can be used on: replies are learned by encoder-decoder models, too.

    >>> architectures_of(load_method("lmd")), architectures_of(load_method("self-chat"))
    (('causal',), ('causal', 'encoder-decoder'))
    """
    return ("causal", "encoder-decoder") if isinstance(method, DialogueMethod) else ("causal",)


@checked
def load_method(words: str) -> TrainingMethod | EditingMethod:
    """The method that a user names.

    words: `NAME` or `NAME?option=value&option=value`; a package adds names under the entry-point group
    "evenhand.training_methods". Raises UsageError for unknown names and options, ExtensionError.

    >>> load_method("lmd?weight=50").parameters()["weight"]
    50.0
    """
    name, options = split_options(words)
    arguments = typed_options(name, options, method_options(name))
    try:
        made = METHOD_MAKERS.load(name)(**arguments)
    except ValueError as error:
        raise UsageError(f"--method {words}: {error}.") from error
    except Exception as error:
        if (broken := METHOD_MAKERS.made_by_stranger(name, error)) is not None:
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
    """The options of a method, by name, with the types they ask for.

    name: without options. Raises UsageError for a name that there is not, ExtensionError.

    >>> method_options("lmd")["weight"].default
    1.0
    """
    return options_of(METHOD_MAKERS.load(name), hidden=NOT_OPTIONS)
