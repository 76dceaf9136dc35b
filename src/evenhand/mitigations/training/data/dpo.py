"""Direct preference optimisation (DPO): the less biased of two texts becomes more likely, relative to the base model.

Let pi be the model, ref the base model, w the preferred text and l the other one, both after the same prompt.
Then

    m = log pi(w) / ref(w)  -  log pi(l) / ref(l)
    L_DPO = - p log sigma(beta m) - (1 - p) log sigma(- beta m)

With p = 1 this is equation 7 of Rafailov et al. 2023. With p = 1 - label_smoothing for all pairs it is
conservative DPO (Mitchell 2023).

The minimum of both has nothing to do with bias. At the same p, all pairs are moved by the same beta m = log p
/ (1 - p). A model that is less kind about one group than about others therefore stays so. If one group's text
is preferred to another's, the bias is reversed.

With `aim=equal`, the minimum is where the odds log pi(w) / pi(l) equal the wanted odds. Each pair gets its
own p:

    p = sigma(beta (wanted - log ref(w) / ref(l)))

The wanted odds depend on the kind of pair. For the kind and the hostile half of a sentence, they are those of
the group about which the model is kindest in that sentence. p is then at least 1/2, so no group is treated
less kindly than before. For the same text about two groups, the wanted log odds are 0.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from evenhand.mitigations.training.data.preferences import (
    By,
    Contrast,
    list_preference_texts,
    make_preferences,
    whole_texts,
)
from evenhand.mitigations.training.examples import IGNORED, Batch, Examples, Ints, encode_texts
from evenhand.mitigations.training.material import Encoding, Material, Preference
from evenhand.mitigations.training.methods import Lesson
from evenhand.mitigations.training.objective import token_losses
from evenhand.mitigations.training.terms import encode_with_places
from evenhand.mitigations.training.validation import Floats
from evenhand.schema import Card, DataError, UsageError

if TYPE_CHECKING:
    from torch import Tensor

CHOSEN, REJECTED, REFERENCE, WANTED = "chosen", "rejected", "reference", "wanted"
PUBLISHED, AT_AN_END = 0.1, 1.0
"""Default of beta."""
ROWS = 64
"""Number of pairs per batch of the base model."""
CARD = Card(
    "dpo",
    "Direct preference optimisation: makes the less biased of two texts more likely, up to equal odds.",
    construct="How much more likely the preferred text has become than the other, compared with the base model.",
    harm="Texts are unkind about a group, or are more likely about one group than about the other.",
    groups="With our own sentences: all groups of an axis; kind sentences are preferred to hostile ones. With "
    "published types and your own texts: T1 and T2. With your own pairs: the groups in their texts.",
    ideal="Expected with aim=equal: relative to the other text of its pair, the preferred text is as likely about "
    "every group as about the group for which it is most likely.",
    null="The loss is log 2 as long as the model is the base model.",
    critique="Both texts of a pair may become less likely, and nothing controls what replaces them (likelihood "
    "displacement, Razin et al. 2024). The pairs define what is less biased; nothing else is trained. With "
    "aim=none, hostility falls and the difference between groups remains. It can even grow if training ends before "
    "all pairs have moved equally. With pairs of texts about two groups (contrast=groups), aim=none reverses the "
    "bias.",
    citation="Rafailov et al. 2023, Direct Preference Optimization (NeurIPS 2023); Mitchell 2023, A note on DPO with "
    "noisy preferences.",
    source="Rafailov et al. 2023, equation 7",
    details="With `--bias evenhand/AXIS`, the kind half of each opinion sentence is preferred to the hostile half, "
    "for all groups. With published types and `--specification`, `contrast=groups` (default) pairs each text with "
    "the same text about the other group. `contrast=attributes` pairs it with the same text with A2 instead of A1, "
    "for both groups. `--data pairs.csv` (columns prompt, chosen, rejected) uses your own pairs, with `aim=none`. "
    "`lm_weight` is the weight of plain language modelling on the texts outside the pairs.",
)


@dataclass(frozen=True)
class Preferring:
    """The loss: language modelling on rows without a mark, and the DPO term over pairs.

    A row that is a pair contains the preferred text, and `chosen` marks those of its tokens that count.
    `rejected` contains the other text as (token, whether it counts). For each row, `reference` is log ref(w)
    / ref(l) in nats, and `wanted` is p.
    """

    beta: float
    weight: float
    lm_weight: float
    pooled: bool = True

    def weights(self, batch: Batch) -> Mapping[str, float]:
        """Return the weights of both terms."""
        return {"lm": self.lm_weight, "dpo": self.weight}

    def sizes(self, batch: Batch) -> Mapping[str, float]:
        """Return the numbers of learned tokens and of pairs."""
        return {"lm": batch.n_learned, "dpo": len(paired_rows(batch))}

    def sums(self, model: Any, batch: Batch) -> "Mapping[str, Tensor]":
        """Compute both terms in one pass."""
        import torch

        logits, odds = logits_and_odds(model, batch)
        rows = paired_rows(batch)
        margin = odds - batch.values[REFERENCE][rows].to(odds)
        wanted = batch.values[WANTED][rows].to(odds)
        losses = torch.nn.functional.binary_cross_entropy_with_logits(
            self.beta * margin, wanted, reduction="sum"
        )
        return {"lm": token_losses(logits, batch.labels), "dpo": losses}


def paired_rows(batch: Batch) -> "Tensor":
    """Return the rows that are pairs, in order."""
    return batch.marks[REJECTED][:, 0].bincount(minlength=len(batch)).nonzero()[:, 0]


def logits_and_odds(model: Any, batch: Batch) -> "tuple[Tensor, Tensor]":
    """Compute the logits of all rows and the log odds of all pairs in one pass.

    The logits have the shape (rows, length, vocabulary). The log odds log pi(w) / pi(l) have the shape
    (pairs,).
    """
    import torch

    row, token, counts = batch.marks[REJECTED].unbind(1)
    lengths = torch.bincount(row, minlength=len(batch))
    lengths = lengths[lengths > 0]
    others = len(lengths)
    slot = torch.repeat_interleave(torch.arange(others, device=row.device), lengths)
    place = torch.arange(len(row), device=row.device) - (lengths.cumsum(0) - lengths)[slot]
    rows, width = batch.input_ids.shape
    longest = max(width, int(lengths.max()) if others else 0)
    ids = batch.input_ids.new_zeros(rows + others, longest)
    seen = batch.attention_mask.new_zeros(rows + others, longest)
    ids[:rows, :width], seen[:rows, :width] = batch.input_ids, batch.attention_mask
    ids[rows + slot, place], seen[rows + slot, place] = token, 1
    logits = model(input_ids=ids, attention_mask=seen, use_cache=False).logits

    def log_likelihood(text: "Tensor", at: "Tensor", pair: "Tensor") -> "Tensor":
        whole = logits[text, at - 1].to(torch.promote_types(logits.dtype, torch.float32))
        found = whole.log_softmax(-1).gather(1, ids[text, at][:, None])[:, 0]
        summed: Tensor = found.new_zeros(others).index_add(0, pair, found)
        return summed

    chosen, at = batch.marks[CHOSEN].unbind(1)
    pair = torch.searchsorted(paired_rows(batch), chosen.contiguous())
    counted = counts.bool()
    odds = log_likelihood(chosen, at, pair) - log_likelihood(
        rows + slot[counted], place[counted], slot[counted]
    )
    return logits[:rows, :width], odds


def wanted_probabilities(
    preferences: Sequence[Preference], odds: Floats, beta: float, smoothing: float, *, equal: bool
) -> Floats:
    """Return p of each pair (see the module's docstring).

    `odds` are log ref(w) / ref(l) in nats, shape (pairs,). `equal` states whether the aim is that groups are
    alike.

    >>> even = [Preference("", "An x.", "A y.")]
    >>> wanted_probabilities(even, np.array([-2.0]), 0.5, 0.0, equal=True).round(4).tolist()   # 1 / (1 + exp(-1))
    [0.7311]
    """
    if not equal:
        return np.full(len(preferences), 1 - smoothing)
    found: dict[str, dict[str, list[float]]] = {}
    for one, value in zip(preferences, odds.tolist(), strict=True):
        found.setdefault(one.frame, {}).setdefault(one.group, []).append(value)
    best = {
        frame: max(float(np.mean(values)) for values in groups.values())
        for frame, groups in found.items()
        if frame
    }
    wanted = np.array([best.get(one.frame, 0.0) for one in preferences])
    short = wanted - odds
    framed = np.array([bool(one.frame) for one in preferences])
    strength = 1 / (1 + np.exp(-beta * np.where(framed, np.maximum(short, 0), short)))
    return np.asarray(strength.clip(smoothing, 1 - smoothing))


@dataclass(frozen=True)
class PreferenceDebiasing:
    """The training method DPO.

    Parameters
    ----------
    beta : float, optional
        How closely the model stays near the base model. Default: 0.1, as published, or 1 if the aim is
        equality. The odds at the minimum are then the same for every beta, and a larger one reaches them
        sooner.
    label_smoothing : float
        Share of pairs for which the opposite may be right (conservative DPO).
    weight, lm_weight : float
        Weights of the DPO term, and of language modelling on texts outside the pairs.
    aim : {"auto", "equal", "none"}
        Where the minimum is: "equal" makes groups alike. "auto" is "equal", or "none" for pairs of the user.
    contrast, by
        The pairs that are made from texts with terms; see `make_preferences`.

    Raises
    ------
    UsageError
        An option is invalid.
    """

    name: ClassVar[str] = "dpo"
    card: ClassVar[Card] = CARD

    beta: float | None = None
    label_smoothing: float = 0.0
    weight: float = 1.0
    lm_weight: float = 1.0
    aim: Literal["auto", "equal", "none"] = "auto"
    contrast: Contrast = "groups"
    by: By = "words"

    def __post_init__(self) -> None:
        if self.beta is not None and not 0 < self.beta < np.inf:
            raise UsageError(f"beta must be a number above 0, got {self.beta!r}.", "Published: 0.1.")
        if not 0 <= self.label_smoothing < 0.5:
            raise UsageError(
                f"label_smoothing must be at least 0 and below 0.5, got {self.label_smoothing!r}.",
                "At 0.5, neither text would be preferred.",
            )

    def parameters(self) -> dict[str, Any]:
        """Return all options."""
        return asdict(self)

    def lesson(self, material: Material, tokenizer: Any, encoding: Encoding, seed: int) -> Lesson:
        """Return pairs, and texts outside them.

        Raises DataError if there are no pairs, or if the two texts of a pair are cut before they differ.
        """
        pairs = make_preferences(material, self.contrast, self.by, seed)
        of_user = any(pair.frame == "" for pair in material.preferences)
        if of_user and self.aim == "equal":
            raise UsageError(
                "aim=equal cannot be used with your own pairs (`--data`), because they do not state which groups "
                "they compare.",
                "Remove aim=equal. The default, aim=auto, then makes the chosen texts more likely than the rejected "
                "ones.",
            )
        examples = self._examples(material, pairs, tokenizer, encoding)
        equal = self.aim == "equal" or (self.aim == "auto" and not of_user)
        beta = self.beta or (AT_AN_END if equal else PUBLISHED)

        def of_base(model: Any, found: Examples) -> dict[str, Any]:
            odds = reference_odds(model, found, len(pairs))
            wanted = wanted_probabilities(pairs, odds, beta, self.label_smoothing, equal=equal)
            rest = np.zeros(len(found) - len(pairs))
            return {
                REFERENCE: np.concatenate([odds, rest]).astype(np.float32),
                WANTED: np.concatenate([wanted, rest + 0.5]).astype(np.float32),
            }

        facts = {"pairs": len(pairs), "texts": len(examples) - len(pairs), "examples": len(examples)}
        return Lesson(examples, Preferring(beta, self.weight, self.lm_weight), facts, of_base)

    def _examples(
        self, material: Material, pairs: Sequence[Preference], tokenizer: Any, encoding: Encoding
    ) -> Examples:
        ids, counted = encoded_sides(pairs, tokenizer, encoding)
        n, empty = len(pairs), np.zeros((0, 2), dtype=np.int64)
        said = {text for pair in pairs for text in whole_texts(pair)}
        texts = [text for text in material.texts if text not in said] if self.lm_weight else []
        rest = (
            list(
                encode_texts(
                    tokenizer, texts, longest=encoding.longest, start=encoding.start, end=encoding.end
                ).ids
            )
            if texts
            else []
        )
        rejected = [
            np.column_stack([one, np.isin(np.arange(len(one)), at)]).astype(np.int64)
            for one, at in zip(ids[n:], counted[n:], strict=True)
        ]
        return Examples(
            [*ids[:n], *rest],
            [*(np.full_like(one, IGNORED) for one in ids[:n]), *rest],
            {
                CHOSEN: [*(at[:, None] for at in counted[:n]), *(empty[:, :1] for _ in rest)],
                REJECTED: [*rejected, *(empty for _ in rest)],
            },
        )


def encoded_sides(
    pairs: Sequence[Preference], tokenizer: Any, encoding: Encoding
) -> tuple[list[Ints], list[Ints]]:
    """Return the tokens of all texts, and for each text the positions of the tokens after the prompt.

    All preferred texts come first, followed by all rejected texts. Raises a DataError if the two texts of a pair are
    cut before they differ.
    """
    sides, n = list_preference_texts(pairs), len(pairs)
    encoded = encode_with_places(tokenizer, [text for text, _ in sides], encoding)
    ids = list(encoded.examples.ids)
    counted = [
        encoded.lead + np.flatnonzero(offsets[:, 1] > prompt)
        for offsets, (_, prompt) in zip(encoded.offsets, sides, strict=True)
    ]
    # the first token has no context to predict it from, so it is not scored
    counted = [at[at > 0] for at in counted]
    for pair, one, other in zip(pairs, ids[:n], ids[n:], strict=True):
        if np.array_equal(one, other):
            raise DataError(
                f"Both texts of a pair are the same within {encoding.longest} tokens: "
                f"{whole_texts(pair)[0][:80]!r}.",
                "Use a larger --longest, so that they are not cut before they differ.",
            )
    return ids, counted


def reference_odds(model: Any, examples: Examples, n: int) -> Floats:
    """Return log ref(w) / ref(l) of the first n examples, which are pairs, in nats."""
    import torch

    device, found = next(model.parameters()).device, []
    with torch.no_grad():
        for first in range(0, n, ROWS):
            batch = examples.batch(range(first, min(n, first + ROWS)), 0).to(device)
            found.append(logits_and_odds(model, batch)[1].double().cpu().numpy())
    return np.concatenate(found)
