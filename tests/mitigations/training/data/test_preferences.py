"""Pairs of texts of which one is preferred: from texts with terms, and from files of the user's."""

from pathlib import Path

import pytest

from evenhand.mitigations.training import Encoding, Material, holds_preferences, own_preferences
from evenhand.mitigations.training.data.preferences import make_preferences, read_preferences
from evenhand.mitigations.training.data.texts import make_material
from evenhand.models import load_model
from evenhand.models.huggingface import CausalModel
from evenhand.prompts.redditbias import load_specification
from evenhand.schema import DataError
from tests.helpers.terms import HEARING


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """Two texts about a group, one of them with an attribute, and one about nobody."""
    (tmp_path / "terms.toml").write_text(HEARING)
    texts = ["Deaf men are rude.", "A Deaf woman sang.", "It rains."]
    return make_material(load_specification(tmp_path / "terms.toml"), texts)


def test_a_text_is_paired_with_the_same_about_the_other_group(material: Material) -> None:
    pairs = make_preferences(material, "groups", "words", 0)
    assert [(pair.chosen, pair.rejected, pair.frame) for pair in pairs] == [
        ("Hearing men are rude.", "Deaf men are rude.", ""),
        ("A Hearing woman sang.", "A Deaf woman sang.", ""),
    ]


def test_attributes_are_replaced_about_both_groups_within_one_frame(material: Material) -> None:
    pairs = make_preferences(material, "attributes", "words", 0)
    assert [(pair.chosen, pair.rejected, pair.group) for pair in pairs] == [
        ("Deaf men are kind.", "Deaf men are rude.", "deaf"),
        ("Hearing men are kind.", "Hearing men are rude.", "hearing"),
    ]
    assert pairs[0].frame == pairs[1].frame != ""


def test_texts_without_counterparts_are_refused(material: Material) -> None:
    with pytest.raises(DataError, match=r"contains a term of hearing[^$]*Deaf/Hearing"):
        make_preferences(Material(**{**vars(material), "texts": ("It rains.",)}), "groups", "words", 0)
    with pytest.raises(DataError, match="attribute_pairs"):
        make_preferences(Material(**{**vars(material), "specification": None}), "attributes", "words", 0)


def test_a_tenth_of_ones_own_pairs_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.mitigations.training.data.preferences.WATCHED", 20)
    file = tmp_path / "pairs.csv"
    rows = "".join(f"They are,kind to {i}.,rude to {i}.\n" for i in range(20))
    file.write_text("prompt,chosen,rejected\n" + rows)
    (tmp_path / "texts.csv").write_text("text\nHello.\n")
    assert holds_preferences(file) and not holds_preferences(tmp_path / "texts.csv")
    base = load_model("evenhand/reference", device="cpu")
    assert isinstance(base, CausalModel)
    material, validation = own_preferences(
        file, base.model, base.tokenizer, Encoding(12, tuple(base.start)), 0, 1
    )
    assert len(material.preferences) == len(material.texts) == 18 and len(validation.neutral) == 20
    assert len(validation.check.texts) == 4
    assert validation.check.texts[0].startswith("They are kind to ")
    kept = {text.removeprefix("They are ") for text in validation.check.texts}
    assert not kept & {pair.chosen for pair in material.preferences}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,b,b\n" * 12, "row 1: chosen and rejected must be two different texts, got 'b'"),
        ("a,b,c\n" * 3 + "a,,c\n" * 9, "row 4: chosen and rejected must be two different texts, got ''"),
        ("a,b,c\n", r"contains 1 pairs, but at least 10 are required \(a tenth is used for validation"),
    ],
)
def test_rows_that_say_nothing_are_named(tmp_path: Path, rows: str, said: str) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("prompt,chosen,rejected\n" + rows)
    with pytest.raises(DataError, match=said):
        read_preferences(file)
    file.write_text("chosen,rejected\na,b\n")
    with pytest.raises(DataError, match="prompt"):
        read_preferences(file)
