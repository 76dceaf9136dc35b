from .fetching import (
    fetch as fetch,
)
from .register import (
    dataset as dataset,
    dataset_folder as dataset_folder,
    first_fetched as first_fetched,
    found_file as found_file,
    list_datasets as list_datasets,
    recognised_version as recognised_version,
)
from .unpinned import (
    FIRST_FETCHED as FIRST_FETCHED,
)
