from .model_options import (
    load_named_model as load_named_model,
)
from .options import (
    validated as validated,
)
from .pushing import (
    Pushed as Pushed,
    folder_scalars as folder_scalars,
    push as push,
)
from .result import (
    StudyResult as StudyResult,
)
