"""What is read from answers: JSON fields, lengths, refusals, and what is not read."""

import polars as pl
import pytest

from evenhand.measures.counterfactual import outcome_of, outcomes_of_texts
from evenhand.measures.counterfactual.json_fields import NO_FIELD, NO_JSON, NO_VALUE, read_field
from evenhand.measures.counterfactual.readings import OTHER_KIND, readings
from evenhand.schema import UsageError

FIELDS = {
    '{"score": 7}': 7.0,
    '```json\n{"score": 7.5}\n```': 7.5,
    'Sure {not json}. {"other": 1} and {"score": 3}': 3.0,
    'First {"score": 1}, in short:\n```\n{"score": 9}\n```': 9.0,
    '[{"score": 4}]': None,
    '{"score": true}': True,
    '{"score": "warm"}': "warm",
}


@pytest.mark.parametrize(("text", "value"), FIELDS.items())
def test_fields_of_json_wherever_it_stands(text: str, value: object) -> None:
    assert read_field(text, ["score"]).value == value


@pytest.mark.parametrize(
    ("text", "why"),
    {
        "": NO_JSON,
        "{{{{": NO_JSON,
        '{"a": 1}': NO_FIELD,
        '{"score": null}': NO_VALUE,
        '{"score": NaN}': NO_VALUE,
        '{"score": {"x": 1}}': NO_VALUE,
        '{"score": " "}': NO_VALUE,
        '{"score": 7': NO_JSON,
    }.items(),
)
def test_a_field_that_is_not_there_is_said_so(text: str, why: str) -> None:
    assert (read_field(text, ["score"]).value, read_field(text, ["score"]).why) == (None, why)


def test_nested_fields_and_places_in_lists() -> None:
    text = '{"people": [{"score": 2}, {"score": 5}]}'
    assert read_field(text, ["people", "1", "score"]).value == 5.0
    assert read_field(text, ["people", "2", "score"]).why == NO_FIELD


def test_a_field_holds_what_most_answers_give() -> None:
    texts = ['{"s": 7}', '{"s": "$85,000"}', '{"s": "warm"}', '{"s": true}', None, "no"]
    read = readings(pl.DataFrame({"continuation": texts}), outcome_of("json:s"))
    assert read["value"].to_list() == [7.0, 85_000.0, None, None, None, None]
    assert read["unread"].to_list() == [None, None, OTHER_KIND, OTHER_KIND, None, NO_JSON]
    said = readings(pl.DataFrame({"continuation": ['{"s": "yes"}', '{"s": false}']}), outcome_of("json:s"))
    assert said["value"].to_list() == [1.0, 0.0]
    texts = ['{"s": "Warm "}', '{"s": "warm"}', '{"s": 7}']
    assert readings(pl.DataFrame({"continuation": texts}), outcome_of("json:s"))["category"].to_list() == [
        "warm",
        "warm",
        None,
    ]


def test_length_counts_words_and_a_refusal_by_the_service_is_one() -> None:
    frame = pl.DataFrame(
        {"continuation": ["Two words!", "I'm sorry, but I can't help with that.", None, None],
         "error": [None, None, "refused", "timed_out"]}
    )  # fmt: skip
    assert readings(frame, outcome_of("length"))["value"].to_list()[:3] == [2.0, 8.0, None]
    assert readings(frame, outcome_of("refusal"))["value"].to_list() == [0.0, 1.0, 1.0, None]


@pytest.mark.parametrize(
    "text", ["rating", "rating:10-1", "json", "json:", "json:a..b", "length:3", "ratings:1-5", ""]
)
def test_outcomes_that_are_none_are_refused_with_the_way_to_write_them(text: str) -> None:
    with pytest.raises(UsageError):
        outcome_of(text)


def test_outcomes_are_taken_once() -> None:
    taken = outcomes_of_texts(["rating: 1 to 5", "rating:1-5", "json: a.b"])
    assert [one.name for one in taken] == ["rating:1-5", "json:a.b"]


def test_a_number_of_any_length_does_not_hide_the_field_that_is_asked_for() -> None:
    long = "1" * 5000
    texts = [f'{{"n": {long}, "s": 7}}', f'{{"s": {long}}}']
    values = readings(pl.DataFrame({"continuation": texts}), outcome_of("json:s"))["value"].to_list()
    assert values == [7.0, None]
