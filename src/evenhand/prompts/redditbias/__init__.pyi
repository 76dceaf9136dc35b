from .annotation import (
    read_annotations as read_annotations,
)
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
from .cleaning import (
    clean as clean,
    clean_as_published as clean_as_published,
    clean_comments as clean_comments,
)
from .counterparts import (
    by_words as by_words,
    make_counterpart as make_counterpart,
    residues as residues,
    with_attributes_swapped as with_attributes_swapped,
    with_counterparts as with_counterparts,
)
from .filtering import (
    extract_phrases as extract_phrases,
    with_single_target as with_single_target,
)
from .pairs import (
    SPLITS as SPLITS,
    load_human_references as load_human_references,
    load_redditbias as load_redditbias,
    load_training_phrases as load_training_phrases,
    training_source as training_source,
)
from .pipeline import (
    BuiltPairs as BuiltPairs,
    Steps as Steps,
    build_redditbias as build_redditbias,
)
from .splits import (
    draw_split as draw_split,
    train_and_held_out as train_and_held_out,
    valid_and_test as valid_and_test,
)
