"""What changed most: the right prompts first, the samples that show it, and nobody's markup."""

import polars as pl
import pytest

from evenhand.studies.compare.moved import LONGEST, MOST, MOVED, moved_answers, moved_texts
from evenhand.studies.compare.result import compare
from tests.helpers.page_outline import Outline


def paired(answers):
    """answers: (prompt, sample, before, after) of outcomes."""
    rows = [
        {
            "prompt_id": prompt, "sample": sample, "text": f"about {prompt}", "axis": "age", "group": "old",
            "harm": before, "harm_right": after, "answer": f"{prompt}{sample} was",
            "answer_right": f"{prompt}{sample} is",
        }
        for prompt, sample, before, after in answers
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"harm": pl.Float64, "harm_right": pl.Float64})


def test_prompts_by_how_much_their_mean_changed_with_the_sample_that_shows_it():
    frame = paired(
        [("a", 0, 0, 0), ("a", 1, 0, 1), ("b", 0, 1, 0), ("b", 1, 1, 0), ("c", 0, 1, 1), ("c", 1, None, 1)]
    )
    found = moved_answers(frame, "regard", "harm", "new")
    assert found.schema == MOVED
    shown = found.select("prompt_id", "before", "after", "change", "n").rows()
    assert shown == [("b", 1.0, 0.0, -1.0, 2), ("a", 0.0, 0.5, 0.5, 2)], "c did not change"
    assert found["answer_after"].to_list() == ["b0 is", "a1 is"], "of a the sample that turned harmful"
    # the medians of -1, 0.5 and 0 are by hand
    assert found["beside"].to_list() == [-1.0, 0.5]


def test_no_more_than_the_most_and_no_longer_than_the_longest():
    frame = paired([(f"p{i:03}", 0, 0, 1) for i in range(MOST + 5)])
    frame = frame.with_columns(answer_right=pl.lit("x" * (LONGEST + 9)))
    found = moved_answers(frame, "regard", "harm", "new")
    assert found.height == MOST and found["answer_after"].str.len_chars().unique().to_list() == [LONGEST + 1]
    assert (
        moved_answers(frame.drop("answer", "answer_right"), "x", "harm", "new")["answer_before"].null_count()
        == MOST
    )


def test_texts_whose_likelihood_moved_beside_what_all_moved():
    before = pl.DataFrame({"prompt_id": list("abcd"), "text": list("ABCD"), "log_likelihood": [-10.0, -20, -30, -40],
                           "descriptor": ["x"] * 4, "axis": ["age"] * 4})  # fmt: skip
    after = before.with_columns(log_likelihood=pl.Series([-11.0, -21, -36, None]))
    found = moved_texts(before, after, "likely", "new")
    # everything fell by one nat; C by five more
    assert found.select("prompt_id", "change", "beside").rows() == [("c", -6.0, -5.0)]
    assert found["group"].to_list() == ["x"] and found["answer_before"].to_list() == [None]


HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def hostile(written_runs, tmp_path_factory):
    report = compare(written_runs["rude"], written_runs["calm"].path, names=["old", "new"])
    changed = report.comparison.moved.with_columns(answer_after=pl.lit(HOSTILE))
    object.__setattr__(report.comparison, "moved", changed)
    return report


def test_answers_stand_in_page_and_json_escaped_and_folded(hostile):
    page = hostile.html()
    outline = Outline(page)
    assert outline.wrong == [] and HOSTILE not in page and "&lt;script&gt;alert(1)" in page
    place = page.index("What changed most")
    assert (
        page.rindex("<details", 0, place) > page.rindex("</details>", 0, place)
        if "</details>" in page[:place]
        else True
    )
    told = hostile.to_dict()["moved"]
    assert told and len(told) <= 2 * MOST and told[0]["answer_after"] == HOSTILE
    # the outcome is that of the runs: recomputed by hand from the answers themselves
    first = told[0]
    assert first["change"] == pytest.approx(first["after"] - first["before"])
