"""One Hugging Face checkpoint in memory, or a clear reason why not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.models.checkpoints import (
    INDEX,
    ONE_FILE,
    folder_fingerprint,
    memory_needed,
    stored_parameters,
    weight_files,
)
from evenhand.models.contract import Architecture
from evenhand.schema import ModelError
from evenhand.weights.devices import available_memory, resolve_device, resolve_dtype
from evenhand.weights.hub import hub_errors, is_offline, quiet_transformers
from evenhand.weights.tokenizer import load_tokenizer, tokenizer_fingerprint

AUTO_CLASSES: dict[Architecture, str] = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "encoder-decoder": "AutoModelForSeq2SeqLM",
}
SPARE = 1.1  # buffers, and what the first batches take
GIB = 1 << 30


@dataclass(frozen=True)
class Pretrained:
    """A model on its device, its tokenizer, and what makes its numbers reusable."""

    model: Any
    tokenizer: Any
    identity: dict[str, Any]


def load_config(name: str, *, revision: str | None = None, trust_remote_code: bool = False) -> Any:
    """The configuration of a hub name or a folder; raises ModelError where there is none."""
    from transformers import AutoConfig

    folder = Path(name).expanduser()
    if folder.is_dir():
        _check_folder(folder)
    elif folder.is_file() or name.startswith((".", "/", "~")):
        raise ModelError(
            f"There is no model folder {name!r}{' (it is a file)' if folder.is_file() else ''}.",
            f"Give a folder with config.json, {ONE_FILE} and a tokenizer, or a hub name such as 'gpt2'.",
        )
    with quiet_transformers(), hub_errors(name, revision):
        return AutoConfig.from_pretrained(
            str(folder) if folder.is_dir() else name,
            revision=revision or "main",
            trust_remote_code=trust_remote_code,
        )


def load_pretrained(
    name: str,
    architecture: Architecture,
    *,
    config: Any = None,
    revision: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    trust_remote_code: bool = False,
) -> Pretrained:
    """Load weights and tokenizer after checking that they are there, fit in memory and belong together.

    name: hub name or folder. architecture: which kind of head to load. Weights come from safetensors only.
    Raises ModelError for anything missing, damaged, too large, or not loaded: a tensor the checkpoint lacks
    would be filled with random numbers and give plausible results (bias-bench issue 18).
    """
    import transformers

    if config is None:
        config = load_config(name, revision=revision, trust_remote_code=trust_remote_code)
    where = resolve_device(device)
    precision = resolve_dtype(dtype, where, getattr(config, "dtype", None))
    folder = Path(name).expanduser()
    local = folder.is_dir()
    source = str(folder) if local else name
    snapshot = folder if local else _snapshot(name, revision)
    # A branch may move between two fetches; from here on everything comes from one commit.
    commit = None if local else snapshot.name
    tokenizer = load_tokenizer(source, revision=commit, trust_remote_code=trust_remote_code)
    parameters = stored_parameters(weight_files(folder)) if local else _parameters(name, snapshot)
    _check_memory(name, parameters, precision, where)
    loader = getattr(transformers, AUTO_CLASSES[architecture])
    with quiet_transformers(), hub_errors(name, revision):
        try:
            model, report = loader.from_pretrained(
                source,
                config=config,
                revision=commit or "main",
                dtype=precision,
                use_safetensors=True,
                trust_remote_code=trust_remote_code,
                output_loading_info=True,
            )
        except RuntimeError as error:  # sizes that do not match the configuration
            raise ModelError(
                f"The weights of {name!r} do not fit its config.json: {_last_line(error)}",
                "The two come from different models; get both from the same place.",
            ) from error
    _check_loaded(name, report, type(model).__name__)
    _check_vocabulary(name, model, tokenizer)
    model = model.eval().requires_grad_(False).to(where)
    identity: dict[str, Any] = (
        {"weights": weights_fingerprint(folder)} if local else {"name": name, "revision": commit}
    )
    identity |= {
        "model_class": type(model).__name__,
        "dtype": str(precision).removeprefix("torch."),
        "tokenizer": tokenizer_fingerprint(tokenizer),
    }
    return Pretrained(model, tokenizer, identity)


def weights_fingerprint(source: Path | str, commit: str | None = None) -> str:
    """What identifies weights: the commit of a hub model, else a SHA-256 over the folder's content.

    source: a folder, or a hub name with its `commit`. Raises ModelError for a hub name without a commit.
    """
    if Path(source).is_dir():
        return folder_fingerprint(Path(source))
    if commit is None:
        raise ModelError(
            f"The revision of {str(source)!r} is not known.", "Give the commit it was loaded from."
        )
    return commit


def _check_folder(folder: Path) -> None:
    if (folder / "config.json").is_file():
        return
    if (folder / "adapter_config.json").is_file():
        raise ModelError(
            f"{folder} holds an adapter, not a whole model.",
            "Merge it into its base model first (peft: merge_and_unload), and save that with its tokenizer.",
        )
    found = sorted(path.name for path in folder.iterdir())[:6]
    raise ModelError(
        f"The folder {folder} holds no config.json, so it is no Hugging Face model folder.",
        f"Found there: {', '.join(found) or 'nothing'}. Save a model with model.save_pretrained(folder).",
    )


def _snapshot(name: str, revision: str | None) -> Path:
    """The cache folder of one commit of a hub model; its name is the commit."""
    from transformers.utils.hub import cached_file

    with quiet_transformers(), hub_errors(name, revision):
        return Path(str(cached_file(name, "config.json", revision=revision or "main"))).parent


def _parameters(name: str, snapshot: Path) -> dict[str, int]:
    """Counts by stored type before weights are fetched or read; empty if the hub does not say."""
    from huggingface_hub import HfApi, errors

    if any((snapshot / file).is_file() for file in (ONE_FILE, INDEX)) and is_offline():
        return stored_parameters(weight_files(snapshot))
    if (snapshot / ONE_FILE).is_file():
        return stored_parameters([snapshot / ONE_FILE])
    if is_offline():
        raise ModelError(
            f"The configuration of {name!r} is in the cache of this machine, its weights (safetensors) are "
            "not, and the hub may not be asked (HF_HUB_OFFLINE is set).",
            "Unset HF_HUB_OFFLINE once to fetch them.",
        )
    with hub_errors(name, snapshot.name):
        try:
            counts = HfApi().get_safetensors_metadata(name, revision=snapshot.name).parameter_count
        except errors.NotASafetensorsRepoError as error:
            raise ModelError(
                f"The hub holds no safetensors weights for {name!r}; other formats can run code.",
                "Look for a revision with safetensors (often 'refs/pr/1'), or convert it yourself and give "
                "the folder.",
            ) from error
        except errors.SafetensorsParsingError:
            return {}
    return {str(kind): count for kind, count in counts.items()}


def _check_memory(name: str, parameters: dict[str, int], dtype: Any, device: Any) -> None:
    available = available_memory(device)
    needed = int(memory_needed(parameters, dtype.itemsize) * SPARE)
    if available is None or needed <= available:
        return
    half = int(memory_needed(parameters, 2) * SPARE)
    advice = "Choose another device or a smaller model."
    if dtype.itemsize > 2 and half <= available:
        advice = f"With dtype bfloat16 it needs {half / GIB:.1f} GiB and fits; that choice is recorded."
    raise ModelError(
        f"Not enough memory for {name!r}: {sum(parameters.values()):,} parameters in "
        f"{str(dtype).removeprefix('torch.')} need about {needed / GIB:.1f} GiB, and {device} has "
        f"{available / GIB:.1f} GiB free.",
        advice,
    )


def _check_loaded(name: str, report: dict[str, Any], model_class: str) -> None:
    missing = sorted(report["missing_keys"])
    broken = sorted(str(key) for key in report.get("mismatched_keys", ())) + list(
        report.get("error_msgs", ())
    )
    if missing or broken:
        some = ", ".join((missing + broken)[:3])
        raise ModelError(
            f"{len(missing) + len(broken)} tensors of {model_class} are not in the weights of {name!r} "
            f"({some}{', ...' * (len(missing) + len(broken) > 3)}); they would be random numbers.",
            "This checkpoint was saved without its language-model head, or its tensors carry other names. "
            "Save it from the class that was trained, head included.",
        )


def _check_vocabulary(name: str, model: Any, tokenizer: Any) -> None:
    rows = int(model.get_input_embeddings().weight.shape[0])
    largest = max(tokenizer.backend_tokenizer.get_vocab(with_added_tokens=False).values(), default=-1)
    if largest >= rows:
        raise ModelError(
            f"The tokenizer of {name!r} has token ids up to {largest}, and the model knows {rows} tokens.",
            "The two belong to different models; save the right tokenizer beside the model.",
        )


def _last_line(error: BaseException) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[-1].strip() if lines else type(error).__name__
