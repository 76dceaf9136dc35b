from .intersections import GroupBins as GroupBins, intersectional_token_bins as intersectional_token_bins
from .self_chats import NameCounts as NameCounts, name_counts as name_counts
from .token_bins import TokenBins as TokenBins
