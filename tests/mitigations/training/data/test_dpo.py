"""DPO against its formula written out in loops, its closed forms, and what a preference does to odds."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from evenhand.mitigations.training import (
    Encoding,
    Examples,
    Lesson,
    Material,
    Preference,
    TrainingMethod,
    TrainingOptions,
    kept_values,
    load_method,
    train,
)
from evenhand.mitigations.training.data.dpo import REFERENCE, WANTED, encoded_sides, wanted_probabilities
from evenhand.schema import DataError, UsageError
from tests.mitigations.training.losses.test_losses import Numbers, random_texts
from tests.mitigations.training.tiny import tiny_model

WORDS = 60
PAIRS = (
    Preference("21 22", "1 2 3", "4 5", "f", "a"),
    Preference("23 24 25", "6", "7 8 9 10", "f", "b"),
    Preference("26 27", "11 12", "13 12", "g", "a"),
    Preference("28 29 30 31", "14 15 16", "17 15 16", "g", "b"),
)
MATERIAL = Material(
    bias="numbers",
    groups=("a", "b"),
    pairs=(),
    attributes=(),
    texts=tuple(random_texts(6)),
    preferences=PAIRS,
)


def lesson_of(words: str, model: Any, encoding: Encoding) -> tuple[Lesson, Examples]:
    method = load_method(words)
    assert isinstance(method, TrainingMethod)
    lesson = method.lesson(MATERIAL, Numbers(), encoding, 0)
    assert lesson.of_base is not None
    return lesson, lesson.examples.with_values(lesson.of_base(model, lesson.examples))


def log_likelihood(model: Any, prompt: str, continuation: str, start: tuple[int, ...]) -> torch.Tensor:
    """Of a continuation behind its prompt, token by token."""
    ids = [*start, *(int(word) for word in f"{prompt} {continuation}".split())]
    first = len(start) + len(prompt.split())
    total = torch.zeros((), dtype=torch.float64)
    for place in range(first, len(ids)):
        row = model(torch.tensor([ids[:place]])).logits[0, -1].double()
        total = total + row[ids[place]] - row.exp().sum().log()
    return total


def slow_loss(
    model: Any, base: Any, wanted: list[float], beta: float, start: tuple[int, ...]
) -> torch.Tensor:
    """Rafailov et al. 2023, equation 7, with the share p of a pair: pair by pair, as it reads."""
    total = torch.zeros((), dtype=torch.float64)
    for pair, p in zip(PAIRS, wanted, strict=True):
        ratio = {}
        for name, text in (("w", pair.chosen), ("l", pair.rejected)):
            with torch.no_grad():
                reference = log_likelihood(base, pair.prompt, text, start)
            ratio[name] = log_likelihood(model, pair.prompt, text, start) - reference
        inside = beta * ratio["w"] - beta * ratio["l"]
        total = (
            total
            - p * torch.log(1 / (1 + torch.exp(-inside)))
            - (1 - p) * torch.log(1 / (1 + torch.exp(inside)))
        )
    return total


@pytest.mark.parametrize(
    ("words", "start"),
    [("dpo?aim=none&beta=0.3", (0,)), ("dpo?beta=0.7", ()), ("dpo?aim=none&label_smoothing=0.2", (0,))],
)
def test_the_loss_and_its_gradient_are_those_of_the_formula(words: str, start: tuple[int, ...]) -> None:
    base, model = (tiny_model(seed, WORDS, dropout=0).double().eval() for seed in (0, 1))
    lesson, examples = lesson_of(words, base, Encoding(20, start))
    batch = examples.batch([5, 0, 7, 2, 1, 3], 0)  # pairs and texts, in any order
    sums = lesson.objective.sums(model, batch)
    beta = lesson.objective.beta  # type: ignore[attr-defined]
    wanted = batch.values[WANTED].tolist()
    expected = slow_loss(model, base, [wanted[i] for i in (1, 4, 3, 5)], beta, start)
    assert lesson.objective.sizes(batch)["dpo"] == 4
    assert abs(float(sums["dpo"].detach() - expected.detach())) < 1e-6
    ours, theirs = (torch.autograd.grad(loss, list(model.parameters())) for loss in (sums["dpo"], expected))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize("words", ["dpo", "dpo?aim=none&beta=2", "dpo?aim=none&label_smoothing=0.3"])
def test_at_the_start_the_loss_of_a_pair_is_the_logarithm_of_two(words: str) -> None:
    base = tiny_model(3, WORDS, dropout=0).eval()
    lesson, examples = lesson_of(words, base, Encoding(20, (0,)))
    batch = examples.batch(range(len(examples)), 0)
    loss = float(lesson.objective.sums(base, batch)["dpo"].detach()) / lesson.objective.sizes(batch)["dpo"]
    assert loss == pytest.approx(math.log(2), abs=1e-6)


def test_the_wanted_share_is_that_at_which_the_loss_ends_at_the_wanted_odds() -> None:
    odds, beta = np.array([1.0, -3.0, 0.5, 0.5]), 0.4
    wanted = wanted_probabilities(PAIRS, odds, beta, 0.0, equal=True)
    # the minimum of -p log s(bm) - (1-p) log s(-bm) lies at bm = log p / (1-p): there the odds are those of the kindest
    ends = odds + np.log(wanted / (1 - wanted)) / beta
    assert ends == pytest.approx([1.0, 1.0, 0.5, 0.5])
    assert (wanted >= 0.5).all()  # nobody is to be spoken of less kindly
    even = [Preference("", "1 2", "3 2")] * 2
    ends = np.array([2.0, -2.0])
    wanted = wanted_probabilities(even, ends, beta, 0.0, equal=True)
    assert ends + np.log(wanted / (1 - wanted)) / beta == pytest.approx([0.0, 0.0])
    assert wanted_probabilities(even, ends, beta, 0.1, equal=False).tolist() == [0.9, 0.9]


@pytest.mark.parametrize(("aim", "even"), [("equal", True), ("none", False)])
def test_groups_are_made_alike_and_plain_preferences_leave_them_apart(
    tmp_path: Path, aim: str, even: bool
) -> None:
    base = tiny_model(0, WORDS, dropout=0).eval()
    lesson, examples = lesson_of(f"dpo?beta=0.2&lm_weight=0&aim={aim}", base, Encoding(20, (0,)))
    before = examples.values[REFERENCE][:4]
    options = TrainingOptions(epochs=70, batch_size=4, learning_rate=1e-2, schedule="constant")
    train(base, examples, lesson.objective, options, tmp_path, device="cpu")
    assert lesson.of_base is not None
    after = lesson.of_base(base.eval(), examples)[REFERENCE]
    assert (after > before - 0.1).all() and (after > before + 0.5).any()  # kinder, and of nobody less kind
    apart = [abs(values[0] - values[1]) + abs(values[2] - values[3]) for values in (before, after)]
    assert (apart[1] < 0.2 * apart[0]) == even


def test_only_what_stands_behind_the_prompt_counts() -> None:
    ids, places = encoded_sides(PAIRS[:1], Numbers(), Encoding(20, (0,)))
    assert [one.tolist() for one in ids] == [[0, 21, 22, 1, 2, 3], [0, 21, 22, 4, 5]]
    assert [one.tolist() for one in places] == [[3, 4, 5], [3, 4]]
    with pytest.raises(DataError, match=r"the same within 3 tokens.*21 22 1 2 3"):
        encoded_sides(PAIRS[:1], Numbers(), Encoding(3, (0,)))


def test_texts_of_pairs_are_not_learned_as_texts() -> None:
    held = Material(**{**vars(MATERIAL), "texts": ("21 22 1 2 3", "5 6 7")})
    method = load_method("dpo")
    assert isinstance(method, TrainingMethod)
    assert method.lesson(held, Numbers(), Encoding(20), 0).facts == {"pairs": 4, "texts": 1, "examples": 5}


def test_what_the_base_model_said_is_found_once(tmp_path: Path) -> None:
    asked = []

    def found() -> dict[str, Any]:
        asked.append(1)
        return {"reference": np.random.default_rng(len(asked)).normal(size=3).astype(np.float32)}

    file = tmp_path / "base.safetensors"
    first, again = (kept_values(file, found, {"examples": "a"})["reference"].tolist() for _ in range(2))
    assert first == again and len(asked) == 1
    assert kept_values(file, found, {"examples": "b"})["reference"].tolist() != first


@pytest.mark.parametrize(
    ("words", "said"),
    [("dpo?beta=0", "above 0"), ("dpo?label_smoothing=0.5", "below 0.5"), ("dpo?aim=even", "equal")],
)
def test_options_out_of_range_are_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_method(words)
