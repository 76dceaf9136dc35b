from .contract import (
    Answer as Answer,
    Mitigated as Mitigated,
    Mitigation as Mitigation,
    Specification as Specification,
)
from .loading import (
    as_chain as as_chain,
    load_mitigation as load_mitigation,
    mitigated as mitigated,
    mitigation_cards as mitigation_cards,
)
from .prompting.instructions import (
    instructive_debiasing as instructive_debiasing,
    library_instruction as library_instruction,
)
from .prompting.prefix import (
    Prefix as Prefix,
)
from .steering.contrastive import (
    ContrastiveDebiasing as ContrastiveDebiasing,
)
from .steering.perplexity import (
    windowed_perplexity as windowed_perplexity,
)
from .steering.self_debiasing import (
    SelfDebiasing as SelfDebiasing,
    self_diagnosis as self_diagnosis,
)
