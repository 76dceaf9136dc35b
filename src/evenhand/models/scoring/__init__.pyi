from .head import (
    MOST_LOGITS as MOST_LOGITS,
    can_choose as can_choose,
    compute_logits as compute_logits,
    largest_difference as largest_difference,
    most_targets as most_targets,
    survives_padding as survives_padding,
    token_log_probs as token_log_probs,
    tolerance as tolerance,
)
from .pairs import (
    TextPairs as TextPairs,
    text_pairs as text_pairs,
)
from .prefix_tree import (
    build_tree as build_tree,
    cut_segments as cut_segments,
    owned_edges as owned_edges,
    packed_segments as packed_segments,
)
from .scorer import (
    Scorer as Scorer,
    ScoringPath as ScoringPath,
)
from .self_check import (
    FAILURES as FAILURES,
    check_path_at_length as check_path_at_length,
    choose_path as choose_path,
    describe_error as describe_error,
    turning_points as turning_points,
    without_padding as without_padding,
)
from .tokens import (
    TokenSequences as TokenSequences,
    encode as encode,
)
from .two_passes import (
    Scores as Scores,
    reads_first_alone as reads_first_alone,
    score_start_apart as score_start_apart,
    start_apart as start_apart,
)
