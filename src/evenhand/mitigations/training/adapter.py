"""Adapters as a mitigation: low-rank changes of a model's weights from a folder that peft wrote."""

import copy
import warnings
from dataclasses import dataclass
from typing import Any

from evenhand.mitigations.training.finetuned import read_lineage
from evenhand.mitigations.training.preparing import needed
from evenhand.mitigations.training.replacement import (
    Replaced,
    TrainedFolder,
    base_of,
    called,
    check_base,
    nothing_changes,
)
from evenhand.models import LanguageModel
from evenhand.models.huggingface import CausalModel
from evenhand.schema import (
    Card,
    EvenhandError,
    ModelError,
    UsageError,
    is_file,
    is_folder,
    read_json,
    sha256_of,
)

CONFIG, WEIGHTS, PICKLED = "adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"
PROBED = 16
"""Tokens on which outputs with and without the adapter are compared."""
CARD = Card(
    "adapter",
    "A LoRA adapter on top of the model's weights, from a folder that peft wrote.",
    construct="What training the adapter changed; its lineage says what it was trained by, where it has one.",
    null="An adapter that changes nothing, which is refused: published code has loaded the base silently and reported "
    "the base's numbers as debiased ones.",
    critique="It holds for the base it was trained on. What it was trained against is not all that a model says of "
    "people: audit other axes, too.",
    citation="Hu et al. 2022, LoRA: Low-Rank Adaptation of Large Language Models (ICLR 2022).",
    source="`evenhand debias --lora-rank R`, or peft: model.save_pretrained(DIR).",
)


@dataclass(frozen=True)
class Adapter(TrainedFolder):
    """Add a trained adapter to a causal model.

    folder: with adapter_config.json and adapter_model.safetensors. Raises ModelError for a folder that holds no
    adapter or a pickled one.
    """

    CARD = CARD
    name = "adapter"

    def __post_init__(self) -> None:
        path = self.path
        if not is_folder(path) or not is_file(path / CONFIG):
            raise UsageError(
                f"{path} is no folder of an adapter: it holds no {CONFIG}.",
                "Give the folder that peft wrote, or that of `evenhand debias --lora-rank R -o DIR`: DIR/adapter.",
            )
        if not is_file(path / WEIGHTS):
            pickled = is_file(path / PICKLED)
            raise ModelError(
                f"The adapter in {path} is pickled ({PICKLED}), and pickles can run code when they are opened."
                if pickled
                else f"{path} holds no {WEIGHTS}.",
                "Where you trust the file, load it once with peft and save it again: "
                "model.save_pretrained(DIR, safe_serialization=True).",
            )

    def weights(self) -> str:
        """SHA-256 of the adapter's weights."""
        return sha256_of(self.path / WEIGHTS)

    def __call__(self, model: LanguageModel) -> LanguageModel:
        """The model with the adapter added to its weights, which are copied.

        Raises Unsupported for models that take none, ModelError for an adapter of another base, and for one that
        changes nothing.
        """
        base = base_of(model, self.name)
        check_base(self.path, read_lineage(self.path), base)
        merged = self._merged(base)
        identity = {**base.identity, "adapter": self.parameters()["weights"]}
        return Replaced(model, self, CausalModel(merged, base.tokenizer, identity, base.options))

    def _merged(self, base: CausalModel) -> Any:
        import torch

        peft = needed("peft")
        self._check_config()
        self._check_weights()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)
                warnings.filterwarnings(
                    "error", message=".*(missing|unexpected).*adapter.*", category=UserWarning
                )
                changed = peft.PeftModel.from_pretrained(copy.deepcopy(base.model), str(self.path))
                ids = torch.arange(PROBED, device=base.scorer.device)[None] % base.scorer.vocabulary
                with torch.no_grad():
                    before, after = base.model(ids).logits, changed.eval()(ids).logits
                if torch.equal(before, after):
                    raise nothing_changes(self.path, "the model's outputs are the same with it")
                return changed.merge_and_unload().eval().requires_grad_(False)
        except EvenhandError:
            raise
        except Exception as error:  # whatever peft and torch meet in a file that somebody wrote
            told = next(iter(str(error).splitlines()), "") or type(error).__name__
            raise ModelError(
                f"The adapter in {self.path}, trained on {self._trained_on()}, does not fit {called(base)}: {told}",
                "Name the model it was trained on.",
            ) from error

    def _trained_on(self) -> str:
        """What the adapter says of its base: evenhand's lineage, else peft's own settings."""
        stored = (read_lineage(self.path) or {}).get("base", {}).get("name")
        said = read_json(self.path / CONFIG, "").get("base_model_name_or_path")
        return str(stored or said or "a model that it does not name")

    def _check_config(self) -> None:
        """Raise ModelError for what is no LoRA of a causal model, or would have a module of its choice imported."""
        hint = "Give a folder that peft wrote of a LoRA of a causal model."
        config = read_json(self.path / CONFIG, hint)
        if not isinstance(config, dict):
            raise ModelError(f"{self.path / CONFIG} holds no settings of an adapter.", hint)
        for name, known in (("peft_type", ("LORA",)), ("task_type", (None, "CAUSAL_LM"))):
            if config.get(name) not in known:
                wanted = known[-1]
                raise ModelError(
                    f"The adapter in {self.path} has the {name} {config.get(name)}, not {wanted}.", hint
                )
        if config.get("megatron_config"):  # peft imports the module that megatron_core names
            raise ModelError(
                f"The adapter in {self.path} names code to be imported (megatron_config).",
                "Where you trust it, merge it with peft and give the folder of the model.",
            )

    def _check_weights(self) -> None:
        """Raise ModelError where every B is zero, as before training: then B A is nothing, whatever A is; and for
        numbers that are none."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self.path / WEIGHTS, "pt") as file:
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{self.path / WEIGHTS} cannot be read: {error}.", "Copy it again.") from error
        for name, one in weights.items():
            if not bool(one.isfinite().all()):
                raise ModelError(
                    f"{self.path / WEIGHTS}: {name} holds NaN or infinity.", "Train or export it again."
                )
        second = [one for name, one in weights.items() if "lora_B" in name]
        if second and not any(bool(one.any()) for one in second):
            raise nothing_changes(self.path, "all its B matrices are zero")
