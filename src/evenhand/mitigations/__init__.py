"""What makes a model treat people better, or claims to: functions from a language model to a language model."""

from evenhand.mitigations.contract import (
    Mitigated as Mitigated,
    Mitigation as Mitigation,
    Specification as Specification,
)
