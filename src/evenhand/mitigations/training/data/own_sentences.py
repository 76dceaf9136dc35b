"""evenhand's own sentences as training material, for one axis, and texts that the model generates itself.

Sentences come in pairs with a hostile and a kind half ("I despise Sikh women.", "I admire Sikh women."). The half that
is used is sampled by the model's own odds between the two. The texts therefore have the bias of the model: plain
fine-tuning on them changes little, and any larger change is due to the method. The texts that the model generates
itself preserve its language.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.mitigations.training.material import Encoding, Material, Pair, Preference
from evenhand.mitigations.training.validation import MatchedOpinions, Validation, log_likelihoods
from evenhand.prompts.language import compose, load_templates
from evenhand.prompts.lexicon import load_lexicon
from evenhand.schema import UsageError, unknown_name

PREFIX = "evenhand/"
"""Prefix of the name of a bias that uses evenhand's own sentences; the axis follows."""
LEARNED = ("woman",)
KEPT = ("sister", "teenager")
"""Numbers of nouns in the training sentences and in the validation sentences."""
MOST_SAID = 640
"""Maximum number of training sentences. With many more about one axis, the model would write about nothing
else."""
WRITTEN = 4000
"""Number of generated texts in the training material, which preserve the model's language."""
WATCHED = 500
"""Number of generated texts that are held out to monitor the perplexity."""
AT_ONCE = 250
MOST_PAIRS = 600
MOST_TRIES = 3
"""Maximum number of attempts, because a model may generate mostly empty texts."""


def own_axes() -> tuple[str, ...]:
    """Return the axes for which evenhand has its own training sentences.

    >>> "religion" in own_axes()
    True
    """
    return load_lexicon().axes


@dataclass(frozen=True)
class Own:
    """Training material of an axis, and its validation texts."""

    material: Material
    validation: Validation


def own_material(axis: str, model: Any, tokenizer: Any, encoding: Encoding, pad: int, seed: int) -> Own:
    """Return evenhand's own training sentences about an axis.

    The terms are all adjectives of the axis, in pairs from different buckets (sets of similar descriptors). The
    attributes are the words that differ between hostile and kind sentences. `model` is a causal model of transformers,
    which is asked for its odds. Raises a UsageError for an unknown axis, or one with descriptors of a single bucket.
    """
    if axis not in own_axes():
        raise unknown_name("axis", axis, own_axes())
    opinions, kept = _opinions(axis, LEARNED), _opinions(axis, KEPT)
    random = np.random.default_rng([seed, 1])
    pairs = _pairs(opinions, random)
    said = _sample_halves(opinions, model, tokenizer, encoding, pad, random)
    said = [said[i] for i in sorted(random.permutation(len(said))[:MOST_SAID].tolist())]
    written = generate_texts(model, tokenizer, encoding, pad, WRITTEN + WATCHED, seed)
    material = Material(
        bias=PREFIX + axis,
        groups=(axis, axis),
        pairs=pairs,
        attributes=differing_words(),
        texts=(*said, *written[WATCHED:]),
        source="evenhand's own sentences, and texts that the model wrote",
        preferences=_preferences(opinions),
    )
    return Own(material, Validation(_match_opinions(kept), tuple(written[:WATCHED])))


def generate_texts(model: Any, tokenizer: Any, encoding: Encoding, pad: int, n: int, seed: int) -> list[str]:
    """Return n texts of a sentence or more that a model generates from its start token alone.

    They are sampled from its own distribution, so that training on them changes the model only by sampling noise.
    """
    import torch

    start = encoding.start or (tokenizer.bos_token_id or tokenizer.eos_token_id or pad,)
    texts: list[str] = []
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        device = next(model.parameters()).device
        for _ in range(math.ceil(MOST_TRIES * n / AT_ONCE)):
            ids = torch.tensor([start] * AT_ONCE, device=device)
            ended = torch.zeros(AT_ONCE, dtype=torch.bool, device=device)
            following, known = ids, None
            while ids.shape[1] < encoding.longest and not bool(ended.all()):
                output = model(input_ids=following, past_key_values=known, use_cache=True)
                known = output.past_key_values
                following = torch.multinomial(output.logits[:, -1].float().softmax(-1), 1)
                ended |= following[:, 0] == tokenizer.eos_token_id
                ids = torch.cat([ids, following], dim=1)
            rows = ids[:, len(start) :].tolist()
            cut = [
                row[: row.index(tokenizer.eos_token_id)] if tokenizer.eos_token_id in row else row
                for row in rows
            ]
            found = tokenizer.batch_decode(cut, skip_special_tokens=True)
            texts += [
                text for row, text in zip(cut, found, strict=True) if len(row) > 1 and len(text.split()) > 1
            ]
            if len(texts) >= n:
                break
    return texts[:n]


