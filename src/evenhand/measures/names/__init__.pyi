from .intersections import GroupBins as GroupBins, intersectional_token_bins as intersectional_token_bins
from .token_bins import TokenBins as TokenBins
