"""Rebuild the reference model: `python -m evenhand.reference.training.train --out DIR` (minutes on one CPU core).

The same arguments on the same machine and libraries give the same bytes. On other machines, rounding differs. Then use
`python -m evenhand.reference.training.train --check DIR`, which compares the loss with the World's entropy, the spread
on axes without plants, and the planted shifts.
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
from numpy.typing import NDArray

from evenhand.reference.sayings import shipped_sayings
from evenhand.reference.training.corpus import block_texts, rare_texts
from evenhand.reference.training.documents import Document, Documents
from evenhand.reference.training.filler import filler_sentences
from evenhand.reference.training.targets import SayingTeacher, Step, Targets, Teacher, stack_targets
from evenhand.reference.training.tokenizer import build_tokenizer, word_counts
from evenhand.reference.world import World

CONTEXT = 256
ELSEWHERE = {"world": 0.05, "documents": 0.3}
"""Share of texts that are read at a later position of the context, as if another text preceded them."""


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the training, except the World and the versions of libraries."""

    layers: int = 3
    hidden: int = 128
    heads: int = 4
    vocabulary: int = 5120
    blocks: int = 5
    block_size: int = 50_000
    rows: int = 3  # rows of CONTEXT tokens per step
    peak: float = 5e-3
    initial: float = 0.04  # standard deviation of initial weights
    warm_up: float = 0.02
    fall: float = 0.5  # share of the steps over which the learning rate falls to zero
    weight_decay: float = 0.01
    averaged: float = 0.998  # decay of the running average of the weights
    # number of texts about descriptors that are rare in the World, per sentence of the World
    rare: float = 0.05
    sayings: float = 0.3  # likewise:
    shifted: float = 0.08  # World sentences behind instructions
    seed: int = 20


def pack_sequences(sequences: list[list[int]]) -> list[list[int]]:
    """Return which sequences share a row of CONTEXT tokens: rows of indices, each sequence once and in order."""
    rows: list[list[int]] = [[]]
    room = CONTEXT
    for i, sequence in enumerate(sequences):
        if len(sequence) > room:
            rows.append([])
            room = CONTEXT
        rows[-1].append(i)
        room -= len(sequence)
    return rows


@dataclass(frozen=True)
class Batch:
    """Rows of several whole texts each; segment 0 is padding."""

    ids: NDArray[np.int64]  # (rows, CONTEXT)
    segment: NDArray[np.int64]  # (rows, CONTEXT) number of the text in its row, from 1
    position: NDArray[np.int64]  # (rows, CONTEXT) position in the text
    learned: NDArray[np.bool_]  # (rows, CONTEXT) whether the token after this one is learned
    targets: Targets  # of the learned positions, row by row


@dataclass(frozen=True)
class Lesson:
    """A document as token ids between two end tokens."""

    document: Document
    ids: list[int]
    given: int  # number of ids that are read and not learned, including the first end token
    place: int  # position of its first token


class Course:
    """All training data in batches: the World, some other English, and documents with a preceding text."""

    def __init__(self, world: World, tokenizer: Any, recipe: Recipe):
        self.world, self.tokenizer, self.recipe = world, tokenizer, recipe
        self.documents = Documents(world)
        self.teachers = {shift: Teacher(other, tokenizer) for shift, other in self.documents.worlds.items()}
        self.saying_teacher = SayingTeacher(tokenizer)

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of every block; each text is between two end tokens."""
        for block in range(self.recipe.blocks):
            lessons = self.lessons(block)
            rows = pack_sequences([lesson.ids for lesson in lessons])
            for start in range(0, len(rows), self.recipe.rows):
                yield self._batch(
                    [[lessons[i] for i in row] for row in rows[start : start + self.recipe.rows]]
                )

    def lessons(self, block: int) -> list[Lesson]:
        """Return the shuffled content of a block; it depends on the seed."""
        size, seed = self.recipe.block_size, self.recipe.seed
        streams = np.random.SeedSequence([seed, block, 1]).generate_state(4)
        random = np.random.default_rng(streams[0])
        texts = block_texts(self.world, block, size, seed)
        texts += rare_texts(self.world, round(self.recipe.rare * size), int(streams[3]))
        read = [Document("", text) for text in texts]
        read += self.documents.sayings_about_people(round(self.recipe.sayings * size), int(streams[1]))
        read += self.documents.world_sentences(round(self.recipe.shifted * size), int(streams[2]))
        order = random.permutation(len(read))
        return self._encode_documents([read[i] for i in order], random)

    def _encode_documents(self, documents: list[Document], random: np.random.Generator) -> list[Lesson]:
        end = self.tokenizer.eos_token_id
        encode = self.tokenizer.backend_tokenizer.encode_batch_fast
        whole = encode([d.given + d.told for d in documents], add_special_tokens=False)
        given = encode([d.given for d in documents], add_special_tokens=False)
        lessons: list[Lesson] = []
        for document, all_of_it, before in zip(documents, whole, given, strict=True):
            ids = [end, *all_of_it.ids, end]
            if len(ids) > CONTEXT:
                continue
            share = ELSEWHERE["documents" if document.given else "world"]
            place = int(random.integers(CONTEXT - len(ids) + 1)) if random.random() < share else 0
            lessons.append(Lesson(document, ids, 1 + len(before.ids) if document.given else 0, place))
        return lessons

    def _batch(self, rows: list[list[Lesson]]) -> Batch:
        ids, segment, position = (np.zeros((len(rows), CONTEXT), dtype=np.int64) for _ in range(3))
        learned = np.zeros((len(rows), CONTEXT), dtype=np.bool_)
        steps: list[Step] = []
        for r, row in enumerate(rows):
            at = 0
            for number, lesson in enumerate(row, start=1):
                stretch = slice(at, at + len(lesson.ids))
                ids[r, stretch], segment[r, stretch] = lesson.ids, number
                position[r, stretch] = lesson.place + np.arange(len(lesson.ids))
                learned[r, at + max(lesson.given - 1, 0) : stretch.stop - 1] = True
                steps += self._steps(lesson)
                at = stretch.stop
        return Batch(ids, segment, position, learned, stack_targets(steps))

    def _steps(self, lesson: Lesson) -> list[Step]:
        document = lesson.document
        if document.saying is not None:
            return self.saying_teacher.steps(document.saying)
        return self.teachers[document.shift].steps(document.told, lesson.ids[max(lesson.given, 1) :])


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
    tokenizer = world_tokenizer(world, recipe)
    course = Course(world, tokenizer, recipe)
    model = _fresh(recipe, tokenizer)
    averages = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=recipe.peak, betas=(0.9, 0.98), weight_decay=recipe.weight_decay
    )
    started, total, losses = time.monotonic(), _steps(course), list[float]()
    for step, batch in enumerate(course.batches()):
        for group in optimizer.param_groups:
            group["lr"] = _rate(recipe, step, total)
        loss: Any = _loss(model, batch)
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


def world_tokenizer(world: World, recipe: Recipe) -> Any:
    """Return the tokenizer of a recipe: the World's words, those of sayings, and pieces of other English."""
    filler = filler_sentences(20_000, recipe.seed)
    words = [*world.vocabulary, *(shipped_sayings().vocabulary if recipe.sayings else ())]
    return build_tokenizer(word_counts(words, filler), recipe.vocabulary, world.names, CONTEXT)


