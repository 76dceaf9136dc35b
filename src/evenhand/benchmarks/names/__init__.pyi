from .recipes import combine_analyses as combine_analyses
from .rows import (
    genderedness as genderedness,
    group_tokens as group_tokens,
    make_occupation_analysis as make_occupation_analysis,
    tokens as tokens,
)
