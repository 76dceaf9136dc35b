"""Sample documents by a hash, so that any division of the work gives the same sample."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class Draw:
    """A sample of positions in a file, or of texts, with the same probability for each."""

    share: float
    seed: int
    name: str = ""
    """Name of the file, without the folder of the corpus; "" for texts."""

    @classmethod
    def for_places(cls, options: ReadingOptions, name: str) -> "Draw":
        """Return the sample of positions in a file. It contains all positions if texts are
        sampled (without duplicates).
        """
        return cls(1.0 if options.duplicates == "drop" else options.sample, options.seed, name)

    @classmethod
    def for_texts(cls, options: ReadingOptions) -> "Draw":
        """Return the sample of text digests. It contains all digests if positions are sampled."""
        return cls(options.sample if options.duplicates == "drop" else 1.0, options.seed)

    @property
    def draws_all(self) -> bool:
        return self.share >= 1

    @cached_property
    def _key(self) -> np.uint64:
        digest = hashlib.sha256(f"evenhand draw\0{self.seed}\0{self.name}".encode()).digest()
        return np.uint64(int.from_bytes(digest[:8], "little"))

    def are_drawn(self, places: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return whether positions (or digests) are in the sample: (n,) integers to (n,) booleans.

        >>> float(Draw(0.25, seed=1, name="a.txt").are_drawn(np.arange(100_000)).mean().round(2))
        0.25
        """
        if self.draws_all:
            return np.ones(len(places), dtype=np.bool_)
        return _mix_bits(places.astype(np.uint64) ^ self._key) < np.uint64(self.share * 2**64)

    def draws(self, place: int) -> bool:
        """Return whether one position is in the sample."""
        return self.draws_all or bool(self.are_drawn(np.array([place]))[0])


def _mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return hashed values: SplitMix64's finisher (Steele, Lea and Flood 2014) on a Weyl sequence, for independence."""
    values = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
