"""`evenhand debias`: makes a folder that is a model, goes on, and says what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.terms import HEARING

FAST = ("--epochs", 1, "--batch-size", 8, "--device", "cpu")


@pytest.fixture
def own(tmp_path: Path) -> tuple[Any, ...]:
    """Terms and texts of one's own."""
    (tmp_path / "terms.toml").write_text(HEARING)
    (tmp_path / "texts.txt").write_text("".join(f"Number {i}: a Deaf woman was rude.\n" for i in range(40)))
    return ("--specification", "terms.toml", "--data", "texts.txt", *FAST)


def test_makes_a_model_with_its_lineage_that_verbs_take(evenhand: Any, own: Any, tmp_path: Path) -> None:
    ended = evenhand("debias", "evenhand/reference", "-m", "lmd?weight=2", *own, "-o", "out")
    assert ended.code == 0, ended.err
    ended.says("evenhand/reference against hearing", "perplexity of neutral texts", "Known problems of lmd")
    lineage = json.loads((tmp_path / "out" / "lineage.json").read_text())
    assert lineage["base"]["name"] == "evenhand/reference" and lineage["method"]["weight"] == 2
    assert (
        lineage["steps"] == 5
        and lineage["data"]["comparisons"] == 36
        and len(lineage["data"]["sha256"]) == 64
    )
    command = "evenhand before-after evenhand/reference out -b redditbias --set data.redditbias=PAIRS"
    card, page = ((tmp_path / "out" / name).read_text() for name in ("README.md", "report.html"))
    assert "hearing" in card and f"    {command}\n" in card and command in page and command in ended.out
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    shown = evenhand("audit", "out", "--axis", "nonce", "--limit", 300, "--device", "cpu", "-o", "run")
    assert shown.code == 0, shown.err
    manifest = (tmp_path / "run" / "manifest.json").read_text()
    assert '"lineage"' in manifest and "lmd" in manifest
    again = evenhand("debias", "evenhand/reference", "-m", "lmd?weight=2", *own, "-o", "out")
    assert again.code == 0 and again.out == ended.out
    evenhand("debias", "evenhand/reference", "-m", "cda", *own, "-o", "out").refused(
        2, "method.name", "lmd", "cda"
    )
    learned = (tmp_path / "texts.txt").read_text()
    (tmp_path / "texts.txt").write_text("".join(f"Number {i}: a Deaf man was rude.\n" for i in range(40)))
    evenhand("debias", "evenhand/reference", "-m", "lmd?weight=2", *own, "-o", "out").refused(
        2, "other options: given"
    )
    (tmp_path / "texts.txt").write_text(learned)
    for told in ("[]", "{}", '{"base": 5}', '{"data": {}}'):
        (tmp_path / "out" / "lineage.json").write_text(told)
        evenhand("debias", "evenhand/reference", "-m", "lmd?weight=2", *own, "-o", "out").refused(
            1, "lineage.json"
        )


def test_what_is_wrong_is_said_before_anything_is_trained(evenhand: Any, own: Any, tmp_path: Path) -> None:
    def refused(code: int, *told: str, to: tuple[object, ...]) -> None:
        evenhand("debias", *to, "-o", "none").refused(code, *told)
        assert not (tmp_path / "none" / "training").exists()

    model = "evenhand/reference"
    refused(2, "The bias to reduce is missing", to=(model, "-m", "cda"))
    refused(2, "Unknown bias type: 'religion3'", "religion2", to=(model, "-m", "cda", "-b", "religion3"))
    refused(2, "Unknown axis: 'religions'", to=(model, "-m", "cda", "-b", "evenhand/religions"))
    refused(2, "Unknown training method: 'lm'", "lmd", to=(model, "-m", "lm", *own))
    refused(2, "weigth", to=(model, "-m", "lmd?weigth=2", *own))
    refused(
        2,
        "`--learning-rate` must be a number greater than 0, got -1.",
        to=(model, "-m", "cda", *own, "--learning-rate", -1),
    )
    grid = (*own, "--search", "grid")
    refused(2, "`over` requires `--search`", to=(model, "-m", "lmd", *own, "--over", "weight=1"))
    refused(2, "which settings should be varied", to=(model, "-m", "lmd", *grid))
    refused(2, "Did you mean 'weight'", to=(model, "-m", "lmd", *grid, "--over", "weigth=1"))
    refused(
        2,
        "learning_rate must be a number above 0, got -1.0",
        to=(model, "-m", "lmd", *grid, "--over", "learning_rate=1,-1"),
    )
    refused(
        2,
        "epochs is set to one value and also varied",
        to=(model, "-m", "lmd", *grid, "--over", "epochs=1,2"),
    )
    refused(
        2,
        "Remove --trials, or use --search random",
        to=(model, "-m", "lmd", *grid, "--over", "weight=1", "--trials", 3),
    )
    refused(1, "Only 4 validation pairs", to=(model, "-m", "lmd", *grid, "--over", "weight=1"))
    axis = (model, "-m", "lmd", "-b", "evenhand/age", "--search", "grid", "--over", "weight=1")
    refused(2, "requires pairs of texts about two groups", to=(*axis, "--choose", "published"))
    refused(1, "evenhand data fetch redditbias", to=(model, "-m", "cda", "-b", "race"))
    refused(2, "this model reads at most 256 tokens", to=(model, "-m", "cda", *own, "--longest", 257))
    refused(
        2, "`--bias` and `--specification` cannot be combined", to=(model, "-m", "cda", *own, "-b", "race")
    )
    refused(1, "biased_valid_reduced.csv", to=(model, "-m", "cda", "-b", "race", "--from", "."))
    refused(1, "Cannot train", "causal Hugging Face model", to=("puppet/random", "-m", "cda", *own))
    (tmp_path / "texts.txt").write_text("Nobody is named here.\n" * 40)
    refused(1, "are required to measure whether the bias falls", "Deaf", to=(model, "-m", "cda", *own))


