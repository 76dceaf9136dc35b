from .model_options import (
    load_named_model as load_named_model,
)
from .options import (
    validated as validated,
)
from .result import (
    StudyResult as StudyResult,
)
