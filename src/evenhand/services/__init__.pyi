from .addresses import (
    address_parts as address_parts,
)
from .answers import (
    ABSENT as ABSENT,
    first_choice as first_choice,
)
from .client import (
    WHEN_BACK as WHEN_BACK,
    Answer as Answer,
    ServiceClient as ServiceClient,
)
from .clusters import (
    BELONGS as BELONGS,
    CLIENT as CLIENT,
    LOCAL as LOCAL,
    ray_cluster as ray_cluster,
)
from .refusals import (
    Refusals as Refusals,
    note_earlier_responses as note_earlier_responses,
)
from .responses import (
    LARGEST as LARGEST,
)
from .store import (
    AnswerStore as AnswerStore,
    answer_key as answer_key,
    answer_store_path as answer_store_path,
)
