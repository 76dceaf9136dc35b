"""A training method of another package: what it lacks is named."""

import pytest

from evenhand.mitigations.training.methods import load_method
from evenhand.schema import Card, ExtensionError


class Half:
    """What a careless package registers as a training method."""

    CARD = Card("half", "Does half of what a method does.")
    name = "half"

    def parameters(self) -> dict[str, str]:
        return {}


def test_a_plug_in_that_is_not_a_training_method_names_what_it_lacks(installed) -> None:
    installed(
        "careless", "evenhand.training_methods", {"half": "tests.mitigations.training.test_methods:Half"}
    )
    with pytest.raises(
        ExtensionError,
        match="a training method of the package careless, is not valid: Half has no `card`, `lesson`",
    ) as caught:
        load_method("half")
    assert "Half has no `card`, `edit`" in caught.value.hint
