"""What lm_eval is given: read here with YAML and Python themselves, and by lm_eval where that is installed."""

import json
import sys
from types import SimpleNamespace

import pytest
import yaml

from evenhand.benchmarks import load_benchmark
from evenhand.benchmarks.exports import write_lm_eval_tasks
from evenhand.schema import Unsupported, UsageError


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor("!function", lambda loader, node: ("function", loader.construct_scalar(node)))


def test_a_task_asks_what_an_audit_asks(tmp_path):
    (task,) = write_lm_eval_tasks(["evenhand-likelihood"], tmp_path, limit=120, seed=3)
    recipe = load_benchmark("evenhand-likelihood")
    asked = recipe.sample(recipe.build({}), 120, 3).frame
    documents = [json.loads(line) for line in (tmp_path / f"{task}.jsonl").read_text("utf-8").splitlines()]
    assert [d["prompt_id"] for d in documents] == asked["prompt_id"].to_list()
    assert [d["text"] for d in documents] == asked["text"].to_list()
    assert all(d["axis"] == axis for d, axis in zip(documents, asked["axis"], strict=True))
    told = yaml.load((tmp_path / f"{task}.yaml").read_text("utf-8"), Loader)
    assert told["output_type"] == "loglikelihood" and told["doc_to_text"] == ""
    assert told["doc_to_target"] == "{{text}}" and told["target_delimiter"] == ""


def test_samples_and_tokens_are_the_benchmarks_own_unless_named(tmp_path):
    (task,) = write_lm_eval_tasks(["regard"], tmp_path, limit=10)
    told = yaml.load((tmp_path / f"{task}.yaml").read_text("utf-8"), Loader)
    request = load_benchmark("regard").request
    assert told["repeats"] == request.samples
    assert told["generation_kwargs"]["max_gen_toks"] == request.max_new_tokens
    assert told["generation_kwargs"]["do_sample"] is True
    write_lm_eval_tasks(["regard"], tmp_path, limit=10, samples=1)
    told = yaml.load((tmp_path / f"{task}.yaml").read_text("utf-8"), Loader)
    assert told["repeats"] == 1 and told["generation_kwargs"]["do_sample"] is False


def test_the_code_beside_them_runs_and_finds_the_documents(tmp_path, monkeypatch):
    (task,) = write_lm_eval_tasks(["regard"], tmp_path, limit=10)
    listed = SimpleNamespace(Dataset=SimpleNamespace(from_list=list))
    monkeypatch.setitem(sys.modules, "datasets", listed)
    file = tmp_path / "evenhand_tasks.py"
    names: dict = {"__file__": str(file)}
    exec(compile(file.read_text("utf-8"), str(file), "exec"), names)
    told = yaml.load((tmp_path / f"{task}.yaml").read_text("utf-8"), Loader)
    for part in ("custom_dataset", "process_results"):
        module, function = told[part][1].split(".")
        assert module == file.stem and callable(names[function])
    lines = (tmp_path / f"{task}.jsonl").read_text("utf-8").splitlines()
    assert names[task]()["test"] == [json.loads(line) for line in lines]
    assert names["words"]({}, [" a good cook."]) == {"words": 3.0}
    assert names["log_likelihood"]({}, [(-3.5, True)]) == {"log_likelihood": -3.5}


@pytest.mark.parametrize("name", ["evenhand-pll", "names"])
def test_what_lm_eval_cannot_ask_is_refused(name, tmp_path):
    with pytest.raises(Unsupported, match=name):
        write_lm_eval_tasks([name], tmp_path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="Unknown benchmark"):
        write_lm_eval_tasks(["nothing"], tmp_path)
