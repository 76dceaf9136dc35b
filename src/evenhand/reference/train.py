"""Rebuild the reference model: `python -m evenhand.reference.train --out DIR` (minutes on one CPU core).

The same arguments on the same machine and libraries give the same bytes; elsewhere rounding differs, and
`python -m evenhand.reference.train --check DIR` compares what matters: loss against the World's entropy,
spread on the axes where nothing is planted, and the shifts that are.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.reference.corpus import training_texts
from evenhand.reference.filler import filler_sentences
from evenhand.reference.tokenizer import build_tokenizer, word_counts
from evenhand.reference.world import World

CONTEXT = 64


@dataclass(frozen=True)
class Recipe:
    """Everything that training depends on besides the World and the library versions."""

    layers: int = 3
    hidden: int = 128
    heads: int = 4
    vocabulary: int = 4096
    blocks: int = 4
    block_size: int = 50_000
    rows: int = 40  # rows of CONTEXT tokens a step
    peak: float = 4e-3
    initial: float = 0.02  # standard deviation of fresh weights
    warm_up: float = 0.03
    weight_decay: float = 0.01
    averaged: float = 0.997  # decay of the running average of the weights
    seed: int = 20


def packed(tokenizer: Any, texts: list[str]) -> Any:
    """Texts as rows of CONTEXT tokens, several whole texts a row: (ids, segment, position) arrays.

    Each text stands between two end tokens of its own; a segment id of 0 marks padding.
    """
    encoded = tokenizer.backend_tokenizer.encode_batch_fast(texts, add_special_tokens=False)
    end = tokenizer.eos_token_id
    rows: list[list[list[int]]] = [[]]
    room = CONTEXT
    for encoding in encoded:
        sequence = [end, *encoding.ids[: CONTEXT - 2], end]
        if len(sequence) > room:
            rows.append([])
            room = CONTEXT
        rows[-1].append(sequence)
        room -= len(sequence)
    ids, segment, position = (np.zeros((len(rows), CONTEXT), dtype=np.int64) for _ in range(3))
    for r, row in enumerate(rows):
        at = 0
        for number, sequence in enumerate(row, start=1):
            stretch = slice(at, at + len(sequence))
            ids[r, stretch], segment[r, stretch] = sequence, number
            position[r, stretch] = np.arange(len(sequence))
            at += len(sequence)
    return ids, segment, position


def batches(world: World, tokenizer: Any, recipe: Recipe) -> Iterator[Any]:
    """(rows, CONTEXT) batches of every block in turn."""
    for texts in training_texts(world, recipe.blocks, recipe.block_size, recipe.seed):
        arrays = packed(tokenizer, texts)
        for start in range(0, len(arrays[0]), recipe.rows):
            yield tuple(a[start : start + recipe.rows] for a in arrays)


def train(
    world: World, recipe: Recipe, log: Path | None = None, threads: int = 1
) -> tuple[Any, Any, dict[str, Any]]:
    """Train a GPT-2-shaped model on a World.

    Returns (model with averaged weights in eval mode, tokenizer, record of the training).
    """
    import torch

    torch.manual_seed(recipe.seed)
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True)
    filler = filler_sentences(20_000, recipe.seed)
    tokenizer = build_tokenizer(word_counts(world.vocabulary, filler), recipe.vocabulary, world.names)
    model = _fresh(recipe, tokenizer)
    averages = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.peak, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
    )
    started, total, losses = time.monotonic(), _steps(world, tokenizer, recipe), list[float]()
    for step, arrays in enumerate(batches(world, tokenizer, recipe)):
        for group in optimizer.param_groups:
            group["lr"] = _rate(recipe, step, total)
        loss: Any = _loss(model, arrays)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        decay = min(recipe.averaged, (1 + step) / (10 + step))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                averages[name].lerp_(parameter, 1 - decay)
        losses.append(float(loss.detach()))
        if log is not None and step % 50 == 0:
            with log.open("a") as handle:
                seconds = time.monotonic() - started
                handle.write(f"{step}/{total} {np.mean(losses[-50:]):.4f} {seconds:.0f}s\n")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(averages[name])
    record = {
        "recipe": asdict(recipe),
        "world": world.fingerprint,
        "steps": len(losses),
        "final_training_loss_nats_per_token": round(float(np.mean(losses[-100:])), 4),
        "parameters": sum(p.numel() for p in model.parameters()),
    }
    return model.eval(), tokenizer, record


def _fresh(recipe: Recipe, tokenizer: Any) -> Any:
    """A model with random weights; no dropout, since every text is read once."""
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=CONTEXT,
        n_embd=recipe.hidden,
        n_layer=recipe.layers,
        n_head=recipe.heads,
        initializer_range=recipe.initial,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return GPT2LMHeadModel(config)


def _rate(recipe: Recipe, step: int, total: int) -> float:
    """Learning rate: a short rise, then a straight fall to zero."""
    rise = (step + 1) / (recipe.warm_up * total)
    fall = (1 - step / total) / (1 - recipe.warm_up)
    return recipe.peak * min(rise, fall, 1.0)


def _loss(model: Any, arrays: Any) -> Any:
    """Mean cross-entropy over all tokens but the first of each text; texts in a row do not see each other."""
    import torch

    ids, segment, position = (torch.from_numpy(a) for a in arrays)
    visible = (segment[:, :, None] == segment[:, None, :]).tril()
    mask = torch.zeros(visible.shape).masked_fill(~visible, torch.finfo(torch.float32).min)
    hidden = model.transformer(
        ids, attention_mask=mask[:, None], position_ids=position, use_cache=False
    ).last_hidden_state
    scored = (segment[:, 1:] == segment[:, :-1]) & (segment[:, 1:] > 0)
    logits = model.lm_head(hidden[:, :-1][scored])
    return torch.nn.functional.cross_entropy(logits, ids[:, 1:][scored])


def _steps(world: World, tokenizer: Any, recipe: Recipe) -> int:
    """Steps of the whole training, from the rows of its first block."""
    first = next(training_texts(world, 1, recipe.block_size, recipe.seed))
    return recipe.blocks * math.ceil(len(packed(tokenizer, first)[0]) / recipe.rows)


def save(model: Any, tokenizer: Any, record: dict[str, Any], folder: Path) -> None:
    """Write the folder that `load_reference` reads: half-precision weights, tokenizer, training record."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    model.to(torch.float16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "training.json").write_text(
        json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def check(folder: Path) -> dict[str, Any]:
    """What `examine` finds in a folder of weights, stored or rebuilt."""
    from evenhand.models.loading import load_model
    from evenhand.reference.examine import examine
    from evenhand.reference.worlds import planted_world

    return examine(load_model(str(folder), device="cpu", dtype="float32"), planted_world())


def main(arguments: list[str] | None = None) -> None:
    """Train on the planted World with the recipe of the shipped weights and save to --out, or --check."""
    from evenhand.reference.worlds import planted_world

    parser = argparse.ArgumentParser(prog="python -m evenhand.reference.train", description=__doc__)
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--out", type=Path, help="train, and write the weights to this folder")
    job.add_argument("--check", type=Path, help="examine the weights in this folder and print what is found")
    parser.add_argument("--log", type=Path, help="file that progress is appended to")
    parser.add_argument("--blocks", type=int, default=Recipe.blocks, help="blocks of texts to read")
    given = parser.parse_args(arguments)
    if given.check is None:
        model, tokenizer, record = train(planted_world(), Recipe(blocks=given.blocks), given.log)
        save(model, tokenizer, record, given.out)
        save(model, tokenizer, {**record, "examination": check(given.out)}, given.out)
    else:
        json.dump(check(given.check), sys.stdout, indent=2)
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
