"""Options of a training: what is learned with where nothing is said."""

import pytest

from evenhand.studies.debias.options import DebiasConfig
from evenhand.study.sources import assign


@pytest.mark.parametrize(
    ("bias", "expected"), [("race", (2.0, 8, 5e-5)), ("evenhand/religion", (1.0, 16, 1e-4))]
)
def test_published_texts_are_learned_as_published_and_our_own_more_gently(
    bias: str, expected: tuple[float, int, float]
) -> None:
    options = DebiasConfig(model="m", method="lmd", bias=bias).training
    assert (options.epochs, options.batch_size, options.learning_rate) == expected


def test_what_is_said_counts_for_both() -> None:
    given = {"epochs": 3, "batch_size": 5, "learning_rate": 0.5}
    for bias in ("race", "evenhand/religion"):
        options = DebiasConfig(model="m", method="lmd", bias=bias, **given).training  # type: ignore[arg-type]
        assert (options.epochs, options.batch_size, options.learning_rate) == (3, 5, 0.5)


def test_layers_for_adapters_are_named_plainly_or_as_a_list() -> None:
    for given in ("c_proj, c_attn", ["c_proj", "c_attn"], ("c_proj", "c_attn")):
        config = DebiasConfig.read({"model": "m", "method": "lmd", "bias": "race", "lora_layers": given})
        assert config.training.lora_layers == ("c_proj", "c_attn")
    given = {"model": "m", "method": "lmd", "bias": "race"}
    assign(given, "lora_layers=in_proj")
    said = DebiasConfig.read(given)
    assert said.lora_layers == ("in_proj",)
