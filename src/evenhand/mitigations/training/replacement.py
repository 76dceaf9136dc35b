"""A model behind a mitigation that changed its weights: another set of weights answers in its place."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evenhand.mitigations.contract import Mitigated, Mitigation
from evenhand.mitigations.training.finetuned import read_lineage, told_lineage
from evenhand.models import Decoding, Generations, LanguageModel, Likelihoods, Texts, generate_keyed, room_for
from evenhand.models.huggingface import CausalModel, EncoderDecoderModel
from evenhand.schema import Card, ModelError, Unsupported

TrainableModel = CausalModel | EncoderDecoderModel
"""Models that write text and whose weights are in this process: what can be trained, and replaced."""
OF_BASE = ("weights", "name", "revision", "tokenizer")
"""Keys of a fingerprint that identify the base model."""


class Replaced(Mitigated):
    """A model in whose place a trained one answers.

    trained: what answers. Likelihoods and continuations are its own.
    """

    def __init__(self, model: LanguageModel, mitigation: Mitigation, trained: TrainableModel):
        super().__init__(model, mitigation)
        self.trained = trained

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Of the trained model."""
        return self.trained.log_likelihoods(texts)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Of the trained model."""
        return room_for(self.trained, prompts)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Of the trained model."""
        return self.trained.generate(prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Generate with the trained model, sampling by keys (see KeyedGenerator)."""
        return generate_keyed(self.trained, prompts, keys, decoding)


@dataclass(frozen=True)
class TrainedFolder(ABC):
    """What mitigations have in common that are read from a folder; they add a card, a name and what answers.

    folder: as the user names it.
    """

    CARD: ClassVar[Card]
    name: ClassVar[str]
    """As reports call it."""

    folder: str

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(self.folder).expanduser()

    @property
    def card(self) -> Card:
        """What is known of it."""
        return self.CARD

    @property
    def specification(self) -> None:
        """None: it has no wording."""
        return None

    def specified(self, texts: Sequence[str]) -> Mitigation:
        """Raises Unsupported: it has no wording."""
        raise Unsupported(f"{self.name} has no wording that could be changed.", "Choose another mitigation.")

    @abstractmethod
    def weights(self) -> str:
        """SHA-256 of the weights in the folder."""

    def parameters(self) -> dict[str, Any]:
        """The folder, a SHA-256 of its weights, and its lineage (see `told_lineage`), where it has one."""
        return self._parameters

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        lineage = read_lineage(self.path)
        found: dict[str, Any] = {"folder": self.folder, "weights": self.weights()}
        return found if lineage is None else {**found, "lineage": told_lineage(lineage)}


def base_of(model: LanguageModel, name: str) -> TrainableModel:
    """The model itself, if its weights can be replaced; raises Unsupported, saying what works."""
    if isinstance(model, TrainableModel):
        return model
    if isinstance(model, Mitigated):
        raise Unsupported(
            f"{name} replaces the weights of a model, but {model.mitigation.name} was applied before it.",
            f"Apply {name} first.",
        )
    raise Unsupported(
        f"{name} replaces the weights of a causal or encoder-decoder model in this process, but "
        f"{model.fingerprint.get('name', 'this model')} is {model.architecture}.",
        "Use a causal or encoder-decoder Hugging Face model, by name or folder.",
    )


def check_base(folder: Path, lineage: Mapping[str, Any] | None, base: TrainableModel) -> None:
    """Raise ModelError where a lineage says that a folder was made of another model than this one."""
    stored = (lineage or {}).get("base", {})
    differing = [name for name in OF_BASE if name in stored and name in base.fingerprint
                 and name not in _own_name(stored, base) and stored[name] != base.fingerprint[name]]  # fmt: skip
    if differing:
        raise ModelError(
            f"{folder} was trained from {stored.get('name', 'another model')}, and cannot be used on "
            f"{called(base)} (other {', '.join(differing)}).",
            "Use the model it was trained from, or train again from this one.",
        )


def with_weights(
    base: TrainableModel, model: Any, tokenizer: Any, identity: dict[str, Any]
) -> TrainableModel:
    """Other weights, read and asked as a model's own are."""
    if isinstance(base, CausalModel):
        return CausalModel(model, tokenizer, identity, base.options)
    return EncoderDecoderModel(model, tokenizer, identity, base.options)


def called(base: TrainableModel) -> str:
    """What a model is called where somebody has to tell it from another: its name, or where it lies."""
    return str(base.fingerprint.get("name") or base.model.config.name_or_path or "a model without a name")


def nothing_changes(folder: Path, what: str) -> ModelError:
    """What is raised where a trained thing is the base over again."""
    return ModelError(
        f"{folder} has no effect: {what}. As a mitigation, it would be the base model under another name.",
        "It was saved before training, or its weights were lost. Train or export it again.",
    )


def _own_name(stored: Mapping[str, Any], base: TrainableModel) -> tuple[str, ...]:
    """A folder may be called otherwise each time; its weights say whether it is the same."""
    return ("name",) if "weights" in stored and "weights" in base.fingerprint else ()
