from .conduct import (
    Case as Case,
    check_conditions as check_conditions,
)
from .grammar import (
    AUDIT as AUDIT,
    COMPARISON as COMPARISON,
    PROTOCOL as PROTOCOL,
    Condition as Condition,
    Power as Power,
    parse_condition as parse_condition,
    parse_power as parse_power,
)
from .junit import (
    junit_xml as junit_xml,
    write_junit as write_junit,
)
from .result import (
    GateOutcome as GateOutcome,
    gate as gate,
)
from .summary import (
    markdown as markdown,
    write_summary as write_summary,
)