def _fresh(recipe: Recipe, tokenizer: Any) -> Any:
    """Return a model with random weights, without dropout, because every text is read once."""
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
    """Return the learning rate: a short rise, a plateau (on which small associations are learned),
    and a fall to zero.
    """
    rise = (step + 1) / (recipe.warm_up * total)
    fall = (1 - step / total) / recipe.fall
    return recipe.peak * min(rise, fall, 1.0)


def _loss(model: Any, batch: Batch) -> Any:
    """Return the mean cross-entropy against the targets; texts in the same row do not attend to each other."""
    import torch

    ids, segment, position = (torch.from_numpy(a) for a in (batch.ids, batch.segment, batch.position))
    visible = (segment[:, :, None] == segment[:, None, :]).tril()
    mask = torch.zeros(visible.shape).masked_fill(~visible, torch.finfo(torch.float32).min)
    hidden = model.transformer(
        ids, attention_mask=mask[:, None], position_ids=position, use_cache=False
    ).last_hidden_state
    log_probs = model.lm_head(hidden[torch.from_numpy(batch.learned)]).log_softmax(-1)
    wanted = batch.targets
    target_log_probs = log_probs[torch.from_numpy(wanted.position), torch.from_numpy(wanted.token)]
    return -(torch.from_numpy(wanted.probability) * target_log_probs).sum() / len(log_probs)


def _steps(course: Course) -> int:
    """Return the number of steps of the training, estimated from the rows of its first block."""
    rows = pack_sequences([lesson.ids for lesson in course.lessons(0)])
    return course.recipe.blocks * math.ceil(len(rows) / course.recipe.rows)


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
    """Return the result of `examine` for a folder of weights, stored or rebuilt."""
    from evenhand.models import load_model
    from evenhand.reference.training.examine import examine
    from evenhand.reference.worlds import planted_world

    return examine(load_model(str(folder), device="cpu", dtype="float32"), planted_world())


def main(arguments: list[str] | None = None) -> None:
    """Train on the planted World with the recipe of the shipped weights and save to --out, or --check."""
    from evenhand.reference.worlds import planted_world

    parser = argparse.ArgumentParser(prog="python -m evenhand.reference.training.train", description=__doc__)
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument("--out", type=Path, help="train, and write the weights to this folder")
    job.add_argument("--check", type=Path, help="examine the weights in this folder and print what is found")
    parser.add_argument("--log", type=Path, help="file that progress is appended to")
    parser.add_argument("--blocks", type=int, default=Recipe.blocks, help="blocks of texts to read")
    options = parser.parse_args(arguments)
    if options.check is None:
        model, tokenizer, record = train(planted_world(), Recipe(blocks=options.blocks), options.log)
        save(model, tokenizer, record, options.out)
        save(model, tokenizer, {**record, "examination": check(options.out)}, options.out)
    else:
        json.dump(check(options.check), sys.stdout, indent=2)
        sys.stdout.write("\n")


if __name__ == "__main__":
    main()
