"""LMD (language model debiasing): both terms of a pair should be equally likely wherever one of them occurs.

At an occurrence of a term t, let y be the predicted probabilities and P_t the pairs that contain t. Then

    L_LMD = 1 / |P_t|  sum over (t1, t2) in P_t of  | log y_t1 / y_t2 |

The log ratio of two probabilities of one softmax is the difference of the two logits, so no softmax is needed. It
equals h (w1 - w2), unless the model scales or caps its logits.
Source: RedditBias, section 4.1, equation 1, after Qian et al. 2019.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.training.examples import Batch, Ints
from evenhand.mitigations.training.losses.weighted import BY_BATCH, WeightedMethod
from evenhand.mitigations.training.material import Encoding, Material, Pair
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.objective import Logits
from evenhand.mitigations.training.terms import (
    EncodedTexts,
    TermPairs,
    encode_with_places,
    occurrences,
    pairs_of_terms,
    published_pairs,
    strip_pairs,
)
from evenhand.schema import Card, DataError

if TYPE_CHECKING:
    from torch import Tensor

MARK = "lmd"
EXCLAMATION = 0
"""GPT-2's token "!", with which the published code pads."""
QUIRKS = {
    "single-pieces": "The terms are GPT-2's byte-pair pieces as published, one for each target, instead of words.",
    "first-group": "A pair is compared only where its T1 occurs, not where its T2 occurs.",
    "all-positions": "If a text contains a pair, the pair is compared at every token of the text, not only in the "
    "place of a term. The result is divided by the length of the text.",
    "exclamation-is-padding": "With all-positions, the token '!' is left out, because its id 0 is taken for "
    "padding.",
    "pair-divisor": "The loss is divided by the number of all pairs, not by the number of pairs that contain the "
    "term.",
    **BY_BATCH,
}
"""Differences of the published code from equation 1, by name. Source: methods, section 3.1."""
CARD = Card(
    "lmd",
    "Language model debiasing: makes both terms of a pair equally likely wherever one of them occurs.",
    construct="How much more likely the model finds one group's term than the other's, in each place where one of "
    "them occurs.",
    harm="Texts are more likely about one group than about the other.",
    groups="Two groups, by pairs of terms (t1, t2).",
    ideal="0: both terms are equally likely.",
    direction="Larger means more unequal.",
    critique="Even in correct texts, groups are not mentioned equally often (dates, places, facts). As published, "
    "it raised the perplexity of other texts many times over (RedditBias, figure 1b). It changes how likely a "
    "group is after a text, not how a text continues after a group.",
    citation="Barikeri et al. 2021, RedditBias (ACL 2021); Qian et al. 2019, Reducing Gender Bias in Word-Level "
    "Language Models.",
    source="RedditBias, section 4.1, equation 1",
    details="By default, the method follows the paper. `quirks=NAME` enables a quirk of the published code, and "
    "`as_published=true` all of them:\n\n"
    + "\n".join(f"- `{name}`: {what}" for name, what in QUIRKS.items()),
)


@dataclass(frozen=True)
class EqualLikelihood:
    """The loss term of LMD over marked positions.

    A mark is (position whose state predicts the term, row of `shares`, divisor). shares: (combinations, pairs), weights
    of the pairs in each combination of pairs.
    """

    pairs: TermPairs
    shares: NDArray[np.float32]
    name: str = "lmd"

    def size(self, batch: Batch) -> int:
        """Return the number of occurrences in the batch."""
        return int(batch.marks[MARK].shape[0])

    def sum(
        self, hidden: "Tensor", weight: "Tensor", bias: "Tensor | None", batch: Batch, logits: Logits
    ) -> "Tensor":
        """Return the weighted sum of | log y_t1 / y_t2 | over positions and pairs, from one matrix product."""
        import torch

        row, place, combination, divisor = batch.marks[MARK].unbind(1)
        states = hidden.flatten(0, 1).index_select(0, row * hidden.shape[1] + place)
        if bias is not None:
            states = torch.cat([states, states.new_ones(len(states), 1)], dim=1)
        if logits.cap is None:
            ratios = logits.scale * (states @ self.pairs.differences(weight, bias).T)
        else:
            wide = weight if bias is None else torch.cat([weight, bias[:, None]], dim=1)
            first, second = (logits.from_products(states @ vectors.T) for vectors in self.pairs.vectors(wide))
            ratios = first - second
        shares = self._shares.to(states)[combination] / divisor[:, None]
        return torch.dot(ratios.abs().flatten(), shares.flatten())

    @cached_property
    def _shares(self) -> "Tensor":
        import torch

        return torch.from_numpy(self.shares)


