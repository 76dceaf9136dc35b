from .change import group_changes as group_changes
from .non_inferiority import no_worse as no_worse
from .results import GroupChanges as GroupChanges
