"""What makes a model treat people better, or claims to: functions from a language model to a language model."""

from evenhand.mitigations.contract import (
    Mitigated as Mitigated,
    Mitigation as Mitigation,
    Specification as Specification,
)
from evenhand.mitigations.loading import load_mitigation as load_mitigation, mitigated as mitigated
from evenhand.mitigations.prompting.instructions import (
    instructive_debiasing as instructive_debiasing,
    library_instruction as library_instruction,
)
from evenhand.mitigations.prompting.prefix import Prefix as Prefix
from evenhand.mitigations.steering.contrastive import ContrastiveDebiasing as ContrastiveDebiasing
from evenhand.mitigations.steering.perplexity import windowed_perplexity as windowed_perplexity
from evenhand.mitigations.steering.self_debiasing import (
    SelfDebiasing as SelfDebiasing,
    self_diagnosis as self_diagnosis,
)
