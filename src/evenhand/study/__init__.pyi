from .declaration import (
    Call as Call,
    Output as Output,
    Result as Result,
    Study as Study,
)
from .fields import (
    Flag as Flag,
)
from .flags import (
    read_flags as read_flags,
    verb_parameters as verb_parameters,
)
from .options import (
    FLAGS as FLAGS,
    Count as Count,
    MeasuringOptions as MeasuringOptions,
    Options as Options,
    Seed as Seed,
    SeedOptions as SeedOptions,
    ToleranceOptions as ToleranceOptions,
    name_options as name_options,
    problems as problems,
    unknown_value as unknown_value,
    validate_options as validate_options,
)
from .ranges import (
    require_range as require_range,
)
from .record import (
    Compared as Compared,
    StudyRecord as StudyRecord,
)
from .resuming import (
    StudyOptions as StudyOptions,
)
from .signature import (
    with_options as with_options,
)
from .sources import (
    assign as assign,
    read_options_file as read_options_file,
)
from .trust import (
    MODEL_ROLE as MODEL_ROLE,
    check_addresses as check_addresses,
    check_code as check_code,
    find_files as find_files,
)
from .values import (
    drop_missing as drop_missing,
    get_name as get_name,
    loaded_or_none as loaded_or_none,
)
