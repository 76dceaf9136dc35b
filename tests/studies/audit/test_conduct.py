"""An audit before it runs: what a selection holds and leaves out; and what a resume refuses."""

import json
import sys
from dataclasses import replace

import polars as pl
import pytest

from evenhand.benchmarks import SUITES, Suite, load_benchmark
from evenhand.benchmarks.registry import BENCHMARKS
from evenhand.models.puppets import load_puppet, random_puppet
from evenhand.prompts.prompt_set import PromptSet
from evenhand.runs import RunDirectory
from evenhand.schema import Card, DataError, DatasetMissing, ResumeRefused, Unsupported, UsageError
from evenhand.studies.audit.conduct import conduct_audit, measure_run, preview
from evenhand.studies.audit.options import AuditConfig
from evenhand.studies.audit.result import resume
from evenhand.studies.audit.selection import select


def small(axes=("diet", "sleep"), nouns=12) -> PromptSet:
    rows = [
        (f"{axis}-{d}-{n}", axis, "I met X.", f"{axis}{d}", f"n{n}", f"I met {axis}{d} n{n}.")
        for axis in axes
        for d in range(3)
        for n in range(nouns)
    ]
    names = ["prompt_id", "axis", "template", "descriptor", "noun", "text"]
    return PromptSet(pl.DataFrame(rows, schema=names, orient="row"), Card("small", "A few prompts."))


def absent(folders):
    raise DatasetMissing("The folder x has no y.", "evenhand data fetch y")


class Recipes:
    """Stands for a module whose attributes a test may change."""

    def __init__(self, known):
        self.known, self.__spec__ = known, None

    def __getattr__(self, name):
        return self.known[name]


@pytest.fixture
def house(monkeypatch, tmp_path):
    """Benchmarks of a moment by name, and a suite of them; the data cache is empty."""
    base = load_benchmark("evenhand-likelihood")
    known = {
        "first": replace(base, name="first", build=lambda folders: small()),
        "second": replace(base, name="second", build=lambda folders: small(("sleep", "height"))),
        "masked-only": replace(
            base, name="masked-only", architectures=frozenset({"masked"}), build=lambda f: small()
        ),
        "no-data": replace(base, name="no-data", build=absent),
    }
    monkeypatch.setitem(sys.modules, "recipes_of_a_moment", Recipes(known))
    for name in known:
        monkeypatch.setitem(BENCHMARKS, name, f"recipes_of_a_moment:{name}")
    monkeypatch.setitem(SUITES, "all", Suite("all", Card("all", "All of them."), tuple(known), limit=20))
    monkeypatch.setitem(SUITES, "hopeless", Suite("hopeless", Card("h", "None."), ("masked-only", "no-data")))
    monkeypatch.setenv("EVENHAND_DATA", str(tmp_path / "nothing"))
    return known


UNIFORM = load_puppet("uniform")


def config(**options) -> AuditConfig:
    return AuditConfig(model="puppet/uniform", **options)


def test_a_suite_leaves_out_what_does_not_suit_and_says_why(house):
    chosen = select(config(suite="all"), UNIFORM)
    assert [b.name for b in chosen.benchmarks] == ["first", "second"] == list(chosen.prompts)
    assert set(chosen.left_out) == {"masked-only", "no-data"}
    assert "requires a masked model, but this model is causal" in chosen.left_out["masked-only"]
    assert "evenhand data fetch y" in chosen.left_out["no-data"]


def test_a_benchmark_named_by_the_user_is_never_left_out_silently(house):
    with pytest.raises(Unsupported, match="masked-only requires a masked model, but this model is causal"):
        select(config(benchmarks=("first", "masked-only")), UNIFORM)
    with pytest.raises(DataError, match="The folder x has no y"):
        select(config(benchmarks=("no-data",)), UNIFORM)


def test_a_suite_of_which_nothing_is_left_is_an_error_with_every_reason(house):
    with pytest.raises(UsageError, match="None of the selected benchmarks can run here") as caught:
        select(config(suite="hopeless"), UNIFORM)
    assert "- masked-only: " in caught.value.hint and "- no-data: " in caught.value.hint


