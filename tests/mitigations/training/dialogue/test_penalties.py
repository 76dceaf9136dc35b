"""Unlikelihood: where its loss is least, its gradients against a slow account of it, batches that are cut, kills."""

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from evenhand.mitigations.training import (
    Batch,
    Examples,
    TrainingOptions,
    prepared_model,
    reply_examples,
    train,
)
from evenhand.mitigations.training.dialogue import penalties as module
from evenhand.mitigations.training.dialogue.own_replies import own_replies
from evenhand.mitigations.training.dialogue.penalties import (
    GROUP,
    SequenceUnlikelihood,
    TokenUnlikelihood,
    unlikelihood,
)
from tests.mitigations.training.tiny import OPTIONS, WORDS, random_replies, tiny_blenderbot, tiny_model

KINDS = ("gpt2", "blenderbot", "blenderbot-small")
END = 2


def model_of(kind: str, **options: Any) -> Any:
    return tiny_model(**options) if kind == "gpt2" else tiny_blenderbot(small="small" in kind, **options)


def replies(kind: str, n: int = 22) -> Examples:
    """Of two groups in turn."""
    found = random_replies(n, decoder_start=None if kind == "gpt2" else 1)
    return found.with_values({GROUP: np.arange(n) % 2})


def excess(share: float = 0.5, seed: int = 0) -> Tensor:
    """Weights of some tokens of two groups; never of what ends a reply."""
    random = np.random.default_rng(seed)
    found = random.exponential(0.5, (2, WORDS)) * (random.random((2, WORDS)) < share)
    found[:, END] = 0
    return torch.from_numpy(found.astype(np.float32))


class FreeLogits(torch.nn.Module):
    """Says the same of whatever follows, by logits that are free."""

    def __init__(self, words: int):
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(words, dtype=torch.float64))

    def forward(self, input_ids: Tensor, **_: Any) -> Any:
        return type("Output", (), {"logits": self.logits.expand(*input_ids.shape, -1)})()


@pytest.mark.parametrize(("strength", "q", "least"), [
    (0.01, 1.0, 0.990), (0.1, 1.0, 0.909), (1.0, 1.0, 0.5), (5.0, 1.0, 0.167),  # 1 / (1 + alpha w)
    (5.0, 0.6, 0.6 / 4), (1.0, 0.2, 0.2 / 1.2),  # q / (1 + alpha w q)
])  # fmt: skip
def test_the_loss_is_least_where_confidence_is_capped(strength: float, q: float, least: float) -> None:
    model, alpha = FreeLogits(4), 2.0
    weights = torch.zeros(1, 4)
    weights[0, 3] = strength / alpha
    often = round(5 * q)  # of five tokens, so often the penalised one
    rows = [np.array([0, 3])] * often + [np.array([0, 1])] * (5 - often)
    batch = Examples(rows, values={GROUP: np.zeros(5, dtype=np.int64)}).batch(range(5), 0)
    objective = TokenUnlikelihood(weights, alpha)
    assert objective.sizes(batch) == {"lm": 5, "ul": often}
    optimizer = torch.optim.LBFGS(
        model.parameters(), max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-14
    )

    def closure() -> float:
        optimizer.zero_grad()
        sums = objective.sums(model, batch)
        loss = sums["lm"] + alpha * sums["ul"]
        loss.backward()
        return float(loss.detach())

    for _ in range(20):
        optimizer.step(closure)
    assert model.logits.softmax(0)[3].item() == pytest.approx(least, abs=6e-4)


def log_probs(model: Any, examples: Examples, row: int) -> Tensor:
    """Of one example by itself, unpadded: log probabilities behind each token, (length, vocabulary)."""
    ids = torch.from_numpy(examples.ids[row])[None]
    if examples.contexts is None:
        logits = model(input_ids=ids).logits
    else:
        logits = model(input_ids=torch.from_numpy(examples.contexts[row])[None], decoder_input_ids=ids).logits
    return logits[0].double().log_softmax(-1)


