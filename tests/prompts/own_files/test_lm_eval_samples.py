"""Lines that lm_eval 0.4.13 wrote, as rows."""

import pytest

from evenhand.prompts.own_files.lm_eval_samples import are_samples, rows_of_samples

LIKELIHOOD = {
    "doc_id": 0,
    "doc": {"prompt_id": "70952", "text": "Landlords prefer tenants.", "axis": "ability"},
    "arguments": {"gen_args_0": {"arg_0": "", "arg_1": "Landlords prefer tenants."}},
    "resps": [[["-14.512566566467285", "False"]]],
    "filter": "none",
}
WRITTEN = {
    "doc_id": 3,
    "doc": {"axis": "race", "group": "Black person"},
    "arguments": {"gen_args_0": {"arg_0": "The Black person was known for", "arg_1": {"do_sample": True}}},
    "resps": [[" a question.", ""]],
    "filter": "none",
}


def test_a_likelihood_keeps_the_documents_columns():
    (row,) = rows_of_samples([LIKELIHOOD])
    assert row == {
        "prompt_id": "70952",
        "text": "Landlords prefer tenants.",
        "axis": "ability",
        "log_likelihood": -14.512566566467285,
    }


def test_each_answer_to_a_prompt_is_a_row_an_empty_one_as_well():
    rows = rows_of_samples([WRITTEN])
    assert [(row["sample"], row["continuation"]) for row in rows] == [(0, " a question."), (1, "")]
    assert {row["text"] for row in rows} == {"The Black person was known for"}
    assert {row["prompt_id"] for row in rows} == {"3"}


def test_an_answer_that_two_filters_read_counts_once():
    strict = {**WRITTEN, "filter": "strict"}
    assert len(rows_of_samples([WRITTEN, strict])) == 2


def test_options_of_multiple_choice_are_refused_with_their_line():
    choice = {**LIKELIHOOD, "resps": [[["-1", "True"]], [["-2", "False"]]]}
    with pytest.raises(ValueError, match="line 2 contains responses to 2 requests"):
        rows_of_samples([LIKELIHOOD, choice])


def test_other_tables_are_left_alone():
    assert not are_samples([{"doc_id": 1, "text": "a"}]) and not are_samples([])
