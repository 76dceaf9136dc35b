"""The loop against plain PyTorch written out here, and against itself after a kill."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from evenhand.mitigations.training import (
    CURVES,
    Batch,
    Diverged,
    LanguageModelling,
    TrainingOptions,
    prepared_model,
    read_curves,
    train,
)
from evenhand.mitigations.training.checkpoints import CHECKPOINT
from evenhand.mitigations.training.trainer import plan_windows
from evenhand.schema import ModelError, ResumeRefused, UsageError
from tests.mitigations.training.tiny import (
    OPTIONS,
    random_examples,
    random_replies,
    tiny_blenderbot,
    tiny_model,
    trained,
)

REPOSITORY = Path(__file__).parents[3]
SMOOTH = replace(OPTIONS, dropout=False, epsilon=1e-3)
"""Without a large epsilon Adam moves a weight by its rate however small the gradient: rounding would be seen."""


def weights(model: Any) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def same(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def furthest(a: Mapping[str, Tensor], b: Mapping[str, Tensor]) -> float:
    return max(float((a[name] - b[name]).abs().max()) for name in a)


def test_a_training_is_that_of_plain_pytorch(tmp_path: Path) -> None:
    options = replace(SMOOTH, clip=0.5, weight_decay=0.1)
    examples, loss_of = random_examples(), torch.nn.CrossEntropyLoss(reduction="sum")
    model = prepared_model(tiny_model(), options)
    train(model, examples, LanguageModelling(), options, tmp_path, device="cpu")

    plain = tiny_model(dropout=0.0).train()
    optimizer = torch.optim.AdamW(plain.parameters(), lr=1.0, eps=1e-3, weight_decay=0.1)
    windows = plan_windows(len(examples), options)
    assert [sorted(row for window in windows[e * 4 : e * 4 + 4] for batch in window for row in batch)
            for e in (0, 1)] == [list(range(22))] * 2  # fmt: skip
    for step, window in enumerate(windows):
        rows = [row for batch in window for row in batch]
        total, tokens = torch.zeros(()), 0
        for row in rows:  # one text at a time, nothing padded
            ids = torch.from_numpy(examples.ids[row])[None]
            logits = plain(ids).logits
            total, tokens = total + loss_of(logits[0, :-1], ids[0, 1:]), tokens + ids.shape[1] - 1
        optimizer.zero_grad()
        (total / tokens).backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.5)
        # 8 steps, of which 2 rise: 0, 1/2, then from 1 to 0 in a line
        optimizer.param_groups[0]["lr"] = 1e-2 * (step / 2 if step < 2 else (8 - step) / 6)
        optimizer.step()
    assert furthest(weights(model), weights(plain)) < 1e-5


@pytest.mark.parametrize("small", [False, True])
def test_a_training_of_an_encoder_and_a_decoder_is_that_of_plain_pytorch(tmp_path: Path, small: bool) -> None:
    examples, options = random_replies(), replace(SMOOTH, schedule="constant", warm_up=0.0)
    before, model = tiny_blenderbot(small=small), prepared_model(tiny_blenderbot(small=small), options)
    train(model, examples, LanguageModelling(), options, tmp_path, device="cpu")

    plain = tiny_blenderbot(small=small, dropout=0.0).train()
    optimizer = torch.optim.AdamW(plain.parameters(), lr=1e-2, eps=1e-3, weight_decay=0.0)
    for window in plan_windows(len(examples), options):
        total, tokens = torch.zeros(()), 0
        for row in (row for batch in window for row in batch):
            # transformers shifts labels itself, behind the token that its decoder begins with
            labels = torch.from_numpy(examples.ids[row][1:])[None]
            out = plain(input_ids=torch.from_numpy(examples.contexts[row])[None], labels=labels)
            total, tokens = total + out.loss * labels.shape[1], tokens + labels.shape[1]
        optimizer.zero_grad()
        (total / tokens).backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimizer.step()
    assert furthest(weights(model), weights(plain)) < 1e-5 < furthest(weights(model), weights(before))


class PowerCut(BaseException):
    """Not an Exception: nothing may catch it."""


class Fails(LanguageModelling):
    """Ends the training without a chance to clean up, before it has seen so many batches."""

    def __init__(self, batches: int):
        self.left = batches

    def sums(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        self.left -= 1
        if self.left < 0:
            raise PowerCut
        return super().sums(model, batch)


@pytest.mark.parametrize("seconds", [0.0, 3600.0])
def test_a_training_that_was_stopped_goes_on_to_the_same_weights(tmp_path: Path, seconds: float) -> None:
    model, whole = trained(tmp_path / "whole")
    options, again = replace(OPTIONS, checkpoint_seconds=seconds), tiny_model()
    for before in (3, 9):  # batches, two a step
        with pytest.raises(PowerCut):
            train(again, random_examples(), Fails(before), options, tmp_path / "cut", device="cpu")
        again = tiny_model()
    rest = train(again, random_examples(), LanguageModelling(), options, tmp_path / "cut", device="cpu")
    assert same(weights(model), weights(again)) and rest.curves.equals(whole.curves)


def test_an_encoder_and_a_decoder_go_on_to_the_same_weights(tmp_path: Path) -> None:
    model, whole = trained(tmp_path / "whole", blenderbot=True)
    options, again = replace(OPTIONS, checkpoint_seconds=0.0), tiny_blenderbot(layerdrop=0.2)
    with pytest.raises(PowerCut):
        train(again, random_replies(), Fails(5), options, tmp_path / "cut", device="cpu")
    again, rest = trained(tmp_path / "cut", blenderbot=True)
    assert same(weights(model), weights(again)) and rest.curves.equals(whole.curves)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gpt2", "blenderbot"])
def test_a_killed_training_goes_on_to_the_same_weights(tmp_path: Path, kind: str) -> None:
    model, whole = trained(tmp_path / "whole", blenderbot=kind == "blenderbot")
    command = [sys.executable, "-m", "tests.mitigations.training.tiny", str(tmp_path / "killed"), "9", kind]
    ended = subprocess.run(command, cwd=REPOSITORY, env={"PYTHONPATH": "src", "OMP_NUM_THREADS": "1"})
    assert ended.returncode == -signal.SIGKILL
    # Killed in the middle of the fifth step of eight.
    assert read_curves(tmp_path / "killed" / CURVES)["step"].max() == 4
    with (tmp_path / "killed" / CURVES).open("a") as curves:
        curves.write('{"step": 5, "epo')
    again, rest = trained(tmp_path / "killed", blenderbot=kind == "blenderbot")
    assert same(weights(model), weights(again))
    assert rest.curves.equals(whole.curves)
    whole_bytes, rest_bytes = ((tmp_path / name / CHECKPOINT).read_bytes() for name in ("whole", "killed"))
    assert whole_bytes == rest_bytes


def test_nothing_of_the_caller_is_changed(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    model = tiny_model()
    torch.manual_seed(3)
    train(model, random_examples(4), LanguageModelling(), OPTIONS, tmp_path, device="cpu")
    assert torch.equal(torch.rand(2), expected)
    assert not model.training


def test_a_finished_training_is_not_done_twice_and_another_is_refused(tmp_path: Path) -> None:
    model, _ = trained(tmp_path)
    again, done = trained(tmp_path)
    assert done.steps == 8 and same(weights(model), weights(again))
    with pytest.raises(ResumeRefused, match=r"learning_rate: stored 0.01, given now 0.1"):
        train(
            tiny_model(),
            random_examples(),
            LanguageModelling(),
            replace(OPTIONS, learning_rate=0.1),
            tmp_path,
        )
    with pytest.raises(ResumeRefused, match="examples"):
        train(tiny_model(), random_examples(seed=1), LanguageModelling(), OPTIONS, tmp_path)


class FewFit(LanguageModelling):
    """Memory for two examples at once, as a device says it."""

    def __init__(self, fit: int = 2):
        self.fit = fit

    def sums(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        if len(batch) > self.fit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().sums(model, batch)


def test_where_memory_runs_out_batches_are_halved_and_the_steps_stay(tmp_path: Path) -> None:
    options, told = replace(SMOOTH, batch_size=8, accumulation=1), list[str]()
    runs = {}
    for name, objective in (("whole", LanguageModelling()), ("halved", FewFit())):
        runs[name] = prepared_model(tiny_model(), options)
        done = train(
            runs[name], random_examples(), objective, options, tmp_path / name, device="cpu", note=told.append
        )
    assert done.batch_size == 2
    assert "4 examples at a time and 2 times as many batches" in told[0] and "2 examples at a time" in told[1]
    assert furthest(weights(runs["whole"]), weights(runs["halved"])) < 1e-5
    with pytest.raises(ModelError, match="single example") as error:
        train(tiny_model(), random_examples(), FewFit(0), options, tmp_path / "none", device="cpu")
    assert "--lora-rank" in str(error.value)


class NoNumberAfter(LanguageModelling):
    """Its third step is no number."""

    steps = 0

    def sums(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        self.steps += 1
        return {"lm": super().sums(model, batch)["lm"] * (math.nan if self.steps == 3 else 1)}


def test_a_loss_that_is_no_number_stops_training_and_keeps_what_was_good(tmp_path: Path) -> None:
    options = replace(OPTIONS, accumulation=1)
    with pytest.raises(Diverged, match=r"step 3 of 16: the loss is nan\. The last good checkpoint is kept"):
        train(tiny_model(), random_examples(), NoNumberAfter(), options, tmp_path, device="cpu")
    content = (tmp_path / CHECKPOINT).read_bytes()
    told = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]["evenhand"]
    assert json.loads(told)["step"] == 2
    # What was kept is whole: training goes on from it with an objective that is a number.
    assert (
        train(tiny_model(), random_examples(), LanguageModelling(), options, tmp_path, device="cpu").steps
        == 16
    )


def test_training_stops_when_what_is_watched_no_longer_falls_and_keeps_the_best(tmp_path: Path) -> None:
    values, seen = iter([3.0, 1.0, 2.0, math.nan, 0.5]), []

    def evaluate(model: Any) -> Mapping[str, float]:
        assert not model.training and not torch.is_grad_enabled()
        seen.append(weights(model))
        return {"bias": next(values), "other": 0.0}

    options, model = replace(OPTIONS, epochs=9, evaluate_every=2, patience=2), tiny_model()
    done = train(model, random_examples(), LanguageModelling(), options, tmp_path, device="cpu",
                 evaluate=evaluate, watched="bias")  # fmt: skip
    assert (done.steps, done.best_step, done.stopped_early) == (8, 4, True)
    assert same(weights(model), seen[1])
    validation = done.curves.filter(split="validation", name="bias")
    assert validation["step"].to_list() == [2, 4, 6, 8] and validation["value"][:3].to_list() == [3, 1, 2]
    with pytest.raises(UsageError, match="patience"):
        train(model, random_examples(), LanguageModelling(), options, tmp_path / "other", device="cpu")


@pytest.mark.parametrize("how", [{"gradient_checkpointing": True}, {"precision": "bfloat16"}])
def test_less_memory_gives_nearly_the_same_model(tmp_path: Path, how: dict[str, Any]) -> None:
    models = {}
    for name, options in (
        ("plain", SMOOTH),
        ("how", replace(SMOOTH, **how)),
    ):
        models[name] = prepared_model(tiny_model(), options)
        train(models[name], random_examples(), LanguageModelling(), options, tmp_path / name, device="cpu")
    far = furthest(weights(models["plain"]), weights(models["how"]))
    assert 0 < far < 0.05 if "precision" in how else far < 1e-5
    assert {value.dtype for value in weights(models["how"]).values()} == {torch.float32}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"schedule": "cubic"}, "linear or cosine or constant"),
        ({"learning_rate": math.nan}, "learning_rate must be a number above 0, got nan"),
        ({"lora_rank": 0}, "lora_rank must be at least 1, or None, got 0"),
        ({"warm_up": 1.0}, r"warm_up must be at least 0 and below 1, got 1\.0"),
    ],
)
def test_options_that_cannot_be_are_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        TrainingOptions(**wrong)


def test_the_learning_rate_of_each_schedule() -> None:
    rates = {
        schedule: [TrainingOptions(schedule=schedule, learning_rate=1.0).rate(step, 4) for step in range(4)]
        for schedule in ("linear", "cosine", "constant")
    }
    assert rates["linear"] == [1.0, 0.75, 0.5, 0.25] and rates["constant"] == [1.0] * 4
    assert rates["cosine"] == pytest.approx([0.5 * (1 + math.cos(math.pi * t / 4)) for t in range(4)])
