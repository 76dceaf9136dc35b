"""Searches of the embedded model: the published criterion recomputed, weights kept and dropped, kills, failures.

Also a program that is killed while it searches: `python -m tests.studies.debias.test_trials FOLDER STEP`
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evenhand.mitigations.training import own_texts
from evenhand.mitigations.training.trainer import _TrainingSession
from evenhand.models import load_model
from evenhand.prompts.redditbias import load_specification
from evenhand.schema import Interrupted, ResumeRefused
from evenhand.studies.debias import DEBIAS, DebiasConfig, Debiased, NothingChosen
from evenhand.studies.debias.choosing import Tried, choose
from tests.helpers.terms import HEARING

WHO = ("woman", "man", "sister", "teenager", "person", "student", "friend")


def config(folder: Path, **options: Any) -> DebiasConfig:
    """A search over two weights with trainings of two steps."""
    (folder / "terms.toml").write_text(HEARING)
    said = "".join(f"I met {i} Deaf {WHO[i % 7]} who was {('rude', 'kind')[i % 2]}.\n" for i in range(160))
    (folder / "texts.txt").write_text(said)
    texts = {"specification": str(folder / "terms.toml"), "data": str(folder / "texts.txt")}
    searched = {"search": "grid", "over": ("weight=1,4",), "guard": 2.0, "device": "cpu", "epochs": 0.1}
    chosen = {"model": "evenhand/reference", "method": "lmd", "checkpoint_seconds": 0, "learning_rate": 1e-4}
    return DebiasConfig(**{**chosen, **texts, **searched, **options})


def stop_before(step: int, stop: Callable[[], None], patch: Callable[[Any, str, Any], None]) -> list[int]:
    """Have `stop` called before a step of all trials together; returns how many were begun, in a list."""
    original, begun = _TrainingSession._step, [0]

    def counted(self: Any, window: Any) -> None:
        if begun[0] == step:
            stop()
        begun[0] += 1
        original(self, window)

    patch(_TrainingSession, "_step", counted)
    return begun


def content(folder: Path) -> dict[str, bytes]:
    """What a search made that may not depend on how often it was stopped; the page's command names its folder."""
    names = [
        "model.safetensors", "config.json", "lineage.json", "report.json", "report.html", "training/curves.jsonl",
    ]  # fmt: skip
    return {name: (folder / name).read_bytes().replace(str(folder).encode(), b"DIR") for name in names}


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Debiased:
    """A search that nothing stopped, the weights of all its trials kept, in a folder beside its texts."""
    folder = tmp_path_factory.mktemp("searched")
    return DEBIAS.conduct(config(folder, keep_trials=True), output=folder / "out")


def test_the_published_criterion_is_the_largest_p_of_the_paired_t_test(searched: Debiased) -> None:
    search, folder = searched.lineage["search"], searched.path
    specification = load_specification(folder.parent / "terms.toml")
    _, validation = own_texts(specification, folder.parent / "texts.txt", searched.lineage["seed"])
    half = len(validation.check.texts) // 2
    expected = []
    for row in search["tried"]:
        model = load_model(str(folder / "search" / row["trial"]), device="cpu", dtype="float32")
        answers = model.log_likelihoods(list(validation.check.texts))
        perplexities = np.exp(-answers.sums / answers.counts)
        expected.append(float(stats.ttest_rel(perplexities[:half], perplexities[half:]).pvalue))
    assert [row["watched"]["whole_p"] for row in search["tried"]] == pytest.approx(expected, rel=1e-2)
    tried = [Tried(row["trial"], row["setting"], row["watched"]) for row in search["tried"]]
    assert choose(tried, search["base"], "published", 1.0).chosen == int(np.argmax(expected))


