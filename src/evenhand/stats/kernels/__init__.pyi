from .likeness import (
    Apart as Apart,
    Block as Block,
    Likeness as Likeness,
    compare_blocks as compare_blocks,
    mean_difference as mean_difference,
)
