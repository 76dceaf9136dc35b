"""Likelihood benchmarks on models with a planted preference: it is found where it is, and nowhere else."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.models.puppets import Puppet, avoids, load_puppet, prefers, random_puppet

SILENT = {"failing": "model_error", "nan": "not_finite", "refusing": "refused", "blank": "empty_text"}
CASES = {
    "evenhand-likelihood": ("causal", "likelihood_spread", "valence_spread"),
    "evenhand-pll": ("masked", "pseudo_log_likelihood_spread", "humanising_spread"),
    "holisticbias-likelihood": ("causal", "likelihood_spread", "valence_spread"),
    "holisticbias-pll": ("masked", "pseudo_log_likelihood_spread", "humanising_spread"),
}
OURS = [pytest.param(name, id=name) for name in CASES if name.startswith("evenhand")]
PUBLISHED = [
    pytest.param(name, id=name, marks=pytest.mark.parity) for name in CASES if name.startswith("holistic")
]
LIMIT = 2500
PLANTED = "religion"
AXES = ("age", "nationality", PLANTED)


@pytest.fixture(scope="session")
def sampled(request):
    """sampled(name): a part of a benchmark's prompts, built once."""
    kept = {}

    def of(name):
        if name not in kept:
            benchmark, folders = load_benchmark(name), {}
            if benchmark.datasets:
                folders = {"holisticbias": request.getfixturevalue("shared") / "data" / "holisticbias"}
            prompts = benchmark.build(folders).filter_axes(AXES)
            kept[name] = benchmark.sample(prompts, LIMIT, seed=0)
        return kept[name]

    return of


def of_architecture(puppet: Puppet, name: str) -> Puppet:
    puppet.architecture = CASES[name][0]
    return puppet


def preferring(texts: set[str], name: str, sign: int = 1) -> Puppet:
    """A model that finds some texts more (or less) likely and all others exactly alike, however long.

    What is compared is the likelihood of a sentence, and of a phrase in a masked model that per token.
    """
    if CASES[name][0] == "masked":
        return of_architecture((prefers if sign > 0 else avoids)(texts), name)

    def value(asked):
        totals = np.array([-20.0 + sign * 8.0 * (text in texts) for text in asked])
        return (totals / [len(text.split()) for text in asked]).astype(np.float32)

    return Puppet("preferring", value)


def descriptors(prompts, axis: str) -> list[str]:
    return sorted(prompts.frame.filter(pl.col("axis") == axis)["descriptor"].unique())


def texts_with(prompts, axis: str, descriptor: str, *, hostile_only: bool = False) -> set[str]:
    chosen = (pl.col("axis") == axis) & (pl.col("descriptor") == descriptor)
    if hostile_only:
        chosen &= pl.col("valence") == "negative"
    return set(prompts.frame.filter(chosen)["text"])


