from .dstc7 import (
    Asked as Asked,
    Exchange as Exchange,
    read_asked as read_asked,
    read_exchanges as read_exchanges,
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
