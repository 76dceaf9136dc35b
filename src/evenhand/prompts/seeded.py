"""Random numbers that belong to a row, not to its place: a seeded hash of each row's identifier.

Polars' own hashes may change between versions and processes; these do not.
"""

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

LONGEST_HASHED_IN_PLACE = 64  # bytes; longer identifiers are shortened by BLAKE2 first


def row_keys(ids: pl.Series, seed: int, purpose: str = "") -> NDArray[np.uint64]:
    """Pseudo-random 64-bit numbers, one per identifier, that depend on nothing but their arguments.

    ids: n strings (null counts as the empty string). seed: any integer. purpose: a word that makes the
    numbers of different uses of one seed independent. Returns an array of shape (n,).
    Source: FNV-1a over the UTF-8 bytes, finished with the splitmix64 mixer.

    >>> a = row_keys(pl.Series(["x", "y"]), seed=1)
    >>> bool((a[::-1] == row_keys(pl.Series(["y", "x"]), seed=1)).all())
    True
    """
    parts = [value or b"" for value in ids.cast(pl.String).cast(pl.Binary).to_list()]
    start = hashlib.blake2b(f"{seed}\x1f{purpose}".encode(), digest_size=8).digest()
    state = np.full(len(parts), int.from_bytes(start, "little"), dtype=np.uint64)
    if not parts:
        return state
    lengths = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
    if lengths.max() > LONGEST_HASHED_IN_PLACE:
        parts = [_shortened(part) for part in parts]
        lengths = np.fromiter((len(part) for part in parts), dtype=np.int64, count=len(parts))
    width = int(lengths.max())
    table = np.array(parts, dtype=f"S{max(width, 1)}").view(np.uint8).reshape(len(parts), -1)
    prime = np.uint64(0x100000001B3)
    for place in range(width):
        mixed = (state ^ table[:, place]) * prime
        state = np.where(place < lengths, mixed, state)
    return _mix(state)


def uniforms(ids: pl.Series, seed: int, purpose: str = "") -> NDArray[np.float64]:
    """Numbers in [0, 1), one per identifier, seeded as in `row_keys`.

    ids: n strings. seed: any integer. purpose: see `row_keys`. Returns an array of shape (n,).

    >>> draws = uniforms(pl.Series([str(i) for i in range(10_000)]), seed=3)
    >>> bool(abs(draws.mean() - 0.5) < 0.02)
    True
    """
    return (row_keys(ids, seed, purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _shortened(part: bytes) -> bytes:
    if len(part) <= LONGEST_HASHED_IN_PLACE:
        return part
    return hashlib.blake2b(part, digest_size=LONGEST_HASHED_IN_PLACE).digest()


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
