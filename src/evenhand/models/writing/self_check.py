"""Check whether rows can be cached and generated in batches, by comparison with plain forward passes.

A plain pass reads one whole text at a time, without a cache. Out-of-memory errors are passed on.
"""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor

from evenhand.models.scoring import FAILURES, describe_error, without_padding
from evenhand.models.writing.kept_states import KeepingState, KeptStates
from evenhand.models.writing.state import CausalState, DecoderState, EncoderDecoderState
from evenhand.weights import in_float32, is_out_of_memory

LENGTHS = (7, 3)  # numbers of tokens of the two random prompts
STEPS = 3
Lengths = tuple[int, int]
EXACT = 1e-3
ROUNDED = 0.3
"""Tolerance in nats for 16-bit models that cannot be checked in 32 bits; they round differently in
every batch shape.
"""


def comparison_precision(state: DecoderState) -> tuple[Any, float]:
    """Return the context manager in which a model is checked (in 32 bits if possible), and the tolerance in nats."""
    model = state.model
    if next(model.parameters()).dtype.itemsize >= 4:
        return nullcontext, EXACT
    try:
        with in_float32(model), torch.inference_mode():
            plain_logits(state, [0, 0], [])
    except FAILURES:
        return nullcontext, ROUNDED
    return in_float32, EXACT


def why_wrong(
    state: DecoderState, vocabulary: int, lengths: Lengths = LENGTHS, allowed: float = EXACT
) -> str | None:
    """Return None if branched rows of one prompt continue as plain passes do, otherwise the reason.

    lengths: numbers of tokens of two random prompts, which are tried one after the other. allowed: tolerance in nats.
    """
    prompts, tokens = _random_rows(state, vocabulary, lengths)
    device, off = state.device, 0.0
    try:
        with torch.inference_mode():
            for prompt, following in zip(prompts, tokens, strict=True):
                expected = plain_logits(state, prompt, following.tolist())
                state.clear()
                twice, places = torch.zeros(2, dtype=torch.long), torch.arange(2)
                found = [state.join([prompt], twice.to(device), places.to(device))]
                for step, token in enumerate(following):
                    if step == 1:
                        state.select(places.flip(0).to(device))
                    found.append(state.advance(token.repeat(2).to(device)))
                off = max(
                    [off, *(_difference(f, e.expand_as(f)) for f, e in zip(found, expected, strict=True))]
                )
    except FAILURES as error:
        if is_out_of_memory(error):
            raise
        return describe_error(error)
    return None if off <= allowed else f"answers differ from those of plain passes (by up to {off:.2g} nats)"


def why_not_in_batches(
    state: DecoderState, vocabulary: int, lengths: Lengths = LENGTHS, allowed: float = EXACT
) -> str | None:
    """Return None if branched and removed rows of different lengths give the same results as single rows, or the
    reason.

    One branched step of two random prompts is compared with plain passes of each.
    """
    if not state.pads:
        return f"rows are kept in {state.name}"
    prompts, tokens = _random_rows(state, vocabulary, lengths)
    order = torch.tensor([0, 1, 1, 0], device=state.device)
    first = torch.stack([row[0] for row in tokens])
    try:
        with torch.inference_mode():
            alone = [
                plain_logits(state, prompt, [int(token)])[1]
                for prompt, token in zip(prompts, first, strict=True)
            ]
            state.clear()
            state.join(prompts, order, torch.arange(4, device=state.device))
            together = state.advance(first[order.cpu()].to(state.device))
    except FAILURES as error:
        if is_out_of_memory(error):
            raise
        return f"it cannot be given padding ({describe_error(error)})"
    off = _difference(together, torch.stack(alone)[order])
    return (
        None if off <= allowed else f"padding changes this model's answers (by up to {off:.2g} nats a token)"
    )


def why_not_staggered(
    state: DecoderState, vocabulary: int, lengths: Lengths = LENGTHS, allowed: float = EXACT
) -> str | None:
    """Return None if a row that joins while another is unfinished gives the same result as alone,
    otherwise the reason.
    """
    if not state.staggers:
        return "the decoder counts places from the first column"
    (older, newer), (old_tokens, new_tokens) = _random_rows(state, vocabulary, lengths)
    device = state.device
    try:
        with torch.inference_mode():
            expected = [
                plain_logits(state, older, old_tokens.tolist())[-1],
                plain_logits(state, newer, new_tokens[:1].tolist())[1],
            ]
            state.clear()
            state.join([older], torch.tensor([0, 0], device=device), torch.arange(2, device=device))
            for token in old_tokens[:-1]:
                state.advance(token.repeat(2).to(device))
            leaving = torch.tensor([1], device=device)
            state.finish(leaving)
            state.join([newer], torch.tensor([0], device=device), leaving)
            logits = state.advance(torch.stack([old_tokens[-1], new_tokens[0]]).to(device))
    except FAILURES as error:
        if is_out_of_memory(error):
            raise
        return f"joining later fails ({describe_error(error)})"
    off = _difference(logits, torch.stack(expected))
    return None if off <= allowed else f"joining later changes answers (by up to {off:.2g} nats)"


