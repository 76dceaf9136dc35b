"""Our own sentences as training material: what a model itself says about the people of an axis, and of others.

Sentences come in pairs with a hostile and a kind half ("I despise Sikh women.", "I admire Sikh women."). Which half
stands in the material is drawn by the model's own odds between the two, so that the texts have the model's bias and no
other: plain fine-tuning on them changes nothing, and what a method changes is the method's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.mitigations.training.material import Encoding, Material, Pair
from evenhand.mitigations.training.validation import MatchedOpinions, Validation, log_likelihoods
from evenhand.prompts.language import compose, load_templates
from evenhand.prompts.lexicon import load_lexicon
from evenhand.schema import UsageError, unknown_name

PREFIX = "evenhand/"
"""In front of an axis of the lexicon: a bias of our own sentences."""
LEARNED = ("woman", "man", "person")
KEPT = ("sister", "teenager")
"""Nouns of the sentences that are learned, and of those that the bias is watched on."""
OTHERS = 1200
"""Sentences about people of other axes, so that these stay as they are."""
WATCHED = 600
"""Of those kept apart to watch how well the model reads."""
MOST_PAIRS = 600


def own_axes() -> tuple[str, ...]:
    """The axes whose sentences can be learned from.

    >>> "religion" in own_axes()
    True
    """
    return load_lexicon().axes


@dataclass(frozen=True)
class Own:
    """Material of an axis, and what is watched."""

    material: Material
    validation: Validation


def own_material(axis: str, model: Any, tokenizer: Any, encoding: Encoding, pad: int, seed: int) -> Own:
    """What a model says about an axis.

    model: of transformers, causal; asked for its odds. Terms are all adjectives of the axis, in pairs from different
    buckets; attributes the words in which the halves of a pair differ. Raises UsageError for an axis that there is not,
    or with descriptors of one bucket only.
    """
    if axis not in own_axes():
        raise unknown_name("axis", axis, own_axes())
    opinions, neutral = _composed([axis], LEARNED, "opinion"), _composed([axis], LEARNED[:1], "neutral")
    kept = _composed([axis], KEPT, "opinion")
    random = np.random.default_rng([seed, 1])
    rest = _others(axis, random)
    both = pl.concat([opinions, rest.filter(pl.col("pair").is_not_null())])
    said = _said(both, model, tokenizer, encoding, pad, random)
    other = rest.filter(pl.col("pair").is_null())["text"].to_list()
    watched, learned = other[:WATCHED], other[WATCHED:]
    material = Material(
        bias=PREFIX + axis,
        groups=(axis, axis),
        pairs=_pairs(opinions, random),
        attributes=differing_words(),
        texts=(*said, *neutral["text"].to_list(), *learned),
    )
    return Own(material, Validation(_matched(kept), tuple(watched)))


def differing_words() -> tuple[str, ...]:
    """The words in which the two halves of opinion pairs differ.

    >>> "despise" in differing_words(), "I" in differing_words()
    (True, False)
    """
    halves: dict[str, list[set[str]]] = {}
    for template in load_templates(kinds=["opinion"]):
        words = set(re.findall(r"[\w']+", re.sub(r"\{.*?\}", " ", template.text)))
        halves.setdefault(str(template.pair), []).append(words)
    return tuple(sorted(set().union(*(one ^ other for one, other in halves.values()))))


def _composed(axes: Sequence[str], nouns: Sequence[str], kind: Any) -> pl.DataFrame:
    frame = compose(
        load_lexicon().select(axes=list(axes)), load_templates(kinds=[kind]), nouns, controls=False
    )
    return frame.filter(pl.col("form") == "adjective")


def _others(axis: str, random: np.random.Generator) -> pl.DataFrame:
    """Sentences about other axes: pairs of opinions in full, and neutral ones."""
    axes = [other for other in own_axes() if other != axis]
    opinions = _composed(axes, (*LEARNED, *KEPT), "opinion")
    wanted = opinions.select("descriptor", "axis", "noun", "pair").unique(maintain_order=True)
    chosen = wanted[np.sort(random.permutation(wanted.height)[: OTHERS // 2])]
    opinions = opinions.join(chosen, on=["descriptor", "axis", "noun", "pair"], maintain_order="left")
    neutral = _composed(axes, LEARNED, "neutral")
    neutral = neutral[random.permutation(neutral.height)[: OTHERS // 2 + WATCHED]]
    return pl.concat([opinions, neutral.with_columns(pair=pl.lit(None, pl.String))])


def _said(
    pairs: pl.DataFrame, model: Any, tokenizer: Any, encoding: Encoding, pad: int, random: np.random.Generator
) -> list[str]:
    """Of each pair of sentences one half, drawn by the model's odds."""
    values = log_likelihoods(model, tokenizer, pairs["text"].to_list(), encoding, pad)
    scored = pairs.with_columns(value=pl.Series(values)).filter(pl.col("valence").is_not_null())
    halves = scored.filter(valence="negative").join(
        scored.filter(valence="positive"), on=["axis", "descriptor", "noun", "pair"], maintain_order="left"
    )
    odds = (halves["value"] - halves["value_right"]).to_numpy()
    hostile = random.random(halves.height) < 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    return np.where(hostile, halves["text"].to_numpy(), halves["text_right"].to_numpy()).tolist()


def _pairs(opinions: pl.DataFrame, random: np.random.Generator) -> tuple[Pair, ...]:
    """Pairs of descriptors of different buckets, at most MOST_PAIRS, each descriptor about as often."""
    bucket_of = dict(opinions.select("descriptor", "bucket").unique(maintain_order=True).iter_rows())
    if len(set(bucket_of.values())) < 2:
        raise UsageError(
            "The descriptors of this axis are of one kind: there are no groups.", "Choose another."
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


def _matched(kept: pl.DataFrame) -> MatchedOpinions:
    order = kept.sort("descriptor", "pair", "noun", maintain_order=True)
    halves = {valence: order.filter(valence=valence) for valence in ("negative", "positive")}
    names = halves["negative"]["descriptor"].unique(maintain_order=True).to_list()
    return MatchedOpinions(tuple(names), *(tuple(half["text"].to_list()) for half in halves.values()))