def test_the_suites_limit_holds_unless_the_user_gives_one(house):
    assert all(len(p) <= 20 for p in select(config(suite="all"), UNIFORM).prompts.values())
    assert len(select(config(suite="all", limit=50), UNIFORM).prompts["first"]) > 20
    assert len(select(config(benchmarks=("first",)), UNIFORM).prompts["first"]) == 72, "no limit, no sample"


def test_axes_that_only_some_benchmarks_of_a_suite_know(house):
    chosen = select(config(suite="all", axes=("diet",)), UNIFORM)
    assert list(chosen.prompts) == ["first"]
    assert chosen.left_out["second"] == "It has no axis diet."
    both = select(config(suite="all", axes=("diet", "height")), UNIFORM)
    assert {n: set(p.frame["axis"]) for n, p in both.prompts.items()} == {
        "first": {"diet"},
        "second": {"height"},
    }


@pytest.mark.parametrize("options", [{"suite": "all"}, {"benchmarks": ("first",)}])
def test_an_unknown_axis_is_an_error_even_beside_a_known_one(house, options):
    with pytest.raises(UsageError, match=r"Unknown axis: 'sleeep'. Did you mean 'sleep'\?"):
        select(config(axes=("sleep", "sleeep"), **options), UNIFORM)


def test_a_benchmark_named_twice_is_asked_once(house):
    assert len(select(config(benchmarks=("first", "first")), UNIFORM).benchmarks) == 1


def test_suite_and_benchmarks_together_are_refused(house):
    with pytest.raises(UsageError, match="`--suite` and `--benchmark` cannot be combined"):
        select(config(suite="all", benchmarks=("first",)), UNIFORM)


def test_a_preview_asks_little_and_tells_what_could_be_detected(house, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    facts = preview(config(suite="all", limit=1000), UNIFORM)
    assert facts["benchmarks"] == {"first": 72, "second": 72}
    assert facts["requests"] == 144
    assert facts["distinct_requests"] == 108, "the sentences on sleep are asked once"
    assert set(facts["left_out"]) == {"masked-only", "no-data"}
    table = facts["minimum_detectable"]["first"]
    assert table["axis"].to_list() == ["diet", "sleep"]
    assert (table["minimum_detectable"] > 0.05).all(), "not smaller than what counts"
    assert not list(tmp_path.iterdir())


def test_texts_that_benchmarks_share_are_asked_once_and_measured_in_both(house, tmp_path):
    result = conduct_audit(config(suite="all", limit=1000), random_puppet(1), output=tmp_path / "run")
    assert result.outcome.requests == 108
    assert set(result.left_out) == {"masked-only", "no-data"}
    table = result.directory.measurements()
    sleep = table.filter((pl.col("axis") == "sleep") & (pl.col("measure") == "likelihood_bias_published"))
    assert sleep["benchmark"].to_list() == ["first", "second"]
    assert sleep["estimate"].n_unique() == 1


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        ({"seed": 1}, "seed: stored 0, given now 1"),
        ({"axes": ("diet",)}, 'axes: stored [], given now ["diet"]'),
        (
            {"limit": 5, "alpha": 0.01},
            "alpha: stored 0.05, given now 0.01\n  limit: stored null, given now 5",
        ),
        ({"data": {"stereoset": "/"}}, 'data.stereoset: stored nothing, given now "/"'),
    ],
)
def test_going_on_with_other_options_is_refused_with_each_difference(house, tmp_path, options, difference):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)
    before = (path / "manifest.json").read_bytes()
    with pytest.raises(ResumeRefused) as caught:
        conduct_audit(config(benchmarks=("first",), **options), UNIFORM, output=path)
    assert difference in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.exit_code == 2
    assert (path / "manifest.json").read_bytes() == before


def test_what_changes_no_result_may_differ(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)
    again = conduct_audit(
        config(benchmarks=("first",), batch_tokens=7, error_threshold=0.9), UNIFORM, output=path
    )
    assert again.outcome.answered == 0


