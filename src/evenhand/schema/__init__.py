"""What every floor of the house shares: tables, cards, errors, and files that are written whole."""

from evenhand.schema.cards import Card as Card
from evenhand.schema.errors import (
    ChecksumMismatch as ChecksumMismatch,
    DataError as DataError,
    DatasetMissing as DatasetMissing,
    EvenhandError as EvenhandError,
    Interrupted as Interrupted,
    ModelError as ModelError,
    ResumeRefused as ResumeRefused,
    Unsupported as Unsupported,
    UsageError as UsageError,
    WriteError as WriteError,
)
from evenhand.schema.tables import (
    FINDINGS as FINDINGS,
    LABELS as LABELS,
    MEASUREMENTS as MEASUREMENTS,
    RESPONSES as RESPONSES,
    Measurement as Measurement,
    ResponseError as ResponseError,
    measurement_frame as measurement_frame,
    measurement_rows as measurement_rows,
)
