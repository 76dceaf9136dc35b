from .change import GroupChanges as GroupChanges, group_changes as group_changes
from .non_inferiority import no_worse as no_worse
