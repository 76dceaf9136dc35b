from .inspect_tasks import (
    inspect_dataset as inspect_dataset,
    inspect_scorer as inspect_scorer,
    inspect_task as inspect_task,
)
from .lm_eval_tasks import (
    write_lm_eval_tasks as write_lm_eval_tasks,
)
