"""Likelihood benchmarks on models with a planted preference: it is found where it is, and nowhere else."""

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.models.puppets import Puppet, avoids, load_puppet, prefers, random_puppet

SILENT = {"failing": "model_error", "nan": "not_finite", "refusing": "refused", "blank": "empty_text"}
CASES = {
    "evenhand-likelihood": ("causal", "likelihood_bias", "valence_spread"),
    "evenhand-pll": ("masked", "pseudo_log_likelihood_bias", "humanising_spread"),
    "holisticbias-likelihood": ("causal", "likelihood_bias", "valence_spread"),
    "holisticbias-pll": ("masked", "pseudo_log_likelihood_bias", "humanising_spread"),
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


def expected_share(prompts, name: str) -> float:
    """Share of pairs that differ where one descriptor stands out and all others tie exactly.

    Its d - 1 of d (d - 1) / 2 pairs can be told in every template in which n nouns that all agree are
    enough: a sign that never changes has p = 2 ** (1 - n), to be below the level that d - 1 rejections get.
    """
    rows = prompts.frame.filter(pl.col("axis") == PLANTED)
    if CASES[name][0] == "masked":
        rows = rows.filter(pl.col("humanising"))
    d = rows["descriptor"].n_unique()
    pairs = d * (d - 1) / 2
    nouns = rows.group_by("template").agg(pl.col("noun").n_unique())["noun"]
    told = sum(2.0 ** (1 - n) <= 0.05 * (d - 1) / pairs for n in nouns)
    assert told >= len(nouns) / 2
    return told / len(nouns) * (d - 1) / pairs


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_descriptor_that_stands_out_has_the_exact_share_and_no_other_axis_has_any(put, sampled, name, sign):
    prompts, (_, headline, _) = sampled(name), CASES[name]
    chosen = descriptors(prompts, PLANTED)[0]
    got = put(load_benchmark(name), prompts, preferring(texts_with(prompts, PLANTED, chosen), name, sign))
    estimates, verdicts = got.estimates(headline), got.verdicts(headline)
    assert estimates.pop(PLANTED) == pytest.approx(expected_share(prompts, name), abs=1e-12)
    assert verdicts.pop(PLANTED) == "biased"
    assert set(estimates.values()) == {0.0}
    assert set(verdicts.values()) == {"not detected"}
    profile = got.measurements.filter(pl.col("group") == chosen).filter(pl.col("axis") == PLANTED)
    row = profile.filter(pl.col("measure") == "descriptor_log_ratio")
    assert len(row) == 1
    assert np.sign(row["estimate"][0]) == -sign, "preferred means less surprising than the others"
    assert abs(row["estimate"][0]) > 0.5


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
def test_a_model_without_opinion_is_ideal_everywhere(put, sampled, name):
    _, headline, spread = CASES[name]
    got = put(load_benchmark(name), sampled(name), preferring(set(), name))
    axes = set(sampled(name).frame["axis"].unique())
    assert got.estimates(headline) == dict.fromkeys(axes, 0.0)
    assert set(got.estimates(spread)) == axes
    for measure in (headline, spread):
        assert set(got.verdicts(measure).values()) == {"not detected"}


@pytest.mark.parametrize("name", [*OURS, *PUBLISHED])
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_is_not_called_bias(put, sampled, name, seed):
    _, headline, spread = CASES[name]
    got = put(load_benchmark(name), sampled(name), of_architecture(random_puppet(seed), name), seed=seed)
    for measure in (headline, spread):
        assert set(got.verdicts(measure).values()) == {"not detected"}, measure
    if CASES[name][0] == "causal":
        published = got.estimates(f"{headline}_published")[None]
        assert published == pytest.approx(0.05, abs=0.03), "an uncorrected 5 % test finds 5 % of nothing"


@pytest.mark.parametrize("name", OURS)
def test_a_preference_is_found_under_noise_and_on_its_axis_only(put, sampled, name):
    prompts, (_, headline, _) = sampled(name), CASES[name]
    disliked, noise = texts_with(prompts, PLANTED, descriptors(prompts, PLANTED)[0]), random_puppet(5)

    def value(texts):
        dislike = np.array([3.0 * (text in disliked) for text in texts], dtype=np.float32)
        return noise.token_log_prob(texts) - dislike

    got = put(load_benchmark(name), prompts, of_architecture(Puppet("planted", value), name))
    verdicts = got.verdicts(headline)
    assert verdicts.pop(PLANTED) == "biased"
    assert set(verdicts.values()) == {"not detected"}


def test_hostility_towards_one_descriptor_is_found_as_valence_and_not_on_other_axes(put, sampled):
    name = "evenhand-likelihood"
    prompts, noise = sampled(name), random_puppet(6)
    chosen = descriptors(prompts, PLANTED)[0]
    hostile = texts_with(prompts, PLANTED, chosen, hostile_only=True)
    assert hostile

    def value(
        texts,
    ):  # hostile sentences about this descriptor come easily: 0.5 instead of about 2 nats a word
        likely = np.array([text in hostile for text in texts])
        return np.where(likely, -0.5, -2 + 0.05 * (noise.token_log_prob(texts) + 2)).astype(np.float32)

    got = put(load_benchmark(name), prompts, Puppet("hostile", value))
    verdicts = got.verdicts("valence_spread")
    assert verdicts.pop(PLANTED) == "biased"
    assert set(verdicts.values()) == {"not detected"}
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
    for measure in (headline, spread):
        assert set(got.verdicts(measure)) == axes, "every axis is accounted for"
        assert set(got.estimates(measure).values()) == {None}
    assert set(got.estimates(f"{headline}_published").values()) == {None}, "no answer is not a share of zero"
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
    verdicts = got.verdicts("likelihood_bias")
    assert verdicts.pop(PLANTED) == "not measurable"
    assert set(verdicts.values()) == {"not detected"}
    row = got.measurements.filter((pl.col("axis") == PLANTED) & (pl.col("measure") == "likelihood_bias"))
    # the same text may stand in more than one row
    assert row["n_missing"][0] == on_axis.is_in(list(gone)).sum()
    assert row["n"][0] + row["n_missing"][0] == len(on_axis)
