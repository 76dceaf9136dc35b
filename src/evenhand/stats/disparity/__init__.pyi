from .change import GroupChanges as GroupChanges, group_changes as group_changes, no_worse as no_worse
