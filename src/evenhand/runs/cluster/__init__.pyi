from .actors import (
    Actors as Actors,
    WorkerDied as WorkerDied,
)
from .on_ray import (
    check_place as check_place,
    start_workers as start_workers,
)
from .placement import (
    count_copies as count_copies,
    describe_workers as describe_workers,
    run_where_loaded as run_where_loaded,
)
from .pool import (
    Pool as Pool,
)
from .remote_objects import (
    RemoteClassifier as RemoteClassifier,
    RemoteModel as RemoteModel,
    load_remote_model as load_remote_model,
)
from .worker import (
    Recipe as Recipe,
    Worker as Worker,
)
