"""From Python: a model object, prompts of one's own, groups of one's own, and responses one already has."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import evenhand as eh
from evenhand.benchmarks import AnalysisOptions, load_benchmark
from evenhand.measures import likelihood_spread
from evenhand.models.contract import Likelihoods, Texts
from evenhand.models.puppets import load_puppet, prefers, random_puppet
from evenhand.schema import DataError

LIMIT = 1500


class Mine:
    """A user's own model: anything with the methods of the contract, subclass of nothing."""

    architecture = "causal"

    def __init__(self):
        self.asked = 0

    @property
    def fingerprint(self):
        return {"name": "my model", "weights": "0123"}

    def describe(self):
        return {"architecture": "causal", "parameters": 12, "device": "mine"}

    def log_likelihoods(self, texts):
        texts = Texts.of(texts).texts
        self.asked += len(texts)
        counts = np.array([len(text.split()) for text in texts])
        totals = np.array([-28.0 if "Jewish" in text else -20.0 for text in texts])
        return Likelihoods(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            log_probs=np.repeat(totals / counts, counts).astype(np.float32),
            token_ids=np.zeros(counts.sum(), dtype=np.int32),
            starts=np.zeros(0, dtype=np.uint32),
            errors=[None] * len(texts),
        )


def own_prompts() -> pl.DataFrame:
    """A user's own little experiment: two axes, two templates that say opposite things, ten nouns."""
    nouns = [
        f"{first}{second}" for first in ("cook", "judge", "clerk", "nurse", "baker") for second in ("", "s")
    ]
    people = {"diet": ["vegan", "omnivorous"], "sleep": ["early-rising", "late-rising"]}
    rows = [
        (axis, template, descriptor, noun, template.replace("X", f"{descriptor} {noun}"))
        for axis, names in people.items()
        for template in ("I met some X today.", "Nobody trusts the X there.")
        for descriptor in names
        for noun in nouns
    ]
    return pl.DataFrame(rows, schema=["axis", "template", "descriptor", "noun", "text"], orient="row")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return eh.audit(random_puppet(3), limit=LIMIT, output=tmp_path_factory.mktemp("runs") / "run")


def test_a_model_object_of_ones_own(tmp_path):
    model = Mine()
    run = eh.audit(
        model, benchmarks=["evenhand-likelihood"], axes=["religion"], limit=3 * LIMIT, output=tmp_path / "r"
    )
    assert run.outcome.requests == model.asked > 500
    assert run.directory.manifest.model.fingerprint == model.fingerprint
    assert run.directory.manifest.arguments_resolved["model"] == "my model"
    assert run.findings["axis"].unique().to_list() == ["religion"]
    table = run.details("evenhand-likelihood")["descriptors"]
    jewish = [name for name in table["descriptor"] if "Jewish" in name]
    unlikely = table.sort("log_ratio", descending=True).head(len(jewish))
    assert sorted(unlikely["descriptor"]) == jewish != []
    assert (unlikely["low"] > 0).all()
    again = eh.audit(
        model, benchmarks=["evenhand-likelihood"], axes=["religion"], limit=3 * LIMIT, output=run.path
    )
    assert model.asked == run.outcome.requests, "what is answered is not asked again"
    assert_frame_equal(again.measurements, run.measurements)
    assert_frame_equal(eh.open_run(run.path).findings, run.findings)


def test_the_same_model_by_name_and_as_an_object_say_the_same(tmp_path, run):
    named = eh.audit("puppet/uniform", limit=LIMIT, output=tmp_path / "named")
    held = eh.audit(load_puppet("uniform"), limit=LIMIT, output=tmp_path / "held")
    assert_frame_equal(named.measurements, held.measurements)
    assert not named.measurements.equals(run.measurements)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_prompts_of_ones_own_from_a_file(tmp_path, kind):
    file = tmp_path / f"mine.{kind}"
    frame = own_prompts()
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](file)
    vegan = prefers(lambda text: "vegan" not in text)
    run = eh.audit(vegan, benchmarks=["evenhand-likelihood"], prompts=str(file), output=tmp_path / "run")
    spread = run.measurements.filter(pl.col("measure") == "likelihood_spread")
    estimates = dict(spread.select("axis", "estimate").rows())
    assert estimates["diet"] > 1.0 and estimates["sleep"] == pytest.approx(0.0, abs=1e-6)
    assert "valence_spread" not in run.measurements["measure"], "our matched templates were not asked"
    assert run.report().is_file()


