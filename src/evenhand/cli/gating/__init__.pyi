from .flags import (
    GATE as GATE,
    FailIf as FailIf,
    JUnit as JUnit,
    RequirePower as RequirePower,
    Summary as Summary,
    hold as hold,
)
