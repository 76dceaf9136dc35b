"""Options of an audit: which place wins, and what is said of a wrong one."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from evenhand.schema import DataError, UsageError
from evenhand.studies.audit.options import SAME_RESULTS, AuditConfig, read_config


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "options.yaml"
    path.write_text(
        "model: from-file\nseed: 1\nmargin: 0.1\nalpha: 0.01\naxes: [age]\ndata:\n  stereoset: /a\n  crows-pairs: /b\n"
    )
    return path


def test_flags_win_over_set_and_set_over_the_file(file):
    config = read_config(
        file, ["seed=2", "margin=0.2", "data.stereoset=/c"], {"model": "from-flag", "seed": 3, "limit": None}
    )
    assert config.model == "from-flag"
    assert config.seed == 3
    assert config.margin == 0.2
    assert config.alpha == 0.01
    assert config.axes == ("age",)
    assert config.data == {"stereoset": "/c", "crows-pairs": "/b"}, "--set changes one part of a table"
    assert config.limit is None


def test_what_is_not_given_does_not_override(file):
    config = read_config(file, [], {"model": None, "axes": (), "benchmarks": (), "seed": None, "dtype": None})
    assert (config.model, config.axes, config.seed, config.dtype) == ("from-file", ("age",), 1, "auto")


def test_a_flag_of_zero_or_false_is_given(file):
    config = read_config(file, [], {"seed": 0, "error_threshold": 0.0, "trust_remote_code": False})
    assert (config.seed, config.error_threshold) == (0, 0.0)


def test_the_last_set_wins_and_values_are_yaml():
    given = ["seed=1", "seed=2", "axes=[age, religion]", "limit=null", "device=cuda:1", "revision='1.0'"]
    config = read_config(None, given, {"model": "m"})
    assert (config.seed, config.axes, config.limit) == (2, ("age", "religion"), None)
    assert (config.device, config.revision) == ("cuda:1", "1.0")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["margin"], "expects name=value, got 'margin'"),
        (["=3"], "`--set` expects name=value"),
        (["margin=["], r"--set margin=\[`: '\[' is not a valid YAML value"),
        (["margin=-1"], "margin: must be at least 0, got -1"),
        (["alpha=1"], "alpha: must be less than 1, got 1"),
        (["limit=0"], r"limit \(--limit\): must be at least 1, got 0"),
        (["limit=99999999999"], r"limit \(--limit\): must be at most 2,147,483,647, got 99,999,999,999\."),
        (["seed=2", "seed.all=1"], "seed is a single value and has no part 'all'"),
        (["margni=1"], r"margni: there is no such option\. Did you mean 'margin'\?$"),
        (["data=/folder"], "data: expected names with values, got '/folder'"),
        (["data.stereoset=[1]"], "data.stereoset: expected text"),
        (["seed=1", "alpha=5", "limit=-2"], "(?s)limit.*alpha"),
        (["samples=zero"], r"samples \(--samples\): expected a whole number, got 'zero'\.$"),
        (["decoding.temperature=hot"], r"decoding has no parts\. Did you mean 'temperature'\?$"),
        (["min_new_tokens=20"], r"Did you mean 'max_new_tokens'\?$"),
    ],
)
def test_wrong_options_are_named(settings, told):
    with pytest.raises(UsageError, match=told):
        read_config(None, settings, {"model": "m"})


@pytest.mark.parametrize("setting", ["margni=1", "nothing_like_it=1", "samples=zero"])
def test_an_error_does_not_list_all_options(setting):
    with pytest.raises(UsageError) as caught:
        read_config(None, [setting], {"model": "m"})
    assert "batch_tokens" not in str(caught.value)


def test_a_model_must_be_named(tmp_path):
    with pytest.raises(UsageError, match="Missing argument"):
        read_config(None, ["seed=1"], {})
    (tmp_path / "x.yaml").write_text("model: here\n")
    assert read_config(tmp_path / "x.yaml", [], {"model": None}).model == "here"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"a: [1\n", "invalid YAML"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"- quick\n- slow\n", "does not contain options"),
        (b"!!python/object/apply:os.system [ls]\n", "invalid YAML"),
    ],
)
def test_files_that_are_no_options(tmp_path, content, told):
    (tmp_path / "x.yaml").write_bytes(content)
    with pytest.raises(DataError, match=told) as caught:
        read_config(tmp_path / "x.yaml", [], {"model": "m"})
    assert "x.yaml" in str(caught.value)
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"none\.yaml cannot be read: No such file"):
        read_config(tmp_path / "none.yaml", [], {"model": "m"})


def test_what_decides_the_results_is_everything_but_how_they_are_computed():
    fields = set(AuditConfig.model_fields)
    assert set(AuditConfig(model="m").same_results()) == fields - SAME_RESULTS
    one = AuditConfig(model="m", device="cpu", batch_tokens=10, error_threshold=0.5)
    assert one.same_results() == AuditConfig(model="m").same_results()
    assert one.same_results() != AuditConfig(model="m", seed=1).same_results()


@given(
    seed=st.integers(0, 2**31),
    margin=st.floats(0, 10),
    limit=st.none() | st.integers(1, 10**9),
    axes=st.lists(st.sampled_from(["age", "religion", "null", "1"]), max_size=3),
)
def test_any_options_come_back_from_what_a_manifest_stores(seed, margin, limit, axes):
    config = AuditConfig(model="m", seed=seed, margin=margin, limit=limit, axes=tuple(axes))
    assert AuditConfig.model_validate(config.same_results()) == config


def test_a_name_that_stands_twice_in_yaml_is_refused(tmp_path: Path) -> None:
    """The later one would win without a word."""
    file = tmp_path / "options.yaml"
    file.write_text("model: gpt2\nseed: 1\nseed: 2\n")
    with pytest.raises(DataError, match="'seed' occurs twice"):
        read_config(file, [], {})
    with pytest.raises(UsageError, match="'a' occurs twice"):
        read_config(None, ["data={a: b, a: c}"], {"model": "gpt2"})


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("seed=9223372036854775808", "seed (--seed): must be at most 9,223,372,036,854,775,807"),
        ("limit=true", "limit (--limit): expected a number, got true"),
        ("margin=.nan", "margin: expected a finite number, got nan"),
        ("device=toaster", "Unknown device: 'toaster'"),
        ('system="\\ud800"', "half a character"),
    ],
)
def test_values_that_cannot_be_are_refused(setting: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        read_config(None, [setting], {"model": "gpt2"})
    assert told in str(error.value)


def test_axes_of_own_prompts_may_be_one_text_and_name_the_benchmark():
    given = {"model": "m", "prompts": "mine.csv", "counterfactual": "gender, name:english/arabic"}
    config = read_config(None, [], given)
    assert config.counterfactual == ("gender", "name:english/arabic")
    assert config.benchmarks == ("counterfactual",)
    assert read_config(None, [], {**given, "counterfactual": ("gender", "name:english/arabic")}) == config


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({}, "`--counterfactual` requires `--prompts`"),
        ({"prompts": "mine.csv", "suite": "quick"}, "a suite or another benchmark"),
        ({"prompts": "mine.csv", "benchmarks": ("regard",)}, "a suite or another benchmark"),
    ],
)
def test_axes_of_own_prompts_need_a_file_and_no_other_benchmark(others, told):
    with pytest.raises(UsageError, match=told):
        read_config(None, [], {"model": "m", "counterfactual": ("gender",), **others})


def test_an_outcome_that_needs_vectors_is_refused_before_anything_runs():
    given = {
        "model": "m",
        "prompts": "mine.csv",
        "counterfactual": ("gender",),
        "outcomes": ("length", "semantic"),
    }
    with pytest.raises(UsageError, match="an audit has no model that makes them"):
        read_config(None, [], given)


def test_the_option_on_is_a_name_in_a_file_not_true(tmp_path):
    file = tmp_path / "options.yaml"
    file.write_text("model: gpt2\non: ray\nretry_errors: on\n")
    config = read_config(file, [], {})
    assert config.on == "ray" and config.retry_errors is True


def test_an_error_names_the_file_or_setting_that_an_option_is_from(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("suit: quick\n")
    with pytest.raises(UsageError, match=r"mine\.yaml: suit: there is no such option\. Did you mean 'suite'"):
        read_config(file, [], {"model": "m"})
    with pytest.raises(UsageError, match="--set margin=high: margin: expected a number"):
        read_config(None, ["margin=high"], {"model": "m"})
