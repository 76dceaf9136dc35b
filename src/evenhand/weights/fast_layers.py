"""Layers that compute the same numbers faster on a CPU, which replace those of a model during generation and scoring.

A matrix product on a CPU spends part of its time rearranging the weights. With a few dozen rows, as in generation, this
is a large part. oneDNN, which torch includes, can keep a rearranged copy. GPT-2's activation, which transformers writes
as eight operations, exists as a single one. Both change results only by rounding.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

SMALLEST = 1 << 16  # elements; smaller matrices stay in the CPU's cache in any layout
SHARE_OF_MEMORY = 0.25  # share of the free memory for the copies
TOLERANCE = 1e-4  # of the largest result
ROWS_TRIED = 4


@dataclass(frozen=True)
class PackedLayer:
    """A linear layer with a rearranged copy of its weight, and the version of the weight that was copied."""

    module: Any
    weight: Tensor
    version: tuple[int, int]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Return the output of the layer."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(
            inputs, self.weight, self.module.bias, "none", [], ""
        )
        return result


class FastLayers:
    """Faster replacements for layers of a model.

    Linear layers are replaced only in float32 on a processor, activations everywhere.

    Parameters
    ----------
    model : Any
        A Hugging Face model.
    memory : int or None
        Free memory in bytes; None if unknown. No weight is copied if the copies would need more than a
        quarter of it.

    Notes
    -----
    A layer stays as it is if its replacement gives other results, or does not work with this build of torch.
    """

    def __init__(self, model: Any, memory: int | None):
        modules = [module for module in model.modules() if "forward" not in vars(module)]
        linear = [module for module in modules if _is_large_linear(module)]
        size = sum(module.weight.numel() * module.weight.element_size() for module in linear)
        available = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        self.packed: list[PackedLayer] = []
        if available and memory is not None and size <= memory * SHARE_OF_MEMORY:
            self.packed = [layer for layer in map(_pack_layer_if_equal, linear) if layer is not None]
        weight = model.get_input_embeddings().weight
        self.is_exact = weight.device.type == "cpu" and weight.dtype == torch.float32
        self.activations = [module for module in modules if _is_written_out_gelu(module)]

    @contextmanager
    def activate_if_exact(self) -> Iterator[None]:
        """Use the faster layers for a float32 model on a CPU, and otherwise none; a context manager.

        It is used for likelihoods: in 16 bits, the faster activations round differently.
        """
        with self.activate() if self.is_exact else nullcontext():
            yield

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Use the faster layers while the block runs; a context manager. Weights that changed are copied again."""
        self.packed = [
            layer if layer.version == _version(layer.module) else _pack_layer(layer.module)
            for layer in self.packed
        ]
        gelu = partial(torch.nn.functional.gelu, approximate="tanh")
        forwards: list[tuple[Any, Callable[[Tensor], Tensor]]] = [
            *((layer.module, layer) for layer in self.packed),
            *((module, gelu) for module in self.activations),
        ]
        # do not replace a forward method that was changed on purpose (a hook)
        replaced = [(module, forward) for module, forward in forwards if "forward" not in vars(module)]
        for module, forward in replaced:
            module.forward = forward
        try:
            yield
        finally:
            for module, _ in replaced:
                del module.forward


def _is_large_linear(module: Any) -> bool:
    from transformers.pytorch_utils import Conv1D

    # exact classes only, because subclasses (quantised, adapted) compute something else
    if type(module) not in (torch.nn.Linear, Conv1D):
        return False
    weight = module.weight
    plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return plain and int(weight.numel()) >= SMALLEST


def _is_written_out_gelu(module: Any) -> bool:
    from transformers.activations import NewGELUActivation

    return type(module) is NewGELUActivation


def _pack_layer_if_equal(module: Any) -> PackedLayer | None:
    with torch.inference_mode():
        columns = _matrix(module).shape[1]
        trial = torch.randn(ROWS_TRIED, columns, generator=torch.Generator().manual_seed(0))
        expected = module(trial)
        try:
            layer = _pack_layer(module)
            off = (layer(trial) - expected).abs().max()
        # this version of torch lacks the operator, or it does not support this CPU
        except (RuntimeError, AttributeError):
            return None
        return layer if off <= TOLERANCE * expected.abs().max().clamp(min=1) else None


def _pack_layer(module: Any) -> PackedLayer:
    weight = torch.ops.mkldnn._reorder_linear_weight(_matrix(module))
    return PackedLayer(module, weight, _version(module))


def _matrix(module: Any) -> Tensor:
    """Return the weight as (outputs, inputs); GPT-2's layers store the transposed matrix."""
    weight: Tensor = module.weight.detach()
    return weight if isinstance(module, torch.nn.Linear) else weight.t().contiguous()


def _version(module: Any) -> tuple[int, int]:
    return id(module.weight), module.weight._version
