"""Columns of human judgements, as `evenhand annotate export` writes them and all readers expect them."""

from collections.abc import Mapping

from polars import Boolean, Datetime, Float64, Int64, String
from polars._typing import PolarsDataType

VOTES: Mapping[str, PolarsDataType] = {
    "study": String,
    "person": String,  # pseudonym
    "unit": String,  # one session of one annotator
    "presentation": String,  # one display of one item to one annotator
    "position": Int64,  # of the presentation within its unit, counted from 0
    "role": String,  # real, onboarding, gold, duplicate, survey
    "item": String,  # null in rows of surveys
    "kind": String,  # pair, conversation, text; null in rows of surveys
    "question": String,
    "measurement": String,  # nominal, ordinal, interval, preference, text, marks
    "turn": Int64,  # for marks: turn of the conversation, counted from 0; otherwise null
    # a, b or tie for a pair (independent of the position on the screen); an option; a number; a text; null: skipped
    "answer": String,
    # the judgement as a number: Likert and SDO ratings, options with a value; 1 for a mark; otherwise null
    "value": Float64,
    "reason": String,
    "shown_left": String,  # a or b: which conversation of a pair was on the left (first for screen readers)
    "a": String,  # identifiers of a pair's conversations
    "b": String,
    "model_a": String,
    "model_b": String,
    "conversation": String,  # identifier of a single conversation
    "model": String,  # model that wrote the judged text or conversation, if only one is shown
    "text": String,  # the judged text, if it is a single text
    "context": String,  # what stood before it
    "expected": String,  # the required judgement for onboarding and gold items
    "correct": Boolean,  # whether it was given; null if no judgement is required
    "shown_at": Datetime("us", "UTC"),
    "answered_at": Datetime("us", "UTC"),
    "seconds": Float64,  # between the two
    "groups": String,  # JSON of the study's data on the item: axis, group, benchmark, ...
    # JSON of classifiers' results for the text: {name: {"label", "score", "negative", "scores"}}
    "judgements": String,
    "review": String,  # accepted, rejected; null: not reviewed
    "excluded": String,  # names of the rules that exclude the row, separated by commas; null: included
    "text_a": String,  # the judged texts of a pair, one line per turn with its speaker
    "text_b": String,
}
"""Columns of exported judgements: one row per annotator, item and question (and turn, if turns are marked)."""

ADDED_VOTES = frozenset({"text_a", "text_b"})
"""Columns that exports of earlier versions lack; they are read as null."""
ANNOTATIONS = "evenhand_annotations"
"""Key of the first line of an export in JSON Lines, whose value is its version. The same line has
`study` (the definition, without texts of items), `exported_at` and `evenhand`."""
ANNOTATIONS_VERSION = 1
