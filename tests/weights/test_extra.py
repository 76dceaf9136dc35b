"""Whether torch and transformers are there is seen without importing them, and said by one error."""

import pytest

from evenhand.schema import HuggingFaceMissing
from evenhand.weights import has_hugging_face, need_hugging_face, refuse_light


class Light:
    is_light = True


def test_where_they_are_installed_nothing_is_refused() -> None:
    assert has_hugging_face()
    need_hugging_face("A thing")
    refuse_light(Light(), "A thing")


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ({"torch", "transformers"}, "A thing needs torch and transformers, which are not installed."),
        ({"torch"}, "A thing needs torch, which is not installed."),
    ],
)
def test_the_error_names_what_is_missing_and_the_command(
    gone: set[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.weights.extra.find_spec", lambda name: None if name in gone else name)
    assert not has_hugging_face()
    with pytest.raises(HuggingFaceMissing) as caught:
        need_hugging_face("A thing")
    assert caught.value.message == said
    assert 'pip install "evenhand[hf]"' in str(caught.value)
    assert caught.value.exit_code == 1
    with pytest.raises(HuggingFaceMissing):
        refuse_light(Light(), "A thing")
    refuse_light(object(), "A model that is not light")
