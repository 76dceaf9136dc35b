from .documents import (
    FOLDS as FOLDS,
    Batch as Batch,
    Piece as Piece,
    Reason as Reason,
)
