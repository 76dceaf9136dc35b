"""The light core: every verb that needs no weights of Hugging Face runs where torch and transformers are not installed,
and every one that does ends in the one error that names the command.

One process runs them all, with both packages hidden from the import system, as if they were not there. What starts
processes of its own, and a real environment, stand in the slow tests of `tests/test_packaging.py`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = ("torch", "transformers", "accelerate", "peft", "sentence_transformers")
RUNNER = """
import contextlib, io, json, sys
from importlib.machinery import PathFinder

hidden, lines = json.loads(sys.argv[1]), json.loads(sys.argv[2])

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.split(".")[0] in hidden else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without
from evenhand.__main__ import main

answers = []
for line in lines:
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["evenhand", *line]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    answers.append([code, out.getvalue(), err.getvalue()])
loaded = [name for name in hidden if name in sys.modules]
print(json.dumps([answers, loaded]))
"""
LIKELIHOOD = ["--axis", "religion", "--limit", "200", "--seed", "1"]
LIGHT = [
    ["list", "benchmarks"],
    ["list", "models"],
    ["list", "classifiers"],
    ["list", "mitigations"],
    ["show", "stereoset"],
    ["data", "list"],
    ["audit", "evenhand/reference", *LIKELIHOOD, "-o", "first", "--report", "first.html"],
    ["compare", "first", "first"],
    ["audit", "evenhand/reference", "-b", "regard", "--limit", "12", "--classifier", "vader", "-o", "said"],
    ["rescore", "said", "--classifier", "evenhand/lexicon-toxicity"],
    ["measure", "mine.csv", "--benchmark", "bold", "--classifier", "vader", "-o", "mine"],
]
HEAVY = {
    "a hub name": ["audit", "gpt2"],
    "a misspelt name": ["audit", "evenhnd/reference"],
    "a folder": ["audit", "model"],
    "a classifier": ["rescore", "said", "--classifier", "detoxify"],
    "another device": ["audit", "evenhand/reference", "--device", "cuda"],
    "a mitigation that steers": [
        "audit", "evenhand/reference", "-b", "regard", "--limit", "12", "--classifier", "vader", "--mitigate",
        "self-debiasing", "-o", "steered",
    ],
    "a study that trains": ["study", "redditbias", "evenhand/reference", "-o", "study"],
}  # fmt: skip


MOST_MODULES = 80
"""Modules of evenhand that `evenhand.compare` may load before it is called."""
MODULES = """
import sys, evenhand
evenhand.compare
print(*(name for name in sys.modules if name.split(".")[0] == "evenhand"))
"""


def test_the_function_compare_loads_few_modules() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MODULES], capture_output=True, text=True, timeout=300, check=True
    )
    loaded = done.stdout.split()
    assert "evenhand.studies.compare.result" in loaded
    assert len(loaded) < MOST_MODULES, loaded
    clusters_and_storage = [
        name for name in loaded if name.endswith((".cluster.pool", ".remote.store", ".on_ray"))
    ]
    assert clusters_and_storage == []


CORPUS = ("ahocorasick_rs", "orjson", "pyarrow", "warcio", "zstandard")
BEYOND_CORPUS = ("datatrove", "ray", "nltk", "s3fs", "pandas", *HIDDEN)
COUNTED = ("talk.txt", "talk.jsonl", "talk.parquet", "talk.csv")


def counted(hidden: tuple[str, ...], lines: list[list[str]], folder: Path) -> list[list]:
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps(hidden), json.dumps(lines)],
        cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers, loaded = json.loads(done.stdout.splitlines()[-1])
    assert loaded == []
    return answers


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import polars as pl

    folder = tmp_path_factory.mktemp("corpora")
    said = pl.DataFrame({"text": ["She is deaf.", "He sings.", "They sing, and no one hears."]})
    (folder / "talk.txt").write_text("\n".join(said["text"]), encoding="utf-8")
    said.write_ndjson(folder / "talk.jsonl")
    said.write_parquet(folder / "talk.parquet")
    said.write_csv(folder / "talk.csv")
    return folder


def test_counting_runs_with_the_extra_corpus_alone(corpora: Path) -> None:
    lines = [["frequencies", name, "-o", f"of {name}", "-t", "pronouns", "-w", "1"] for name in COUNTED]
    troved = ["frequencies", "talk.txt", "--on", "datatrove", "-w", "1", "-o", "troved"]
    answers = counted(BEYOND_CORPUS, [*lines, troved], corpora)
    for code, out, err in answers[: len(lines)]:
        assert code == 0, err
        assert "3 documents" in out
    code, _, err = answers[-1]
    assert code == 2
    assert "evenhand[cluster]" in err
    assert "Traceback" not in err


def test_counting_without_extras_names_the_one_that_it_needs(corpora: Path) -> None:
    lines = [["frequencies", name, "-o", f"bare {name}", "-w", "1"] for name in COUNTED]
    for code, _, err in counted((*CORPUS, *BEYOND_CORPUS), lines, corpora):
        assert code == 1
        assert "evenhand[corpus]" in err
        assert err.count("not installed") == 1
        assert "Traceback" not in err


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    folder = tmp_path_factory.mktemp("light")
    said = [(group, word) for group in ("A", "B") for word in ("kind", "bad")]
    rows = [f"gender,{group},a person of {group} is {word}" for group, word in said]
    (folder / "mine.csv").write_text("\n".join(["axis,group,continuation", *rows]), encoding="utf-8")
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text('{"model_type": "gpt2"}', encoding="utf-8")
    lines = [*LIGHT, *HEAVY.values()]
    done = subprocess.run(
        [sys.executable, "-c", RUNNER, json.dumps(HIDDEN), json.dumps(lines)],
        cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers, loaded = json.loads(done.stdout.splitlines()[-1])
    assert loaded == []
    return {" ".join(line): answer for line, answer in zip(lines, answers, strict=True)} | {
        "folder": [folder]
    }


@pytest.mark.parametrize("line", LIGHT, ids=lambda line: " ".join(line[:2]))
def test_it_runs_without_torch(line: list[str], ran: dict[str, list]) -> None:
    code, out, err = ran[" ".join(line)]
    assert code == 0, err
    assert out


@pytest.mark.parametrize("what", HEAVY)
def test_what_needs_hugging_face_says_so_with_the_command(what: str, ran: dict[str, list]) -> None:
    code, _, err = ran[" ".join(HEAVY[what])]
    assert code == 1
    assert "torch and transformers, which are not installed." in err
    assert 'pip install "evenhand[hf]"' in err
    assert "Traceback" not in err


def test_a_run_begun_without_torch_goes_on_with_it(ran: dict[str, list]) -> None:
    """Same fingerprint, same keys: nothing is asked anew, and what is asked more stands beside it."""
    import evenhand as eh

    folder: Path = ran["folder"][0] / "first"
    before = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert "numpy" in before["model"]["description"]["computed_by"]
    run = eh.audit("evenhand/reference", axes=["religion"], limit=200, seed=1, output=folder)
    after = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert after["model"]["fingerprint"] == before["model"]["fingerprint"]
    assert run.findings.height
