from .head import (
    MOST_LOGITS as MOST_LOGITS,
    can_choose as can_choose,
    log_probs_of as log_probs_of,
    logits_at as logits_at,
    most_targets as most_targets,
    survives_padding as survives_padding,
)
from .pairs import (
    TextPairs as TextPairs,
    text_pairs as text_pairs,
)
from .scorer import (
    Scorer as Scorer,
    ScoringPath as ScoringPath,
)
from .self_check import (
    choose_path as choose_path,
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
