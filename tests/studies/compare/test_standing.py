"""Who is treated worse now, and whether that is new: an axis that did not change is no axis without bias."""

import polars as pl
import pytest

from evenhand.schema import HEADLINES
from evenhand.studies.compare.standing import STANDING, standing

WORSE, NONE, BLANK = (
    "Gender: worse for women than for men.",
    "Gender: no gap found.",
    "Gender: cannot be said.",
)
SENTENCES = {"biased": WORSE, "not detected": NONE, "not measurable": BLANK}


def told(verdict):
    rows = [{"benchmark": "regard", "measure": "disparity", "axis": "gender", "verdict": verdict}]
    return pl.DataFrame([row | {"sentence": SENTENCES[verdict]} for row in rows], schema=HEADLINES)


def changes(verdict):
    row = {
        "model": "new",
        "benchmark": "regard",
        "axis": "gender",
        "verdict": verdict,
        "measure": "disparity_change",
    }
    return pl.DataFrame([row | {"group": None}], schema_overrides={"group": pl.String})


@pytest.mark.parametrize(
    ("before", "after", "change", "sentence"),
    [
        ("biased", "biased", "not detected", f"Still: {WORSE}"),
        ("not detected", "biased", "changed", f"New: {WORSE}"),
        ("not detected", "biased", "not detected", f"New: {WORSE} (Of the change itself nothing is shown.)"),
        ("not measurable", "biased", "changed", f"Now (could not be said before): {WORSE}"),
        ("biased", "not detected", "changed", f"No longer found: {WORSE} Now: no gap found."),
        ("biased", "not measurable", "changed", f"Cannot be said any more; before: {WORSE}"),
        ("not detected", "not detected", "not detected", None),
    ],
)
def test_what_the_later_run_found_is_said_beside_what_the_first_found(before, after, change, sentence):
    lines = standing(told(before), {"new": told(after)}, changes(change))
    assert lines["sentence"].to_list() == ([] if sentence is None else [sentence])


def test_runs_that_tell_no_headlines_have_no_such_lines():
    none = pl.DataFrame(schema=HEADLINES)
    for first, later in ((none, told("biased")), (told("biased"), none)):
        assert standing(first, {"new": later}, changes("changed")).equals(pl.DataFrame(schema=STANDING))
