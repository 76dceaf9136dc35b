from .consistency import ATTRIBUTES as ATTRIBUTES, BOUNDARIES as BOUNDARIES, Consistency as Consistency
from .consistency_verdicts import (
    REACHED as REACHED,
    REVERSED as REVERSED,
    Boundary as Boundary,
    Decision as Decision,
    DomainEvidence as DomainEvidence,
    Outcome as Outcome,
    decide as decide,
)
from .disparity_change import (
    CHANGED as CHANGED,
    DISPARITY_CHANGE as DISPARITY_CHANGE,
    GROUP_DIFFERENCE_CHANGE as GROUP_DIFFERENCE_CHANGE,
    DisparityChange as DisparityChange,
)
from .missing_answers import explain_levels as explain_levels
from .paired_change import CHANGE as CHANGE
from .protocol_contrasts import (
    Advice as Advice,
    Contrast as Contrast,
    Share as Share,
    Spread as Spread,
    sampled_contrast as sampled_contrast,
    share_of_effect as share_of_effect,
)
from .protocol_names import (
    CONTROLS as CONTROLS,
    DOMAINS as DOMAINS,
    LEVELS as LEVELS,
    RULES as RULES,
    Importance as Importance,
    Rule as Rule,
)
