"""Check that transformers loads exactly the weights that the fingerprint of a folder covers."""

from pathlib import Path
from typing import Any

from evenhand.schema import ModelError, is_file

ADAPTER = "adapter_config.json"
NAMING_WEIGHTS = "transformers_weights"
"""Setting of config.json that makes transformers load another file than the default."""
APART = (
    "To measure the model itself, move adapter_config.json and adapter_model.safetensors to another folder. To "
    "measure it with the adapter, merge them first (peft: merge_and_unload), and save the result with its "
    "tokenizer."
)


def check_no_other_weights(name: str, folder: Path, config: Any, default: str) -> None:
    """Raise ModelError if transformers would load an adapter in addition, or other weights than it should.

    name: as the user wrote it. folder: of the model. config: the loaded configuration. default: the one file of weights
    that config.json may name.
    """
    if is_file(folder / ADAPTER):
        raise _adapter(name)
    other = getattr(config, NAMING_WEIGHTS, None)
    if other not in (None, default):
        raise ModelError(
            f"The config.json of {name!r} refers to other weights: {NAMING_WEIGHTS} is {str(other)[:80]!r}.",
            f"Rename that file to {default}, and remove {NAMING_WEIGHTS} from config.json.",
        )


def check_no_adapter(name: str, model: Any) -> None:
    """Raise ModelError if an adapter was added to a model while it was loaded, as may happen for a hub name."""
    if getattr(model, "_hf_peft_config_loaded", False):
        raise _adapter(name)


def _adapter(name: str) -> ModelError:
    return ModelError(
        f"{name!r} contains a full model and an adapter ({ADAPTER}), which transformers adds to the model without "
        "a warning.",
        APART,
    )
