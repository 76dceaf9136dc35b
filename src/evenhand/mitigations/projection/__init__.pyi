from .folding import (
    fold as fold,
)
from .inlp import (
    NullspaceProjection as NullspaceProjection,
    Removal as Removal,
    nullspace_directions as nullspace_directions,
)
from .sentence_debias import (
    SentenceDebias as SentenceDebias,
    find_directions as find_directions,
)
from .sentences import (
    GroupedSentences as GroupedSentences,
    grouped_sentences as grouped_sentences,
)
from .states import (
    mean_states as mean_states,
)
