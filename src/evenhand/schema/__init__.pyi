from .annotations import (
    ANNOTATIONS as ANNOTATIONS,
    ANNOTATIONS_VERSION as ANNOTATIONS_VERSION,
    VOTES as VOTES,
)
from .arguments import (
    check_fields as check_fields,
    checked as checked,
    checked_kinds as checked_kinds,
    is_a as is_a,
    missing_members as missing_members,
)
from .arrays import (
    LARGEST as LARGEST,
    categories_as_text as categories_as_text,
)
from .cards import (
    Card as Card,
)
from .errors import (
    AnsweredBefore as AnsweredBefore,
    ChecksumMismatch as ChecksumMismatch,
    DataError as DataError,
    DatasetMissing as DatasetMissing,
    EvenhandError as EvenhandError,
    GateFailed as GateFailed,
    HuggingFaceMissing as HuggingFaceMissing,
    Interrupted as Interrupted,
    ModelError as ModelError,
    ResumeRefused as ResumeRefused,
    ServiceUnavailable as ServiceUnavailable,
    Unsupported as Unsupported,
    UsageError as UsageError,
    WriteError as WriteError,
    add_registered_guess as add_registered_guess,
    did_you_mean as did_you_mean,
    list_names as list_names,
    missing_columns as missing_columns,
    nearest_names as nearest_names,
    unknown_column as unknown_column,
    unknown_name as unknown_name,
)
from .files import (
    as_json as as_json,
    atomic_write as atomic_write,
    compute_sha256 as compute_sha256,
    describe_occupied as describe_occupied,
    for_spreadsheets as for_spreadsheets,
    guess_file as guess_file,
    is_file as is_file,
    is_folder as is_folder,
    missing_file as missing_file,
    parse_json as parse_json,
    parse_toml as parse_toml,
    parse_yaml as parse_yaml,
    read_json as read_json,
    table_bytes as table_bytes,
    without_surrogates as without_surrogates,
    write_bytes as write_bytes,
    write_json as write_json,
    write_table as write_table,
    write_text as write_text,
)
from .keys import (
    frame_hash as frame_hash,
)
from .options import (
    Number as Number,
    TextOrNone as TextOrNone,
    Whole as Whole,
    convert_option as convert_option,
    convert_options as convert_options,
    list_options as list_options,
    split_options as split_options,
    split_role as split_role,
    split_value as split_value,
)
from .parquet import (
    UNREADABLE as UNREADABLE,
    Parquet as Parquet,
    check_in_subprocess as check_in_subprocess,
    has_checksum as has_checksum,
    read_parquet as read_parquet,
    read_stored_table as read_stored_table,
    read_table_bytes as read_table_bytes,
)
from .registry import (
    ExtensionError as ExtensionError,
    Registry as Registry,
    make_unusable_card as make_unusable_card,
)
from .tables import (
    ADDED as ADDED,
    FINDINGS as FINDINGS,
    HEADLINES as HEADLINES,
    LABELS as LABELS,
    MEASUREMENTS as MEASUREMENTS,
    OWN_LIMITS as OWN_LIMITS,
    PROMPT_KEYS as PROMPT_KEYS,
    RESPONSES as RESPONSES,
    Measurement as Measurement,
    ResponseError as ResponseError,
    is_lost_to_setup as is_lost_to_setup,
    measurement_frame as measurement_frame,
    measurement_rows as measurement_rows,
)
from .temporary import (
    is_temporary as is_temporary,
    sweep as sweep,
    temporary_file as temporary_file,
)
from .totals import (
    add_session as add_session,
)
from .version import (
    VERSION as VERSION,
)
from .votes import (
    is_annotations as is_annotations,
    read_votes as read_votes,
    write_votes as write_votes,
)
from .workers import (
    exit_with_parent as exit_with_parent,
    one_thread_each as one_thread_each,
    shield_workers_from_signals as shield_workers_from_signals,
)
