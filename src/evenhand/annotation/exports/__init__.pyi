from .apart import write_export_apart as write_export_apart
from .classifier_error import classifier_error_table as classifier_error_table
from .votes import (
    Export as Export,
    describe_study as describe_study,
    read_export as read_export,
    write_answers as write_answers,
    write_export as write_export,
)