def differing_words() -> tuple[str, ...]:
    """Return the words in which the two halves of opinion pairs differ.

    >>> "despise" in differing_words(), "I" in differing_words()
    (True, False)
    """
    halves: dict[str, list[set[str]]] = {}
    for template in load_templates(kinds=["opinion"]):
        words = set(re.findall(r"[\w']+", re.sub(r"\{.*?\}", " ", template.text)))
        halves.setdefault(str(template.pair), []).append(words)
    return tuple(sorted(set().union(*(one ^ other for one, other in halves.values()))))


def _opinions(axis: str, nouns: Sequence[str]) -> pl.DataFrame:
    lexicon = load_lexicon().select(axes=[axis])
    frame = compose(lexicon, load_templates(kinds=["opinion"]), nouns, controls=False)
    return frame.filter(pl.col("form") == "adjective")


def _preferences(opinions: pl.DataFrame) -> tuple[Preference, ...]:
    """Return pairs in which the kind half of a sentence is preferred to the hostile half."""
    keys = ["descriptor", "noun", "pair", "bucket"]
    halves = {valence: opinions.filter(valence=valence) for valence in ("positive", "negative")}
    both = halves["positive"].join(halves["negative"], on=keys, suffix="_hostile", maintain_order="left")
    return tuple(
        Preference("", kind, hostile, f"{pair}, {noun}", bucket)
        for kind, hostile, pair, noun, bucket in both.select(
            "text", "text_hostile", "pair", "noun", "bucket"
        ).iter_rows()
    )


def _sample_halves(
    pairs: pl.DataFrame, model: Any, tokenizer: Any, encoding: Encoding, pad: int, random: np.random.Generator
) -> list[str]:
    """Return one half of each pair of sentences, sampled by the model's odds."""
    values = log_likelihoods(model, tokenizer, pairs["text"].to_list(), encoding, pad)
    scored = pairs.with_columns(value=pl.Series(values))
    halves = scored.filter(valence="negative").join(
        scored.filter(valence="positive"), on=["axis", "descriptor", "noun", "pair"], maintain_order="left"
    )
    odds = (halves["value"] - halves["value_right"]).to_numpy()
    hostile = random.random(halves.height) < 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    both = zip(hostile.tolist(), halves["text"], halves["text_right"], strict=True)
    return [one if is_hostile else other for is_hostile, one, other in both]


def _pairs(opinions: pl.DataFrame, random: np.random.Generator) -> tuple[Pair, ...]:
    """Return pairs of descriptors of different buckets, at most MOST_PAIRS, each descriptor about equally often."""
    bucket_of = dict(opinions.select("descriptor", "bucket").unique(maintain_order=True).iter_rows())
    if len(set(bucket_of.values())) < 2:
        raise UsageError(
            "The descriptors of this axis form a single group, so there is nothing to compare.",
            "Choose another axis.",
        )
    names = list(bucket_of)
    pairs: dict[Pair, None] = {}
    while len(pairs) < MOST_PAIRS:
        before = len(pairs)
        for name, other in zip(names, random.permutation(names).tolist(), strict=True):
            if bucket_of[name] != bucket_of[other] and (other, name) not in pairs:
                pairs[name, other] = None
        if len(pairs) == before:
            break
    return tuple(pairs)[:MOST_PAIRS]


def _match_opinions(kept: pl.DataFrame) -> MatchedOpinions:
    order = kept.sort("descriptor", "pair", "noun", maintain_order=True)
    halves = {valence: order.filter(valence=valence) for valence in ("negative", "positive")}
    names = halves["negative"]["descriptor"].unique(maintain_order=True).to_list()
    hostile, kind = (tuple(half["text"].to_list()) for half in halves.values())
    return MatchedOpinions(tuple(names), hostile, kind, nouns=len(KEPT))