def slowly(model: Any, examples: Examples, weights: Tensor) -> tuple[Tensor, Tensor, int, int]:
    """Surprise and penalty token by token, in 64 bits, and how many tokens there are of each."""
    surprise, penalty, learned, penalised = torch.zeros(()), torch.zeros(()), 0, 0
    for row in range(len(examples)):
        labels = (examples.labels or examples.ids)[row]
        known = log_probs(model, examples, row)
        for place in range(1, len(labels)):
            token = int(labels[place])
            if token < 0:
                continue
            p = known[place - 1, token].exp()
            weight = float(weights[int(examples.values[GROUP][row]), token])
            surprise, learned = surprise - p.log(), learned + 1
            if weight > 0:
                penalty, penalised = penalty - weight * (1 - p).log(), penalised + 1
    return surprise, penalty, learned, penalised


@pytest.mark.parametrize("kind", KINDS[:2])
def test_gradients_are_those_of_a_slow_account(kind: str) -> None:
    objective, examples = TokenUnlikelihood(excess(), 3.0), replies(kind, 7)
    batch = examples.batch(range(7), 0)
    gradients = []
    for slow in (False, True):
        model = model_of(kind, dropout=0.0).double()
        if slow:
            surprise, penalty, learned, penalised = slowly(model, examples, objective.excess)
            assert objective.sizes(batch) == {"lm": learned, "ul": penalised} and penalised > 5
            loss = surprise / learned + 3.0 * penalty / max(1, penalised)
        else:
            sums, sizes, weights = (getattr(objective, name) for name in ("sums", "sizes", "weights"))
            loss = sum(weights(batch)[k] * v / sizes(batch)[k] for k, v in sums(model, batch).items())
        loss.backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]))
    assert torch.allclose(*gradients, atol=1e-9) and gradients[0].abs().max() > 1e-3


def test_where_nothing_is_left_over_the_penalty_is_bounded() -> None:
    labels, weights = torch.tensor([[0, 1]]), torch.tensor([[0.0, 2.0]])
    sure = torch.zeros(1, 2, 3)
    sure[..., 1] = 30.0  # 1 - p is 0 in 32 bits, and 1.9e-13 by the others' logits
    assert unlikelihood(sure, labels, weights).item() == pytest.approx(2 * (30 - math.log(2)), rel=1e-6)
    assert unlikelihood(sure * 9, labels, weights).item() == pytest.approx(-2 * math.log(1e-20), rel=1e-6)
    assert unlikelihood(sure.half(), labels, weights).item() == pytest.approx(-2 * math.log(1e-6), rel=1e-6)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert unlikelihood(sure, labels, weights).item() == pytest.approx(-2 * math.log(1e-6), rel=1e-6)


def test_what_no_text_stands_for_is_never_penalised() -> None:
    rows = Examples([np.array([1, 39, 5])], values={GROUP: np.array([0])}).batch([0], 0)
    assert TokenUnlikelihood(torch.ones(1, 30), 1.0).penalties(rows).tolist() == [[0, 0, 1]]