def why_not_behind_beginnings(state: DecoderState, vocabulary: int, allowed: float = EXACT) -> str | None:
    """Return None if prompts give the same result when their beginnings are read separately, otherwise the reason."""
    if isinstance(state, EncoderDecoderState):
        return "the encoder reads every text as a whole"
    if not isinstance(state, CausalState):
        return f"rows are kept in {state.name}"
    prompts, tokens = _random_rows(state, vocabulary, LENGTHS)
    order = torch.tensor([0, 1, 1, 0], device=state.device)
    with torch.inference_mode():
        expected = [
            plain_logits(state, prompt, following.tolist())
            for prompt, following in zip(prompts, tokens, strict=True)
        ]
        state.clear()
        beginnings = state.beginnings([prompts[0][:3], []])
        tails = [prompts[0][3:], prompts[1]]
        logits = [state.join_behind(beginnings, tails, order, torch.arange(4, device=state.device))]
        first = torch.stack([row[0] for row in tokens])
        logits.append(state.advance(first[order.cpu()].to(state.device)))
    state.clear()
    off = max(_difference(logits[k], torch.stack([row[k] for row in expected])[order]) for k in range(2))
    return None if off <= allowed else f"reading beginnings apart changes answers (by up to {off:.2g} nats)"


def why_not_kept(
    state: DecoderState, vocabulary: int, lengths: Lengths = LENGTHS, allowed: float = EXACT
) -> str | None:
    """Return None if prompts that start from a kept state give the same result as when read completely, or the reason.

    One prompt continues a complete row, one differs before the end of the row, and one has nothing in common with it.
    """
    if isinstance(state, EncoderDecoderState):
        return "the encoder reads every text as a whole"
    if not isinstance(state, CausalState):
        return f"rows are kept in {state.name}"
    (longer, shorter), (first, following) = _random_rows(state, vocabulary, lengths)
    written, token = first.tolist(), following[0]
    device = state.device
    prompts = [[*longer, *written, *shorter], [*longer[:-2], *shorter], [*shorter, *shorter]]
    kept = KeptStates(sys.maxsize)
    try:
        with torch.inference_mode():
            expected = [plain_logits(state, prompt, [int(token)]) for prompt in prompts]
            state.clear()
            rows = KeepingState(state, kept, [longer])
            here = torch.tensor([0], device=device)
            rows.join([longer], here, here)
            for one in first:
                rows.advance(one[None].to(device))
            rows.finish(here)
            rows.clear()
            rows = KeepingState(state, kept, prompts)
            order = torch.tensor([0, 1, 2, 0], device=device)
            logits = [rows.join(prompts, order, torch.arange(4, device=device))]
            logits.append(rows.advance(token.repeat(4).to(device)))
    except FAILURES as error:
        if is_out_of_memory(error):
            raise
        return f"going on from what was kept fails ({describe_error(error)})"
    off = max(_difference(logits[k], torch.stack([row[k] for row in expected])[order]) for k in range(2))
    return (
        None if off <= allowed else f"going on from what was kept changes answers (by up to {off:.2g} nats)"
    )


def plain_logits(state: DecoderState, prompt: Sequence[int], tokens: Sequence[int]) -> Tensor:
    """Return the logits after a prompt and after each following token, (1 + tokens, vocabulary), by one plain pass."""
    device = state.device
    if isinstance(state, EncoderDecoderState):
        written = torch.tensor([[state.first_token, *tokens]], device=device)
        read = torch.tensor([list(prompt)], device=device)
        logits: Tensor = state.model(input_ids=read, decoder_input_ids=written, use_cache=False).logits
    else:
        logits = state.model(
            input_ids=torch.tensor([[*prompt, *tokens]], device=device), use_cache=False
        ).logits
    return logits[0, -1 - len(tokens) :].float()


def _random_rows(
    state: DecoderState, vocabulary: int, lengths: Lengths
) -> tuple[list[list[int]], list[Tensor]]:
    random = torch.Generator().manual_seed(0)
    prompts = [
        without_padding(state.model, torch.randint(vocabulary, (n,), generator=random)) for n in lengths
    ]
    tokens = [
        without_padding(state.model, torch.randint(vocabulary, (STEPS,), generator=random)) for _ in lengths
    ]
    return [prompt.tolist() for prompt in prompts], tokens


def _difference(found: Tensor, expected: Tensor) -> float:
    # if a broken model gives NaN both ways, its rows report that
    off = (found.log_softmax(-1) - expected.log_softmax(-1)).abs()
    return float(torch.where(found.isnan() & expected.isnan(), 0.0, off).nan_to_num(nan=torch.inf).max())
