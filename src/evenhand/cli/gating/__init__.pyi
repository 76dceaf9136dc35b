from .flags import (
    GATE as GATE,
    KINDS as KINDS,
    FailIf as FailIf,
    JUnit as JUnit,
    RequirePower as RequirePower,
    Summary as Summary,
    conditions_check as conditions_check,
    hold as hold,
)
