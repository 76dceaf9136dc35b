from .flip_power import (
    correlation_within as correlation_within,
    smallest_shift as smallest_shift,
)
from .flips import (
    ClusterFlip as ClusterFlip,
    cluster_flip as cluster_flip,
    smallest_flip_p as smallest_flip_p,
)
