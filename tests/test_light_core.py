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
    "a folder": ["audit", "model"],
    "a classifier": ["rescore", "said", "--classifier", "detoxify"],
    "another device": ["audit", "evenhand/reference", "--device", "cuda"],
    "a mitigation that steers": [
        "audit", "evenhand/reference", "-b", "regard", "--limit", "12", "--classifier", "vader", "--mitigate",
        "self-debiasing", "-o", "steered",
    ],
    "a study that trains": ["study", "redditbias", "evenhand/reference", "-o", "study"],
}  # fmt: skip


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
