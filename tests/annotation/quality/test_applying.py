"""Rules of exclusion: as a loop by hand finds them, in small cases, and what `apply_rules` makes of them."""

import random
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from evenhand.annotation.definition import (
    ConstantSide,
    CopiedReasons,
    GoldBelow,
    InconsistentDuplicates,
    OnboardingBelow,
    Rule,
    TooFast,
)
from evenhand.annotation.quality import apply_rules, broken_rules
from evenhand.schema import VOTES
from tests.annotation.quality import by_hand
from tests.helpers.simulated_people import BEGAN, WORDS, table, text_vote, vote

MARKS = (0.0, 0.25, 0.5, 0.75, 1.0)
TEXT = "He said that she never knew what the women wanted, and then went home to sleep."


def anything(rng: random.Random, persons: int) -> list[dict[str, Any]]:
    """Answers without sense: all kinds of questions, roles, gaps and repetitions."""
    rows: list[dict[str, Any]] = []
    for p in range(persons):
        lazy = rng.random() < 0.5
        for i in range(rng.randint(1, 14)):
            role = rng.choice(["real", "real", "real", "gold", "duplicate", "onboarding", "survey"])
            shown = BEGAN + timedelta(seconds=rng.choice([0, 10, 20, i, 100 - i]), microseconds=i)
            of_showing = {
                "person": f"p{p}",
                "presentation": f"p{p}-{i}",
                "role": role,
                "item": None if role == "survey" else f"i{rng.randint(0, 4)}",
                "shown_at": shown,
                "shown_left": rng.choice("ab"),
                "seconds": rng.choice([None, 1.0, 2.9, 3.0, 8.0]),
                "text": rng.choice([None, TEXT]),
                "context": rng.choice([None, "", TEXT.upper()]),
            }
            for question in ("pair", "class", "likert", "marks", "words"):
                if rng.random() < 0.3:
                    continue
                known = role in ("gold", "onboarding") and rng.random() < 0.7
                match question:
                    case "pair":
                        options, measurement = ["a", "b", "tie", None], "preference"
                        if lazy:
                            options = [of_showing["shown_left"]]
                    case "class":
                        options, measurement = [["yes"], ["yes", "no", None]][rng.random() < 0.3], "nominal"
                    case "likert":
                        options, measurement = ["1", "2", "3", "4", None], "interval"
                    case "marks":
                        marked = {"question": "marks", "measurement": "marks"}
                        rows += [
                            vote(**of_showing, **marked, turn=turn, answer=rng.choice(["bad", "good"]))
                            for turn in rng.sample(range(3), rng.randint(0, 2))
                        ]
                        continue
                    case _:
                        options, measurement = ["some words", "others"], "text"
                answer = rng.choice(options)
                expected = rng.choice([option for option in options if option]) if known else None
                correct = None if expected is None or rng.random() < 0.5 else answer == expected
                reason = rng.choice(
                    [
                        None,
                        " ",
                        "Good!",
                        "good",
                        "!!",
                        TEXT[5 : rng.randint(20, 70)],
                        "I say: " + TEXT[5 : rng.randint(20, 70)],
                        " ".join(rng.choices(WORDS.split(), k=5)),
                    ]
                )
                rows.append(
                    vote(
                        **of_showing,
                        question=question,
                        measurement=measurement,
                        answer=answer,
                        expected=expected,
                        correct=correct,
                        reason=reason,
                    )
                )
    return rows