def described(got, measure: str, axis: str) -> dict:
    chosen = (pl.col("measure") == measure) & (pl.col("axis") == axis) & pl.col("group").is_null()
    return got.measurements.filter(chosen).row(0, named=True)


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_descriptor_that_stands_out_has_the_exact_spread_and_no_other_axis_has_any(
    put, sampled, name, sign
):
    prompts, (_, headline, _) = sampled(name), CASES[name]
    chosen = descriptors(prompts, PLANTED)[0]
    got = put(load_benchmark(name), prompts, preferring(texts_with(prompts, PLANTED, chosen), name, sign))
    estimates = got.estimates(headline)
    spread = estimates.pop(PLANTED)
    assert list(estimates.values()) == pytest.approx([0.0] * len(estimates), abs=1e-6)
    profile = got.measurements.filter(pl.col("group") == chosen).filter(pl.col("axis") == PLANTED)
    row = profile.filter(pl.col("measure") == "descriptor_log_ratio")
    assert len(row) == 1
    assert np.sign(row["estimate"][0]) == -sign, "preferred means less surprising than the others"
    assert abs(row["estimate"][0]) > 0.5
    # one of d at a distance x from the others, which tie exactly: an SD of x over the root of d
    number = len(descriptors(prompts, PLANTED))
    assert spread == pytest.approx(abs(row["estimate"][0]) / np.sqrt(number), rel=1e-6)
    if CASES[name][0] == "causal":
        assert abs(row["estimate"][0]) == pytest.approx(8.0, rel=1e-4), "nats of the whole sentence"
    assert headline not in set(got.findings["measure"]), "how common a name is, is nobody's bias"


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
def test_a_model_without_opinion_is_ideal_everywhere(put, sampled, name):
    _, headline, spread = CASES[name]
    got = put(load_benchmark(name), sampled(name), preferring(set(), name))
    axes = set(sampled(name).frame["axis"].unique())
    for measure in (headline, spread):
        estimates = got.estimates(measure)
        # of the published sentences three pairs are opinions, of which a small part of the prompts may hold one
        known = [value for value in estimates.values() if value is not None]
        assert set(estimates) == axes and max(known, default=0.0) < 1e-6
        assert len(known) == len(axes) or name == "holisticbias-likelihood"
    if name.startswith("evenhand"):
        assert set(got.verdicts(spread).values()) == {"not detected"}


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_is_not_called_bias(put, sampled, name, seed):
    _, _, spread = CASES[name]
    got = put(load_benchmark(name), sampled(name), of_architecture(random_puppet(seed), name), seed=seed)
    assert "biased" not in set(got.verdicts(spread).values())
    assert set(got.verdicts(spread)) == set(sampled(name).frame["axis"].unique())


def test_published_tests_find_five_percent_of_nothing_or_had_too_few_nouns_to_find_anything(put):
    benchmark = load_benchmark("evenhand-likelihood")
    prompts = benchmark.build({}).filter_axes(["nonce"])
    of_limit = {}
    for limit in (1000, 5200):
        frame = benchmark.sample(prompts, limit, seed=0)
        nouns = frame.frame.group_by("template").agg(pl.col("noun").n_unique())["noun"].max()
        published = put(benchmark, frame, random_puppet(1)).estimates("likelihood_bias_published")
        of_limit[nouns] = published["nonce"], published[None]
    assert of_limit[2] == (None, None), "not a share of zero: no two pairs of numbers can be told apart"
    assert of_limit[12] == pytest.approx((0.05, 0.05), abs=0.02)


@pytest.mark.parametrize("name", OURS)
def test_a_preference_is_seen_under_noise_and_on_its_axis_only(put, sampled, name):
    prompts, (_, headline, _) = sampled(name), CASES[name]
    disliked, noise = texts_with(prompts, PLANTED, descriptors(prompts, PLANTED)[0]), random_puppet(5)

    def value(texts):
        dislike = np.array([3.0 * (text in disliked) for text in texts], dtype=np.float32)
        return noise.token_log_prob(texts) - dislike

    got = put(load_benchmark(name), prompts, of_architecture(Puppet("planted", value), name))
    number = len(descriptors(prompts, PLANTED))
    row = got.measurements.filter(
        pl.col("measure") == "descriptor_log_ratio", pl.col("axis") == PLANTED, pl.col("group").is_not_null()
    ).sort("estimate", descending=True)
    assert row["group"][0] == descriptors(prompts, PLANTED)[0] and row["low"][0] > 0
    estimates = got.estimates(headline)
    planted = estimates.pop(PLANTED)
    assert planted == pytest.approx(row["estimate"][0] / np.sqrt(number), rel=0.5)
    assert planted > 2 * max(estimates.values())


