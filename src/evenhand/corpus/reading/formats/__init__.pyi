from .columns import (
    column_types as column_types,
    holds_text as holds_text,
    open_parquet as open_parquet,
    read_columns as read_columns,
)
from .delimited import (
    parse_rows as parse_rows,
    read_rows as read_rows,
)
from .jsonl import (
    get_value as get_value,
    read_jsonl as read_jsonl,
)
from .lines import (
    read_line_blocks as read_line_blocks,
)
from .plain import (
    read_file as read_file,
    read_lines as read_lines,
    read_paragraphs as read_paragraphs,
)
from .warc import (
    read_records as read_records,
)
