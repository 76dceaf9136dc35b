"""Those who do not read are found, and those who do are left alone: simulated people, with the default rules.

The numbers stand in docs/how-to/use_human_labels.md, of 2,000 people each.
"""

import random
from collections import Counter
from typing import Any

import pytest

from evenhand.annotation.definition import (
    ConstantSide,
    CopiedReasons,
    GoldBelow,
    InconsistentDuplicates,
    OnboardingBelow,
    TooFast,
)
from evenhand.annotation.quality import broken_rules
from tests.helpers.simulated_people import judge_pairs, table, text_vote

PEOPLE = 300
RULES = (
    OnboardingBelow(),
    GoldBelow(),
    InconsistentDuplicates(),
    TooFast(),
    ConstantSide(),
    CopiedReasons(),
)


def shares(**how: Any) -> tuple[Counter[str], float]:
    """How many break each rule, and the share of those who are left out for any."""
    rng = random.Random(11)
    rows = [row for p in range(PEOPLE) for row in judge_pairs(f"p{p}", rng, **how)]
    broken = broken_rules(table(rows), RULES)
    left_out = {found.person for found in broken if found.action != "flag"}
    return Counter(found.rule for found in broken), len(left_out) / PEOPLE


@pytest.mark.parametrize("balanced", [True, False])
def test_few_who_judge_honestly_are_left_out(balanced: bool) -> None:
    # 95 % right on known answers and 85 % the same again: 1.4 % fail 4 items at 75 %, 1.2 % fail 4 repetitions at 50 %
    counts, left_out = shares(balanced=balanced)
    assert left_out <= 0.07
    assert counts["constant_side"] == counts["copied_reasons"] == counts["too_fast"] == 0


def test_most_who_click_at_random_are_left_out() -> None:
    # each 4 known answers let 5 of 16 through (3 or 4 right), 4 repetitions at 50 % 11 of 16: together 6.7 %
    assert shares(how="random")[1] == pytest.approx(1 - 5 / 16 * 5 / 16 * 11 / 16, abs=0.05)


@pytest.mark.parametrize(
    ("how", "rule"), [("left", "constant_side"), ("fast", "too_fast"), ("copied", "copied_reasons")]
)
def test_who_does_one_thing_wrong_is_found_by_the_rule_for_it(how: str, rule: str) -> None:
    assert shares(how=how)[0][rule] >= 0.98 * PEOPLE


@pytest.mark.parametrize("pairs", [10, 13, 20])
@pytest.mark.parametrize("balanced", [True, False])
def test_who_always_prefers_the_same_model_is_no_constant_side(pairs: int, balanced: bool) -> None:
    rng = random.Random(5)
    rows = []
    for p in range(PEOPLE):
        mine = judge_pairs(f"p{p}", rng, pairs=pairs, gold=0, duplicates=0, onboarding=0, balanced=balanced)
        rows += [{**row, "answer": "a"} for row in mine]
    # a coin for every pair alone would do so to 2 * 0.5^10 = 0.2 % of them
    found = broken_rules(table(rows), [ConstantSide(p=0.05)])
    assert len(found) <= 0.05 * PEOPLE


def test_honest_raters_of_a_rare_class_are_seldom_flagged() -> None:
    rng = random.Random(7)
    rows = [
        text_vote(person=f"p{p}", item=f"i{i}", answer="yes" if rng.random() < 0.2 else "no")
        for p in range(PEOPLE)
        for i in range(20)
    ]
    # 1.2 % of them say "no" 20 times, which is what the share of "no" makes one expect
    assert broken_rules(table(rows), [ConstantSide()]) == []
    assert len(broken_rules(table(rows), [ConstantSide(p=0.05)])) <= 0.05 * PEOPLE
