"""What prompts begin with, read once: rows go on as if each had been read whole, and nothing is copied twice."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from evenhand.models import load_model
from evenhand.models.writing.key_values import KeyValueBuffer
from evenhand.models.writing.state import CausalState

BEGINNINGS = [[], [7, 8, 9, 10, 11], [12, 13]]
TAILS = [[20, 21, 22], [20, 21, 22], [21, 22], [30], [31, 30], [30, 31, 32, 33]]  # a tokenizer joined some
SEQUENCES = [BEGINNINGS[i % 3] + tail for i, tail in enumerate(TAILS)]


def state_of(folder: Callable[..., Path], architecture: str) -> CausalState:
    model: Any = load_model(str(folder(architecture)), device="cpu", dtype="float32")
    return CausalState(model.model)


def plain(state: CausalState, sequence: list[int]) -> torch.Tensor:
    logits: torch.Tensor = state.model(torch.tensor([sequence]), use_cache=False).logits[0, -1]
    return logits.log_softmax(-1)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "mistral", "bloom", "opt"])
def test_rows_go_on_as_if_read_whole(tiny_folder: Callable[..., Path], architecture: str) -> None:
    state = state_of(tiny_folder, architecture)
    order = torch.tensor([5, 0, 3, 1, 1, 4, 2])
    with torch.inference_mode():
        beginnings = state.beginnings(BEGINNINGS)
        rows = [SEQUENCES[i] for i in order.tolist()]
        logits = state.join_behind(beginnings, TAILS, order, torch.arange(len(order)))
        for step in (40, 41):
            expected = torch.stack([plain(state, row) for row in rows])
            torch.testing.assert_close(logits.log_softmax(-1), expected, atol=1e-4, rtol=1e-4)
            logits = state.advance(torch.full((len(order),), step))
            rows = [[*row, step] for row in rows]


def test_there_are_as_many_columns_as_the_longest_row_has_tokens(tiny_folder: Callable[..., Path]) -> None:
    state = state_of(tiny_folder, "gpt2")
    passes: list[tuple[int, ...]] = []
    state.model.register_forward_pre_hook(
        lambda _, given, named: passes.append(tuple(named["input_ids"].shape)), with_kwargs=True
    )
    with torch.inference_mode():
        beginnings = state.beginnings(BEGINNINGS)
        _, seen, _ = beginnings.input_for_tails(TAILS)
        assert seen.sum(1).tolist() == [len(sequence) for sequence in SEQUENCES]
        assert seen.shape == (6, max(map(len, SEQUENCES)))
        assert seen.sort(1).values.tolist() == seen.tolist()  # no gap between a beginning and its tail
        passes.clear()
        everybody = torch.arange(len(TAILS))
        state.join_behind(beginnings, TAILS, everybody, everybody)
    assert passes == [(6, 4)]  # read in one pass, as wide as the longest tail
    assert state.cache.layers[0].keys.shape[2] == max(map(len, SEQUENCES))


def test_rows_that_nobody_else_continues_are_not_copied(
    tiny_folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = state_of(tiny_folder, "gpt2")
    put: list[Any] = []
    monkeypatch.setattr(KeyValueBuffer, "overwrite_rows", lambda *given: put.append(given))
    everybody = torch.arange(2)
    with torch.inference_mode():
        state.join(SEQUENCES[:2], everybody, everybody)
        assert not put
        expected = torch.stack([plain(state, [*sequence, 40]) for sequence in SEQUENCES[:2]])
        logits = state.advance(torch.tensor([40, 40]))
    torch.testing.assert_close(logits.log_softmax(-1), expected, atol=1e-4, rtol=1e-4)


def test_what_a_row_left_behind_does_not_spread(tiny_folder: Callable[..., Path]) -> None:
    """Columns in front of a row are masked, and a masked NaN would still spread."""
    buffer = KeyValueBuffer()
    states = torch.ones(2, 1, 3, 4)
    buffer.lazy_initialization(states, states)
    buffer.buffers = [torch.full((2, 1, 8, 4), float("nan")) for _ in range(2)]
    buffer.end = 5
    rows, columns = torch.tensor([0, 0, 1]), torch.tensor([2, 3, 1])
    written = torch.arange(12.0).view(3, 1, 4)
    kept = torch.tensor([[True, True, False], [False, False, False]])  # of the columns 2, 3, 4
    buffer.write_beginnings(rows, columns, (written, written), kept)
    assert buffer.keys is not None and buffer.keys.shape[2] == 2
    keys, values = buffer.update(-states, -states)
    for held in (keys, values):
        assert held[0, 0, :, 0].tolist() == [0, 0, 0, 4, -1] and held[1, 0, :, 0].tolist() == [
            0,
            8,
            -1,
            -1,
            -1,
        ]
