from .missing_classifiers import (
    forgotten_classifier as forgotten_classifier,
    load_only_classifier as load_only_classifier,
)
from .model_index import (
    model_card as model_card,
)
from .model_options import (
    load_named_model as load_named_model,
)
from .pictured import (
    picture_of as picture_of,
)
from .placing import (
    start_place as start_place,
)
from .plain_page import (
    PlainTable as PlainTable,
)
from .provenance import (
    citations as citations,
)
from .pushing import (
    Pushed as Pushed,
    folder_scalars as folder_scalars,
    push as push,
)
from .reopened import (
    Reopened as Reopened,
    open_result as open_result,
)
from .result import (
    StudyResult as StudyResult,
)
