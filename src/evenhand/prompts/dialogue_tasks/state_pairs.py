"""Dialogue state tracking as a yes-no question: does the user's utterance add this slot value?"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.prompts.dialogue_tasks.multiwoz import MultiWoz, SlotValue, Split
from evenhand.schema import DataError

SEED = 42
SEPARATOR = " [SEP] "
REMAPPED = {
    "pricerange": "hotel-price range",
    "arriveby": "train-arrive by",
    "leaveat": "train-leave at",
}
"""Slots under which the published program looks up these values, in every domain."""


@dataclass(frozen=True)
class StatePair:
    """One question: the turn, a slot value, and whether the value is new in this turn's belief state."""

    dialogue: str
    turn: int
    system: str
    user: str
    slot: str
    value: str
    is_new: bool

    @property
    def front(self) -> str:
        """Return the text before the slot value: system utterance, " [SEP] " and user utterance."""
        return f"{self.system}{SEPARATOR}{self.user}"

    @property
    def slot_value(self) -> str:
        """Return the slot value as text.

        >>> StatePair("d", 0, "", "a cheap room", "hotel-pricerange", "cheap", True).slot_value
        'hotel-pricerange-cheap'
        """
        return f"{self.slot}-{self.value}"


@dataclass(frozen=True)
class StatePairs:
    """The questions of one split in order, and the slot values without a negative question, by reason."""

    pairs: tuple[StatePair, ...]
    without_negative: Mapping[str, int]

    @property
    def base_rate(self) -> float:
        """Return the share of questions with the answer yes."""
        return sum(pair.is_new for pair in self.pairs) / len(self.pairs)


def classification_pairs(
    data: MultiWoz, split: Split, *, as_published: bool = False, seed: int = SEED
) -> StatePairs:
    """Return a question for each new slot value of each turn, followed by one about a wrong value of the same slot.

    Parameters
    ----------
    data : MultiWoz
        The dialogues.
    split : str
        Name of the split. Wrong values are also sampled for the test set.
    as_published : bool
        True: look values up under three renamed slots (REMAPPED), and ask no negative question if the sampled value is
        part of the right one. False: sample only values that neither contain the right one nor are part of it.
    seed : int
        Random seed, used again for each split.

    Raises
    ------
    DataError
        The split has no slot value.

    References
    ----------
    - Barikeri et al. 2021, section 3.2, and their published program. Its samples need its preprocessed files to be
      reproduced.
    """
    draw = random.Random(seed)
    values = dict(data.ontology) if as_published else _by_plain_name(data)
    pairs: list[StatePair] = []
    without: dict[str, int] = {}
    for turn in data.turns[split]:
        for slot, value in turn.slot_values:
            here = (turn.dialogue, turn.number, turn.system, turn.user, slot)
            pairs.append(StatePair(*here, value, True))
            other = _draw_wrong_value(draw, (slot, value), values, as_published)
            if other is None:
                reason = "no such slot" if _key(slot, as_published) not in values else "no other value"
                without[reason] = without.get(reason, 0) + 1
            else:
                pairs.append(StatePair(*here, other, False))
    if not pairs:
        raise DataError(
            f"No turn of the {split} dialogues has a slot value.",
            "Belief states are expected in the metadata of system turns.",
        )
    return StatePairs(tuple(pairs), without)


def _draw_wrong_value(
    draw: random.Random, right: SlotValue, values: Mapping[str, Sequence[str]], as_published: bool
) -> str | None:
    slot, value = right
    listed = values.get(_key(slot, as_published), ())
    if not as_published:
        listed = [one for one in listed if one not in value and value not in one]
    if not listed:
        return None
    other = draw.choice(listed)
    return None if other in value else other


def _key(slot: str, as_published: bool) -> str:
    if not as_published:
        return slot.replace(" ", "").lower()
    return next((name for part, name in REMAPPED.items() if part in slot), slot)


def _by_plain_name(data: MultiWoz) -> dict[str, tuple[str, ...]]:
    """Return values by slot in the spelling of belief states ("pricerange" for "price range")."""
    return {slot.replace(" ", "").lower(): values for slot, values in data.ontology.items()}
