"""Build pairs of a preferred and a rejected text from a material, from texts and their counterparts, or from a file.

A preference must not reverse a bias. If a sentence has a kind and a hostile version, the kind one is preferred for
every group. If a pair states a stereotype about two groups, neither text is better. Training on such a pair makes sense
only if it stops when both texts are equally likely (see dpo.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from evenhand.mitigations.training.data.cda import CounterfactualAugmentation
from evenhand.mitigations.training.data.own_sentences import WATCHED, generate_texts
from evenhand.mitigations.training.examples import Ints
from evenhand.mitigations.training.material import Encoding, Material, Preference
from evenhand.mitigations.training.validation import BIAS, Floats, Validation
from evenhand.prompts.own_files import READERS, read_table, require_columns, text_column
from evenhand.prompts.redditbias import by_words
from evenhand.schema import DataError

By = Literal["words", "published", "engine"]
Contrast = Literal["groups", "attributes"]
COLUMNS = ("prompt", "chosen", "rejected")
PAIRS = (
    "Give a table (.csv, .jsonl, .parquet) with the columns prompt (it may be empty), chosen and rejected."
)
WATCHED_SHARE = 0.1
"""Share of the user's pairs held out for monitoring."""
FEWEST = 10


@dataclass(frozen=True)
class PreferredTexts:
    """Validation pairs of a preferred and a rejected text.

    `bias` is the share of pairs in which the other text is more likely. `margin` is how much more likely the
    first text is, in nats per text.
    """

    chosen: tuple[str, ...]
    rejected: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the preferred texts, then the others."""
        return (*self.chosen, *self.rejected)

    def values(self, sums: Floats, counts: Ints) -> dict[str, float]:
        """Return `bias` and `margin`; the common prompt of a pair does not affect the difference."""
        first, second = np.split(sums, 2)
        return {BIAS: float((second > first).mean()), "margin": float((first - second).mean())}

    @property
    def units(self) -> int:
        """Return the number of pairs."""
        return len(self.chosen)

    def rows(self, units: Ints) -> Ints:
        """Return the rows of both texts of some pairs."""
        return np.concatenate([units, len(self.chosen) + units])

    def part(self, units: Ints) -> "PreferredTexts":
        """Return some of the pairs."""
        return PreferredTexts(tuple(self.chosen[i] for i in units), tuple(self.rejected[i] for i in units))


def make_preferences(material: Material, contrast: Contrast, by: By, seed: int) -> tuple[Preference, ...]:
    """Return the pairs of a material, or pairs of each text with its counterpart.

    With the contrast "groups", the text is rejected and the same text about the other group is chosen. With
    "attributes", the text is rejected and the same text with the attributes of A2 in place of those of A1 is
    chosen. Both are added about the other group as well, so that no group is spared. `by` is how a group is
    replaced (see `CounterfactualAugmentation`). Raises DataError if no text has a counterpart.
    """
    if material.preferences:
        return material.preferences
    others = CounterfactualAugmentation(by, "one").counterfactuals(material, seed)
    both = [(text, other) for text, other in zip(material.texts, others, strict=True) if text != other]
    if not both:
        raise DataError(
            f"None of the {len(material.texts):,} texts contains a term of {material.bias} that could be replaced.",
            f"Pairs: {', '.join((f'{a}/{b}' for a, b in material.pairs[:8])) or 'none'}. Give texts that contain "
            "them, or pairs of your own: --data FILE with the columns prompt, chosen, rejected.",
        )
    if contrast == "groups":
        return tuple(Preference("", other, text) for text, other in both)
    attributes = getattr(material.specification, "attribute_pairs", ())
    if not attributes:
        raise DataError(
            f"The specification of {material.bias} has no counterparts.attribute_pairs, so the alternative to a "
            "stereotype is not known.",
            "Add them (docs/how-to/build_redditbias_pairs.md), or remove contrast=attributes.",
        )
    swapped = by_words(attributes)
    pairs = tuple(
        Preference("", better, text, f"text {number}", group)
        for number, texts in enumerate(both)
        for text, group in zip(texts, material.groups, strict=True)
        if (better := swapped(text)) != text
    )
    if not pairs:
        raise DataError(
            f"No text of {material.bias} contains an attribute that could be replaced.",
            f"Attributes: {', '.join((first for first, _ in attributes[:8]))}. Give texts that contain them.",
        )
    return pairs


def holds_preferences(file: Path) -> bool:
    """Return whether a file is a table of pairs, by its columns chosen and rejected.

    Raises DataError if it cannot be read.
    """
    if file.suffix.lower() not in READERS:
        return False
    return {"chosen", "rejected"} <= set(read_table(file, PAIRS).columns)


def own_preferences(
    file: Path, model: Any, tokenizer: Any, encoding: Encoding, pad: int, seed: int
) -> tuple[Material, Validation]:
    """Return the user's pairs: nine in ten for training, and the rest for validation.

    `file` is a table with the columns prompt, chosen and rejected. `model` generates as many texts as there
    are pairs. They are learned together with the pairs, so that the model's language stays the same. Raises
    DataError for an invalid file; the message names the row.
    """
    pairs = read_preferences(file)
    random = np.random.default_rng([seed, 3])
    order = random.permutation(len(pairs)).tolist()
    kept = [pairs[i] for i in sorted(order[: max(1, round(WATCHED_SHARE * len(pairs)))])]
    learned = [pairs[i] for i in sorted(order[len(kept) :])]
    written = generate_texts(model, tokenizer, encoding, pad, WATCHED + len(learned), seed)
    material = Material(
        bias=f"preferences in {file.name}",
        groups=("chosen", "rejected"),
        pairs=(),
        attributes=(),
        texts=tuple(written[WATCHED:]),
        preferences=tuple(learned),
    )
    chosen, rejected = zip(*map(whole_texts, kept), strict=True)
    return material, Validation(PreferredTexts(chosen, rejected), tuple(written[:WATCHED]))


def read_preferences(file: Path) -> list[Preference]:
    """Read the pairs of a table with the columns prompt, chosen and rejected. Raises DataError."""
    table = read_table(file, PAIRS)
    require_columns(table, COLUMNS, file, PAIRS)
    columns = [text_column(table, name, file) for name in COLUMNS]
    pairs = [
        Preference(prompt or "", chosen or "", rejected or "")
        for prompt, chosen, rejected in pl.DataFrame(columns).iter_rows()
    ]
    for number, pair in enumerate(pairs, 1):
        if not pair.chosen.strip() or not pair.rejected.strip() or pair.chosen == pair.rejected:
            raise DataError(
                f"{file}, row {number}: chosen and rejected must be two different texts, got {pair.chosen!r} and "
                f"{pair.rejected!r}.",
                "Remove the row, or complete it.",
            )
    if len(pairs) < FEWEST:
        raise DataError(
            f"{file} contains {len(pairs)} pairs, but at least {FEWEST} are required (a tenth is used for "
            "validation).",
            PAIRS,
        )
    return pairs


def whole_texts(pair: Preference) -> tuple[str, str]:
    """Return the preferred text and the other one, each after its prompt.

    >>> whole_texts(Preference("They are", "kind.", "rude."))
    ('They are kind.', 'They are rude.')
    """
    return (front(pair, pair.chosen) + pair.chosen, front(pair, pair.rejected) + pair.rejected)


def front(pair: Preference, continuation: str) -> str:
    """Return a prompt as it precedes a continuation: with a space in between, unless there is one."""
    prompt = pair.prompt
    return prompt if not prompt or prompt[-1].isspace() or continuation[:1].isspace() else f"{prompt} "


def list_preference_texts(pairs: Sequence[Preference]) -> list[tuple[str, int]]:
    """Return all preferred texts and then all others, each with the number of characters of its prompt."""
    chosen = [(whole_texts(pair)[0], len(front(pair, pair.chosen).rstrip())) for pair in pairs]
    return chosen + [(whole_texts(pair)[1], len(front(pair, pair.rejected).rstrip())) for pair in pairs]
