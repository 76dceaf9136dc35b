from .register import (
    dataset as dataset,
    dataset_folder as dataset_folder,
    fetch as fetch,
    found_file as found_file,
    list_datasets as list_datasets,
    recognised_version as recognised_version,
)
