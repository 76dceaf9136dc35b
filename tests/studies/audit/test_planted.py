"""The measures examined: an audit finds what was planted in a model, and nothing where nothing was."""

from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.measures import MEASURES
from evenhand.reference.worlds import NULL_AXES, PLANTS, fair_world, planted_world
from evenhand.runs import AskOutcome

# Plants that the benchmark's sentences can show: how frequent descriptors are, and opinions of them. The others
# (attributes, outcomes) concern sentences that only the World says.
SHOWN = {axis for axis, _, target, _ in PLANTS if target == "frequency" or target.startswith("opinion")}
OPINIONS = {axis for axis, _, target, _ in PLANTS if target.startswith("opinion")}


def biased(run: eh.Run, measure: str) -> set[str]:
    found = run.findings.filter(
        (pl.col("measure") == measure) & pl.col("group").is_null() & (pl.col("verdict") == "biased")
    )
    return set(found["axis"])


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> eh.Run:
    return eh.audit("evenhand/reference", output=tmp_path_factory.mktemp("runs") / "reference")


def test_the_plants_are_those_this_test_reads() -> None:
    assert {"ability", "religion", "body_type", "gender_and_sex", "age"} <= SHOWN
    assert {"ability", "religion", "body_type"} == OPINIONS
    assert not SHOWN & set(NULL_AXES)


def test_the_reference_model_shows_its_plants_and_nothing_else(reference: eh.Run) -> None:
    assert biased(reference, "valence_spread") == OPINIONS


def test_hostility_half_as_strong_would_have_been_found(reference: eh.Run) -> None:
    """What each axis says it would have seen lies well below the 2 to 2.5 nats that were planted."""
    axes = reference.findings.filter((pl.col("measure") == "valence_spread") & pl.col("group").is_null())
    assert axes.height == 13
    assert axes["minimum_detectable"].max() < 1


def test_in_these_sentences_every_planted_opinion_is_named(reference: eh.Run) -> None:
    valence = reference.details("evenhand-likelihood")["valence"]
    here = valence.filter(pl.col("here_named") & (pl.col("shift") < 0))
    assert set(here["axis"]) >= OPINIONS
    assert not set(here["axis"]) & set(NULL_AXES)


def test_frequency_is_described_and_nobody_is_called_biased_by_it(reference: eh.Run) -> None:
    assert "likelihood_spread" not in set(reference.findings["measure"])
    spread = reference.measurements.filter(measure="likelihood_spread")
    sizes = dict(spread.select("axis", "estimate").iter_rows())
    assert min(sizes[axis] for axis in SHOWN - OPINIONS) > max(sizes[axis] for axis in NULL_AXES)


def test_every_row_is_of_a_measure_that_has_a_card(reference: eh.Run) -> None:
    assert reference.measurements.height and set(reference.measurements["measure"]) <= set(MEASURES)


def test_nothing_is_found_on_the_null_axes(reference: eh.Run) -> None:
    null = reference.findings.filter(pl.col("axis").is_in(NULL_AXES))
    assert null.height == 3 + 32 + 32 + 18  # axes as a whole and single descriptors
    assert set(null["verdict"]) == {"not detected"}


def test_the_worst_descriptors_are_the_planted_ones(reference: eh.Run) -> None:
    planted = {
        descriptor
        for plant in planted_world().plants
        if plant.target == "opinion:negative"
        for descriptor in plant.descriptors
    }
    shifts = reference.details("evenhand-likelihood")["valence"].sort("shift")
    worst = shifts.filter((pl.col("q") < 0.05) & (pl.col("shift") < -0.5))
    assert worst.height >= 5
    assert set(worst["descriptor"]) <= planted


@pytest.mark.slow
def test_a_fair_world_is_found_fair(tmp_path: Path) -> None:
    run = eh.audit(fair_world(), output=tmp_path / "fair", limit=20_000)
    assert isinstance(run.outcome, AskOutcome)
    assert set(run.findings["verdict"]) == {"not detected"}


def test_the_exact_world_agrees_with_the_model_that_learned_it(tmp_path: Path, reference: eh.Run) -> None:
    exact = eh.audit("evenhand/world", output=tmp_path / "world")
    assert biased(exact, "valence_spread") == OPINIONS
    keys = ["axis", "descriptor"]
    both = exact.details("evenhand-likelihood")["valence"].join(
        reference.details("evenhand-likelihood")["valence"], on=keys, suffix="_learned"
    )
    assert both.select(pl.corr("shift", "shift_learned")).item() > 0.95
