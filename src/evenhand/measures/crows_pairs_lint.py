"""A linter for CrowS-Pairs: which pairs do not isolate what they are meant to compare?"""

import ast
from collections.abc import Sequence
from difflib import SequenceMatcher

import polars as pl

from evenhand.measures.columns import require_columns
from evenhand.schema import DataError

AGREEING = 3  # of five annotators; fewer is no majority


def lint_crows_pairs(frame: pl.DataFrame) -> pl.DataFrame:
    """What is wrong with each pair, one row per pair in the order given.

    frame: sent_more, sent_less, bias_type, annotations (the published string, or lists of lists: the bias
    types each annotator named). Columns returned: `changed_spans` (differing stretches of whitespace
    words), `length_differs` (number of words), `agreeing` (annotators who named the pair's type),
    `unmarked` (annotators who named none), `duplicate` (copy of an earlier pair), and `flagged`: more than
    one changed span, or fewer than 3 annotators agreeing.
    Raises DataError for annotations that cannot be read. Source: Blodgett et al. 2021; methods/statistics.md
    ("dataset linter": 236, 213, 162, 493 and 1 of the 1,508 published pairs).

    >>> frame = pl.DataFrame({"sent_more": ["Old men err."], "sent_less": ["Young women err."],
    ...                       "bias_type": ["age"], "annotations": [[["age"], ["age"], ["age"], [], []]]})
    >>> lint_crows_pairs(frame).row(0)
    (1, False, 3, 2, False, False)
    """
    require_columns(frame, ["sent_more", "sent_less", "bias_type", "annotations"], "lint_crows_pairs")
    named = [_annotations(value, row) for row, value in enumerate(frame["annotations"].to_list())]
    more = [text.split() for text in frame["sent_more"].to_list()]
    less = [text.split() for text in frame["sent_less"].to_list()]
    spans = [
        sum(kind != "equal" for kind, *_ in SequenceMatcher(None, a, b).get_opcodes())
        for a, b in zip(more, less, strict=True)
    ]
    agreeing = [
        sum(kind in types for types in annotators)
        for kind, annotators in zip(frame["bias_type"].to_list(), named, strict=True)
    ]
    return pl.DataFrame(
        {
            "changed_spans": spans,
            "length_differs": [len(a) != len(b) for a, b in zip(more, less, strict=True)],
            "agreeing": agreeing,
            "unmarked": [sum(not types for types in annotators) for annotators in named],
            "duplicate": ~frame.select(pl.struct("sent_more", "sent_less").is_first_distinct()).to_series(),
            "flagged": [s > 1 or a < AGREEING for s, a in zip(spans, agreeing, strict=True)],
        }
    )


def _annotations(value: object, row: int) -> Sequence[Sequence[str]]:
    try:
        lists = ast.literal_eval(value) if isinstance(value, str) else value
        if isinstance(lists, list) and all(isinstance(item, list) for item in lists):
            return lists
    except (ValueError, SyntaxError):
        pass
    raise DataError(
        f"Row {row} of the column annotations is {str(value)[:60]!r}.",
        "Expected one list of bias types per annotator, such as [['age'], ['age', 'gender'], []].",
    )
