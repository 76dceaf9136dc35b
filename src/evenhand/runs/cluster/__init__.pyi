from .far import (
    FarClassifier as FarClassifier,
    FarModel as FarModel,
    abreast as abreast,
    far_model as far_model,
    where_it_is as where_it_is,
    whereabouts as whereabouts,
)
from .hands import (
    Died as Died,
    Hands as Hands,
)
from .on_ray import (
    check_place as check_place,
    workers_on as workers_on,
)
from .pool import (
    Pool as Pool,
)
from .worker import (
    Recipe as Recipe,
    Worker as Worker,
)