def test_a_folder_of_something_else_is_not_written_into(evenhand: Any, own: Any, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("All of it.")
    evenhand("debias", "evenhand/reference", "-m", "cda", *own, "-o", "mine").refused(
        2, "is not the folder of a debiased model"
    )
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_methods_are_listed_with_their_cards(evenhand: Any) -> None:
    evenhand("list", "methods").says("lmd", "cda", "Hard debiasing")
    evenhand("show", "hd").says("running-sum", "Bolukbasi")


def test_a_search_shows_its_trials_and_ends_by_what_was_chosen(
    evenhand: Any, own: Any, tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("".join(f"Number {i}: a Deaf woman was rude.\n" for i in range(110)))
    texts = (*own[:4], "--device", "cpu", "--epochs", 0.02)
    search = ("--search", "random", "--trials", 1, "--over", "weight=log(1,2)", "-o", "found")
    ended = evenhand("debias", "evenhand/reference", "-m", "lmd", *texts, *search, "--guard", 9)
    assert ended.code == 0, ended.err
    ended.says("Search: 1 trial (random over weight", "Chosen: trial 01", "× base", "not used for the choice")
    fast = ("--search", "grid", "--over", "learning_rate=1e30", "-o", "none", "--epochs", 1)
    failed = evenhand("debias", "evenhand/reference", "-m", "lmd", *texts[:-2], *fast)
    failed.refused(1, "failed: the loss is", "No trial produced a model", "none/report.html")


def test_a_projection_trains_nothing_and_says_what_it_removed(
    evenhand: Any, own: Any, tmp_path: Path
) -> None:
    texts = own[:4]
    to = ("debias", "evenhand/reference", "-m", "inlp", *texts, "--device", "cpu", "-o", "out")
    evenhand(*to, "--epochs", 2).refused(2, "inlp does not train, so it cannot be combined with epochs")
    ended = evenhand(*to)
    assert ended.code == 0, ended.err
    ended.says("evenhand/reference against hearing", "classifier of 2 groups", "Gonen and Goldberg")
    lineage = json.loads((tmp_path / "out" / "lineage.json").read_text())
    assert lineage["data"]["folded_differs_by"] < 1e-5 < 0.9 < lineage["data"]["accuracy_before"]
    assert "steps" not in lineage and lineage["data"]["directions"] == 128
    assert "accuracy of a classifier" in (tmp_path / "out" / "report.html").read_text()
    assert json.loads((tmp_path / "out" / "config.json").read_text())["tie_word_embeddings"] is False
    assert evenhand(*to).out == ended.out
    many = ("-m", "sentence-debias?components=128", *texts, "--device", "cpu", "-o", "none")
    evenhand("debias", "evenhand/reference", *many).refused(2, "states have only 128 dimensions")
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_pairs_of_ones_own_are_learned_by_preference(
    evenhand: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.mitigations.training.data.preferences.WATCHED", 20)  # of texts it writes
    rows = "".join(f"Women number {i},are kind.,are rude.\n" for i in range(12))
    (tmp_path / "pairs.csv").write_text("prompt,chosen,rejected\n" + rows)
    to = ("--data", "pairs.csv", *FAST, "-o", "out")
    evenhand("debias", "evenhand/reference", "-m", "dpo", *to, "-b", "race").refused(2, "chosen and rejected")
    evenhand("debias", "evenhand/reference", "-m", "inlp", *to[:2], "-o", "out").refused(1, "--method dpo")
    ended = evenhand("debias", "evenhand/reference", "-m", "dpo?beta=0.5", *to)
    assert ended.code == 0, ended.err
    ended.says("preferences in pairs.csv", "preferred text over the other, nats a text")
    lineage = json.loads((tmp_path / "out" / "lineage.json").read_text())
    assert lineage["data"]["pairs"] == 11 and lineage["method"]["beta"] == 0.5
    assert not list((tmp_path / "out" / "training").glob("*.safetensors"))
