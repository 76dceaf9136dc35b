from .dstc7 import (
    DialogueContext as DialogueContext,
    Exchange as Exchange,
    read_exchanges as read_exchanges,
    read_test_contexts as read_test_contexts,
)
from .multiwoz import (
    MultiWoz as MultiWoz,
    Turn as Turn,
    read_multiwoz as read_multiwoz,
)
from .state_pairs import (
    StatePair as StatePair,
    StatePairs as StatePairs,
    classification_pairs as classification_pairs,
)
