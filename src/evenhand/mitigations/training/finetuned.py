"""Write the folder of a trained model: a normal Hugging Face folder, with the lineage next to the weights."""

import json
import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.mitigations.training.preparing import merge_adapters
from evenhand.models.dialogue import TOLD
from evenhand.prompts.redditbias import BIAS_TYPES
from evenhand.schema import DataError, WriteError, as_json, read_json, write_json, write_text
from evenhand.weights import quiet_transformers

LINEAGE = "lineage.json"
"""File next to the weights that records how the model was made."""
MOST_BYTES = 1 << 24
"""Maximum size of a lineage; the lineage of a search contains all its trials."""
MOST_TOLD = 1 << 16
"""Maximum size of a lineage in the manifest of a run, as JSON."""
ADAPTER = "adapter"
"""Folder of the trained adapters, next to the weights. Use it as --mitigate adapter=FOLDER/adapter."""
ASIDE = "training"
"""Subfolder for files that are not complete yet."""


def prepare_to_save(model: Any, folder: Path, dtype: str = "float32") -> Any:
    """Prepare a trained model to be written: store and merge its adapters, and round the weights.

    `model` is in 32 bits; it is changed in place and stays in 32 bits. `folder` is the future folder of the model, and
    `dtype` is "float32", "bfloat16" or "float16". Raises a WriteError.
    """
    import torch

    if hasattr(model, "merge_and_unload"):
        # peft converts lists to sets, whose order differs between processes
        for config in model.peft_config.values():
            config.target_modules = sorted(config.target_modules)
        try:
            with quiet_transformers():
                model.save_pretrained(folder / ASIDE / ADAPTER)
        except Exception as error:
            if not _is_of_disk(error):
                raise
            raise _unwritten(folder, error) from error
    plain = merge_adapters(model)
    with torch.no_grad():
        for weight in plain.parameters() if dtype != "float32" else ():
            weight.copy_(weight.to(getattr(torch, dtype)))
    return plain


def write_model(
    model: Any,
    tokenizer: Any,
    folder: Path,
    lineage: Mapping[str, Any],
    readme: str,
    dtype: str = "float32",
    dialogue: Mapping[str, Any] | None = None,
) -> None:
    """Write a trained model to a folder, so that a folder with config.json is always complete.

    All files are first written to a temporary folder and then moved, config.json last.

    Parameters
    ----------
    model
        The model, as `prepare_to_save` returned it.
    dtype
        Data type of the stored weights.
    dialogue
        The dialogue format of the model and its label, which `dialogue_model` reads.
    """
    import torch

    work, adapter = folder / ASIDE / "model", folder / ASIDE / ADAPTER
    shutil.rmtree(work, ignore_errors=True)
    try:
        with quiet_transformers():
            model.config.use_cache = True
            model.to(getattr(torch, dtype)).save_pretrained(work)
            tokenizer.save_pretrained(work)
        _without_absent_code(work)
        if adapter.is_dir():
            os.replace(adapter, work / ADAPTER)
            write_json(work / ADAPTER / LINEAGE, lineage)
        write_json(work / LINEAGE, lineage)
        write_text(work / "README.md", readme)
        if dialogue is not None:
            write_json(work / TOLD, dialogue)
        for path in sorted(work.iterdir(), key=lambda path: path.name == "config.json"):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(path, target)
        work.rmdir()
    except Exception as error:
        if not _is_of_disk(error):
            raise
        shutil.rmtree(work, ignore_errors=True)
        raise _unwritten(folder, error) from error


def _is_of_disk(error: Exception) -> bool:
    # safetensors and tokenizers raise their own exceptions for a full disk
    return isinstance(error, OSError) or "os error" in str(error)


def _unwritten(folder: Path, error: Exception) -> WriteError:
    told = getattr(error, "strerror", None) or str(error).rpartition("error: ")[2]
    return WriteError(
        f"Could not write the model to {folder}: {told}.",
        "Free some space and run the same command again: training is not repeated.",
    )


def read_lineage(folder: Path) -> dict[str, Any] | None:
    """Return the record of how a trained model was made, or None for a folder without one. Raise a DataError if it is
    damaged.
    """
    path = folder / LINEAGE
    if not path.is_file():
        return None
    hint = "Restore it from a copy, or delete it: the model itself does not need it."
    found = read_json(path, hint, most=MOST_BYTES)
    if not isinstance(found, dict) or not isinstance(found.get("base", {}), dict):
        raise DataError(f"{path} is not a valid record of how the model was trained (lineage).", hint)
    return found


