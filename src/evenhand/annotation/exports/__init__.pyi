from .votes import (
    Export as Export,
    read_export as read_export,
    write_export as write_export,
)
