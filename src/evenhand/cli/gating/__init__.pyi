from .flags import (
    GATE as GATE,
    FailIf as FailIf,
    JUnit as JUnit,
    RequirePower as RequirePower,
    Summary as Summary,
    axes_check as axes_check,
    hold as hold,
)
