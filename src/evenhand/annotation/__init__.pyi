from .analysis import (
    PeopleStudy as PeopleStudy,
    analyse as analyse,
)
from .building import (
    Built as Built,
    build_study as build_study,
)
from .definition import (
    Study as Study,
    read_study as read_study,
)
from .exports import (
    Export as Export,
    classifier_error_table as classifier_error_table,
    read_export as read_export,
    write_export as write_export,
)
from .store import (
    Store as Store,
    begin_study as begin_study,
    open_store as open_store,
)
