"""Divide the pieces of a corpus into ranks: units of work that are counted and saved as a whole."""

from collections.abc import Sequence

from evenhand.corpus.reading import Piece

LARGEST = 256 * 2**20
"""Maximum number of stored bytes of a rank: seconds of work, so that a kill loses little."""
SMALL = 8 * 2**20
"""Minimum number of stored bytes for an additional process, which takes seconds to start."""
MOST_PIECES = 4096
"""Maximum number of pieces per rank, so that many small files do not make one rank too long."""


def divide_pieces(
    pieces: Sequence[Piece], largest: int = LARGEST, workers: int = 1
) -> list[tuple[Piece, ...]]:
    """Divide pieces of a corpus among tasks (ranks), in their order.

    Parameters
    ----------
    pieces : sequence of Piece
        The pieces.
    largest : int
        Maximum number of bytes of a rank. A single piece may be larger.
    workers : int, default 1
        Number of workers. Each gets at least one rank if there is enough to read.

    Returns
    -------
    list of tuple of Piece
        The pieces of each rank.

    Examples
    --------
    >>> def piece(size): return Piece("web", f"{size}.txt", "text", size)
    >>> [[one.size for one in rank] for rank in divide_pieces([piece(3), piece(4), piece(9), piece(1)], largest=8)]
    [[3, 4], [9], [1]]
    >>> len(divide_pieces([piece(30 * SMALL)] * 8, workers=4))
    8
    """
    each = -(-sum(piece.size for piece in pieces) // workers)
    wanted = min(largest, max(SMALL, each))
    ranks: list[tuple[Piece, ...]] = []
    rank: list[Piece] = []
    size = 0
    for piece in pieces:
        if rank and (size + piece.size > wanted or len(rank) >= MOST_PIECES):
            ranks.append(tuple(rank))
            rank, size = [], 0
        rank.append(piece)
        size += piece.size
    return [*ranks, tuple(rank)] if rank else ranks
