from .changes import (
    Change as Change,
    Counterfactual as Counterfactual,
    undo as undo,
)
from .engine import (
    Counterfactuals as Counterfactuals,
)
from .tables import (
    changes_of as changes_of,
    check_ending as check_ending,
    counterfactuals as counterfactuals,
    write_counterfactuals as write_counterfactuals,
)
from .vocabulary import (
    axes as axes,
)
