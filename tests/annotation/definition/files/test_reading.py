"""Study files with everything wrong in them: each problem has its line, and all come at once."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from evenhand.annotation.definition import StudyError, read_study, template
from evenhand.annotation.definition.files.located import read_located
from evenhand.schema import DataError
from tests.helpers.growth import assert_grows_linearly

WHOLE = """\
evenhand_study: 1
name: small
title: Small
questions:
  - id: rude
    kind: choice
    text: Is it rude?
    options:
      - {id: yes, label: Yes, value: 1}
      - {id: no, label: No, value: 0}
items:
  - {id: 1, text: hello}
  - {id: 2, text: 2020-01-01}
"""


def problems(tmp_path: Path, text: str) -> tuple[str, ...]:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(StudyError) as raised:
        read_study(tmp_path / "s.yaml")
    assert isinstance(raised.value, DataError)
    assert raised.value.exit_code == 1
    return raised.value.problems


def test_words_mean_what_they_look_like(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(WHOLE, encoding="utf-8-sig")
    study = read_study(tmp_path / "s.yaml")
    assert [option.id for option in study.questions[0].options] == ["yes", "no"]  # type: ignore[union-attr]
    assert [item.id for item in study.items] == ["1", "2"]
    assert study.items[1].text == "2020-01-01"
    assert study.rules == ()  # nobody wrote the one about onboarding


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("evenhand_study: 1", "evenhand_study: 2", "s.yaml:1:1: evenhand_study: is 2; this evenhand reads version 1"),
        ("evenhand_study: 1\n", "", "s.yaml:1:1: evenhand_study: is missing; expected `evenhand_study: 1`"),
        ("title:", "titel:", "s.yaml:3:1: titel: there is no such key"),
        ("title:", "titel:", "Did you mean 'title'?"),
        ("title: Small", "name: again", "s.yaml:3:1: the key 'name' is already set in line 2"),
        ("kind: choice", "kind: choise", "s.yaml:5:5: questions[0]: kind is 'choise'; expected one of pair, choice"),
        ("kind: choice", "kind: choise", "Did you mean 'choice'?"),
        ("    kind: choice\n", "", "s.yaml:5:5: questions[0]: lacks kind"),
        ("text: Is it rude?", "text: [a]", "s.yaml:7:5: questions[0].text: is a list; expected text"),
        ("text: Is it rude?", "text: Is: it?", "is not YAML: text with ': ' in it must be quoted"),
        ("text: hello", "text: Anna is: a nurse", "s.yaml:12:26: is not YAML: what opens in line 12 does not go on or "
         "close here; a text with ': ', ' #', ', ', quote marks or brackets in it must be quoted. The"),
        ("text: hello", "text: Anna is #1", "s.yaml:13:3: is not YAML: what opens in line 12 does not go on or close"),
        ("text: hello", "text: Anna is #1", "quoted (elsewhere the ' #' in line 12 begins a comment)"),
        ("text: hello", "text: 'Anna's'", "quote marks or brackets in it must be quoted"),
        ("title: Small", 'title: "Small', "the quote mark that opens in line 3 is never closed"),
        ("text: Is it rude?", 'text: "Is" it?', "text with quote marks or brackets at its start or with ': ' in it"),
        ("text: Is it rude?", "text: Is: it?", "The lines after it are checked once this is fixed"),
        ("id: no,", "id: yes,", "s.yaml:10:10: questions[0].options[1].id: the name 'yes' is already used in "
         "questions[0].options[0]; expected another"),
        ("label: No", "label: Yes",
         "s.yaml:10:18: questions[0].options[1].label: the label 'Yes' is already used"),
        ("value: 0", "value: none", "s.yaml:10:29: questions[0].options[1].value: is 'none'; expected a number"),
        ("id: rude", "id: Rude One", "s.yaml:5:5: questions[0].id: is 'Rude One'; expected a name of a to z"),
        ("id: rude", "id: a-reason", "s.yaml:5:5: questions[0].id: ends like the field of a reason"),
        ("id: rude", "id: a-turn-3", "s.yaml:5:5: questions[0].id: ends like the field of a reason"),
        ("{id: 2,", "{id: 1,", "s.yaml:13:6: items[1].id: the name '1' is already used in items[0]"),
        ("text: hello", "text: hello, context: {a: 1}", "s.yaml:12:26: items[0].context: is keys with values"),
        ("text: hello", 'text: "a\\0b"', "s.yaml:12:13: items[0].text: contains the character U+0000"),
        ("text: hello", 'text: "a\\ud800b"', "s.yaml:12:"),
        ("text: hello", "text: !!python/name:os.system x", "has the tag 'tag:yaml.org,2002:python/name:os"),
        ("text: hello", "text: *gone",
         "s.yaml:12:19: *gone refers to an anchor (&gone) that is not complete before it"),
        ("text: hello", "expected: {rude: yes}, text: a",
         "s.yaml:12:13: items[0].expected: is used only in onboarding"),
        ("text: hello", "text: a, conversation: {id: c, turns: [{speaker: A, text: x}]}", "exactly one of `pair`,"),
        ("items:", "rules: [{rule: gold_below}]\nitems:",
         "s.yaml:11:9: rules[0]: gold_below can never act: a person gets "
         "at most 0 gold items, and `least` is 2; raise"),
        ("items:", "rules: [{rule: onboarding_below}]\nitems:",
         "there is no onboarding; add `onboarding: {items: ...}`"),
        ("items:", "rules: [{rule: too_fast}]\nitems:", "a person gets at most 2 items, and `least` is 3"),
        ("items:", "rules: [{rule: copied_reasons}]\nitems:", "no question asks for a reason"),
        ("items:", "rules: [{rule: inconsistent_duplicates}]\nitems:", "raise duplicates_per_unit"),
        ("items:", "rules: [{rule: onboarding_under}]\nitems:", "Did you mean 'onboarding_below'?"),
        ("items:", "hidden: {gold_per_unit: 1}\nitems:", "s.yaml:11:10: hidden.gold_per_unit: is 1, "
         "and there are 0 gold"),
        ("items:", "hidden: {gold: [{id: g, text: g}]}\nitems:", "s.yaml:11:17: hidden.gold[0].expected: is missing"),
        ("items:", "hidden: {gold: [{id: g, text: g, expected: {rude: yes}}]}\nitems:",
         "hidden.gold: is never shown"),
        ("items:", "hidden: {duplicates_per_unit: 9}\nitems:", "hidden.duplicates_per_unit: is 9, "
         "and a unit has 5 items"),
        ("items:", "onboarding: {items: [{id: o, text: o, expected: {ruder: yes}}]}\nitems:",
         "there is no question 'ruder'; "
         "expected one of rude. Did you mean 'rude'?"),
        ("items:", "onboarding: {items: [{id: o, text: o, expected: {rude: maybe}}]}\nitems:", "s.yaml:11:50: "
         "onboarding.items[0].expected.rude: is 'maybe'; expected one of yes, no"),
        ("items:", "assignment: {linked: [small]}\nitems:", "assignment.linked[0]: is this study"),
        ("items:", "assignment: {items_per_unit: 0}\nitems:",
         "s.yaml:11:14: assignment.items_per_unit: is 0; expected 1 or more"),
        ("items:", "assignment: {items_per_units: 3}\nitems:", "Did you mean 'items_per_unit'?"),
        ("items:", "survey: [{kind: scale, id: s, use: sdo8}]\nitems:",
         "survey[0].use: is 'sdo8'; expected 'sdo7'. Did you"),
        ("items:", "survey: [{kind: scale, id: s}]\nitems:", "survey[0]: has neither of `use` and `statements`"),
        ("items:", "survey: [{kind: scale, id: s, use: sdo7, draw: 17}]\nitems:", "expected at most 16"),
        ("items:", "survey: [{kind: scale, id: s, use: sdo7, high: 5}]\nitems:", "sdo7 is rated from 1 to 7"),
        ("items:", "survey: [{kind: about, id: a, questions: [{id: rude, kind: text, text: Age}]}]\nitems:",
         "survey[0]."
         "questions[0].id: the name 'rude' is already used in questions[0]"),
        ("items:",
         "survey: [{kind: about, id: a, questions: [{id: age, kind: text, text: Age, required: true}]}]\nitems:",
         "are always optional; remove `required: true`"),
        ("items:", "completion: {code: X, per_unit_codes: true}\nitems:",
         "completion.code: is set together with per_unit_codes"),
        ("items:", "completion: {address: 'javascript:alert(1)'}\nitems:", "begins with https://"),
        ("items:", "language: klingon!\nitems:", "expected a language such as en or pt-BR"),
        ("items:", "items:\n  - [x]", "s.yaml:12:5: items[0]: is a list; expected keys with values"),
        (WHOLE, "", "s.yaml:1: is empty; expected `evenhand_study: 1`"),
        (WHOLE, "- a", "s.yaml:1:1: contains no keys"),
        (WHOLE, WHOLE + "---\na: 1\n", "s.yaml:14:1: a second document begins"),
        (WHOLE, "a: \x07", "s.yaml:1: contains the character U+0007"),
        (WHOLE, "\tname: x", "s.yaml:1:1: is not YAML"),
        (WHOLE, "? {a: b}\n: c\n", "expected a key, found a list or a mapping"),
    ],
)  # fmt: skip
def test_each_problem_has_its_line(before: str, after: str, expected: str, tmp_path: Path) -> None:
    assert before in WHOLE
    found = problems(tmp_path, WHOLE.replace(before, after, 1))
    assert any(expected in line for line in found), found
    assert all(line.startswith("s.yaml:") for line in found)


def test_all_problems_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = WHOLE.replace("title", "titel").replace("choice", "choise").replace("text: hello", "txt: hello")
    found = problems(tmp_path, text)
    lines = [int(line.split(":")[1]) for line in found]
    assert lines == sorted(lines)
    assert {3, 5, 12} <= set(lines)
    assert not any("at least" in line for line in found)  # nobody who mends a question is to add another


def test_what_does_not_fit_is_told_beside_what_is_wrong_and_nothing_else_is(tmp_path: Path) -> None:
    added = """\
  - {id: 1, txt: a}
  - {id: 1, text: b}
