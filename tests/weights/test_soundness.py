"""What was loaded: numbers that are none, in any tensor and any kind of number, are found and named."""

import pytest
import torch
from torch import nn

from evenhand.schema import ModelError
from evenhand.weights.soundness import check_finite


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_one_value_that_is_no_number_is_found_wherever_it_is(value, dtype):
    model = nn.Sequential(nn.Embedding(50, 8), nn.Linear(8, 4)).to(dtype)
    check_finite("m", model, lambda key: "file")
    with torch.no_grad():
        model[0].weight[17, 3] = value
    with pytest.raises(
        ModelError, match=r"The weights of 'm' contain 1 value that is not a number \(NaN or"
    ) as caught:
        check_finite("m", model, lambda key: f"file of {key}")
    assert "again" in caught.value.hint and "file of 0.weight" in caught.value.hint
    assert ("--dtype" in caught.value.hint) == (dtype is torch.float16)


def test_masks_of_infinity_and_numbers_that_are_whole_are_none_of_it():
    model = nn.Linear(2, 2)
    model.register_buffer("mask", torch.full((2, 2), -torch.inf))
    model.empty = nn.Parameter(torch.zeros(0))
    model.counts = nn.Parameter(torch.ones(2, dtype=torch.int8), requires_grad=False)
    check_finite("m", model, lambda key: "file")
