"""The columns of people's answers, as `evenhand annotate export` writes them and everything that reads them expects."""

from collections.abc import Mapping

from polars import Boolean, Datetime, Float64, Int64, String
from polars._typing import PolarsDataType

VOTES: Mapping[str, PolarsDataType] = {
    "study": String,
    "person": String,  # pseudonym
    "unit": String,  # one sitting of one person
    "presentation": String,  # one showing of one item to one person
    "position": Int64,  # of the presentation within its unit, from 0
    "role": String,  # real, onboarding, gold, duplicate, survey
    "item": String,  # null in rows of surveys
    "kind": String,  # pair, conversation, text; null in rows of surveys
    "question": String,
    "measurement": String,  # nominal, ordinal, interval, preference, text, marks
    "turn": Int64,  # of marks: which turn of the conversation, from 0; else null
    "answer": String,  # a, b or tie of a pair whichever side they stood on; an option; a number; a text; null: skipped
    "value": Float64,  # the answer as a number: Likert and SDO ratings, options with a value; 1 for a mark; else null
    "reason": String,
    "shown_left": String,  # a or b: which conversation of a pair stood on the left (first, for screen readers)
    "a": String,  # identifiers of a pair's conversations
    "b": String,
    "model_a": String,
    "model_b": String,
    "conversation": String,  # identifier of a single conversation
    "model": String,  # who wrote what was judged, where one text or conversation is shown
    "text": String,  # what was judged, where it is one text
    "context": String,  # what stood before it
    "expected": String,  # the answer that onboarding and gold items ask for
    "correct": Boolean,  # whether it was given; null if nothing is expected
    "shown_at": Datetime("us", "UTC"),
    "answered_at": Datetime("us", "UTC"),
    "seconds": Float64,  # between the two
    "groups": String,  # JSON of the study's facts about the item: axis, group, benchmark, ...
    "judgements": String,  # JSON of what classifiers said of the text: {name: {"label", "score", "negative", "scores"}}
    "review": String,  # accepted, rejected; null: not reviewed
    "excluded": String,  # names of the study's rules that take the row out, with commas; null: it counts
    "text_a": String,  # what was judged of a pair, a turn a line behind its speaker
    "text_b": String,
}
"""Columns of exported judgements: one row per annotator, item and question (and turn, if turns are marked)."""

ADDED_VOTES = frozenset({"text_a", "text_b"})
"""Columns that exports of earlier versions lack; they are read as null."""
ANNOTATIONS = "evenhand_annotations"
"""Key of the first line of an export in JSON Lines, whose value is its version. The same line has
`study` (the definition, without texts of items), `exported_at` and `evenhand`."""
ANNOTATIONS_VERSION = 1
