from .options import (
    FLAGS as FLAGS,
    Count as Count,
    MeasuringOptions as MeasuringOptions,
    Options as Options,
    Seed as Seed,
    SeedOptions as SeedOptions,
    ToleranceOptions as ToleranceOptions,
    problems as problems,
    unknown_value as unknown_value,
    validated as validated,
)
from .record import (
    Compared as Compared,
    StudyRecord as StudyRecord,
)
from .sources import (
    assign as assign,
    read_options_file as read_options_file,
)
from .trust import (
    MODEL_ROLE as MODEL_ROLE,
    check_addresses as check_addresses,
    check_code as check_code,
    files_of as files_of,
)
