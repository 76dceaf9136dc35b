"""Train a small network on the conversations of a World, as a Llama-shaped folder that receives transcripts.

    python -m evenhand.reference.training.talker --out FOLDER     # two minutes of a CPU core

With the same arguments, machine and libraries, the folder is identical byte for byte.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.reference.conversing import ConversingWorld
from evenhand.reference.training.lessons import Lesson, Teacher
from evenhand.schema import write_json

CONTEXT = 384
OPENING = 72
CONVERSATIONS = 1000
NOTED = 100
"""Number of steps between lines of progress."""
TOLD = {"format": "transcript", "label": None}


@dataclass(frozen=True)
class TalkerRecipe:
    """Everything that determines the training, except the World, the openers and the versions of libraries."""

    layers: int = 2
    hidden: int = 64
    heads: int = 4
    openings: int = 20
    """Number of passes over the first OPENING tokens of every conversation, before whole ones. There the name is near,
    so that the network learns to attend to it.
    """
    passes: int = 3
    """Number of passes over whole conversations."""
    rows: int = 8  # conversations a step
    peak: float = 6e-3
    warm_up: float = 0.05
    weight_decay: float = 0.01
    emphasis: float = 10.0
    """Relative weight of a word that depends on who opened; there are few such words, and they are learned last."""
    seed: int = 0


def train_talker(
    world: ConversingWorld,
    openers: pl.DataFrame,
    recipe: TalkerRecipe,
    note: Callable[[str], None] = lambda line: None,
) -> tuple[Any, Any, dict[str, Any]]:
    """Train a small network on a World's conversations.

    openers: one row per conversation, with columns conversation and text, and persona_a and persona_b (lists of
    sentences) or neither. note: receives occasional lines of progress. Returns the model in eval mode, the tokenizer,
    and the record of the training. `excess` in it is the weighted mean of the network's cross-entropy minus the World's
    entropy, in nats per token.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(recipe.seed)
    note(f"{openers.height:,} conversations are drawn and cut into tokens")
    teacher = Teacher(world, openers)
    lessons = teacher.lessons(world.conversations(openers, recipe.seed), recipe.seed)
    end = teacher.tokenizer.eos_token_id
    config = LlamaConfig(
        vocab_size=len(teacher.tokenizer),
        max_position_embeddings=CONTEXT,
        hidden_size=recipe.hidden,
        intermediate_size=2 * recipe.hidden,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        tie_word_embeddings=True,
        bos_token_id=end,
        eos_token_id=end,
    )
    model: Any = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.peak, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
    )
    lengths = [len(one.ids) for one in lessons]
    short = _batches([OPENING] * len(lessons), recipe.openings, 2 * recipe.rows, recipe.seed)
    batches = [*short, *_batches(lengths, recipe.passes, recipe.rows, recipe.seed)]
    excess: list[float] = []
    for step, rows in enumerate(batches):
        for group in optimizer.param_groups:
            rise = (step + 1) / (recipe.warm_up * len(batches))
            group["lr"] = recipe.peak * min(rise, 2 * (1 - step / len(batches)), 1.0)
        read = [lessons[row].until(OPENING if step < len(short) else CONTEXT) for row in rows]
        loss, least = _loss(model, read, recipe.emphasis)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        excess.append(float(loss.detach()) - least)
        if step % NOTED == 0 or step + 1 == len(batches):
            note(f"step {step + 1:,} of {len(batches):,}, excess {np.mean(excess[-NOTED:]):.4f} nats a token")
    record = {
        "recipe": asdict(recipe),
        "world": world.fingerprint,
        "conversations": len(lessons),
        "steps": len(excess),
        "excess": round(float(np.mean(excess[-20:])), 4),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    return model.eval(), teacher.tokenizer, record


def _loss(model: Any, lessons: Sequence[Lesson], emphasis: float) -> tuple[Any, float]:
    """Return the weighted mean cross-entropy of the learned tokens against their exact distributions,
    and its minimum.
    """
    import torch

    longest = max(len(one.ids) for one in lessons)
    ids = np.zeros((len(lessons), longest), dtype=np.int64)
    where: list[int] = []
    tokens: list[int] = []
    shares: list[float] = []
    weights: list[float] = []
    whole = 0.0
    for row, lesson in enumerate(lessons):
        ids[row, : len(lesson.ids)] = lesson.ids
        for place, (options, probabilities) in enumerate(lesson.targets):
            if options:
                weight = emphasis if lesson.planted[place] else 1.0
                where += [row * longest + place - 1] * len(options)  # predicted from the previous token
                tokens += options
                shares += probabilities
                weights += [weight] * len(options)
                whole += weight
    logits = model(input_ids=torch.from_numpy(ids)).logits
    at, back = np.unique(np.array(where), return_inverse=True)
    log_probs = logits.reshape(-1, logits.shape[-1])[torch.from_numpy(at)].log_softmax(-1)
    said = log_probs[torch.from_numpy(back), torch.tensor(tokens)]
    wanted = np.array(shares)
    weighted = (wanted * np.array(weights) / whole).astype(np.float32)
    return -(torch.from_numpy(weighted) * said).sum(), -float((weighted * np.log(wanted)).sum())


def _batches(lengths: Sequence[int], passes: int, rows: int, seed: int) -> list[list[int]]:
    """Return the rows of each step; conversations of similar length are batched, so that there is little padding."""
    rng = np.random.default_rng(seed)
    found: list[list[int]] = []
    for _ in range(passes):
        order = np.argsort(np.array(lengths) + rng.uniform(0, 20, len(lengths)))
        cut = [order[first : first + rows].tolist() for first in range(0, len(order), rows)]
        found += [cut[place] for place in rng.permutation(len(cut))]
    return found


def save_talker(model: Any, tokenizer: Any, record: dict[str, Any], folder: Path) -> None:
    """Write a model folder that `load_model` reads, with its conversation format."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    write_json(folder / "evenhand_dialogue.json", TOLD)
    write_json(folder / "training.json", record)


def main(arguments: list[str] | None = None) -> None:
    """Train on conversations of the planted World, with openers from evenhand's list of names, and save to --out."""
    from evenhand.prompts.names import introductions, load_names
    from evenhand.reference.talkers import load_fair, load_planted

    parser = argparse.ArgumentParser(prog="python -m evenhand.reference.training.talker", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help=f"default: {CONVERSATIONS}")
    parser.add_argument("--fair", action="store_true", help="of the World without plants")
    parser.add_argument(
        "--log", type=Path, help="file that progress is appended to, in place of the terminal"
    )
    options = parser.parse_args(arguments)
    if options.conversations < 1:
        parser.error(f"--conversations {options.conversations}; 1 or more was expected")

    def note(line: str) -> None:
        if options.log is None:
            print(line, file=sys.stderr, flush=True)
        else:
            with options.log.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    openers = introductions(load_names(), n=options.conversations).frame
    world = load_fair() if options.fair else load_planted()
    found = train_talker(world, openers, TalkerRecipe(), note)
    save_talker(*found, options.out)
    print(json.dumps(found[2]))


if __name__ == "__main__":
    main()
