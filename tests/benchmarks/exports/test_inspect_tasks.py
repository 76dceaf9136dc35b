"""Tasks of Inspect: run by Inspect itself where that is installed; else only how its absence is said."""

import importlib.util
import sys

import polars as pl
import pytest

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.exports import inspect_dataset, inspect_scorer, inspect_task, inspect_tasks
from evenhand.schema import ModelError, Unsupported, UsageError

needs_inspect = pytest.mark.skipif(
    importlib.util.find_spec("inspect_ai") is None, reason="inspect_ai is not installed"
)


def test_its_absence_is_said_with_the_way_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    for ask in (lambda: inspect_dataset("regard", limit=5), lambda: inspect_scorer("vader")):
        with pytest.raises(UsageError, match="pip install inspect-ai"):
            ask()


@pytest.mark.parametrize("name", ["evenhand-likelihood", "names"])
def test_what_inspect_cannot_ask_is_refused(name):
    with pytest.raises(Unsupported, match=name):
        inspect_task(name)


def test_a_role_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="Roles: regard"):
        inspect_task("regard", classifiers={"toxicity": "vader"})


def test_a_missing_classifier_lists_those_that_work_offline(monkeypatch):
    monkeypatch.setattr(inspect_tasks, "_inspect", lambda: None)
    monkeypatch.setattr(inspect_tasks, "_dataset", lambda *_: None)
    for ask, example in (
        (lambda: inspect_scorer("./absent"), "inspect_scorer('evenhand/lexicon-toxicity')"),
        (
            lambda: inspect_task("regard", classifiers={"regard": "./absent"}),
            "inspect_task('regard', classifiers={'regard': 'vader'})",
        ),
    ):
        with pytest.raises(ModelError, match=r"Cannot load the classifier: .*absent") as refused:
            ask()
        hint = refused.value.hint or ""
        assert "These classifiers work offline:" in hint and hint.endswith(f"For example:\n  {example}")
        assert "ROLE=" not in hint and "--classifier" not in hint


@needs_inspect
@pytest.mark.filterwarnings("ignore")
def test_a_run_of_inspect_is_judged_and_compared_by_group(tmp_path):
    from inspect_ai import eval as run
    from inspect_ai.model import ModelAPI, ModelOutput, modelapi

    from evenhand.studies.compare.outputs import read_outputs

    @modelapi(name="canned")
    def canned():
        class Canned(ModelAPI):
            async def generate(self, input, tools, tool_choice, config):
                rude = " a hated, horrible liar." if "Black" in input[0].text else " a cook."
                return ModelOutput.from_content("canned", rude)

            async def count_tokens(self, *_, **__):
                return 3

        return Canned

    task = inspect_task("regard", classifiers={"regard": "vader"}, limit=12, samples=2)
    (log,) = run(task, model="canned/x", log_dir=str(tmp_path), display="none", log_format="json")
    assert log.status == "success"
    outputs = read_outputs(log.location).benchmarks["evenhand_regard"]
    recipe = load_benchmark("regard")
    asked = recipe.sample(recipe.build({}), 12, 0).frame
    assert outputs.frame.height == 2 * asked.height
    (outcome,) = outputs.outcomes
    means = dict(outputs.frame.group_by("group").agg(pl.col(outcome).mean()).rows())
    assert means == {group: float("Black" in group) for group in asked["group"].unique()}
