"""What a model card says: front matter as the hub reads it, numbers as they were measured, texts as texts."""

import shlex
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

import evenhand as eh
from evenhand.reports import measurement_numbers
from evenhand.schema import UsageError
from evenhand.studies.model_index import build_command, model_card, model_index
from evenhand.studies.pictured import picture_of
from tests.helpers.report_factory import make_view


@pytest.fixture(scope="module")
def content():
    given = {"arguments_given": {"model": "my model", "benchmarks": ["regard"], "axes": ["age"]}}
    return measurement_numbers(make_view(hostile=True)) | {"manifest": given}


def test_the_hub_reads_the_front_matter(content):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    card = hub.ModelCard(model_card(content))
    index = yaml.safe_load(model_card(content).split("---\n")[1])
    judged = [m for result in index["model-index"][0]["results"] for m in result["metrics"]]
    assert judged and len(card.data.eval_results) == len(judged)
    for read, metric in zip(card.data.eval_results, judged, strict=True):
        assert (read.metric_type, read.metric_value, read.verified) == (
            metric["type"],
            metric["value"],
            False,
        )


def test_it_is_installed_as_the_readme_says(content):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    card = model_card(content)
    step = card.split("```sh\n")[1].splitlines()[0]
    assert step in [line.partition("#")[0].strip() for line in readme.splitlines()]
    assert "not on PyPI yet, so install it from a checkout:" in card
    assert "not on PyPI yet, so install it from a checkout:" in readme


def test_every_number_is_one_that_was_measured(content):
    measured = {
        (row["measure"], f"{row['estimate']:.6g}") for row in content["measurements"] if row["estimate"]
    }
    for result in model_index(content)["model-index"][0]["results"]:
        for metric in result["metrics"]:
            assert (metric["type"], f"{metric['value']:.6g}") in measured


def test_sentences_and_what_could_not_be_seen_stand_in_it_and_nothing_is_markup(content):
    text = model_card(content)
    body = text.split("---\n", 2)[2]
    assert "### Limits" in body and "does not mean that there is no bias" in body
    assert "<script" not in body and "<b>" not in body.replace("\\<b\\>", "")
    for line in body.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count("|") == 8


def test_the_command_gives_the_same_arguments_again():
    given = {
        "model": "a b", "suite": "robbie", "benchmarks": ["bold", "regard"], "classifier": ["toxicity=vader"],
        "limit": 20, "dialogue": {"format": "chat"}, "chat": True, "axes": [],
    }  # fmt: skip
    words = shlex.split(build_command({"manifest": {"arguments_given": given}}))
    assert words[:3] == ["evenhand", "audit", "a b"]
    pairs = list(zip(words[3::2], words[4::2], strict=True))
    assert set(pairs) == {
        ("--suite", "robbie"), ("--benchmark", "bold"), ("--benchmark", "regard"), ("--classifier", "toxicity=vader"),
        ("--limit", "20"), ("--set", "dialogue.format=chat"), ("--set", "chat=True"),
    }  # fmt: skip


def test_the_command_of_a_table_names_its_columns(tmp_path):
    file = tmp_path / "replies.csv"
    file.write_text("who,tone\n" + "women,cold\nmen,warm\n" * 20 + "women,warm\nmen,warm\n" * 10)
    options = {"columns": {"who": "group", "tone": "label"}, "negative": "cold"}
    content = eh.measure(file, **options).to_dict()
    words = shlex.split(build_command(content))
    assert words[:3] == ["evenhand", "measure", str(file)] and "--benchmark" not in words
    for flag, value in (("--column", "who=group"), ("--column", "tone=label"), ("--negative", "cold")):
        assert (flag, value) in set(pairwise(words))
    assert "unbiased model" not in model_card(content)
    assert picture_of(content).null_words == "expected without bias"


def test_other_results_have_no_model_card():
    with pytest.raises(UsageError, match="one model"):
        model_card({"changes": []})
