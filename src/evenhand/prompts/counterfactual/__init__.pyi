from .changes import (
    Change as Change,
    Counterfactual as Counterfactual,
    undo as undo,
)
from .engine import (
    Counterfactuals as Counterfactuals,
)
from .vocabulary import (
    axes as axes,
)
