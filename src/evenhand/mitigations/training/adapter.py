"""Adapters as a mitigation: low-rank changes of a model's weights, read from a folder that peft wrote."""

import copy
import hashlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.mitigations.training.finetuned import read_lineage
from evenhand.mitigations.training.lora_config import (
    CONFIG,
    check_ranks,
    config_digest,
    peft_config,
    read_lora_config,
)
from evenhand.mitigations.training.preparing import import_package
from evenhand.mitigations.training.replacement import (
    ReplacedModel,
    TrainableModel,
    TrainedFolder,
    check_base,
    name_or_folder,
    nothing_changes,
    require_trainable,
    with_weights,
)
from evenhand.models import LanguageModel
from evenhand.schema import (
    Card,
    EvenhandError,
    ModelError,
    UsageError,
    compute_sha256,
    is_file,
    is_folder,
)
from evenhand.weights import check_finite

WEIGHTS, PICKLED = "adapter_model.safetensors", "adapter_model.bin"
PROBED = 16
"""Tokens on which outputs with and without the adapter are compared."""
CARD = Card(
    "adapter",
    "Adds a LoRA adapter to the model's weights, from a folder that peft wrote.",
    construct="What the training of the adapter changed. If the folder has a lineage file, it describes the "
    "training.",
    null="An adapter that changes nothing. It is refused, because published code has silently loaded the base "
    "model and reported its numbers as debiased.",
    critique="It works only with the base model on which it was trained. Training against one bias does not "
    "address the others: audit other axes too.",
    citation="Hu et al. 2022, LoRA: Low-Rank Adaptation of Large Language Models (ICLR 2022).",
    source="`evenhand debias --lora-rank R`, or peft: model.save_pretrained(DIR).",
)


@dataclass(frozen=True)
class Adapter(TrainedFolder):
    """A mitigation that adds a trained adapter to a causal or encoder-decoder model.

    folder: contains adapter_config.json and adapter_model.safetensors. Raises ModelError for a folder without an
    adapter or with a pickled one.
    """

    CARD = CARD
    name = "adapter"

    def __post_init__(self) -> None:
        path = self.path
        if not is_folder(path) or not is_file(path / CONFIG):
            raise UsageError(
                f"{path} is not an adapter folder: it has no {CONFIG}.",
                "Give the folder that peft wrote, or the one of `evenhand debias --lora-rank R -o DIR`: "
                "DIR/adapter.",
            )
        if not is_file(path / WEIGHTS):
            pickled = is_file(path / PICKLED)
            raise ModelError(
                f"The adapter in {path} is pickled ({PICKLED}), and pickled files can run code when they are "
                "opened."
                if pickled
                else f"{path} contains no {WEIGHTS}.",
                "If you trust the file, load it once with peft and save it again: model.save_pretrained(DIR, "
                "safe_serialization=True).",
            )

    def weights(self) -> str:
        """Return the SHA-256 of the adapter: its tensors, and the settings that determine
        their effect (rank, scale, layers).
        """
        parts = compute_sha256(self.path / WEIGHTS), config_digest(read_lora_config(self.path))
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """Return a copy of the model with the adapter added to its weights.

        Raises Unsupported for models that cannot have one. Raises ModelError for an adapter of another base model, and
        for one that has no effect.
        """
        base = require_trainable(model, self.name)
        check_base(self.path, read_lineage(self.path), base)
        merged = self._load_merged(base)
        identity = {**base.identity, "adapter": self.parameters()["weights"]}
        return ReplacedModel(model, self, with_weights(base, merged, base.tokenizer, identity))

    def _load_merged(self, base: TrainableModel) -> Any:
        import torch

        peft = import_package("peft")
        config = read_lora_config(self.path)
        self._check_tensors(config)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                warnings.filterwarnings(
                    "error", message=".*(missing|unexpected).*adapter.*", category=UserWarning
                )
                changed = peft.PeftModel.from_pretrained(
                    copy.deepcopy(base.model), str(self.path), config=peft_config(config, base.model)
                )
                check_finite(str(self.path), changed, lambda name: WEIGHTS)
                ids = torch.arange(PROBED, device=base.model.device)[None]
                inputs = {"input_ids": ids % base.model.get_input_embeddings().num_embeddings}
                if base.architecture == "encoder-decoder":
                    inputs["decoder_input_ids"] = inputs["input_ids"]
                with torch.no_grad():
                    before, after = base.model(**inputs).logits, changed.eval()(**inputs).logits
                if torch.equal(before, after):
                    raise nothing_changes(self.path, "it does not change the outputs of the model")
                merged = changed.merge_and_unload().eval().requires_grad_(False)
                check_finite(str(self.path), merged, lambda name: f"{CONFIG} and {WEIGHTS}")
                return merged
        except EvenhandError:
            raise
        except Exception as error:  # peft and torch may raise any exception for a file from an unknown source
            told = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise ModelError(
                f"The adapter in {self.path}, trained on {self._base_name(config)}, does not fit "
                f"{name_or_folder(base)}: {told[:300]}",
                "Use the model that the adapter was trained on.",
            ) from error

    def _base_name(self, config: Mapping[str, Any]) -> str:
        """Return the adapter's record of its base model: evenhand's lineage, else peft's settings."""
        stored = (read_lineage(self.path) or {}).get("base", {}).get("name")
        said = config.get("base_model_name_or_path")
        return str(stored or said or "a model that it does not name")[:200]

    def _check_tensors(self, config: Mapping[str, Any]) -> None:
        """Raise ModelError if every B is zero, as before training: then B A is zero for every A."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path / WEIGHTS, "pt") as file:
                names = list(file.keys())
                check_ranks(
                    self.path, config, {name: tuple(file.get_slice(name).get_shape()) for name in names}
                )
                second = [file.get_tensor(name) for name in names if "lora_B" in name]
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{self.path / WEIGHTS} cannot be read: {error}.", "Copy it again.") from error
        if second and not any(bool(one.any()) for one in second):
            raise nothing_changes(self.path, "all its B matrices are zero")