def test_the_chosen_trial_is_the_model(searched: Debiased, tmp_path: Path) -> None:
    search = searched.lineage["search"]
    assert len(search["tried"]) == 2 and search["control"]["setting"]["weight"] == "0"
    best = min(search["tried"], key=lambda row: row["watched"]["bias"])
    assert search["chosen"] == best["trial"] and searched.lineage["watched"]["after"] == best["watched"]
    assert searched.lineage["method"]["weight"] == float(best["setting"]["weight"])
    assert searched.tables()["trials"].filter(chosen=True)["trial"].to_list() == [best["trial"]]
    alone = config(tmp_path).of_trial({"weight": float(best["setting"]["weight"])})
    plain = DEBIAS.conduct(alone, output=tmp_path / "alone")
    weights = [(folder / "model.safetensors").read_bytes() for folder in (searched.path, plain.path)]
    assert weights[0] == weights[1], "a trial is the very training that its options name"
    whole = plain.lineage["watched"]["after"]
    assert {name: best["watched"][f"whole_{name}"] for name in whole} == pytest.approx(whole)
    assert "chosen among 2 trainings" in (searched.path / "README.md").read_text()
    page = searched.html()
    assert "not used for the choice" in page and 'class="dot chosen"' in page
    with pytest.raises(ResumeRefused, match=r"choosing\.choose"):
        DEBIAS.conduct(config(searched.path.parent, choose="pareto"), output=searched.path)


def test_a_search_that_was_stopped_ends_as_one_that_was_not(
    searched: Debiased, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        before = stop_before(3, stop, patched.setattr)
        with pytest.raises(Interrupted, match="resumes the stopped trial"):
            DEBIAS.conduct(config(tmp_path), output=tmp_path / "stopped")
    assert (tmp_path / "stopped" / "search" / "01" / "trial.json").is_file()
    with monkeypatch.context() as patched:
        after = stop_before(-1, stop, patched.setattr)
        DEBIAS.conduct(config(tmp_path), output=tmp_path / "stopped")
    assert before[0] + after[0] == 6, "two trials and a control of two steps, none of them done twice"
    assert content(tmp_path / "stopped") == content(searched.path)
    kept = [path.relative_to(tmp_path) for path in tmp_path.rglob("*.safetensors")]
    assert kept == [Path("stopped/model.safetensors")], "of trials that lose numbers are kept"
    assert DEBIAS.conduct(config(tmp_path), output=tmp_path / "stopped").lineage == searched.lineage


@pytest.mark.slow
def test_a_search_that_was_killed_ends_as_one_that_was_not(searched: Debiased, tmp_path: Path) -> None:
    for step in (1, 3):  # in the first trial, then in the second
        command = [sys.executable, "-m", "tests.studies.debias.test_trials", str(tmp_path), str(step)]
        killed = subprocess.run(command, cwd=Path(__file__).parents[3], check=False, timeout=300)
        assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "config.json").exists()
    DEBIAS.conduct(config(tmp_path), output=tmp_path / "killed")
    assert content(tmp_path / "killed") == content(searched.path)


def test_nothing_within_the_guard_is_said_and_another_guard_takes_it(tmp_path: Path) -> None:
    spoilt = {"method": "lmd?weight=0.01", "learning_rate": None, "over": ("learning_rate=1,1e30",)}
    options = config(tmp_path, **spoilt).model_dump(exclude_unset=True, exclude={"learning_rate"})
    with pytest.raises(NothingChosen, match="Nearest: trial 01") as nothing:
        DEBIAS.conduct(DebiasConfig(**{**options, "guard": 1.0}), output=tmp_path / "out")
    assert nothing.value.exit_code == 3 and "--guard" in str(nothing.value.hint)
    told = json.loads((tmp_path / "out" / "report.json").read_text())["search"]
    assert told["chosen"] is None and told["failed"] == 1 and "the loss is" in told["tried"][1]["failed"]
    assert told["tried"][0]["watched"]["perplexity"] > 2 * told["base"]["perplexity"]
    assert not (tmp_path / "out" / "config.json").exists()
    made = DEBIAS.conduct(DebiasConfig(**{**options, "choose": "published"}), output=tmp_path / "out")
    page = made.html()
    assert made.lineage["search"]["chosen"] == "01"
    assert "ignores how well a model reads" in page and "so none are left" in page


if __name__ == "__main__":
    stop_before(int(sys.argv[2]), lambda: os.kill(os.getpid(), signal.SIGKILL), setattr)
    DEBIAS.conduct(config(Path(sys.argv[1])), output=Path(sys.argv[1]) / "killed")
