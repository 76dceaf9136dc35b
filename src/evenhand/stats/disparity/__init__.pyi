from .deals import (
    Deals as Deals,
    all_pairs_of as all_pairs_of,
    deal as deal,
    leave_one_out as leave_one_out,
    smallest_p as smallest_p,
)
from .units import Units as Units
