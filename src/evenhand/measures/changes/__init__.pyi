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
from .disparity_change import (
    CHANGED as CHANGED,
    DISPARITY_CHANGE as DISPARITY_CHANGE,
    GROUP_DIFFERENCE_CHANGE as GROUP_DIFFERENCE_CHANGE,
    DisparityChange as DisparityChange,
)
from .paired_change import CHANGE as CHANGE
