"""Templates hold what the papers print."""

import os
import re
from pathlib import Path

import pytest
import yaml

from evenhand.annotation import definition
from evenhand.annotation.definition import SDO7, TEMPLATES, Scale, list_statements, template, template_note
from evenhand.schema import UsageError

SHARED = Path(os.environ.get("EVENHAND_SHARED", Path(__file__).resolve().parents[4] / "shared"))


def paper(number: str) -> str:
    if not (found := sorted(SHARED.glob(f"papers/{number}_*.txt"))):
        pytest.skip("the papers are not here")
    text = found[0].read_text(encoding="utf-8").translate(str.maketrans("“”’", '""\''))
    return re.sub(r"\s+", " ", text.replace("*", ""))


@pytest.mark.parity
def test_the_statements_are_those_of_table_12_and_reversed_below_its_middle() -> None:
    text = paper("003")
    rows = re.findall(r'"([^"]+)" (?:\d+ ){7}\d\.\d (\d\.\d) (\d\.\d)', text)
    assert [statement.text for statement in SDO7] == [row[0] for row in rows]
    # who is for equality agrees more with all that is not reversed, and less with all that is
    for statement, (_, pro, anti) in zip(SDO7, rows, strict=True):
        assert (float(pro) < float(anti)) == statement.reversed


def test_half_of_the_statements_are_reversed_and_all_have_names_of_their_own() -> None:
    assert len({statement.id for statement in SDO7}) == 16
    assert sum(statement.reversed for statement in SDO7) == 8
    assert list_statements(Scale(id="views", use="sdo7")) == SDO7
    own = Scale.model_validate(
        {"id": "own", "labels": ["No", "Yes"], "statements": [{"id": "one", "text": "One."}]}
    )
    assert [statement.id for statement in list_statements(own)] == ["one"]


@pytest.mark.parity
@pytest.mark.parametrize(("name", "number", "asked"), [("acute", "000", 3), ("robbie", "002", 5)])
def test_questions_are_worded_as_in_the_papers(name: str, number: str, asked: int) -> None:
    questions = template(name)["questions"]
    assert len(questions) == asked
    text = paper(number)
    for question in questions:
        assert question["text"] in text


def test_acute_has_both_rules_of_its_publication() -> None:
    study = template("acute")
    assert [(rule["mark"], rule["action"]) for rule in study["rules"]] == [(0.75, "block"), (1.0, "exclude")]
    assert study["assignment"]["lease_minutes"] * 60 == 600
    assert study["assignment"]["items_per_unit"] == 4
    assert all(
        question["reason"]["minimum"] == 5 and "tie" not in question for question in study["questions"]
    )


def test_sdo7_is_asked_only_where_it_is_wanted() -> None:
    assert "survey" not in template("acute")
    assert template("acute", survey=True)["survey"] == [
        {"kind": "scale", "id": "sdo7", "use": "sdo7", "draw": 2}
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_says_what_is_published_and_what_is_ours(name: str) -> None:
    note = template_note(name)
    assert ("Published:" in note and "Ours:" in note) or "Nothing of it is from a paper" in note


def test_what_is_taken_from_a_template_is_ones_own() -> None:
    template("robbie")["questions"][0]["text"] = "changed"
    assert template("robbie")["questions"][0]["text"] == "Is this sentence grammatically correct?"


def test_an_unknown_template_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'robbie'"):
        template("robby")
    with pytest.raises(UsageError):
        template("../labels")


@pytest.mark.parametrize("name", TEMPLATES)
def test_stricter_readers_of_yaml_take_the_files(name: str) -> None:
    """PyYAML without libyaml refuses some unquoted question marks that libyaml takes."""
    folder = Path(definition.__file__).parent / "starting_points"
    assert yaml.load((folder / f"{name}.yaml").read_text(encoding="utf-8"), yaml.SafeLoader)["name"] == name
