from .asking import (
    AskedPrompts as AskedPrompts,
    asked_about as asked_about,
    read_own as read_own,
    read_review as read_review,
    write_review as write_review,
)
from .changes import (
    Change as Change,
    Counterfactual as Counterfactual,
    undo as undo,
)
from .engine import (
    Counterfactuals as Counterfactuals,
)
from .tables import (
    check_ending as check_ending,
    counterfactuals as counterfactuals,
    list_changes as list_changes,
    write_counterfactuals as write_counterfactuals,
)
from .vocabulary import (
    axes as axes,
)
