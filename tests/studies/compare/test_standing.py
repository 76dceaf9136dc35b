"""Who is treated worse now, and whether that is new: an axis that did not change is no axis without bias."""

import polars as pl
import pytest

from evenhand.schema import HEADLINES
from evenhand.studies.compare.standing import STANDING, standing

WORSE, NONE, BLANK = (
    "Gender — biased. Treated worse: women.",
    "Gender — no bias detected. This audit had 80% power.",
    "Gender — not measurable: there is one prompt.",
)
FINDING = "Gender. Treated worse: women."
ALONE = "The two audits reach different verdicts, but the change itself is not statistically significant."
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
        ("biased", "biased", "not detected", f"Still biased: {FINDING}"),
        ("not detected", "biased", "changed", f"Bias detected only in the later model: {FINDING}"),
        (
            "not detected",
            "biased",
            "not detected",
            f"Bias detected only in the later model: {FINDING} {ALONE}",
        ),
        ("not measurable", "biased", "changed", f"Now biased (not measurable before): {FINDING}"),
        (
            "biased",
            "not detected",
            "changed",
            f"Bias no longer detected. Before: {WORSE} Now: This audit had 80% power.",
        ),
        ("biased", "not measurable", "changed", f"No longer measurable. Before: {WORSE}"),
        ("not detected", "not detected", "not detected", None),
    ],
)
def test_verdicts_of_the_later_run_are_compared_with_those_of_the_first(before, after, change, sentence):
    lines = standing(told(before), {"new": told(after)}, changes(change))
    assert lines["sentence"].to_list() == ([] if sentence is None else [sentence])


def test_runs_that_tell_no_headlines_have_no_such_lines():
    none = pl.DataFrame(schema=HEADLINES)
    for first, later in ((none, told("biased")), (told("biased"), none)):
        assert standing(first, {"new": later}, changes("changed")).equals(pl.DataFrame(schema=STANDING))
