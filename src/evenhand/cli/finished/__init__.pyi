from .agreeing import (
    agreement as agreement,
)
from .reporting import (
    report as report,
)
from .rescoring import (
    rescore as rescore,
)
