from .lm_eval_tasks import (
    write_lm_eval_tasks as write_lm_eval_tasks,
)
