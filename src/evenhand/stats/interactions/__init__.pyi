from .other_columns import remove_other_effects as remove_other_effects
from .pair_table import PairTable as PairTable
