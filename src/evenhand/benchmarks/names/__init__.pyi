from .recipes import analysis_of as analysis_of
from .rows import (
    genderedness as genderedness,
    group_tokens as group_tokens,
    occupations_by as occupations_by,
    tokens as tokens,
)
