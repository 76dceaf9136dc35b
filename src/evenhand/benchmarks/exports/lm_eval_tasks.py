"""Export benchmarks as tasks of lm-evaluation-harness: a folder for its `--include_path`.

A task sends the same requests as an audit, but does not compare groups, because a metric of lm_eval sees single rows.
The documents contain the columns of each prompt. `evenhand measure` and `evenhand compare` can therefore analyse the
samples that lm_eval writes with `--log_samples`.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from evenhand.benchmarks.contract import Benchmark, Conversation, Generation
from evenhand.benchmarks.registry import load_benchmark
from evenhand.schema import Unsupported, write_text

PREFIX = "evenhand_"
CODE = "evenhand_tasks.py"
_CODE = '''"""Documents and rows of the tasks beside this file, written by evenhand; needs nothing but lm_eval."""

import json
from functools import partial
from pathlib import Path

import datasets


def _documents(name, **_):
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return {"test": datasets.Dataset.from_list([json.loads(line) for line in lines])}


def log_likelihood(doc, results):
    return {"log_likelihood": float(results[0][0])}


def words(doc, results):
    return {"words": float(len(str(results[0]).split()))}

'''


def write_lm_eval_tasks(
    names: Sequence[str],
    folder: Path | str,
    *,
    limit: int | None = None,
    samples: int | None = None,
    seed: int = 0,
    data: Mapping[str, Path] | None = None,
) -> list[str]:
    """Write benchmarks as tasks of lm_eval, and return the names of the tasks, `evenhand_...`.

    `names` are benchmarks that use likelihoods of whole texts, or continuations. `folder` gets a YAML and a JSON Lines
    file for each, and a Python file that lm_eval loads. `limit` is the maximum number of prompts; an audit with this
    limit and seed uses the same ones. `samples` replaces the benchmark's number of continuations per prompt. `data` are
    folders of published data by name. Raises a UsageError for an unknown benchmark, DatasetMissing, Unsupported for a
    request that lm_eval cannot make (masked models, parts of a text, conversations), and a WriteError.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_lm_eval_tasks(["regard"], folder, limit=20)
    ['evenhand_regard']
    >>> sorted(path.name for path in folder.iterdir())
    ['evenhand_regard.jsonl', 'evenhand_regard.yaml', 'evenhand_tasks.py']
    """
    recipes = [load_benchmark(name) for name in names]
    folder = Path(folder)
    code, tasks = _CODE, []
    for recipe in recipes:
        task = PREFIX + recipe.name.replace("-", "_")
        rows = _rows(recipe, limit, seed, data or {})
        lines = [json.dumps({"evenhand": recipe.name, **row}, ensure_ascii=False) for row in rows]
        write_text(folder / f"{task}.jsonl", "\n".join(lines) + "\n")
        write_text(folder / f"{task}.yaml", _yaml(recipe, task, samples))
        code += f"\n{task} = partial(_documents, {task!r})"
        tasks.append(task)
    write_text(folder / CODE, code + "\n")
    return tasks


def _rows(recipe: Benchmark, limit: int | None, seed: int, data: Mapping[str, Path]) -> list[dict[str, Any]]:
    if "causal" not in recipe.architectures or isinstance(recipe.request, Conversation):
        raise Unsupported(
            f"The benchmark {recipe.name} cannot be run in lm_eval, which supports neither masked models nor "
            "conversations.",
            "Run it with `evenhand audit`.",
        )
    prompts = recipe.build(data)
    if limit is not None:
        prompts = recipe.sample(prompts, limit, seed)
    frame = recipe.prompts_for(prompts, "causal").frame
    parts = [name for name in ("span_start", "span_end", "start_token") if name in frame.columns]
    if any(frame[name].null_count() < frame.height for name in parts):
        raise Unsupported(
            f"{recipe.name} scores parts of texts or uses a special start token; lm_eval scores whole texts only.",
            "Run it with `evenhand audit`.",
        )
    lists = [name for name, kind in frame.schema.items() if kind.is_nested()]
    return frame.drop(*parts, *lists).with_columns(pl.col("text").cast(pl.String)).to_dicts()


def _yaml(recipe: Benchmark, task: str, samples: int | None) -> str:
    asked: dict[str, Any] = {
        "task": task,
        "test_split": "test",
        "custom_dataset": Tag(f"{Path(CODE).stem}.{task}"),
        "target_delimiter": "",
    }
    if isinstance(recipe.request, Generation):
        repeats = samples or recipe.request.samples
        asked |= {
            "output_type": "generate_until",
            "doc_to_text": "{{text}}",
            "doc_to_target": "",
            "repeats": repeats,
            "generation_kwargs": {
                "until": [],
                "max_gen_toks": recipe.request.max_new_tokens,
                "do_sample": repeats > 1,
                **({"temperature": 1.0} if repeats > 1 else {}),
            },
            "process_results": Tag(f"{Path(CODE).stem}.words"),
            "metric_list": [_metric("words")],
        }
    else:
        asked |= {
            "output_type": "loglikelihood",
            "doc_to_text": "",
            "doc_to_target": "{{text}}",
            "process_results": Tag(f"{Path(CODE).stem}.log_likelihood"),
            "metric_list": [_metric("log_likelihood")],
        }
    asked["metadata"] = {"version": 1.0, "evenhand": recipe.name}
    return yaml.dump(asked, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def _metric(name: str) -> dict[str, Any]:
    return {"metric": name, "aggregation": "mean", "higher_is_better": False}


class Tag(str):
    """A reference to a Python function, written as a tag in the YAML of a task."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(Tag, lambda dumper, tag: dumper.represent_scalar("!function", str(tag)))
