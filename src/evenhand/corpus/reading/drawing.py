"""Which documents are drawn for a sample: by a hash, so that any division of the work draws the same."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.corpus.reading.options import ReadingOptions


@dataclass(frozen=True)
class Draw:
    """Draws places of a file, or texts, with a share that is the same for each of them."""

    share: float
    seed: int
    name: str = ""
    """Name of the file, without the folder of the corpus; "" for texts."""

    @classmethod
    def of_places(cls, options: ReadingOptions, name: str) -> "Draw":
        """For the places of a file; draws all where repeated texts are dropped, as then texts are drawn."""
        return cls(1.0 if options.duplicates == "drop" else options.sample, options.seed, name)

    @classmethod
    def of_texts(cls, options: ReadingOptions) -> "Draw":
        """For digests of texts; draws all where places are drawn."""
        return cls(options.sample if options.duplicates == "drop" else 1.0, options.seed)

    @property
    def draws_all(self) -> bool:
        return self.share >= 1

    @cached_property
    def _key(self) -> np.uint64:
        digest = hashlib.sha256(f"evenhand draw\0{self.seed}\0{self.name}".encode()).digest()
        return np.uint64(int.from_bytes(digest[:8], "little"))

    def drawn(self, places: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Which places (or digests) are in the sample: (n,) integers to (n,) booleans.

        >>> float(Draw(0.25, seed=1, name="a.txt").drawn(np.arange(100_000)).mean().round(2))
        0.25
        """
        if self.draws_all:
            return np.ones(len(places), dtype=np.bool_)
        return _mixed(places.astype(np.uint64) ^ self._key) < np.uint64(self.share * 2**64)

    def draws(self, place: int) -> bool:
        """Whether one place is in the sample."""
        return self.draws_all or bool(self.drawn(np.array([place]))[0])


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's finisher (Steele, Lea and Flood 2014) on a Weyl sequence: neighbours share nothing."""
    values = (values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
