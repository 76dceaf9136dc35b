"""Fold a projection of the output matrix's input into the matrix itself, so that the result is a normal model.

Let V be the orthonormal directions and P = I - V V'. The head maps a projected state h to W P h + b. W is therefore
replaced by W P. Biases, scaling and capping of logits follow later and do not change. If input and output embeddings
share one matrix, they are separated first, because the input must not be projected.

Source: Meade et al. 2022, section 3, who project the last state of causal models before the head.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.schema import Unsupported

if TYPE_CHECKING:
    from torch import Tensor

PROBED = (4, 16)
"""Numbers of rows and tokens on which the folded matrix is compared with projected states."""
CLOSE = 1e-5
"""Largest accepted difference of a logit, relative to the largest absolute logit (or to 1 if that is smaller)."""
INSTEAD = "Use another model, or a method that trains this one: --method dpo, --method cda or --method lmd."


def fold(model: Any, directions: NDArray[np.float64]) -> float:
    """Remove directions from the input of a model's output matrix, in place.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        A causal model.
    directions : numpy.ndarray, shape (k, size)
        Orthonormal directions of the last hidden state.

    Returns
    -------
    float
        Largest difference of a logit from that of the same model with projected states (measured as in `CLOSE`).

    Raises
    ------
    Unsupported
        The output layer is not linear, cannot be separated from the input embeddings, or other layers read the state
        too. The model can then no longer be used.

    >>> from evenhand.models import load_model
    >>> model = load_model("evenhand/reference", device="cpu").model
    >>> fold(model, np.eye(128)[:2]) < 1e-5, bool(model.lm_head.weight[:, :2].any())
    (True, False)
    """
    import torch

    head = linear_head(model)
    basis = torch.from_numpy(directions).to(head.weight.device)
    ids = torch.arange(PROBED[0] * PROBED[1], device=basis.device).reshape(PROBED) % head.weight.shape[0]
    with torch.no_grad():
        with project_out(head, basis):
            expected = model(input_ids=ids, use_cache=False).logits
        separate(model)
        whole = head.weight.detach().double()
        head.weight.copy_((whole - (whole @ basis.T) @ basis).to(head.weight.dtype))
        found = model(input_ids=ids, use_cache=False).logits
    difference = float((found - expected).abs().max()) / max(1.0, float(expected.abs().max()))
    if not difference <= CLOSE:
        raise Unsupported(
            f"The logits of {type(model).__name__} do not depend on its output matrix alone: with the projection "
            f"folded in, they differ by {difference:.2g}.",
            INSTEAD,
        )
    return difference


def linear_head(model: Any) -> Any:
    """Return the output layer of a model. Raise Unsupported unless it is a plain linear layer."""
    import torch

    head = model.get_output_embeddings()
    if type(head) is torch.nn.Linear:
        return head
    what = "names no output layer" if head is None else f"has the output layer {type(head).__name__}"
    raise Unsupported(
        f"{type(model).__name__} {what}. A projection can only be applied to a linear layer.", INSTEAD
    )


def separate(model: Any) -> None:
    """Give every weight that a model uses twice a separate copy, and record this in its configuration.

    Raises Unsupported if the model's code always shares output and input matrix, regardless of the configuration.
    """
    import torch

    shared = dict(getattr(model, "all_tied_weights_keys", {}))
    for config in {id(one): one for one in (model.config, model.config.get_text_config())}.values():
        config.tie_word_embeddings = False
    for name in shared:
        parent, _, last = name.rpartition(".")
        weight = model.get_parameter(name)
        setattr(
            model.get_submodule(parent),
            last,
            torch.nn.Parameter(weight.detach().clone(), weight.requires_grad),
        )
    model.all_tied_weights_keys = {}
    model.tie_weights()  # as transformers does when the folder is loaded
    if model.get_output_embeddings().weight is model.get_input_embeddings().weight:
        raise Unsupported(
            f"{type(model).__name__} always uses one matrix for input and output, so a projection of the output "
            "would change the input, too.",
            INSTEAD,
        )


@contextmanager
def project_out(head: Any, basis: "Tensor") -> Iterator[None]:
    """Within the context, the head of a model gets states without their component along `basis` (k,
    size; orthonormal).
    """

    def remove_component(module: Any, given: "tuple[Tensor, ...]") -> "tuple[Tensor, ...]":
        state = given[0].double()
        return ((state - (state @ basis.T) @ basis).to(given[0].dtype), *given[1:])

    handle = head.register_forward_pre_hook(remove_component)
    try:
        yield
    finally:
        handle.remove()
