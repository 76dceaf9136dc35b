"""The contract of a method of training: what it makes of texts, and what it adds to the loss; and all methods by name.

A method = a transformation of the texts and/or terms of the loss. Its first lines say which paper; its card what it is
expected to do and what is known against it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any, Protocol, runtime_checkable

from evenhand.mitigations.training.examples import Examples
from evenhand.mitigations.training.material import Encoding, Material
from evenhand.mitigations.training.objective import Objective
from evenhand.schema import (
    Card,
    ExtensionError,
    Registry,
    UsageError,
    checked,
    options_of,
    split_options,
    typed_options,
)

METHODS = {
    "lmd": "evenhand.mitigations.training.losses.lmd:LanguageModelDebiasing",
    "add": "evenhand.mitigations.training.losses.add:AttributeDistanceDebiasing",
    "hd": "evenhand.mitigations.training.losses.hd:HardDebiasing",
    "cda": "evenhand.mitigations.training.data.cda:CounterfactualAugmentation",
}
"""By name: what makes it; its parameters are its options."""

METHOD_MAKERS: Registry[Callable[..., Any]] = Registry(
    "training method",
    "evenhand.training_methods",
    METHODS,
    "a function or class that makes a TrainingMethod",
)
NOT_OPTIONS = ("name", "card", "CARD")


@dataclass(frozen=True)
class Lesson:
    """What a method makes of texts: examples, what is made small on them, and facts for the record."""

    examples: Examples
    objective: Objective
    facts: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class TrainingMethod(Protocol):
    """A way to train a bias out of a causal language model. Frozen."""

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

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Examples and objective. Raises DataError where texts or terms do not suffice for it."""
        ...


@checked
def load_method(words: str) -> TrainingMethod:
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
    if not isinstance(made, TrainingMethod):
        raise ExtensionError(
            f"{name!r}, registered as a training method by the package {METHOD_MAKERS.package(name)}, makes "
            f"{type(made).__name__}, which is none.",
            "What it needs stands in evenhand.mitigations.training.TrainingMethod.",
        )
    return made


def method_options(name: str) -> dict[str, Parameter]:
    """The options of a method, by name, with the types they ask for.

    name: without options. Raises UsageError for a name that there is not, ExtensionError.

    >>> method_options("lmd")["weight"].default
    1.0
    """
    return options_of(METHOD_MAKERS.load(name), hidden=NOT_OPTIONS)
