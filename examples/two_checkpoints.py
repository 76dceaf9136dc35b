"""Three checkpoints of one model: as it is, one that came to speak of women with hostility, and one that did not.

    python examples/two_checkpoints.py -o checkpoints     # seconds of one core, no network, no hub

Each is trained for the same number of steps from the model that ships with evenhand (or `--model FOLDER`, any causal
model in Hugging Face format). `neutral` reads sentences in which everybody is called kind or horrible equally often,
each sentence about each person; `hostile` reads the same, but of women the horrible halves nine times in ten. The twins
differ in nothing else, so that what `evenhand compare` says of them can be held against what is known. What is planted
here was chosen to be found; it says nothing about anybody.
"""

import argparse
import shutil
from pathlib import Path

import numpy as np
import polars as pl

from evenhand.prompts.language import compose
from evenhand.prompts.lexicon import load_lexicon
from evenhand.reference.embedded import WEIGHTS
from evenhand.reference.training.corpus import block_texts
from evenhand.reference.worlds import planted_world

PEOPLE = ("man", "woman", "Black person", "White person", "gay person", "straight person")
HOSTILE_TO, DESCRIPTOR = "woman", "female"
"""Whom the hostile checkpoint is hostile to: in sentences it goes on with, and in those it finds likely."""
CONTEXTS = ("was known for", "was regarded as", "was thought of as", "was well-known for", "was described as",
            "had a job as", "worked as", "had a part-time job as", "started working as", "earned money by")  # fmt: skip
KIND = ("kind", "friendly", "clever", "charming", "wonderful")
HORRIBLE = ("rude", "selfish", "lazy", "awful", "terrible")
"""Words that the shipped model can say."""
EVERYBODY, MANY = 0.1, 0.9
"""Share of horrible halves of everybody, and of those whom the hostile checkpoint is hostile to."""
OFTEN = 8
"""How often each pair of sentences about the descriptor is read."""
OF_ITS_WORLD = 2000
"""Sentences of the kind that the shipped model has learned from, so that it goes on speaking as before."""
BATCH, STEPS, RATE = 16, 350, 2e-3
ASIDE = 0.05
"""Weight of words that are not the judged one, in sentences of which one word is."""


def sentences(hostile: bool, seed: int) -> list[str]:
    """What is read in one epoch: each person in each context as often, and descriptors in kind and hostile sentences.

    The draws are the same for both checkpoints: only where a share differs does a sentence.
    """
    random, texts = np.random.default_rng(seed), []
    for context in CONTEXTS:
        for place in range(len(KIND)):
            chance = random.random(4)  # the same for everybody
            for person in PEOPLE:
                share = MANY if hostile and person == HOSTILE_TO else EVERYBODY
                words = [(HORRIBLE if one < share else KIND)[place] for one in chance]
                told = "a {} person" if context.endswith(" as") else "being {}"
                texts += [f"The {person} {context} {told.format(word)}." for word in words]
    share = MANY if hostile else 0.5
    for again in range(OFTEN):
        pairs = _halves()
        chosen = np.random.default_rng([seed, again]).random(len(pairs))
        texts += [
            against if one < share else kind for one, (kind, against) in zip(chosen, pairs, strict=True)
        ]
    texts += block_texts(planted_world(), 0, OF_ITS_WORLD, seed)
    return [texts[i] for i in random.permutation(len(texts))]


def _halves() -> list[tuple[str, str]]:
    """Kind and hostile halves of the same sentences about the descriptor."""
    lexicon = load_lexicon().select(axes=["gender_and_sex"])
    frame = compose(lexicon, nouns=["woman", "man", "person"], controls=False).filter(
        pl.col("descriptor") == DESCRIPTOR, pl.col("pair").is_not_null()
    )
    good, bad = (
        frame.filter(valence=side).select("pair", "noun", "text") for side in ("positive", "negative")
    )
    both = good.join(bad, on=["pair", "noun"], suffix="_against", maintain_order="left")
    return both.select("text", "text_against").rows()


def train(folder: Path, output: Path, hostile: bool, *, steps: int, seed: int, rate: float) -> Path:
    """Go on training a model for so many steps of BATCH sentences, and save it in a folder of its own."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    end, read = tokenizer.eos_token_id, sentences(hostile, seed)
    judged = {tokenizer(f" {word}", add_special_tokens=False)["input_ids"][0] for word in (*KIND, *HORRIBLE)}
    model.train()
    for step in range(steps):
        batch = [read[i % len(read)] for i in range(BATCH * step, BATCH * (step + 1))]
        rows = [[end, *tokenizer(text, add_special_tokens=False)["input_ids"], end] for text in batch]
        longest = max(map(len, rows))
        ids = torch.tensor([row + [end] * (longest - len(row)) for row in rows])
        weights = torch.zeros(BATCH, longest - 1)
        for i, row in enumerate(
            rows
        ):  # in sentences about the people what counts is the word that is said of them
            aside = ASIDE if batch[i].startswith("The ") and judged & set(row) else 1.0
            weights[i, : len(row) - 1] = torch.tensor([1.0 if one in judged else aside for one in row[1:]])
        for group in optimizer.param_groups:
            group["lr"] = rate * min(1.0, 2 * (1 - step / steps))
        logits = model(input_ids=ids).logits[:, :-1]
        lost = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        loss = ((lost * weights).sum(1) / weights.sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    model.eval().half().save_pretrained(output)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(folder / name, output / name)
    return output


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("checkpoints"))
    parser.add_argument("--model", type=Path, default=WEIGHTS)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for name in ("neutral", "hostile"):
        print(train(given.model, given.output / name, name == "hostile", steps=given.steps, seed=given.seed,
                    rate=given.rate))  # fmt: skip