def test_groups_of_ones_own_with_columns(put):
    benchmark = load_benchmark("evenhand-likelihood")
    prompts = benchmark.sample(benchmark.build({}).filter_axes(["age", "religion"]), LIMIT, seed=0)
    # the user's own grouping takes the place of the axis: everybody in one
    regrouped = prompts.with_columns(published_axis=pl.col("axis"), axis=pl.lit("everybody"))
    religious = set(prompts.frame.filter(pl.col("axis") == "religion")["text"])
    got = put(benchmark, regrouped, prefers(religious))
    assert "published_axis" in got.responses.columns
    together = got.estimates("likelihood_spread")
    assert set(together) == {"everybody"}
    apart = put(benchmark, prompts, prefers(religious)).estimates("likelihood_spread")
    assert set(apart) == {"age", "religion"}
    # within an axis only the number of words differs; across, who is preferred
    assert together["everybody"] > 2 * max(apart.values())


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_exported_responses_measure_as_the_run_itself(tmp_path, run, kind):
    name = "evenhand-likelihood"
    frame, file = run.responses(name), tmp_path / f"responses.{kind}"
    {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[kind](file)
    measured = eh.measure(file, name)
    keys = ["measure", "axis", "group", "stratum"]
    assert_frame_equal(
        measured.measurements.sort(keys), run.measurements.sort(keys), abs_tol=1e-9, rel_tol=1e-9
    )
    assert_frame_equal(
        measured.findings.drop("note").sort(keys), run.findings.drop("note").sort(keys), rel_tol=1e-9
    )


def test_perplexities_alone_are_enough(tmp_path, run):
    name = "evenhand-likelihood"
    needed = ["axis", "template", "descriptor", "noun", "perplexity"]
    run.responses(name).select(needed).write_csv(tmp_path / "bare.csv")
    measured = eh.measure(tmp_path / "bare.csv", name).measurements
    whole = run.measurements
    published = (pl.col("measure") == "likelihood_bias_published") & pl.col("group").is_null()
    columns = ["axis", "estimate", "n"]
    assert_frame_equal(
        measured.filter(published).select(columns), whole.filter(published).select(columns), rel_tol=1e-9
    )
    rows = measured.filter((pl.col("measure") == "likelihood_spread") & pl.col("group").is_null())
    own = likelihood_spread(run.responses(name), per="token").axes
    assert_frame_equal(rows.select(columns), own.select(columns), rel_tol=1e-9)
    assert rows["estimate"].null_count() == 0
    assert rows["unit"].unique().to_list() == ["nats per token"]
    shifts = measured.filter(pl.col("measure") == "valence_shift")
    assert shifts["unit"].unique().to_list() == ["nats per token, over 0.1 counts"]


def test_missing_responses_are_counted_not_measured(tmp_path, run):
    frame = run.responses("evenhand-likelihood").with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0)
        .then(None)
        .otherwise("log_likelihood")
        .alias("log_likelihood"),
        perplexity=None,
        error=None,
    )
    frame.write_parquet(tmp_path / "gaps.parquet")
    measured = eh.measure(tmp_path / "gaps.parquet", "evenhand-likelihood")
    rows = measured.measurements.filter(
        (pl.col("measure") == "likelihood_spread") & pl.col("group").is_null()
    )
    assert rows["n_missing"].sum() == -(-frame.height // 5)
    assert rows["n"].sum() + rows["n_missing"].sum() == frame.height
    assert measured.view().benchmarks[0].n_errors == rows["n_missing"].sum()


def test_a_table_without_its_groups_is_refused(tmp_path, run):
    run.responses("evenhand-likelihood").rename({"descriptor": "Descriptor"}).write_csv(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"no column 'descriptor'.*Is it 'Descriptor'\? Then rename it"):
        eh.measure(tmp_path / "x.csv", "evenhand-likelihood")
    with pytest.raises(DataError, match=r"has no column 'descriptor' .*\n.*evenhand-likelihood requires"):
        eh.audit(
            "puppet/random",
            benchmarks=["evenhand-likelihood"],
            prompts=str(tmp_path / "x.csv"),
            output=tmp_path / "run",
        )
    assert not (tmp_path / "run").exists()


def test_stored_responses_are_judged_again_with_other_options(run):
    benchmark = load_benchmark("evenhand-likelihood")
    frame = run.responses("evenhand-likelihood")
    near, wide = (
        benchmark.analyse(frame, AnalysisOptions(margin=margin)).details["likelihood_axes"]["share_beyond"]
        for margin in (0.0, 1e6)
    )
    assert set(wide) == {0.0}, "no difference exceeds what cannot occur"
    assert near.sum() > 0
