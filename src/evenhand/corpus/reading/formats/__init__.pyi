from .columns import (
    column_types as column_types,
    holds_text as holds_text,
    opened as opened,
    read_columns as read_columns,
)
from .delimited import (
    read_rows as read_rows,
    rows_of as rows_of,
)
from .jsonl import (
    read_jsonl as read_jsonl,
    value_of as value_of,
)
from .lines import (
    lines_of as lines_of,
)
from .plain import (
    read_file as read_file,
    read_lines as read_lines,
    read_paragraphs as read_paragraphs,
)
from .warc import (
    read_records as read_records,
)
