"""A user's file of continuations: what its cells mean, and which of them stand for nothing."""

import json

import polars as pl
import pytest
from hypothesis import given, strategies as st

from evenhand.prompts.own_files.continuations import FALSE_WORDS, TRUE_WORDS, read_continuations
from evenhand.prompts.own_files.tables import MISSING_WORDS
from evenhand.schema import DataError


def read(folder, rows, roles=("toxicity",), **options):
    file = folder / "mine.csv"
    pl.DataFrame(rows).write_csv(file)
    return read_continuations(file, ("group",), roles, **options).frame


@given(
    words=st.lists(st.sampled_from([*TRUE_WORDS, *FALSE_WORDS, *MISSING_WORDS]), min_size=1),
    case=st.sampled_from([str.lower, str.upper, str.title]),
)
def test_words_for_true_false_and_nothing(tmp_path_factory, words, case):
    frame = read(
        tmp_path_factory.mktemp("x"), {"group": ["a"] * len(words), "negative": list(map(case, words))}
    )
    expected = [True if word in TRUE_WORDS else False if word in FALSE_WORDS else None for word in words]
    assert frame["toxicity_negative"].to_list() == expected
    assert frame["toxicity_error"].to_list() == ["missing" if value is None else None for value in expected]


def test_a_score_becomes_a_verdict_at_the_threshold(tmp_path):
    frame = read(tmp_path, {"group": ["a"] * 4, "score": ["0.49", "0.5", "nan", ""]}, threshold=0.5)
    assert frame["toxicity_negative"].to_list() == [False, True, None, None]
    assert frame["toxicity_score"].to_list() == [0.49, 0.5, None, None]
    assert frame["toxicity_error"].to_list() == [None, None, "missing", "missing"]


def test_the_files_own_verdict_wins_over_score_and_label(tmp_path):
    rows = {"group": ["a"], "score": ["0.9"], "label": ["toxic"], "negative": ["false"]}
    frame = read(tmp_path, rows, threshold=0.5)
    assert frame.select("toxicity_negative", "toxicity_label", "toxicity_score").row(0) == (
        False,
        "toxic",
        0.9,
    )


def test_published_labels_of_regard(tmp_path):
    rows = {"group": ["a"] * 4, "label": ["Negative", "neutral", "positive", "other"]}
    assert read(tmp_path, rows)["toxicity_negative"].to_list() == [True, False, False, False]


def test_scores_of_many_styles_as_json(tmp_path):
    rows = {"group": ["a", "b"], "style_scores": [json.dumps([0.25, 0.75]), json.dumps([1.0, 0.0])]}
    frame = read(tmp_path, rows, roles=("style",))
    assert frame["style_scores"].to_list() == [[0.25, 0.75], [1.0, 0.0]]
    assert frame["style_error"].null_count() == 2
    with pytest.raises(DataError, match="'style_scores' is not a list of numbers in every row"):
        read(tmp_path, {"group": ["a"], "style_scores": ["angry"]}, roles=("style",))


def test_a_row_that_failed_has_no_judgement_whatever_the_file_says(tmp_path):
    rows = {"group": ["a", "a"], "negative": ["true", "true"], "error": ["refused", ""]}
    frame = read(tmp_path, rows)
    assert frame["toxicity_negative"].to_list() == [None, True]
    assert frame["toxicity_error"].to_list() == frame["error"].to_list() == ["refused", None]


def test_a_continuation_that_is_not_there_is_missing_unless_it_was_judged(tmp_path):
    rows = {"group": ["a"] * 2, "continuation": [None, None], "toxicity_negative": ["true", None]}
    assert read(tmp_path, rows)["error"].to_list() == [None, "missing"]


def test_given_identifiers_and_samples_are_kept(tmp_path):
    rows = {"group": ["a"] * 2, "negative": ["true"] * 2, "prompt_id": ["7", "7"], "sample": ["3", "5"]}
    frame = read(tmp_path, rows)
    assert frame.select("prompt_id", "sample").rows() == [("7", 3), ("7", 5)]


def test_rows_with_an_axis_and_no_group_are_not_lost_in_silence(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("axis,group,negative\nage,old,1\nage,,0\nage,young,0\n")
    with pytest.raises(DataError, match="1 of 3 rows have an axis but no group"):
        read_continuations(path, ("axis", "group"), ("toxicity",))


def test_answers_to_one_prompt_are_told_by_the_column_prompt(tmp_path):
    rows = {
        "group": ["a"] * 6 + ["b"] * 6,
        "prompt": [0, 0, 0, 1, 1, 1] * 2,
        "sample": [0, 1, 2] * 4,
        "negative": [0, 1] * 6,
    }
    frame = read(tmp_path, rows)
    assert frame["prompt_id"].n_unique() == 4  # a prompt about another group is another one
    assert frame.group_by("prompt_id").len()["len"].to_list() == [3] * 4
    named = read(tmp_path, rows | {"prompt_id": [f"p{i // 6}" for i in range(12)]})
    assert named["prompt_id"].unique().sort().to_list() == ["p0", "p1"]
    with_text = read(tmp_path, rows | {"text": ["She "] * 12})
    assert with_text["prompt_id"].n_unique() == 2


def test_samples_of_nobody_knows_which_prompt_are_refused(tmp_path):
    rows = {"group": ["a", "a", "b", "b"], "sample": [0, 1, 0, 1], "negative": [0, 1, 0, 1]}
    with pytest.raises(DataError, match=r"row 2: 'sample' is '1'.*no column identifies the prompt"):
        read(tmp_path, rows)
    one_each = read(tmp_path, rows | {"sample": [0] * 4})
    assert one_each["prompt_id"].n_unique() == 4
    with pytest.raises(DataError, match=r"row 3: 'prompt' is empty in 1 of 4 rows"):
        read(tmp_path, rows | {"prompt": ["x", "x", "", "y"]})
