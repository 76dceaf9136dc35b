from .build import (
    BuildOptions as BuildOptions,
    build_advpromptset as build_advpromptset,
)
from .embedding import (
    SentenceEmbedding as SentenceEmbedding,
)
from .loading import (
    load_advpromptset as load_advpromptset,
)
from .pieces import (
    HINT as HINT,
    IDENTITIES as IDENTITIES,
    METADATA as METADATA,
)
from .terms import (
    read_terms as read_terms,
)
