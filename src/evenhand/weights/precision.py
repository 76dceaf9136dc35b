"""Run a 16-bit model in 32 bits temporarily, block by block, so that an error is not mistaken for rounding."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

HALF = (torch.float16, torch.bfloat16)


@contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Let a model compute in float32 while the block runs; its 16-bit weights are restored exactly at the end.

    `model` is a torch module. Nothing happens to a model without 16-bit weights.

    Notes
    -----
    A block (a member of a module list) has a 32-bit copy of its weights only while it runs. Memory is
    therefore needed for copies of one block, of the embeddings and of the head.
    """
    blocks = _blocks(model)
    inside = {id(tensor) for block in blocks for tensor in _find_half_precision(block)}
    handles: list[Any] = []
    outer = [tensor for tensor in _find_half_precision(model) if id(tensor) not in inside]
    held: list[tuple[Tensor, Tensor]] = []

    def enter(block: Any, *_: Any) -> None:
        block.__dict__.setdefault("_evenhand_held", []).append(
            _convert_to_float32(_find_half_precision(block))
        )

    def leave(block: Any, *_: Any) -> None:
        if stack := block.__dict__.get("_evenhand_held"):
            _restore(stack.pop())

    try:
        held = _convert_to_float32(outer)
        if inside:
            for block in blocks:
                handles.append(block.register_forward_pre_hook(enter))
                handles.append(block.register_forward_hook(leave, always_call=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
        for block in blocks:
            for one in block.__dict__.pop("_evenhand_held", []):
                _restore(one)
        _restore(held)


def _blocks(model: Any) -> list[Any]:
    """Return the members of the outermost module lists; every module occurs once, however often it is used."""
    found: dict[int, Any] = {}

    def search(module: Any) -> None:
        for child in module.children():
            if isinstance(child, torch.nn.ModuleList):
                found.update({id(block): block for block in child})
            else:
                search(child)

    search(model)
    return list(found.values())


def _find_half_precision(module: Any) -> list[Tensor]:
    tensors = {id(t): t for t in (*module.parameters(), *module.buffers()) if t.dtype in HALF}
    return list(tensors.values())


def _convert_to_float32(tensors: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    held = [(tensor, tensor.data) for tensor in tensors]
    for tensor, data in held:
        tensor.data = data.float()
    return held


def _restore(held: list[tuple[Tensor, Tensor]]) -> None:
    for tensor, data in held:
        tensor.data = data
