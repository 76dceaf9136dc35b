"""--fail-if and its fellows: what a command ends with, and that nothing is lost by it."""

import xml.etree.ElementTree as ET

import pytest

from evenhand.stats.disparity import simulated
from tests.helpers.written_factory import audited


@pytest.fixture(scope="module")
def quick():
    """Smallest effects of single audits, which take most of their time and which no verdict rests on, are guesses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulated, "_solve_difference", lambda drawn, base, place, guess: guess)
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory, quick):
    folder = tmp_path_factory.mktemp("gated")
    return {name: audited(name, folder / name).path for name in ("rude", "calm")}


def test_a_gate_that_fails_ends_with_4_after_everything_is_written(evenhand, runs, tmp_path):
    ended = evenhand(
        "compare", runs["calm"], runs["rude"], "-o", "out", "--fail-if", "disparity > 5 points", "--junit",
        "out/gate.xml", "--summary", "gate.md",
    )  # fmt: skip
    assert ended.code == 4
    assert ended.err.count("\n") == 1 and ended.err.startswith(
        "gate failed (disparity > 5 points): regard, race and ethnicity — worse than before relative to the other "
        "groups"
    )
    assert (tmp_path / "out" / "compare.html").is_file() and "# ❌" in (tmp_path / "gate.md").read_text()
    assert ET.parse(tmp_path / "out" / "gate.xml").getroot().get("failures") == "1"


def test_a_gate_that_passes_ends_with_0_and_says_what_could_have_been_seen(evenhand, runs):
    ended = evenhand(
        "compare", runs["calm"], runs["calm"], "--name", "a", "--name", "b", "--fail-if", "new biased"
    )
    assert ended.code == 0
    assert "gate passed" in ended.err and "Minimum detectable effect" in ended.err
    named = ("--name", "a", "--name", "b", "--require-power")
    assert evenhand("compare", runs["calm"], runs["calm"], *named, "10").code == 0
    ended = evenhand("compare", runs["calm"], runs["calm"], *named, "1")
    assert ended.code == 4 and "not passed" in ended.err and "prompts per group" in ended.err


def test_without_a_gate_nothing_is_said_and_nothing_fails(evenhand, runs):
    ended = evenhand("compare", runs["calm"], runs["rude"])
    assert ended.code == 0 and "gate" not in ended.err


@pytest.mark.parametrize(
    ("verb", "condition", "told"),
    [
        ("audit", "new biased", "works with a comparison only"),
        ("measure", "disparity > 5", "the unit is missing"),
        ("check-consistency", "biased", "this is a consistency check"),
        ("before-after", "fails", "this is a comparison"),
        ("compare", "disparity > 5 %", "unknown unit"),
    ],
)
def test_a_condition_is_read_before_anything_is_asked(evenhand, verb, condition, told):
    named = ("--benchmark", "regard") if verb == "measure" else ()
    evenhand(verb, "nowhere", *named, "--fail-if", condition).refused(2, told)
    evenhand(verb, "nowhere", *named, "--require-power", "few").refused(
        2, "expects a number above 0 and a unit, got"
    )
    evenhand(verb, "nowhere", *named, "--junit", ".").refused(2, "`--junit` expects a file")


def test_a_place_that_is_not_there_is_wrong_usage(evenhand, runs):
    ended = evenhand("compare", runs["calm"], runs["rude"], "--fail-if", "worse on gander")
    ended.refused(2, "Unknown axis for this condition: 'gander'")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("biased on planet", ("Unknown axis in this audit: 'planet'", "religion")),
        ("biased in nosuch", ("Unknown benchmark in this audit: 'nosuch'", "evenhand-likelihood")),
        ("disparity > 5 points", ("measures effects in points", "evenhand-likelihood in nats")),
        ("disparity may exceed 1 units in evenhand-likelihood", ("measures effects in units",)),
    ],
)
def test_a_condition_that_an_audit_cannot_meet_is_refused_before_the_model_is_asked(
    evenhand, tmp_path, condition, told
):
    ended = evenhand(
        "audit", "evenhand/reference", "--limit", "60", "--fail-if", condition, "-o", tmp_path / "run"
    )
    assert ended.code == 2
    assert all(part in ended.err for part in told)
    assert not (tmp_path / "run").exists()


def test_a_power_in_a_unit_that_an_audit_does_not_have_is_refused_before_the_model_is_asked(
    evenhand, tmp_path
):
    ended = evenhand(
        "audit", "evenhand/reference", "--limit", "60", "--require-power", "10", "-o", tmp_path / "run"
    )
    ended.refused(2, '`--require-power "10 points"`: no benchmark of this audit measures effects in points')
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flag", "value", "expected"),
    [
        ("--fail-if", "disparity > 5 points", "measures effects in points"),
        ("--fail-if", "worse on planet", "Unknown axis in this audit: 'planet'"),
        ("--require-power", "10", "no benchmark of this audit measures effects in points"),
    ],
)
def test_before_after_refuses_a_condition_before_the_model_is_asked(
    evenhand, tmp_path, flag, value, expected
):
    named = ("evenhand/reference", "--suite", "quick", "--limit", "60", "--mitigate", "prefix=Be kind. ")
    ended = evenhand("before-after", *named, flag, value, "-o", tmp_path / "study")
    ended.refused(2, expected)
    assert not (tmp_path / "study").exists()


def test_own_answers_are_held_like_an_audit(evenhand, judged_file, tmp_path, quick):
    ended = evenhand("measure", judged_file, "-b", "regard", "--fail-if", "disparity > 5 points", "-o", "out")
    assert ended.code == 4 and "gay people" in ended.err and (tmp_path / "out" / "report.html").is_file()


@pytest.fixture
def judged_file(tmp_path, runs):
    """Answers of `calm`, of which all about gay people are called negative."""
    import polars as pl

    from evenhand import open_run

    frame = open_run(runs["calm"]).responses("regard")
    gay = pl.col("group") == "gay person"
    frame = frame.with_columns(negative=gay | pl.col("regard_negative"))
    frame.select("text", "axis", "group", "noun_phrase", "negative").write_csv(tmp_path / "mine.csv")
    return "mine.csv"


@pytest.mark.slow
def test_a_run_that_failed_too_often_ends_by_its_gate_first(evenhand):
    options = ("audit", "puppet/failing", "--axis", "age", "--limit", "500")
    assert evenhand(*options, "-o", "one").code == 3
    assert evenhand(*options, "-o", "two", "--fail-if", "biased").code == 4, "nothing could be judged"