rules:
  - {rule: gold_below}
  - {rule: too_quick}
hidden:
  gold: [{id: g, text: g, expected: {rude: 1}}, {id: 7, text: [x]}]
  gold_per_unit: 2
survey:
  - {kind: scale, id: s, use: sdo7, draw: 20}
  - {kind: scale, id: s, use: sdo8}
"""
    found = problems(tmp_path, WHOLE.replace("title: Small\n", "") + added)
    told = [line.split(": ", 1)[1] for line in found]
    assert [line.split(":")[0] for line in told] == [
        "title",
        "items[2].txt",  # the sound one with the same name is told, this one is not
        "items[3].id",
        "rules[1]",
        "hidden.gold[0].expected.rude",
        "hidden.gold[1].text",
        "survey[0].draw",
        "survey[1].use",
    ]


PAIRS = """\
evenhand_study: 1
name: pairs
title: Pairs
questions:
  - {id: human, kind: pair, text: Which?}
items:
  - id: one
    pair:
      - {id: a, turns: [{speaker: A, text: hi}]}
      - {id: b, turns: [{speaker: A, text: ho}]}
"""


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ("  - {id: two, text: x}", "s.yaml:11:5: items[1]: is a text, and the question 'human' asks which of a pair"),
        ("  - {id: two, pair: [{id: c, turns: [{speaker: A, text: x}]}, {id: c, turns: [{speaker: A, text: x}]}]}",
         "items[1].pair: compares the conversation 'c' with itself"),
        ("  - {id: two, pair: [{id: a, turns: [{speaker: A, text: x}]}, {id: b, turns: [{speaker: A, text: ho}]}]}",
         "items[1].pair[0].id: 'a' names something else in items[0].pair[0]"),
        ("  - {id: two, pair: [{id: c, speaker: a, turns: [{speaker: A, text: x}]}, "
         "{id: b, turns: [{speaker: A, text: ho}]}]}",
         "items[1].pair[0].speaker: 'a' has no turn; expected one of 'A'"),
        ("  - {id: two, pair: [{id: c, turns: [{speaker: A, text: x}]}]}", "items[1].pair[1]: is missing"),
        ("onboarding: {items: [{id: o, expected: {human: a}, pair: [{id: a, turns: [{speaker: A, text: hi}]}, "
         "{id: c, turns: "
         "[{speaker: A, text: x}]}]}]}", "onboarding.items[0].pair[0].id: 'a' is also judged in items[0].pair[0]"),
        ("onboarding: {items: [{id: o, expected: {human: tie}, pair: [{id: d, turns: [{speaker: A, text: hi}]}, "
         "{id: c, "
         "turns: [{speaker: A, text: x}]}]}]}", "expected.human: is 'tie'; expected one of a, b"),
        ("rules: [{rule: constant_side, least: 1}]", "rules[0].least: is 1; expected 2 or more"),
        ("rules: [{rule: constant_side, least: 2}]", "a person gets at most 1 items, and `least` is 2"),
    ],
)  # fmt: skip
def test_pairs_are_of_two_conversations_that_stay_the_same(added: str, expected: str, tmp_path: Path) -> None:
    found = problems(tmp_path, PAIRS + added)
    assert any(expected in line for line in found), found


def test_a_rule_about_sides_needs_enough_pairs_for_chance(tmp_path: Path) -> None:
    """13 pairs: 1 / C(13, 6) is .0006, and 2 / C(12, 6) is .002, more than .001."""
    items = "".join(
        f"  - {{id: i{n}, pair: [{{id: a{n}, turns: [{{speaker: A, text: x}}]}}, {{id: b{n}, "
        f"turns: [{{speaker: A, text: y}}]}}]}}\n"
        for n in range(20)
    )
    study = PAIRS + items + "rules: [{rule: constant_side}]\nassignment: {items_per_unit: %d}\n"
    assert "it takes 13 pairs" in problems(tmp_path, study % 12)[0]
    (tmp_path / "s.yaml").write_text(study % 13, encoding="utf-8")
    assert len(read_study(tmp_path / "s.yaml").items) == 21


BESIDE = WHOLE[: WHOLE.index("items:")] + "items: {file: %s}\n"


def test_items_come_from_files_beside(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(BESIDE % "in/texts.jsonl", encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "texts.jsonl").write_text(
        '{"id": 1, "text": "a\u2028b"}\n\n{"id": "x", "text": "c"}', encoding="utf-8"
    )
    assert [item.text for item in read_study(tmp_path / "s.yaml").items] == ["a\u2028b", "c"]
    table = 'text;axis;id;model\n"two\nlines";gender;;m1\nplain;;own;\n\n'
    (tmp_path / "texts.csv").write_text(table, encoding="utf-8-sig")
    (tmp_path / "s.yaml").write_text(BESIDE % "texts.csv", encoding="utf-8")
    first, second = read_study(tmp_path / "s.yaml").items
    assert (first.id, first.text, first.model, first.groups) == (
        "line-2",
        "two\nlines",
        "m1",
        {"axis": "gender"},
    )
    assert (second.id, second.text, second.model) == ("own", "plain", None)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("t.jsonl", '{"id": 1, "text": "a"}\n{"id": 2, "txt": "a"}', "t.jsonl:2: items[1].txt: there is no such key"),
        ("t.jsonl", '{"id": 1, "text": "a"}\n\n{"id": 1, "text": "b"}',
         "t.jsonl:3: items[1].id: the name '1' is already used"),
        ("t.jsonl", '{"id": 1, "text": "a"}\n{"id"\n[1]', "t.jsonl:2:6: is not valid JSON"),
        ("t.jsonl", '{"id": 1, "text": "a"}\n{"id"\n[1]', "t.jsonl:3: items[1]: is a list"),
        ("t.jsonl", "[" * 100_000, "t.jsonl:1:1: is not valid JSON: nested too deeply"),
        ("t.jsonl", '{"id": 1, "text": "\\ud800"}', "t.jsonl:1: items[0].text: contains the character U+D800"),
        ("t.jsonl", '{"id": 1, "text": "a", "judgements": {"c": {"score": NaN}}}',
         "score: is nan; expected a number"),
        ("t.jsonl", "", "items: has 0 entries; expected at least 1"),
        ("t.jsonl", '{"id": "%s", "text": "a"}' % ("x" * 1234),
         "items[0].id: has 1,234 characters; expected at most 200"),
        ("t.jsonl", '{"id": "", "text": "a"}', "items[0].id: has 0 characters; expected at least 1"),
        ("t.csv", "texts,id\na,b\n", "t.csv:1: has the columns texts, id; expected `text`. Did you mean 'texts'?"),
        ("t.csv", 'text,id\n"a\nb",1\nc,1\n', "t.csv:4: items[1].id: the name '1' is already used"),
        ("t.csv", "text,id\na,1,2\n", "t.csv:2: has 3 values; expected 2, as the heading"),
        ("t.csv", 'text,id\na,1\n"b,2\n', "t.csv:3: is not a valid CSV"),
        ("t.csv", "text,text\na,1\n", "t.csv:1: two columns have the same name"),
        ("t.txt", "a", "s.yaml:11:9: items.file: 't.txt' has an unsupported file extension"),
        ("u.csv", "a", "s.yaml:11:9: items.file: file 't.csv' not found; expected it in the folder of the study"),
    ],
)  # fmt: skip
def test_problems_of_a_file_beside_have_its_lines(
    name: str, content: str, expected: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    found = problems(tmp_path, BESIDE % name.replace("u.csv", "t.csv"))
    assert any(expected in line for line in found), found


def test_no_file_leads_out_of_the_folder_of_the_study(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text('{"id": 1, "text": "a"}\n', encoding="utf-8")
    home = tmp_path / "study"
    home.mkdir()
    (home / "link.jsonl").symlink_to(outside)
    for name in ("../outside.jsonl", "link.jsonl", "../study/../outside.jsonl"):
        assert "is outside the study's folder" in problems(home, BESIDE % name)[0]
    (home / "s.yaml").write_text(BESIDE % outside, encoding="utf-8")
    assert len(read_study(home / "s.yaml").items) == 1  # its whole path, on purpose
    assert "expected a list, or `file: items.jsonl` alone" in problems(home, BESIDE % "x, sheet: 1")[0]
    for name in ('"a\\0b"', "x" * 5_000, '""', ".", "/dev/zero"):
        assert problems(home, BESIDE % name)


def test_a_file_that_is_none_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Study file not found"):
        read_study(tmp_path / "gone.yaml")
    with pytest.raises(DataError, match="Study file not found"):
        read_study(tmp_path)
    (tmp_path / "s.yaml").write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(DataError, match=r"s\.yaml:2: byte 0xff is not UTF-8"):
        read_study(tmp_path / "s.yaml")


BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BOMB, "s.yaml:6:"),  # the reading stops in line 6 of 12
        (BOMB, "references (*NAME) repeat more than"),
        ("[" * 100_000, "nested more than 40 levels deep"),
        ("- " * 50_000, "nested more than 40 levels deep"),
        ("{a: " * 50_000, "nested more than 40 levels deep"),
        ("a: &a [*a]", "*a refers to an anchor (&a) that is not complete before it"),
        ("a: " + "9" * 100_000, "there is no such key"),
        ("a: 1e999", "there is no such key"),
    ],
)
def test_hostile_files_are_refused(text: str, expected: str, tmp_path: Path) -> None:
    assert any(expected in line for line in problems(tmp_path, text))


@pytest.mark.parametrize(("start", "piece"), [("", "["), ("", "- "), ("", "{a: "), ("a: ", "9")])
def test_the_time_for_a_hostile_file_is_linear_in_its_length(start: str, piece: str) -> None:
    def read(text: str) -> None:
        read_located(text, "s.yaml")

    assert_grows_linearly(read, lambda size: start + piece * size, 100_000)


@given(st.text(st.sampled_from(list("ab:-[]{},&*!|>'\"%@`#? \n\t\x00\x85\u2028\ud8001.~<="))) | st.text())
@settings(deadline=None, max_examples=500)
def test_no_text_makes_the_reader_fall_over(text: str) -> None:
    located = read_located(text, "s.yaml")
    for place, message in located.problems:
        assert place.line >= 1
        assert message


@pytest.mark.slow
@given(st.data())
@settings(deadline=None, max_examples=200)
def test_values_are_those_of_another_reader_where_both_rules_agree(data: st.DataObject) -> None:
    """PyYAML's constructor is the witness, for texts that its older rules do not take for something else."""
    words = st.text(st.characters(categories=["L"]), max_size=5).filter(
        lambda word: isinstance(yaml.safe_load(f'"{word}"'), str)
    )
    leaves = st.booleans() | st.none() | st.integers(-(10**9), 10**9) | words
    tree = data.draw(
        st.recursive(
            leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)
        )
    )
    text = yaml.safe_dump(tree, allow_unicode=True)
    located = read_located(text, "s.yaml")
    assert located.value == yaml.safe_load(text) == tree
    assert located.problems == []


def test_templates_are_studies_that_lack_items_alone(tmp_path: Path) -> None:
    for name in ("acute", "robbie"):
        (tmp_path / "s.yaml").write_text(yaml.safe_dump(template(name)), encoding="utf-8")
        with pytest.raises(StudyError) as raised:
            read_study(tmp_path / "s.yaml")
        assert [line.split(": ", 1)[1] for line in raised.value.problems] == [
            "items: is missing; expected a list"
        ]
