from .likeness import (
    Block as Block,
    Likeness as Likeness,
    SimilarityDifference as SimilarityDifference,
    compare_blocks as compare_blocks,
    mean_difference as mean_difference,
)
