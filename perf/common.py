"""What the performance scripts share: random models, real sentences, and processes that are measured."""

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np


def holisticbias(folder: Path | None):
    """The corrected v1.1 set, from a folder or the cache."""
    from evenhand.prompts.datasets.register import dataset_folder
    from evenhand.prompts.holisticbias.sentences import HolisticBias

    return HolisticBias.load(dataset_folder("holisticbias", "v1.1", folder), "v1.1")


def sentences_by_descriptor(folder: Path | None, count: int, seed: int = 0) -> list[str]:
    """About `count` sentences: all those of randomly chosen descriptors, as `--axis` or a crossed sample
    would take them, in the set's order."""
    frame = holisticbias(folder).likelihood_subset().prompt_set().frame.select("axis", "descriptor", "text")
    groups = frame.partition_by("axis", "descriptor", maintain_order=True)
    chosen: list[str] = []
    for i in np.random.default_rng(seed).permutation(len(groups)):
        chosen += groups[i]["text"].to_list()
        if len(chosen) >= count:
            return chosen[:count]
    sys.exit(f"the set has only {len(chosen)} sentences")


def model_with_tokenizer(corpus: list[str], layers: int, width: int, heads: int, vocabulary: int):
    """A GPT-2-shaped model with random weights, and a byte-level BPE trained on a corpus."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(corpus, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|endoftext|>",
        eos_token="<|endoftext|>",
        pad_token="<|endoftext|>",
    )
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=vocabulary, n_layer=layers, n_embd=width, n_head=heads, bos_token_id=0, eos_token_id=0
    )
    return GPT2LMHeadModel(config).eval(), tokenizer


def published_sentences(folder: Path | None):
    """The published v1.1 set, 566,625 sentences, from a folder or the cache."""
    from evenhand.prompts.datasets.register import dataset_folder
    from evenhand.prompts.holisticbias.sentences import HolisticBias

    return HolisticBias.load(dataset_folder("holisticbias", "v1.1", folder), "v1.1", as_published=True)


def peak_megabytes() -> float:
    """Most memory this process has held at once (resident)."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux counts in ru_maxrss what the parent held when it started this process
        held = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(held.split()[1]) / (1 << 10)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / (1 << 10)


def descendants(pid: int) -> dict[int, str]:
    """The processes that a process has started, and those that these have, with what they are called (Linux)."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
                parents[int(entry.name)] = int(fields[1]), (entry / "cmdline").read_text()
            except OSError:
                continue
    found, ahead = {}, {pid}
    while ahead:
        ahead = {child for child, (parent, _) in parents.items() if parent in ahead} - set(found)
        found |= {child: parents[child][1] for child in ahead}
    return found


def measured_process(script: Path, data: Path | None, worker: list[str]) -> dict:
    """Return the output of a script that is called as a worker, in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "found.json"
        command = [sys.executable, str(script), "--output", str(output), "--worker", *worker]
        if data is not None:
            command[2:2] = ["--data", str(data)]
        # the evaluators compared log and draw progress as they please; what they say matters only if they fail
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(worker)} failed:\n{done.stderr[-3000:]}")
        return json.loads(output.read_text())