def next_steps(lineage: Mapping[str, Any], folder: Path) -> tuple[list[str], str]:
    """Return commands that measure a trained model, to be copied into a terminal, and notes on them.

    `folder` is the model's folder. A second command measures the adapter, if one was trained.

    >>> next_steps({"base": {"name": "gpt2"}, "bias": "evenhand/age"}, Path("kinder"))[0]
    ['evenhand before-after gpt2 kinder -b evenhand-likelihood --axis age']
    """
    bias = str(lineage["bias"])
    own, _, axis = bias.rpartition("/")
    note = ""
    data = lineage.get("data", {})
    if "names" in data:
        row = shlex.quote(f"{lineage['method']['name']}={folder}")
        note = (
            "This measures both models with the same decoding settings. The lineage lists names that were not used "
            "in training under data.names.test."
        )
        return [f"evenhand study names {shlex.quote(str(lineage['base']['name']))} --row {row}"], note
    if "descriptors_watched" in data:
        asked = "-b holisticbias-styles --classifier style=STYLE_CLASSIFIER"
        note = (
            "Both models reply in the dialogue format of the training; the debiased model also gets its label. As "
            "STYLE_CLASSIFIER, use the classifier of the training (docs/how-to/debias_a_dialogue_model.md)."
        )
    elif own == "evenhand":
        asked = f"-b evenhand-likelihood --axis {axis}"
    elif bias in BIAS_TYPES:
        asked = "-b redditbias -b redditbias-lmp"
        note = "They need RedditBias's files: evenhand data fetch redditbias --version all."
    else:
        asked = "-b redditbias --set data.redditbias=PAIRS"
        note = (
            "No benchmark of evenhand is about your own terms. PAIRS is a folder of pairs about them, built with "
            "evenhand data build redditbias. With -b, you can also use another benchmark about these groups."
        )
    adapted = (
        lineage.get("options", {}).get("lora_rank") and "descriptors_watched" not in data
    )  # it has no label
    models = [folder, *([folder / ADAPTER] if adapted else [])]
    base = shlex.quote(str(lineage["base"]["name"]))
    return [f"evenhand before-after {base} {shlex.quote(str(one))} {asked}" for one in models], note


def shorten_lineage(lineage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a lineage that a run's manifest contains: all of it, or a summary of its steps if it is long.

    >>> shorten_lineage({"bias": "race", "seed": 1, "trials": "x" * 100_000})
    {'bias': 'race', 'seed': 1}
    """
    if len(json.dumps(lineage)) <= MOST_TOLD:
        return dict(lineage)
    parts = {name: lineage.get(name) for name in ("evenhand", "bias", "seed", "steps")}
    for name, keys in (("base", ("name", "weights")), ("method", ("name",)), ("data", ("sha256",))):
        part = lineage.get(name)
        parts[name] = {key: part.get(key) for key in keys} if isinstance(part, dict) else None
    return {
        name: value for name, value in parts.items() if value is not None and len(json.dumps(value)) <= 1000
    }


def _without_absent_code(folder: Path) -> None:
    """Remove auto_map from configurations if the code that it names is not in the same folder."""
    for name in ("config.json", "tokenizer_config.json"):
        if not (path := folder / name).is_file():
            continue
        told = read_json(path, "Run the same command again.")
        named = [one for one in _strings(told.get("auto_map")) if "--" not in one]
        if any(not (folder / f"{one.split('.')[0]}.py").is_file() for one in named):
            del told["auto_map"]
            write_json(path, told)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def model_card(lineage: Mapping[str, Any], folder: Path) -> str:
    """Return the README (Markdown) of a trained model: what it is, how it was trained, and its limitations.

    `folder` is the model's folder as the user named it.
    """
    facts = as_json(lineage)
    before, after = facts["watched"]["before"], facts["watched"]["after"]
    rows = [f"| {name} | {_figures(before[name])} | {_figures(after[name])} |" for name in after]
    search = facts.get("search")
    commands, note = next_steps(facts, folder)
    return "\n".join(
        [
            "---",
            "library_name: transformers",
            "pipeline_tag: text-generation",
            "tags: [evenhand, debiased]",
            "---",
            "",
            f"# {facts['base']['name']}, debiased by {facts['method']['name']} against the bias {facts['bias']}",
            "",
            f"Made by evenhand {facts['evenhand']}. {facts['method']['summary']}",
            "",
            "| on validation texts | before | after |",
            "|---|---|---|",
            *rows,
            "",
            *(
                [
                    f"It was chosen among {len(search['tried'])} trainings, so the values used for the choice are "
                    "too good. Rows kept_... are of texts that were not used for it, rows whole_... of all texts.",
                    "",
                ]
                if search
                else []
            ),
            "These values may have been used to choose the model. To measure the effect and the cost of the method:",
            "",
            *(f"    {command}" for command in commands),
            "",
            *([note, ""] if note else []),
            *([describe_label(label), ""] if (label := facts["data"].get("label")) else []),
            "## Known limitations of the method",
            "",
            facts["method"]["critique"],
            "",
            "## Lineage",
            "",
            f"The full lineage is in {LINEAGE}. training/curves.jsonl has the values of each step.",
            "",
            *(
                f"- {name}: `{facts[name]}`"
                for name in ("base", "data", "options", "seed", "steps")
                if name in facts
            ),
            "",
        ]
    )


def describe_label(label: str) -> str:
    """Return a sentence on the label with which a model must be used, for models that were trained with labels.

    >>> describe_label(" STYLE no_bias")[:60]
    "Use this model with the label ' STYLE no_bias' at the end of"
    """
    return (
        f"Use this model with the label {label!r} at the end of every history (see {TOLD} next to the weights). "
        "evenhand adds the label automatically; other programs must add it. Without it, the model is not debiased."
    )


def _figures(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
