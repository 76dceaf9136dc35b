from .consistency import ATTRIBUTES as ATTRIBUTES, Consistency as Consistency
from .consistency_verdicts import (
    CONTROLS as CONTROLS,
    DOMAINS as DOMAINS,
    LEVELS as LEVELS,
    RULES as RULES,
    Change as Change,
    Decision as Decision,
    DomainEvidence as DomainEvidence,
    Outcome as Outcome,
    Rule as Rule,
    decide as decide,
)
from .paired_change import CHANGE as CHANGE