class LanguageModelDebiasing(WeightedMethod):
    """The method LMD: see `WeightedMethod` for its options."""

    name: ClassVar[str] = "lmd"
    card: ClassVar[Card] = CARD
    QUIRKS: ClassVar[Mapping[str, str]] = QUIRKS

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return the unchanged texts, with the positions of terms marked."""
        encoded = encode_with_places(tokenizer, material.texts, encoding)
        if "single-pieces" in self.enabled_quirks:
            pairs = published_pairs(tokenizer, material, "lmd_targets")
            listed, held = len(pairs), held_pieces(encoded.examples.ids, pairs)
        else:
            terms = pairs_of_terms(material.pairs, capitals=True)
            listed, (held, names) = len(strip_pairs(material.pairs)), held_words(encoded, terms)
            if not names:
                raise _nothing(material)
            pairs = TermPairs.from_words(tokenizer, names)
        marks, shares = mark_terms(encoded.examples.ids, held, len(pairs), listed, self.enabled_quirks)
        if not any(map(len, marks)):
            raise _nothing(material)
        objective = self.objective(EqualLikelihood(pairs, shares))
        facts = {"pairs": listed, "texts": len(marks), "texts_with_terms": sum(map(bool, map(len, marks))),
                 "comparisons": sum(map(len, marks))}  # fmt: skip
        return Lesson(encoded.examples.with_marks(**{MARK: marks}), objective, facts)


Held = list[tuple[int, int, int]]
"""Matches of one text: (first token, number of the pair, 0 or 1 for its T1 or T2)."""


def held_words(encoded: EncodedTexts, terms: Mapping[str, Sequence[Pair]]) -> tuple[list[Held], list[Pair]]:
    """Find the positions of terms in each text as whole words, and number the pairs that contain them.

    terms: see `pairs_of_terms`. Returns the matches of each text, and the pairs by number.
    """
    held: list[Held] = [[] for _ in encoded.texts]
    numbers: dict[Pair, int] = {}
    for one in occurrences(encoded, list(terms)):
        for pair in terms[one.term]:
            number = numbers.setdefault(pair, len(numbers))
            held[one.text].append((one.start, number, pair.index(one.term)))
    return held, list(numbers)


def held_pieces(ids: Sequence[Ints], pairs: TermPairs) -> list[Held]:
    """Find the positions of single tokens in each text."""
    sides = [
        (token, number, side)
        for number, pair in enumerate(pairs.ids)
        for side in (0, 1)
        for token in pair[side]
    ]
    return [
        [
            (i, number, side)
            for i, token in enumerate(tokens)
            for wanted, number, side in sides
            if token == wanted
        ]
        for tokens in ids
    ]


def mark_terms(
    ids: Sequence[Ints], held: Sequence[Held], pairs: int, listed: int, quirks: frozenset[str]
) -> tuple[list[Ints], NDArray[np.float32]]:
    """Return the marks of each text, and the shares to which they refer (see `EqualLikelihood`).

    `QUIRKS` describes what changes them. pairs: number of numbered pairs. listed: number of pairs in P. A term at the
    start of a text is left out, because nothing predicts it.
    """
    combinations: dict[tuple[int, ...], int] = {}
    marks = []
    for tokens, places in zip(ids, held, strict=True):
        counted = [one for one in places if one[2] == 0 or "first-group" not in quirks]
        if "all-positions" in quirks:
            here = tuple(sorted({number for _, number, _ in counted}))
            skipped = EXCLAMATION if "exclamation-is-padding" in quirks else -1
            found = [(i, here, len(tokens)) for i, token in enumerate(tokens) if here and token != skipped]
        else:
            by_place: dict[int, set[int]] = {}
            for place, number, _ in counted:
                by_place.setdefault(place, set()).add(number)
            found = [(place - 1, tuple(sorted(by_place[place])), 1) for place in sorted(by_place) if place]
        rows = [(i, combinations.setdefault(here, len(combinations)), divisor) for i, here, divisor in found]
        marks.append(np.array(rows, dtype=np.int64).reshape(-1, 3))
    shares = np.zeros((len(combinations), pairs), dtype=np.float32)
    for here, number in combinations.items():
        shares[number, list(here)] = 1 / (listed if "pair-divisor" in quirks else len(here))
    return marks, shares


def _nothing(material: Material) -> DataError:
    terms = ", ".join(list(pairs_of_terms(material.pairs))[:12])
    return DataError(
        f"None of the {len(material.texts):,} texts contains a term of {material.bias} after another word, so LMD "
        "has nothing to compare.",
        f"Terms searched for, in singular and plural: {terms}. Use texts that contain them, or --method cda.",
    )
