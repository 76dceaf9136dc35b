"""The five specifications hang together, and what is wrong in a file of one's own is said by file and key."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from evenhand.prompts.redditbias import BIAS_TYPES, load_specification, specification
from evenhand.prompts.redditbias.bias_types import FOLDER
from evenhand.schema import DataError, UsageError

OWN = """
bias = "teams"
minoritised = "reds"
dominant = "blues"
[retrieval]
targets = [['"reds are"', '"blues are"'], ["red fan*", ""]]
attributes = [["loud*", "quiet"]]
[filtering]
window_targets = ["red", "reds"]
[counterparts]
target_pairs = [["reds", "blues"], ["red", "blue"]]
two_way = true
one_way = [{ pair = ["red", "blue"], where = ["blue"] }]
"""


def own(tmp_path: Path, text: str = OWN) -> Path:
    path = tmp_path / "teams.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    teams = load_specification(own(tmp_path))
    assert (teams.bias, teams.groups) == ("teams", ("reds", "blues"))
    assert teams.queries == (('"reds are"', "loud*"), ("red fan*", "loud*"))
    assert teams.targets_2 == ('"blues are"', "")
    assert teams.exceptions[0].where == ("blue",)
    assert teams.window_attributes == ("loud",)
    assert (teams.train_share, teams.keep_without_attribute, teams.pieces.attributes) == (0.6, True, ())


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ('bias = "teams"', "", "the key 'bias' is missing"),
        ('bias = "teams"', "bias = 3", "bias: 3 is not a text"),
        ("[filtering]", "[filtring]", "the key 'filtering' is missing"),
        ('window_targets = ["red", "reds"]', "window_targets = []", "[filtering], window_targets: [] is not a list"),
        ('["red", "reds"]', '["red", 4]', "window_targets, entry 2: 4 is not a text"),
        ('["reds", "blues"]', '["reds"]', "target_pairs, entry 1: ['reds'] is not a pair of texts"),
        ('["reds", "blues"]', '["reds", ""]', "target_pairs, entry 1: ['reds', ''] is not a pair of texts"),
        ("two_way = true", 'two_way = "yes"', "two_way: 'yes' is neither true nor false"),
        ("two_way = true", "twoway = true", "[counterparts]: unknown key 'twoway'"),
        ('pair = ["red", "blue"]', 'pair = ["rot", "blau"]', "one_way, entry 1, pair: ['rot', 'blau'] is not one of"),
        (', where = ["blue"]', "", "one_way, entry 1: the key 'where' is missing"),
        ("[counterparts]", "[splits]\ntrain_share = 1.5\n[counterparts]", "train_share: 1.5 is not a share"),
        ("[retrieval]", "retrieval = 1\n[retrieval2]", "retrieval: 1 is not a table"),
        ("[retrieval]", "[pieces]\nattributes = [[]]\n[retrieval]", "attributes, entry 1: [] is not a list of pieces"),
        ("[retrieval]", "[pieces]\nmisprints = [{ published = -1 }]\n[retrieval]", "-1 is not a whole number"),
        ("[retrieval]", "[retrieval", "is not TOML in UTF-8"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_by_file_and_key(tmp_path: Path, was: str, now: str, said: str) -> None:
    assert was in OWN
    path = own(tmp_path, OWN.replace(was, now, 1))
    with pytest.raises(DataError) as caught:
        load_specification(path)
    assert said in caught.value.message and str(path) in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("none.toml", "x" * 5000, "a\0b"):
        with pytest.raises(DataError, match="File not found"):
            load_specification(tmp_path / name)


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'religion"):
        specification("religion")


@pytest.mark.parametrize("bias", BIAS_TYPES)
def test_types_hang_together(bias: str) -> None:
    found = specification(bias)
    assert found.bias == bias == (FOLDER / f"{bias}.toml").stem
    assert len(found.targets_1) == len(found.targets_2) and len(found.attributes_1) == len(found.attributes_2)
    assert all(len(set(pairs)) == len(pairs) for pairs in (found.target_pairs, found.attribute_pairs))
    assert all(exception.pair in found.target_pairs for exception in found.exceptions)
    assert found.two_way == bool(found.exceptions) == (bias not in ("gender", "orientation"))
    assert bool(found.single_targets) == (bias in ("gender", "orientation"))
    known = {p.id for term in found.pieces.attributes for p in term}
    assert {misprint.published for misprint in found.pieces.misprints} <= known


def test_misprinted_ids_are_a_digit_or_a_comma_too_long() -> None:
    """A lost ", " before a 0: the printed number is the meant one with a 0 behind it."""
    misprints = specification("orientation").pieces.misprints
    assert len(misprints) == 5
    assert all(misprint.published == 10 * misprint.meant for misprint in misprints)


@pytest.mark.parametrize("key", ["bias", "minoritised", "dominant"])
@pytest.mark.parametrize(
    "name", ["../../out", "/tmp/out", "a/b", "a\\\\b", "a\\u0000b", "a\\u001bb", "..", "x" * 300]
)
def test_names_that_lead_out_of_a_folder_are_refused(tmp_path: Path, key: str, name: str) -> None:
    text = re.sub(rf'(?m)^{key} = ".*"$', lambda _: f'{key} = "{name}"', OWN)
    assert text != OWN
    with pytest.raises(DataError, match=f"{key}: .*cannot be part of a file's name"):
        load_specification(own(tmp_path, text))


def test_a_field_that_was_added_later_changes_no_stored_digest_at_its_default() -> None:
    race = specification("race")
    assert race.stratified and "stratified" not in race.stored_form()
    assert set(race.stored_form()) == {one.name for one in fields(race)} - {"stratified"}
    assert specification("religion1").stored_form()["stratified"] is False