def some_rules(rng: random.Random) -> list[Rule]:
    mark, least = rng.choice(MARKS), rng.randint(1, 4)
    return [
        OnboardingBelow(mark=mark),
        GoldBelow(mark=mark, least=least),
        InconsistentDuplicates(mark=mark, least=least),
        TooFast(share=mark, least=least),
        ConstantSide(p=rng.choice([0.01, 0.2, 0.6]), least=max(2, least)),
        CopiedReasons(share=mark, least=max(2, least)),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_rules_find_whom_a_loop_by_hand_finds(seed: int) -> None:
    rng = random.Random(seed)
    rows = anything(rng, 12)
    for rule in some_rules(rng):
        found = {broken.person for broken in broken_rules(table(rows), [rule])}
        assert found == by_hand.broken(rows, rule), rule


def test_the_loop_has_found_each_rule_often_enough_to_say_so() -> None:
    counts = dict.fromkeys(by_hand.RULES, 0)
    for seed in range(40):
        rng = random.Random(seed)
        rows = anything(rng, 12)
        for rule in some_rules(rng):
            counts[rule.rule] += 0 < len(by_hand.broken(rows, rule)) < 12
    assert min(counts.values()) >= 10, counts


@pytest.mark.parametrize(("n", "a_left"), [(2, 1), (3, 1), (6, 3), (7, 3), (8, 1), (9, 0), (12, 6)])
def test_the_chance_of_one_side_is_that_of_all_ways_the_sides_can_fall(n: int, a_left: int) -> None:
    # always the left one: the answers are what stood there
    lefts = ["a"] * a_left + ["b"] * (n - a_left)
    rows = [vote(item=f"i{i}", answer=left, shown_left=left) for i, left in enumerate(lefts)]
    p = by_hand.chance_of_one_side(n, a_left, a_left)
    exactly, more = ConstantSide(p=min(p, 0.999), least=2), ConstantSide(p=min(p * 1.001, 0.999), least=2)
    assert broken_rules(table(rows), [exactly]) == []
    assert len(broken_rules(table(rows), [more])) == (p < 0.99)
    assert p >= 2 * 0.5**n


def test_sentences_have_the_numbers() -> None:
    rows = [vote(role="gold", item=f"g{i}", expected="a", answer="ab"[i > 1]) for i in range(8)]
    rows += [vote(item=f"i{i}", seconds=seconds) for i, seconds in enumerate([1.0, 2.0, 2.5, 9.0])]
    [gold, fast] = broken_rules(table(rows), [GoldBelow(), TooFast()])
    assert (gold.person, gold.rule, gold.action) == ("p1", "gold_below", "block")
    assert gold.sentence == "2 of 8 gold items right, at least 75 % required"
    assert fast.sentence == "3 of 4 items answered in less than 3 s (median 2.2 s), at most 50 % allowed"


def test_three_of_four_are_enough_where_three_quarters_are_wanted() -> None:
    for n in range(1, 60):
        for right in range(n + 1):
            rows = [vote(role="gold", item=f"g{i}", expected="a", answer="ba"[i < right]) for i in range(n)]
            assert broken_rules(table(rows), [GoldBelow(mark=right / n, least=1)]) == []


def test_the_last_attempt_at_onboarding_counts() -> None:
    def attempt(number: int, answers: str) -> list[dict[str, Any]]:
        return [
            vote(
                role="onboarding",
                item=f"o{i}",
                presentation=f"{number}-{i}",
                expected="a",
                answer=answer,
                shown_at=BEGAN + timedelta(minutes=number),
            )
            for i, answer in enumerate(answers)
        ]

    failed, passed = attempt(1, "abb"), attempt(2, "aaa")
    assert broken_rules(table(failed + passed), [OnboardingBelow(mark=1)]) == []
    assert broken_rules(table(passed + failed), [OnboardingBelow(mark=1)]) == []  # whatever the order of rows
    again = attempt(3, "abb")
    [broken] = broken_rules(table(failed + passed + again), [OnboardingBelow(mark=1)])
    assert broken.sentence == "1 of 3 onboarding items right, at least 100 % required"


def test_the_same_conversation_on_the_other_side_is_the_same_answer() -> None:
    rows = []
    for i in range(4):
        rows.append(vote(item=f"i{i}", answer="a", shown_left="a"))
        rows.append(vote(item=f"i{i}", answer="a", shown_left="b", role="duplicate"))
    assert broken_rules(table(rows), [InconsistentDuplicates(mark=1)]) == []
    always_left = [{**row, "answer": row["shown_left"]} for row in rows]
    assert [broken.sentence for broken in broken_rules(table(always_left), [InconsistentDuplicates()])] == [
        "0 of 4 repeated items answered as before, at least 50 % required"
    ]


def test_ratings_always_the_same_are_held_against_those_of_others() -> None:
    rng = random.Random(3)
    others = [
        text_vote(person=f"p{p}", item=f"i{i}", answer=rng.choice(["yes", "no", "no"]))
        for p in range(20)
        for i in range(15)
    ]
    same = [text_vote(person="same", item=f"i{i}", answer="yes") for i in range(15)]
    mild = [text_vote(person="mild", item=f"i{i}", answer="no") for i in range(15)]
    found = broken_rules(table(others + same + mild), [ConstantSide()])
    assert [broken.person for broken in found] == ["same"]
    assert found[0].sentence.startswith("toxicity: always 'yes' in 15 answers, by chance p = ")
    assert broken_rules(table(same), [ConstantSide()]) == []  # nobody to compare with


def test_a_quotation_is_no_copy_and_a_copy_is_one() -> None:
    def reasons(*texts: str) -> pl.DataFrame:
        return table([text_vote(item=f"i{i}", reason=text, text=TEXT) for i, text in enumerate(texts)])

    quoted = (
        "'She never knew what the women wanted' makes all women one person, which is a stereotype and unfair"
    )
    quotes = [f"{quoted}, says number {i}" for i in ("one", "two", "three")]
    assert broken_rules(reasons(*quotes), [CopiedReasons()]) == []
    pasted = [TEXT, "she never knew WHAT THE WOMEN wanted!", "and then went home to sleep..."]
    [broken] = broken_rules(reasons(*pasted), [CopiedReasons()])
    assert broken.sentence == (
        "3 of 3 reasons copied (0 from the reason for another item, 3 from the text shown), at most 50 % allowed"
    )
    [broken] = broken_rules(reasons("It is rude.", "it is  rude", "IT IS RUDE!"), [CopiedReasons()])
    assert "3 of 3 reasons copied (3 from the reason for another item" in broken.sentence


def test_the_reason_given_for_a_repeated_item_may_be_the_same() -> None:
    rows = [
        text_vote(item=f"i{i}", role=role, reason=f"because of {WORDS[9 * i : 9 * i + 9]}")
        for i in range(4)
        for role in ("real", "duplicate")
    ]
    assert broken_rules(table(rows), [CopiedReasons()]) == []


def test_excluded_names_rules_that_count_and_what_was_rejected() -> None:
    rows = [
        vote(
            person=person, role="gold", item=f"g{i}", expected="a", answer=answer, seconds=1.0, review=review
        )
        for person, answer, review in (("p1", "a", None), ("p2", "b", "rejected"), ("p3", "b", "accepted"))
        for i in range(3)
    ]
    rows += [vote(person=person, item=f"i{i}", seconds=1.0) for person in ("p1", "p3") for i in range(3)]
    rules = [GoldBelow(), TooFast(action="flag"), GoldBelow(mark=1, action="exclude")]
    votes = table(rows).with_columns(
        excluded=pl.when(pl.col("person") == "p1").then(pl.lit("by_hand,too_fast"))
    )
    out = apply_rules(votes, rules)
    assert out.drop("excluded").equals(votes.drop("excluded"))
    assert out.select("person", "excluded").unique(maintain_order=True).rows() == [
        ("p1", "by_hand"),
        ("p2", "gold_below,rejected"),
        ("p3", "gold_below"),
    ]
    assert apply_rules(out, rules).equals(out)
    assert apply_rules(out, [])["excluded"].to_list()[:5] == ["by_hand"] * 3 + ["rejected"] * 2


def test_nobody_breaks_anything_where_nobody_answered() -> None:
    nobody = pl.DataFrame(schema=VOTES)
    rules = some_rules(random.Random(0))
    assert broken_rules(nobody, rules) == []
    assert apply_rules(nobody, rules).schema == nobody.schema


def test_any_wrong_attempt_counts_where_the_rule_says_so() -> None:
    """Two onboarding items in two attempts: p0 errs in the first, p1 in the second, p2 in none."""
    rows = [
        vote(
            person=f"p{person}",
            presentation=f"p{person}-{attempt}-{item}",
            role="onboarding",
            item=f"o{item}",
            question="who",
            measurement="preference",
            expected="a",
            answer="b" if (person, item) == (attempt, 0) else "a",
            shown_at=BEGAN + timedelta(minutes=attempt, seconds=item),
        )
        for person in range(3)
        for attempt in range(2)
        for item in range(2)
    ]
    out = {
        attempts: {
            broken.person: broken.sentence
            for broken in broken_rules(table(rows), [OnboardingBelow(mark=1, attempts=attempts)])
        }
        for attempts in ("last", "any")
    }
    told = "1 of 2 onboarding items right, at least 100 % required"
    assert out == {"last": {"p1": told}, "any": {"p0": told, "p1": told}}
