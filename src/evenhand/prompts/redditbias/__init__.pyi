from .bias_types import (
    BIAS_TYPES as BIAS_TYPES,
    Misprint as Misprint,
    OneWay as OneWay,
    Piece as Piece,
    Pieces as Pieces,
    Specification as Specification,
    load_specification as load_specification,
    specification as specification,
)
from .pairs import (
    SPLITS as SPLITS,
    load_human_references as load_human_references,
    load_redditbias as load_redditbias,
)
