"""Whether rows may be written side by side: a model's answers in company are compared with those alone."""

from collections.abc import Sequence

import torch
from torch import Tensor

from evenhand.models.writing.state import CausalState, DecoderState

LENGTHS = (7, 3)  # tokens of the two random prompts
STEPS = 3


def why_not_in_batches(state: DecoderState, vocabulary: int) -> str | None:
    """Whether rows of different lengths, branched and dropped, answer like rows alone: None, or the reason.

    Compares one branched step of two random prompts with each prompt read alone.
    """
    prompts, tokens = _random_rows(vocabulary)
    order = torch.tensor([0, 1, 1, 0], device=state.device)
    with torch.inference_mode():
        alone = [_alone(state, *row)[1] for row in zip(prompts, tokens, strict=True)]
        state.clear()
        state.join(prompts, order, torch.arange(4, device=state.device))
        first = torch.stack([row[0] for row in tokens])
        together = state.advance(first[order].to(state.device))
    off = _difference(together, torch.stack(alone)[order])
    if off <= _tolerance(state):
        return None
    return f"padding changes this model's answers (by up to {off:.2g} nats a token)"


def why_not_staggered(state: DecoderState, vocabulary: int) -> str | None:
    """Whether a row that joins while another is under way answers like one alone: None, or the reason."""
    if not state.staggers:
        return "the decoder counts places from the first column"
    (older, newer), (old_tokens, new_tokens) = _random_rows(vocabulary)
    device = state.device
    with torch.inference_mode():
        expected = [_alone(state, older, old_tokens)[-1], _alone(state, newer, new_tokens)[1]]
        state.clear()
        state.join([older], torch.tensor([0, 0], device=device), torch.arange(2, device=device))
        for token in old_tokens[:-1]:
            state.advance(token.repeat(2).to(device))
        leaving = torch.tensor([1], device=device)
        state.finish(leaving)
        state.join([newer], torch.tensor([0], device=device), leaving)
        logits = state.advance(torch.stack([old_tokens[-1], new_tokens[0]]).to(device))
    off = _difference(logits, torch.stack(expected))
    return None if off <= _tolerance(state) else f"joining later changes answers (by up to {off:.2g} nats)"


def why_not_behind_beginnings(state: DecoderState, vocabulary: int) -> str | None:
    """Whether prompts answer the same when their beginnings were read apart from them: None, or the reason."""
    if not isinstance(state, CausalState):
        return "the encoder reads every text as a whole"
    prompts, tokens = _random_rows(vocabulary)
    order = torch.tensor([0, 1, 1, 0], device=state.device)
    with torch.inference_mode():
        expected = [_alone(state, *row)[:2] for row in zip(prompts, tokens, strict=True)]
        state.clear()
        beginnings = state.beginnings([prompts[0][:3], []])
        tails = [prompts[0][3:], prompts[1]]
        logits = [state.join_behind(beginnings, tails, order, torch.arange(4, device=state.device))]
        first = torch.stack([row[0] for row in tokens])
        logits.append(state.advance(first[order].to(state.device)))
    state.clear()
    off = max(_difference(logits[k], torch.stack([row[k] for row in expected])[order]) for k in range(2))
    if off <= _tolerance(state):
        return None
    return f"reading beginnings apart changes answers (by up to {off:.2g} nats)"


def _random_rows(vocabulary: int) -> tuple[list[list[int]], list[Tensor]]:
    random = torch.Generator().manual_seed(0)
    prompts = [torch.randint(vocabulary, (n,), generator=random).tolist() for n in LENGTHS]
    return prompts, [torch.randint(vocabulary, (STEPS,), generator=random) for _ in LENGTHS]


def _alone(state: DecoderState, prompt: Sequence[int], tokens: Tensor) -> list[Tensor]:
    """Logits after the prompt and after each of the tokens."""
    zero = torch.zeros(1, dtype=torch.long, device=state.device)
    state.clear()
    logits = [state.join([prompt], zero, zero)[0]]
    logits += [state.advance(token[None].to(state.device))[0] for token in tokens]
    return logits


def _difference(found: Tensor, expected: Tensor) -> float:
    return float((found.log_softmax(-1) - expected.log_softmax(-1)).abs().max())


def _tolerance(state: DecoderState) -> float:
    # 16-bit models round differently in every batch shape; a real fault is of the order of the logits.
    return 1e-2 if next(state.model.parameters()).dtype == torch.float32 else 0.3