def test_hostility_towards_one_descriptor_is_found_as_valence_and_not_on_other_axes(put, sampled):
    name = "evenhand-likelihood"
    benchmark, noise = load_benchmark(name), random_puppet(6)
    opinions = benchmark.build({}).filter_axes(AXES).filter(pl.col("kind") == "opinion")
    prompts = benchmark.sample(opinions, LIMIT, seed=0)
    chosen = descriptors(prompts, PLANTED)[0]
    hostile = texts_with(prompts, PLANTED, chosen, hostile_only=True)
    assert hostile

    def value(texts):  # hostile sentences about this descriptor come easily: by 6 nats each
        ease = np.array([6.0 * (text in hostile) / len(text.split()) for text in texts])
        return (ease - 2 + 0.05 * (noise.token_log_prob(texts) + 2)).astype(np.float32)

    got = put(benchmark, prompts, Puppet("hostile", value))
    verdicts = got.verdicts("valence_spread")
    assert verdicts.pop(PLANTED) == "biased"
    assert "biased" not in set(verdicts.values())
    shifts = got.measurements.filter((pl.col("measure") == "valence_shift") & (pl.col("axis") == PLANTED))
    assert shifts.sort("estimate")["group"][0] == chosen
    assert shifts["estimate"].min() < -3


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
@pytest.mark.parametrize("puppet", SILENT)
def test_nothing_answered_is_not_measurable_and_counted(put, sampled, name, puppet):
    _, headline, spread = CASES[name]
    prompts = sampled(name)
    got = put(load_benchmark(name), prompts, of_architecture(load_puppet(puppet), name))
    assert got.responses["error"].unique().to_list() == [SILENT[puppet]]
    assert set(got.findings["verdict"]) == {"not measurable"}
    axes = set(prompts.frame["axis"].unique())
    assert set(got.verdicts(spread)) == axes, "every axis is accounted for"
    for measure in (headline, spread):
        assert set(got.estimates(measure)) == axes and set(got.estimates(measure).values()) == {None}
    if name.endswith("likelihood"):
        share = got.estimates("likelihood_bias_published")
        assert set(share.values()) == {None}, "no answer is not a share of zero"
    rows = got.measurements.filter((pl.col("measure") == headline) & pl.col("group").is_null())
    assert rows["n"].sum() == 0
    # a pseudo-log-likelihood bias is read off the humanising half of the prompts
    counted = prompts.frame if name.endswith("likelihood") else prompts.frame.filter(pl.col("humanising"))
    assert rows["n_missing"].sum() == counted.height


def test_half_of_the_answers_missing_on_one_axis_is_said_there(put, sampled):
    name = "evenhand-likelihood"
    prompts = sampled(name)
    on_axis = prompts.frame.filter(pl.col("axis") == PLANTED)["text"]
    gone = set(on_axis.head(int(0.6 * len(on_axis))))

    def value(texts):
        return np.array(
            [np.nan if text in gone else -20 / len(text.split()) for text in texts], dtype=np.float32
        )

    got = put(load_benchmark(name), prompts, Puppet("patchy", value))
    verdicts = got.verdicts("valence_spread")
    assert verdicts.pop(PLANTED) == "not measurable"
    assert set(verdicts.values()) == {"not detected"}
    row = described(got, "likelihood_spread", PLANTED)
    # the same text may stand in more than one row
    assert row["n_missing"] == on_axis.is_in(list(gone)).sum()
    assert row["n"] + row["n_missing"] == len(on_axis)


def test_point_7_plan_and_run_state_the_smallest_effect_of_one_quantity(put, sampled):
    name = "evenhand-likelihood"
    benchmark, prompts = load_benchmark(name), sampled(name)
    got = put(benchmark, prompts, random_puppet(2))
    options = AnalysisOptions(n_axes=benchmark.count_axes(prompts.frame))
    plan = benchmark.minimum_detectable(prompts.frame, options)
    run = got.measurements.filter(pl.col("measure") == "valence_spread").sort("axis")
    assert plan["axis"].to_list() == run["axis"].to_list()
    assert plan["unit"].unique().to_list() == run["effect_unit"].unique().to_list()
    assert run["minimum_detectable"].null_count() == 0
    half = options.__class__(n_axes=1)
    assert (
        benchmark.minimum_detectable(prompts.frame, half)["minimum_detectable"] < plan["minimum_detectable"]
    ).all()


def test_point_6_the_part_of_an_axis_that_was_drawn_is_stated(put, sampled):
    got = put(load_benchmark("evenhand-likelihood"), sampled("evenhand-likelihood"), random_puppet(0))
    table = got.details["valence_axes"].filter(axis=PLANTED).row(0, named=True)
    assert table["n_defined"] == 78 > table["n_drawn"]
    assert table["chance_drawn"] == pytest.approx(table["n_drawn"] / 78)
    assert table["differ_low"] == 0 <= table["differ_high"] <= 78
