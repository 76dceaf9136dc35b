"""A tiny DialoGPT whose replies to a sentence have a style that its descriptor decides, and who hears the styles."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.classifiers import Labels
from tests.helpers.planted_chats import word_tokenizer

STYLES = {
    "warm": ("lovely", "great", "dear", "sweet", "happy", "glad"),
    "pitying": ("sorry", "hard", "poor", "sad", "pity", "alas"),
    "curious": ("why", "how", "when", "what", "where", "who"),
    "plain": ("yes", "fine", "okay", "sure", "right", "indeed"),
}
FILLERS = ("so", "well", "and", "then", "we", "can", "it", "go", "on", "now", "here", "there")
PEOPLE = {
    "age": ("old", "young", "adult", "grown", "aged", "teenage"),
    "body": ("tall", "short", "thin", "stout", "bald", "freckled"),
}
TEMPLATES = ("I am a {} {} .", "I met a {} {} .", "I like a {} {} .", "I see a {} {} .", "I saw a {} {} .")
NOUNS = ("woman", "man", "person", "friend")
OWN, PLAIN, PARROTS = 0.45, 0.4, 0.3
"""How often a reply has the style of the descriptor, and how often the plain one; else it has any. How often it begins
with the whole sentence."""
LENGTHS = (20, 26)


class Hears:
    """Judges how many of a reply's words of style belong to each style."""

    labels = tuple(STYLES)
    reads_context = False
    fingerprint = {"name": "word-styles"}

    def describe(self) -> dict[str, Any]:
        return {"name": "word-styles", "licence": "none"}

    def classify(self, texts: Sequence[str], contexts: Sequence[str | None] | None = None) -> Labels:
        counts = np.array([[sum(w in own for w in t.split()) for own in STYLES.values()] for t in texts])
        scores = (counts.reshape(-1, len(STYLES)) + 0.1) / (counts.sum(axis=1, keepdims=True) + 0.3)
        likeliest = scores.argmax(axis=1)
        return Labels(
            scores=scores.astype(np.float32),
            labels=[self.labels[i] for i in likeliest],
            score=scores.max(axis=1),
            negative=[None] * len(texts),
            errors=[None] * len(texts),
        )


def load(options: dict[str, Any]) -> Hears:
    """As classifier backends are loaded."""
    return Hears()


def sentences() -> pl.DataFrame:
    """240 sentences: every descriptor in the same templates and nouns."""
    rows = [
        {
            "text": template.format(who, noun),
            "axis": axis,
            "descriptor": who,
            "template": template,
            "noun": noun,
        }
        for axis, people in PEOPLE.items()
        for who, template, noun in itertools.product(people, TEMPLATES, NOUNS)
    ]
    return pl.DataFrame(rows)


def reply(text: str, descriptor: str, random: np.random.Generator) -> str:
    """What the planted speaker answers."""
    people = [who for group in PEOPLE.values() for who in group]
    names = list(STYLES)
    own, drawn = names[people.index(descriptor) % (len(names) - 1)], random.random()
    other = "plain" if drawn < OWN + PLAIN else names[random.integers(len(names))]
    style = STYLES[own if drawn < OWN else other]
    number = int(random.integers(*LENGTHS))
    said = [str(random.choice(style if random.random() < 0.5 else FILLERS)) for _ in range(number)]
    return " ".join([*([text] if random.random() < PARROTS else []), *said])


def styled_talker(folder: Path, n: int = 8, epochs: int = 16, seed: int = 0) -> Path:
    """A GPT-2 of two layers that learned n replies to each sentence, in DialoGPT's format; seconds. Returns folder."""
    import torch
    from torch.nn.utils.rnn import pad_sequence
    from transformers import GPT2Config, GPT2LMHeadModel

    random, frame = np.random.default_rng(seed), sentences()
    said = [word for row in frame["text"] for word in row.split()]
    words = [
        "<pad>",
        "<end>",
        "STYLE",
        "bias",
        "no_bias",
        *FILLERS,
        *itertools.chain(*STYLES.values()),
        *said,
    ]
    tokenizer = word_tokenizer(tuple(dict.fromkeys(words)))
    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=48, n_layer=2, n_head=2, n_positions=128,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=1,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    ids, learned = [], []
    for text, who in frame.select("text", "descriptor").rows() * n:
        front, behind = (
            tokenizer(part)["input_ids"] for part in (f"{text} <end>", f"{reply(text, who, random)} <end>")
        )
        ids.append(torch.tensor([*front, *behind]))
        learned.append(torch.tensor([*[-100] * len(front), *behind]))
    read = pad_sequence(ids, batch_first=True)
    target = pad_sequence(learned, batch_first=True, padding_value=-100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(epochs):
        for part in torch.randperm(len(read)).split(64):
            optimizer.zero_grad()
            model(input_ids=read[part], labels=target[part]).loss.backward()
            optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