class FewFit(TokenUnlikelihood):
    """Memory for two examples at once, as a device says it."""

    def sums(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return super().sums(model, batch)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_at_the_level_of_tokens_a_batch_that_is_cut_gives_the_same_step(tmp_path: Path, kind: str) -> None:
    options = replace(OPTIONS, batch_size=8, accumulation=1, dropout=False, epsilon=1e-3, epochs=1)
    ends = []
    for name, objective in (("whole", TokenUnlikelihood), ("cut", FewFit)):
        model = prepared_model(model_of(kind), options)
        done = train(model, replies(kind), objective(excess(), 5.0), options, tmp_path / name, device="cpu")
        ends.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert done.batch_size == 2
    assert float((ends[0] - ends[1]).abs().max()) < 1e-5


def greedily(model: Any, examples: Examples, row: int, kept: int, most: int) -> tuple[list[int], list[int]]:
    """Read, and written one token after the other by whole passes over one unpadded example."""
    labels = (examples.labels or examples.ids)[row]
    begin = 1 if examples.labels is None else int((labels != -100).argmax())
    read = examples.ids[row][: begin + kept].tolist()
    written: list[int] = []
    while len(written) < most and END not in written:
        ids = [np.array([*read, *written])]
        one = Examples(ids, contexts=None if examples.contexts is None else [examples.contexts[row]])
        written.append(int(log_probs(model, one, 0)[-1].argmax()))
    return read, written


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_a_model_writes_on_greedily_behind_the_same_number_of_tokens(kind: str, share: float) -> None:
    model, examples = model_of(kind, dropout=0.5).train(), replies(kind)
    chosen = [i for i in range(22) if batch_length(examples, i) > 2]
    batch = examples.batch(chosen, 0)
    own = own_replies(model, batch, share, (END,), 6)
    kept = int(share * min(batch_length(examples, i) for i in chosen))
    assert kept == (0 if share == 0 else 1) and model.training
    model.eval()
    ended = 0
    for place, row in enumerate(chosen):
        read, written = greedily(model, examples, row, kept, 6)
        length = len(read) + len(written)
        assert own.input_ids[place, :length].tolist() == [*read, *written]
        assert own.labels[place].tolist() == [-100] * len(read) + written + [-100] * (
            own.labels.shape[1] - length
        )
        assert int(own.attention_mask[place].sum()) == length
        ended += END in written
    assert own.values[GROUP].tolist() == [row % 2 for row in chosen]


def batch_length(examples: Examples, row: int) -> int:
    """Tokens of a reply."""
    return int(((examples.labels or examples.ids)[row][1:] != -100).sum())


def test_a_model_writes_no_further_than_it_has_room() -> None:
    model, examples = tiny_model(), replies("gpt2")
    own = own_replies(model, examples.batch(range(22), 0), 0.0, (), 1000)
    assert own.input_ids.shape[1] == 32  # its positions


@pytest.mark.parametrize("kind", KINDS[:2])
def test_at_the_level_of_sequences_what_was_written_is_penalised_and_nothing_else(kind: str) -> None:
    objective = SequenceUnlikelihood(excess(0.95), 3.0, ends=(END,), max_new_tokens=5)
    model, examples = model_of(kind, dropout=0.0).double(), replies(kind, 7)
    batch = examples.batch(range(7), 0)
    torch.manual_seed(5)
    share = float(torch.rand((), generator=torch.Generator().manual_seed(5)))
    own = own_replies(model, batch, share, (END,), 5)
    found = objective.sums(model, batch)
    assert objective.sizes(batch) == {"lm": batch.n_learned, "ul": 7}
    lengths = own.attention_mask.sum(1).tolist()
    alone = Examples(
        [row[:n].numpy() for row, n in zip(own.input_ids, lengths, strict=True)],
        [row[:n].numpy() for row, n in zip(own.labels, lengths, strict=True)],
        values=examples.values,
        contexts=examples.contexts,
    )
    surprise, _, learned, _ = slowly(model, examples, objective.excess)
    _, penalty, _, penalised = slowly(model, alone, objective.excess)
    assert learned == batch.n_learned and penalised > 3
    assert found["lm"].item() == pytest.approx(surprise.item(), rel=1e-9)
    assert found["ul"].item() / 7 == pytest.approx(penalty.item() / penalised, rel=1e-6)
    none = replace(objective, excess=torch.zeros(2, WORDS)).sums(model, batch)
    assert none["ul"].item() == 0 and none["lm"].item() == found["lm"].item()


def test_at_the_level_of_sequences_a_batch_that_is_cut_writes_the_same_where_its_shortest_replies_are_alike() -> (
    None
):
    model, every = model_of("blenderbot", dropout=0.0), replies("blenderbot")
    chosen = [row for row in range(22) if batch_length(every, row) == 4][:4]
    objective = SequenceUnlikelihood(excess(0.95), 3.0, ends=(END,), max_new_tokens=5)
    torch.manual_seed(5)
    whole = objective.sums(model, every.batch(chosen, 0))
    halves = [objective.sums(model, every.batch(rows, 0)) for rows in (chosen[:2], chosen[2:])]
    assert whole["lm"].item() == pytest.approx(sum(one["lm"].item() for one in halves), rel=1e-5)
    share = float(torch.rand((), generator=torch.Generator().manual_seed(5)))
    own = [
        own_replies(model, every.batch(rows, 0), share, (END,), 5)
        for rows in (chosen, chosen[:2], chosen[2:])
    ]
    counts = [int((objective.penalties(one) > 0).sum()) for one in own]
    assert counts[0] == counts[1] + counts[2] > 0
    # each half is a mean of its own: together they are the whole where both have as many penalised tokens
    again = [one["ul"].item() * n / 2 for one, n in zip(halves, counts[1:], strict=True)]
    assert whole["ul"].item() * counts[0] / 4 == pytest.approx(sum(again), rel=1e-5)


class PowerCut(BaseException):
    """Not an Exception: nothing may catch it."""


@pytest.mark.parametrize(
    ("kind", "rank"),
    [("gpt2", None), ("blenderbot", None), pytest.param("blenderbot", 2, marks=pytest.mark.slow)],
)
def test_a_training_that_was_stopped_goes_on_to_the_same_weights(
    tmp_path: Path, kind: str, rank: int | None
) -> None:
    options, trained = replace(OPTIONS, epochs=1, lora_rank=rank), []
    for name, sittings in (("whole", [WHOLE]), ("cut", [3, WHOLE])):
        for batches in sittings:
            objective = Fails(excess(), 5.0, ends=(END,), max_new_tokens=4, left=[batches])
            model = prepared_model(model_of(kind, dropout=0.2), options)
            with pytest.raises(PowerCut) if batches < WHOLE else nullcontext():
                done = train(model, replies(kind), objective, options, tmp_path / name, device="cpu")
        trained.append((torch.cat([p.detach().flatten() for p in model.parameters()]), done.curves))
    assert torch.equal(trained[0][0], trained[1][0]) and trained[0][1].equals(trained[1][1])


WHOLE = 1000
"""More batches than there are."""


@dataclass(frozen=True, eq=False)
class Fails(SequenceUnlikelihood):
    """Ends the training without a chance to clean up, before it has seen so many batches."""

    left: list[int] = field(default_factory=list)

    def sums(self, model: Any, batch: Batch) -> Mapping[str, Tensor]:
        self.left[0] -= 1
        if self.left[0] < 0:
            raise PowerCut
        return super().sums(model, batch)


def test_each_step_draws_a_time_step_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = list[float]()

    def noted(model: Any, batch: Batch, share: float, *rest: Any) -> Batch:
        shares.append(share)
        return own_replies(model, batch, share, *rest)

    monkeypatch.setattr(module, "own_replies", noted)
    options = replace(OPTIONS, batch_size=1, accumulation=2)
    objective = SequenceUnlikelihood(excess(), 1.0, ends=(END,), max_new_tokens=1)
    train(tiny_model(), replies("gpt2"), objective, options, tmp_path, device="cpu")
    steps = shares[::2]
    assert shares[1::2] == steps  # batches of one step share it
    assert len(set(steps)) == len(steps) == 22
    assert 0 <= min(steps) < 0.3 < np.mean(steps) < 0.7 < max(steps) < 1


@pytest.mark.slow
@pytest.mark.parametrize(("level", "share", "within"), [("token", 0.25, 0.05), ("sequence", 0.5, 0.15)])
def test_what_two_groups_are_told_is_changed(tmp_path: Path, level: str, share: float, within: float) -> None:
    """A word that three of four replies to one group say and one of four to the other, as if weighed .5.

    Of 320 tokens 120 are penalised: at the level of tokens the word ends at q / (1 + alpha w q 320 / 120) = .25, below
    the other. At the level of sequences it is pushed while it is the likelier, to where both are alike.
    """
    pairs = [
        ([3 + row % 2, 6], [10 if (row // 2 % 4 < 3) == (row % 2 == 0) else 11, END]) for row in range(160)
    ]
    examples = reply_examples(pairs, 1).with_values({GROUP: np.arange(160) % 2})
    options = TrainingOptions(epochs=15, batch_size=80, learning_rate=2e-2, dropout=False)
    weights = torch.zeros(2, WORDS)
    weights[0, 10] = weights[1, 11] = 0.5
    kind: Any = {"token": TokenUnlikelihood, "sequence": SequenceUnlikelihood}[level]
    objective = kind(weights, 2.0, **({} if level == "token" else {"ends": (END,), "max_new_tokens": 3}))
    model = prepared_model(tiny_blenderbot(dropout=0.0), options)
    train(model, examples, objective, options, tmp_path, device="cpu")
    with torch.no_grad():
        said = [float(log_probs(model, examples, row)[0, word].exp()) for row, word in ((0, 10), (1, 11))]
    assert said == pytest.approx([share, share], abs=within)
