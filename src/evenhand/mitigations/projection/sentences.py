"""Sentences that differ only in the group that they are about; projections learn their directions from them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.mitigations.training import By, CounterfactualAugmentation, Material
from evenhand.schema import DataError

Ints = NDArray[np.int64]
FEWEST_FRAMES = 8
"""Minimum number of frames; with fewer, none could be held out."""


@dataclass(frozen=True)
class GroupedSentences:
    """Sentences, each with its group and its frame. A frame is the sentence without its mention of the group.

    ``texts`` are n sentences. ``groups`` and ``frames`` (n,) are codes, and ``names`` the names of the groups. Each
    frame occurs with every group.
    """

    texts: tuple[str, ...]
    groups: Ints
    frames: Ints
    names: tuple[str, ...]

    def held_out(self, share: float, seed: int) -> NDArray[np.bool_]:
        """Return True for held-out sentences (n,). Sentences with the same frame are either all held out or none."""
        numbers = np.unique(self.frames)
        random = np.random.default_rng([seed, 4])
        kept = random.permutation(numbers)[: max(1, round(share * len(numbers)))]
        return np.isin(self.frames, kept)

    def tuples(self, seed: int) -> Ints:
        """Return indices (m, groups) of sentences with the same frame, one about each group. Each sentence occurs at
        least once.

        If a group has fewer descriptors than another, they are repeated in random order.
        """
        random, found = np.random.default_rng([seed, 5]), []
        for frame in np.unique(self.frames):
            sides = [
                random.permutation(np.flatnonzero((self.frames == frame) & (self.groups == group)))
                for group in range(len(self.names))
            ]
            longest = max(map(len, sides))
            found.append(np.column_stack([np.resize(side, longest) for side in sides]))
        return np.concatenate(found)


def grouped_sentences(material: Material, by: By, seed: int) -> GroupedSentences:
    """Return the sentences of a training material, by group and frame.

    For evenhand's own sentences, these are the hostile and kind sentences about all groups of an axis. For texts with
    terms, these are the texts about the first group, each also rewritten about the second by the rule `by` (see
    `CounterfactualAugmentation`). Raises a DataError if there are too few sentences or no groups.
    """
    rows: list[tuple[str, str, str]] = []
    if material.preferences:
        for one in material.preferences:
            rows += [
                (one.chosen, one.group, f"{one.frame}, kind"),
                (one.rejected, one.group, f"{one.frame}, hostile"),
            ]
    else:
        others = CounterfactualAugmentation(by, "one").counterfactuals(material, seed)
        for number, (text, other) in enumerate(zip(material.texts, others, strict=True)):
            if text != other:
                rows += [
                    (text, material.groups[0], str(number)),
                    (other, material.groups[1], str(number)),
                ]
    texts, groups, frames = zip(*rows, strict=True) if rows else ((), (), ())
    names, frame_names = tuple(dict.fromkeys(groups)), tuple(dict.fromkeys(frames))
    if len(names) < 2:
        raise DataError(
            f"No sentences of {material.bias} differ only in the group that they mention, so this method cannot "
            "compare groups.",
            "Use --bias evenhand/AXIS, or a bias type or --specification whose words are in the texts. Pairs of "
            "chosen and rejected texts are for --method dpo.",
        )
    if len(frame_names) < FEWEST_FRAMES:
        raise DataError(
            f"Only {len(frame_names)} texts of {material.bias} could be rewritten for another group, but at least "
            f"{FEWEST_FRAMES} are required.",
            f"Give more texts that contain words of {material.bias}.",
        )
    return GroupedSentences(tuple(texts), _numbers(groups, names), _numbers(frames, frame_names), names)


def _numbers(values: Sequence[str], names: Sequence[str]) -> Ints:
    places = {name: place for place, name in enumerate(names)}
    return np.array([places[value] for value in values], dtype=np.int64)
