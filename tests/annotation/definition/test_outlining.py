"""What a study needs at least, held against people who are handed out by hand."""

from itertools import combinations
from math import ceil

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.annotation.definition import Study, in_words, outline

PAIR = {"id": "which", "kind": "pair", "text": "Which?"}


def of_pairs(pairs: list[tuple[str, str]], **assignment: int) -> Study:
    items = [
        {"id": f"i{n}", "pair": [{"id": name, "turns": [{"speaker": "A", "text": name}]} for name in pair]}
        for n, pair in enumerate(pairs)
    ]
    base = {"evenhand_study": 1, "name": "s", "title": "S", "questions": [PAIR]}
    return Study.model_validate({**base, "items": items, "assignment": assignment})


@given(
    st.integers(1, 30), st.integers(1, 5), st.integers(1, 8), st.integers(1, 4)
)  # items, votes each, items a unit, units a person
@settings(deadline=None, max_examples=100)
def test_units_and_people_suffice_where_no_conversation_is_shared(
    n: int, each: int, in_unit: int, units: int
) -> None:
    told = outline(
        of_pairs(
            [(f"a{i}", f"b{i}") for i in range(n)],
            annotations_per_item=each,
            items_per_unit=in_unit,
            units_per_person=units,
        )
    )
    left = [each] * n
    people = 0
    while any(left):  # each person takes the items that need most, as many as they may
        mine = sorted((i for i in range(n) if left[i]), key=lambda i: -left[i])[: units * in_unit]
        for item in mine:
            left[item] -= 1
        people += 1
    assert told.people == people
    assert told.showings == told.answers == n * each
    assert told.units == ceil(n * each / min(in_unit, n))


@pytest.mark.parametrize(
    ("n", "told"), [(9, "from 9 items: at least 10"), (12, "after 9 people"), (13, None)]
)
def test_a_study_that_can_find_nothing_says_so_before_anybody_comes(n, told) -> None:
    planned = outline(
        of_pairs([(f"a{i}", f"b{i}") for i in range(n)], annotations_per_item=3, items_per_unit=4)
    )
    assert (planned.obstacle is None) == (told is None)
    lines = [text for title, text in planned.lines if title == "Analysis"]
    assert lines == ([] if told is None else [planned.obstacle])
    assert told is None or told in planned.obstacle
    assert n != 12 or "use 13 items" in planned.obstacle


def test_a_conversation_in_many_items_takes_other_people_for_each() -> None:
    told = outline(of_pairs(list(combinations("abcd", 2)), annotations_per_item=2, items_per_unit=6))
    assert told.people == 6  # each of the four stands in three items, each of which two people judge
    assert any("no annotator sees it twice" in text for _, text in told.lines)


@pytest.mark.parametrize(
    "rule",
    [
        "onboarding_below",
        "gold_below",
        "inconsistent_duplicates",
        "too_fast",
        "constant_side",
        "copied_reasons",
    ],
)
def test_all_rules_have_words(rule: str) -> None:
    from pydantic import TypeAdapter

    from evenhand.annotation.definition import Rule

    said = in_words(TypeAdapter(Rule).validate_python({"rule": rule}))
    assert said.startswith(("less than", "more than", "always"))
