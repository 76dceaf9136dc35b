"""What makes a model treat people better, or claims to: functions from a language model to a language model."""

from evenhand.mitigations.contract import (
    Mitigated as Mitigated,
    Mitigation as Mitigation,
    Specification as Specification,
)
from evenhand.mitigations.contrastive import ContrastiveDebiasing as ContrastiveDebiasing
from evenhand.mitigations.instructions import (
    instructive_debiasing as instructive_debiasing,
    library_instruction as library_instruction,
)
from evenhand.mitigations.loading import load_mitigation as load_mitigation, mitigated as mitigated
from evenhand.mitigations.prompting import Prefix as Prefix
from evenhand.mitigations.self_debiasing import SelfDebiasing as SelfDebiasing
from evenhand.mitigations.self_diagnosis import self_diagnosis as self_diagnosis
from evenhand.mitigations.windowed_perplexity import windowed_perplexity as windowed_perplexity
