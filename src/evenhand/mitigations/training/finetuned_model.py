"""Use a trained folder as a mitigation, to compare a model before and after training."""

from dataclasses import dataclass

from evenhand.mitigations.training.finetuned import read_lineage
from evenhand.mitigations.training.replacement import (
    ReplacedModel,
    TrainedFolder,
    check_base,
    nothing_changes,
    require_trainable,
    with_weights,
)
from evenhand.models import LanguageModel
from evenhand.models.huggingface import load_pretrained, weights_fingerprint
from evenhand.schema import Card, UsageError, is_file

CARD = Card(
    "finetuned",
    "Replaces the model with one that was trained further: a folder of `evenhand debias`, or any other model "
    "folder.",
    construct="What the training changed. If the folder has a lineage file, it describes the training.",
    null="Weights equal to those of the base model. Such a folder is refused.",
    critique="Training against one bias does not address the others: audit other axes too.",
    source="`evenhand debias MODEL --method NAME -o DIR`.",
)


@dataclass(frozen=True)
class FinetunedFolder(TrainedFolder):
    """A mitigation that replaces a model by one that was trained from it.

    folder: in Hugging Face format. Raises UsageError if it contains no model.
    """

    CARD = CARD
    name = "finetuned"

    def __post_init__(self) -> None:
        if not is_file(self.path / "config.json"):
            raise UsageError(
                f"{self.path} is not a model folder: it has no config.json.",
                "Give a finished folder of `evenhand debias`, or any other model folder in Hugging Face format.",
            )

    def weights(self) -> str:
        """Return the SHA-256 of the model's weights."""
        return weights_fingerprint(self.path)

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return the trained model, on the device and with the precision of the given model.

        Raises Unsupported for models whose weights are not in this process. Raises ModelError for a folder that was
        trained from another model or contains the base model itself.
        """
        import torch

        base = require_trainable(model, self.name)
        check_base(self.path, read_lineage(self.path), base)
        device, dtype = str(base.model.device), str(base.identity.get("dtype", "float32"))
        loaded = load_pretrained(str(self.path), base.architecture, device=device, dtype=dtype)
        before, after = base.model.state_dict(), loaded.model.state_dict()
        if before.keys() == after.keys() and all(
            before[name].shape == after[name].shape and torch.equal(before[name], after[name])
            for name in before
        ):
            raise nothing_changes(self.path, "its weights are identical to those of the original model")
        return ReplacedModel(model, self, with_weights(base, loaded.model, loaded.tokenizer, loaded.identity))
