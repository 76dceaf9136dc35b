"""The front door: what passes, what it says, and that nothing passes of which nothing could be seen."""

import pytest

import evenhand as eh
from evenhand.schema import GateFailed, UsageError
from evenhand.studies.agreement import AgreementStudy
from evenhand.studies.gate import Case, GateOutcome

PASSED = Case("worse", "regard", "age", "passed", "", unit="points", smallest=20.0)
WIDE = Case("worse", "regard", "race", "passed", "", unit="points", smallest=7.0)
BLANK = Case("worse", "regard", "religion", "could not have been seen", "one prompt a group")
FAILED = Case("worse", "regard", "gender", "failed", "worse than before for women", ends=True)


@pytest.fixture(scope="module")
def report(written_runs):
    return eh.compare(written_runs["calm"], written_runs["rude"], names=["calm", "rude"])


def test_a_pass_states_the_minimum_detectable_effect():
    outcome = GateOutcome((PASSED, WIDE, BLANK))
    assert outcome.passed and outcome.failures == ()
    judged = "gate passed (worse): no violation in 2 of 3 checks; 1 check was not measurable"
    first = f"{judged}. Minimum detectable effect (80% power): 7.00 to 20.0 points"
    assert outcome.lines == (first, "could not have been seen (worse): regard, religion — one prompt a group")
    outcome.raise_for_failure()


def test_a_failure_says_why_in_one_line_and_everything_in_all():
    outcome = GateOutcome((PASSED, FAILED, BLANK, BLANK), ("a note",))
    assert not outcome.passed and outcome.failures == (FAILED,)
    assert outcome.lines[0] == "gate failed (worse): regard, gender — worse than before for women."
    assert outcome.lines[-1] == "note: a note" and len(outcome.lines) == 5
    with pytest.raises(GateFailed, match="worse than before for women") as error:
        outcome.raise_for_failure()
    assert isinstance(error.value, eh.EvenhandError) and error.value.exit_code == 4


def test_what_was_planted_fails_and_its_twin_passes(report, written_runs):
    failed = eh.gate(report, ["disparity > 5 points", "new biased", "worse on gender and sex"])
    assert {(case.condition, case.axis) for case in failed.failures} == {
        ("disparity > 5 points", "race_ethnicity"), ("new biased", "race_ethnicity"),
    }  # fmt: skip
    assert "Black people" in failed.lines[0]
    twin = eh.compare(written_runs["calm"], written_runs["calm"], names=["calm", "again"])
    assert eh.gate(
        twin, ["disparity > 5 points", "new biased", "worse", "level higher", "refusals higher"]
    ).passed
    # by hand: ten prompts without a change in each of two groups, at 97.5 %, each by one of its twenty responses
    hidden = 100 * (1 - 0.025**0.1) * 2**0.5 / 20
    assert not eh.gate(twin, ["disparity > 5 points"], require_power=1).passed, (
        "ten prompts a group see little"
    )
    assert eh.gate(twin, ["worse"], require_power=hidden + 0.1).passed
    short = eh.gate(twin, ["worse"], require_power=hidden - 0.1)
    assert not short.passed and short.failures[0].smallest == pytest.approx(hidden)
    assert not eh.gate(twin, ["biased"]).passed, "who was biased before is biased still"


def test_a_pass_states_a_level_that_rose_for_all_groups(tmp_path):
    """Of the ten samples of each prompt 1 is negative before and 4 after, whoever it is about."""
    from evenhand.models.puppets import writes

    def run(name, negative):
        model = writes(lambda prompt, sample: " a horrible liar." if sample < negative else " a cook.", name)
        return eh.audit(
            model, benchmarks=["regard"], samples=10, classifiers={"regard": "vader"}, output=tmp_path / name
        )

    report = eh.compare(run("before", 1), run("after", 4), output=tmp_path / "compared")
    outcome = eh.gate(report, ["disparity > 5 points"])
    told = "responses became more negative for all groups together: 10.0% to 40.0%"
    assert outcome.passed and told in outcome.lines[0]
    asked = eh.gate(report, ["disparity > 5 points", "level higher"])
    assert not asked.passed and "higher than before: 30.0 points" in asked.lines[0]
    back = eh.compare(tmp_path / "after", tmp_path / "before", output=tmp_path / "back")
    assert "became more negative" not in eh.gate(back, ["disparity > 5 points"]).lines[0]


def test_without_conditions_each_kind_has_one(report, written_runs):
    assert {case.condition for case in eh.gate(report).cases} == {"worse"}
    assert {case.condition for case in eh.gate(written_runs["calm"]).cases} == {"biased"}


def test_a_table_holds_every_case(report):
    table = eh.gate(report, ["worse"]).table
    assert table.height == 3 + 1, "each axis, and silence on the one where somebody fell silent"
    assert table["status"].unique().sort().to_list() == ["failed", "passed"]


def test_nothing_passes_of_which_nothing_could_be_judged(tmp_path):
    from evenhand.models.puppets import writes

    run = eh.audit(
        writes(lambda prompt, sample: " a cook."), benchmarks=["regard"], limit=6, samples=2,
        classifiers={"regard": "vader"}, output=tmp_path / "run",
    )  # fmt: skip
    outcome = eh.gate(run, ["biased"])
    assert {case.status for case in outcome.cases} == {"could not have been seen"} and not outcome.passed
    assert outcome.lines[0].startswith(
        "gate not passed, because a violation could not have been detected (biased): regard"
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"require_power": "3 nats"}, "no result has the unit nats"),
        ({"require_power": 0}, "above 0"),
        ({"fail_if": ["fails"]}, "works with a consistency check only"),
    ],
)
def test_what_cannot_be_asked_of_a_comparison(report, arguments, told):
    with pytest.raises(UsageError, match=told):
        eh.gate(report, **arguments)


def test_a_result_without_verdicts_is_refused(tmp_path):
    with pytest.raises(UsageError, match="AgreementStudy has no verdicts"):
        eh.gate(AgreementStudy(tmp_path, ()))
