"""Find inconsistencies in a study with invalid values: these are set aside, and the rest is checked.

A user with a misspelt key in line 3 is thus also informed of a repeated name in line 300.
"""

import re
from collections.abc import Collection
from typing import Any

from pydantic import ValidationError

from evenhand.annotation.definition.problems import Path, Problem
from evenhand.annotation.definition.study import INCOHERENT, Study, get_problems

LISTS: tuple[Path, ...] = (
    *(("questions",), ("items",), ("rules",), ("survey",)),
    *(("onboarding", "items"), ("hidden", "gold")),
)
"""Lists in which an invalid element is replaced by a valid one, so that the others keep their positions."""
NEEDED = {"evenhand_study": 1, "name": "replaced", "title": "Replaced"}
COUNTED = ("items", "onboarding", "hidden", "assignment", "questions")
"""Parts of the study that rules depend on."""


def fitting(value: dict[str, Any], wrong: Collection[Path], torn: Collection[Path]) -> list[Problem]:
    """Return inconsistencies between the valid parts of a study.

    value: the content of the file. wrong: problems of single values, which were already reported. torn: incomplete
    lists.
    """
    content = _copy_item_lists(value)
    aside: set[Path] = set(torn)
    for path in wrong:
        aside.add(_put_aside(content, path))
    if () in aside:
        return []
    try:
        Study.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == INCOHERENT:
            return [problem for problem in get_problems(first["ctx"]) if _stands(problem, aside)]
    return []


def _copy_item_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _copy_item_lists(part) if name in ("onboarding", "hidden") else part
            for name, part in value.items()
        }
    return value


def _put_aside(content: dict[str, Any], path: Path) -> Path:
    """Remove or replace an invalid value; return the path that was removed, () for everything."""
    for place in LISTS:
        if path[: len(place)] != place:
            continue
        holder = content
        for step in place[:-1]:
            holder = holder.get(str(step), {})
        elements = holder.get(str(place[-1]))
        if not isinstance(elements, list) or not elements or len(path) == len(place):
            holder[str(place[-1])] = [_sound(place, 0, None)]
            return place
        number = path[len(place)]
        assert isinstance(number, int)
        holder[str(place[-1])] = [
            _sound(place, n, element) if n == number else element for n, element in enumerate(elements)
        ]
        return (*place, number)
    if not path:
        return ()
    name = str(path[0])
    if name in NEEDED:
        content[name] = NEEDED[name]
    else:
        content.pop(name, None)
    return (name,)


def _sound(place: Path, number: int, element: Any) -> dict[str, Any]:
    name = f"replaced-{number}"
    given = element.get("id") if isinstance(element, dict) else None
    match place:
        case ("questions",):
            kept = given if isinstance(given, str) and re.fullmatch(r"[a-z][a-z0-9_-]{0,59}", given) else name
            return {"id": kept, "kind": "text", "text": name}
        case ("rules",):
            return {"rule": "too_fast"}
        case ("survey",):
            return {
                "id": name,
                "kind": "about",
                "questions": [{"id": f"{name}-asked", "kind": "text", "text": name}],
            }
    return {"id": f"{name} of {place[0]}", "text": name}


def _stands(problem: Problem, aside: Collection[Path]) -> bool:
    """Return whether a problem would also exist if nothing had been set aside."""
    path = problem.path
    if any(path[: len(other)] == other for other in aside):
        return False
    touched = {str(other[0]) for other in aside}
    whole = {str(other[0]) for other in aside if len(other) == 1 or not isinstance(other[-1], int)}
    if path[0] == "rules":
        return not whole & set(COUNTED) and "questions" not in touched
    if path[0] == "hidden" and len(path) < 3:
        return not whole & {"hidden", "assignment"}
    return not ("expected" in path and "questions" in touched)
