"""Studies with anything changed in them are read, or refused with lines; nothing else happens."""

import copy
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings, strategies as st

from evenhand.annotation.definition import Study, StudyError, read_study, study_yaml, template
from evenhand.annotation.definition.files.located import read_located

PAGE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "write_a_study_file.md"
WHOLE = read_located(
    PAGE.read_text(encoding="utf-8").split('title="greetings.yaml"\n')[1].split("```")[0], PAGE.name
).value
SAID = [{"speaker": "A", "text": "hi"}]
PAIR = {"id": "p", "pair": [{"id": "a", "turns": SAID, "speaker": "A"}, {"id": "b", "turns": SAID}]}
STUDIES = [WHOLE, {**template("acute", survey=True), "items": [PAIR]}]
VALUES: list[Any] = [
    *(None, True, 0, -1, 7, 1.5, float("nan"), 10**30, "", "x", "a", "yes", "friendly", "morning"),
    *([], {}, [1], ["x"], [{}], [[]], {"items": []}, {"id": "x"}, {"kind": "pair"}, {"rule": "too_fast"}),
    *({"file": "x.jsonl"}, {"file": ["x"]}),
    *("x" * 3_000, "pair", "a-reason", {"items": 3}, PAIR, SAID),
]  # fmt: skip
KEYS = [
    "id",
    "kind",
    "text",
    "items",
    "pair",
    "conversation",
    "extra",
    "file",
    "expected",
    "use",
    "labels",
    "rule",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for step, part in parts for found in places(part, (*path, step)))]


def mutated(data: st.DataObject, study: Any) -> Any:
    study = copy.deepcopy(study)
    for _ in range(data.draw(st.integers(1, 4))):
        *above, last = data.draw(st.sampled_from(places(study)[1:] or [("evenhand_study",)]))
        holder = study
        for step in above:
            holder = holder[step]
        match data.draw(st.sampled_from(["replace", "delete", "add", "repeat"])):
            case "replace":
                holder[last] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
            case "delete":
                del holder[last]
            case "add" if isinstance(holder, dict):
                holder[data.draw(st.sampled_from(KEYS))] = copy.deepcopy(data.draw(st.sampled_from(VALUES)))
            case "repeat" if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
        if not study:
            break
    return study


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_what_is_changed_is_read_or_refused_with_lines(data: st.DataObject) -> None:
    study = mutated(data, data.draw(st.sampled_from(STUDIES)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.yaml"
        path.write_text(yaml.safe_dump(study, allow_unicode=True), encoding="utf-8")
        try:
            read = read_study(path)
        except StudyError as error:
            assert error.problems
            assert all(line.startswith("s.yaml:") for line in error.problems), error.problems
            assert not any("replaced" in line for line in error.problems), error.problems
        else:
            assert isinstance(read, Study)
            path.write_text(study_yaml(read), encoding="utf-8")
            assert read_study(path) == read