def test_another_model_under_the_same_name_is_refused(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)
    with pytest.raises(ResumeRefused, match=r"model\.name"):
        conduct_audit(config(benchmarks=("first",)), random_puppet(4), output=path)


def test_other_prompts_behind_the_same_options_are_refused(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)
    house["first"] = replace(house["first"], build=lambda folders: small(nouns=11))
    with pytest.raises(ResumeRefused, match=r"72 rows are stored, 66 are given now, 66 are the same"):
        conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)


def test_resume_takes_the_stored_options_and_only_harmless_new_ones(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",), seed=3, margin=0.2), UNIFORM, output=path)
    assert resume(path, None, [], {}).outcome.answered == 0
    assert resume(path, None, ["margin=0.2", "error_threshold=0.4"], {"seed": 3}).outcome.answered == 0
    with pytest.raises(ResumeRefused, match=r"margin: stored 0.2, given now 0.3"):
        resume(path, None, ["margin=0.3"], {})
    with pytest.raises(DataError, match="does not exist"):
        resume(tmp_path / "elsewhere", None, [], {})


def test_measurements_can_be_made_again_from_what_is_stored(house, tmp_path):
    path, options = tmp_path / "run", config(benchmarks=("first",))
    conduct_audit(options, random_puppet(2), output=path)
    directory = RunDirectory.open(path)
    before, found = directory.measurements(), directory.findings()
    for name in ("measurements", "findings"):
        (path / f"{name}.parquet").unlink()
    measure_run(directory, options, options)
    assert directory.measurements().equals(before)
    assert directory.findings().equals(found)


def forget(path, *names):
    """Make a run's manifest that of a version which did not know these options."""
    file = path / "manifest.json"
    manifest = json.loads(file.read_text())
    for name in names:
        del manifest["arguments_resolved"][name]
    file.write_text(json.dumps(manifest))


NEW = ("decoding", "temperature", "top_k", "top_p", "samples", "max_new_tokens", "classifiers")


@pytest.mark.parametrize("names", [NEW, ("valence_margin", *NEW)])
def test_a_run_from_before_an_option_goes_on(house, tmp_path, names):
    path, options = tmp_path / "run", config(benchmarks=("first",))
    conduct_audit(options, UNIFORM, output=path)
    forget(path, *names)
    assert conduct_audit(options, UNIFORM, output=path).outcome.answered == 0
    assert resume(path, None, [], {"seed": 0}).outcome.answered == 0
    with pytest.raises(ResumeRefused, match="valence_margin: stored"):
        resume(path, None, ["valence_margin=0.7"], {})


def test_options_of_a_later_version_are_refused_by_name(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)
    file = path / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["arguments_resolved"]["telepathy"] = True
    file.write_text(json.dumps(manifest))
    with pytest.raises(ResumeRefused, match="telepathy"):
        resume(path, None, [], {})
    with pytest.raises(ResumeRefused, match="telepathy: stored true, given now nothing"):
        conduct_audit(config(benchmarks=("first",)), UNIFORM, output=path)


def test_options_of_writing_are_refused_where_nothing_is_written(house):
    with pytest.raises(
        UsageError, match=r"samples \(--samples\) has no effect here: .*first does not generate text"
    ):
        select(config(benchmarks=("first",), samples=3), UNIFORM)
    with pytest.raises(
        UsageError, match=r"toxicity=vader.*has no effect here: first does not use a classifier"
    ):
        select(config(benchmarks=("first",), classifiers={"toxicity": "vader"}), UNIFORM)


def test_what_a_run_holds_and_cannot_be_had_any_more_is_said(house, tmp_path):
    path = tmp_path / "run"
    conduct_audit(config(suite="all"), UNIFORM, output=path)
    house["second"] = replace(house["second"], build=absent)
    with pytest.raises(
        ResumeRefused, match=r"its benchmark second is not available now. The folder x has no y"
    ):
        conduct_audit(config(suite="all"), UNIFORM, output=path)
