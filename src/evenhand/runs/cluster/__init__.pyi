from .far import (
    FarClassifier as FarClassifier,
    FarModel as FarModel,
    far_model as far_model,
)
from .hands import (
    Died as Died,
    Hands as Hands,
)
from .on_ray import (
    check_place as check_place,
    workers_on as workers_on,
)
from .placement import (
    abreast as abreast,
    where_it_is as where_it_is,
    whereabouts as whereabouts,
)
from .pool import (
    Pool as Pool,
)
from .worker import (
    Recipe as Recipe,
    Worker as Worker,
)
