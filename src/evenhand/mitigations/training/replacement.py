"""Replace a model by one with other weights, for mitigations that train a model."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from evenhand.mitigations.contract import Mitigated, Mitigation
from evenhand.mitigations.training.finetuned import read_lineage, shorten_lineage
from evenhand.models import Decoding, Generations, LanguageModel, Likelihoods, Texts, generate_keyed, room_for
from evenhand.models.huggingface import CausalModel, EncoderDecoderModel
from evenhand.schema import Card, ModelError, Unsupported

TrainableModel = CausalModel | EncoderDecoderModel
"""Interface of a model that can be trained: it generates text, and its weights are in this process."""
OF_BASE = ("weights", "name", "revision", "tokenizer")
"""Keys of a fingerprint that identify the base model."""


class ReplacedModel(Mitigated):
    """A model that is replaced by a trained one.

    `trained` is the trained model. It gives likelihoods and continuations.
    """

    def __init__(self, model: LanguageModel, mitigation: Mitigation, trained: TrainableModel):
        super().__init__(model, mitigation)
        self.trained = trained

    def log_likelihoods(self, texts: Texts | Sequence[str]) -> Likelihoods:
        """Return the likelihoods of the trained model."""
        return self.trained.log_likelihoods(texts)

    def room_for(self, prompts: Sequence[str]) -> list[int] | None:
        """Return how many tokens the trained model can write after each prompt."""
        return room_for(self.trained, prompts)

    def generate(self, prompts: Sequence[str], decoding: Decoding) -> Generations:
        """Generate with the trained model."""
        return self.trained.generate(prompts, decoding)

    def generate_keyed(self, prompts: Sequence[str], keys: Sequence[str], decoding: Decoding) -> Generations:
        """Generate with the trained model, sampling by keys (see KeyedGenerator)."""
        return generate_keyed(self.trained, prompts, keys, decoding)


@dataclass(frozen=True)
class TrainedFolder(ABC):
    """Base class of mitigations that are read from a folder.

    `folder` is as the user names it. A subclass adds a card, a name and the model.
    """

    CARD: ClassVar[Card]
    name: ClassVar[str]
    """Name in reports."""

    folder: str

    @property
    def path(self) -> Path:
        """Return the folder."""
        return Path(self.folder).expanduser()

    @property
    def card(self) -> Card:
        """Return the card."""
        return self.CARD

    @property
    def specification(self) -> None:
        """Return None, because the mitigation has no wording."""
        return None

    def specified(self, texts: Sequence[str]) -> Mitigation:
        """Raise Unsupported, because the mitigation has no wording."""
        raise Unsupported(f"{self.name} has no wording that could be changed.", "Choose another mitigation.")

    @abstractmethod
    def weights(self) -> str:
        """Return the SHA-256 of the weights in the folder."""

    def parameters(self) -> dict[str, Any]:
        """Return the folder, the SHA-256 of its weights, and its lineage if it has one (see `shorten_lineage`)."""
        return self._parameters

    @cached_property
    def _parameters(self) -> dict[str, Any]:
        lineage = read_lineage(self.path)
        found: dict[str, Any] = {"folder": self.folder, "weights": self.weights()}
        return found if lineage is None else {**found, "lineage": shorten_lineage(lineage)}


def require_trainable(model: LanguageModel, name: str) -> TrainableModel:
    """Return the model itself if its weights can be replaced; otherwise raise Unsupported with an alternative."""
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
    """Raise ModelError if the lineage states that the folder was made from another model."""
    stored = (lineage or {}).get("base", {})
    differing = [name for name in OF_BASE if name in stored and name in base.fingerprint
                 and name not in _own_name(stored, base) and stored[name] != base.fingerprint[name]]  # fmt: skip
    if differing:
        raise ModelError(
            f"{folder} was trained from {stored.get('name', 'another model')}, and cannot be used on "
            f"{name_or_folder(base)} (other {', '.join(differing)}).",
            "Use the model it was trained from, or train again from this one.",
        )


def with_weights(
    base: TrainableModel, model: Any, tokenizer: Any, identity: dict[str, Any]
) -> TrainableModel:
    """Return a model with other weights that is called in the same way as the base model."""
    if isinstance(base, CausalModel):
        return CausalModel(model, tokenizer, identity, base.options)
    return EncoderDecoderModel(model, tokenizer, identity, base.options)


def name_or_folder(base: TrainableModel) -> str:
    """Return the name or the folder of a model, for messages that must distinguish models."""
    return str(base.fingerprint.get("name") or base.model.config.name_or_path or "a model without a name")


def nothing_changes(folder: Path, what: str) -> ModelError:
    """Return the error for a trained folder that equals the base model."""
    return ModelError(
        f"{folder} has no effect: {what}. As a mitigation, it would be the base model under another name.",
        "It was saved before training, or its weights were lost. Train or export it again.",
    )


def _own_name(stored: Mapping[str, Any], base: TrainableModel) -> tuple[str, ...]:
    """Return the keys of the fingerprint to compare.

    The name of a folder may differ each time, so its weights decide whether it is the same model.
    """
    return ("name",) if "weights" in stored and "weights" in base.fingerprint else ()
